"""The answer of ``stats`` for people: flat rows, and one page of HTML that loads nothing."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from savepoint_database.audit.report_page import page_of, report_html
from savepoint_extensions.sizes.plots import plots
from savepoint_formats.errors import MissingPackageError
from savepoint_formats.quantities import ByteCount, Share

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from savepoint_database.snapshot import SavepointDescription
    from savepoint_extensions.sizes.distribution import Distribution
    from savepoint_extensions.sizes.statistics import SavepointStatistics, StateStatistics

    Row = dict[str, Any]


def _sizes(state: StateStatistics, total: int) -> Row:
    """Numbers of keys and entries of a state, and the bytes of its rows."""
    least, mean, p50, p99, most = (
        None if size is None else ByteCount(size) for size in _five(state.sizes)
    )
    return {
        "operator": state.operator,
        "state": state.state,
        "kind": state.kind,
        "total_size": ByteCount(state.size),
        "share": Share(state.size / total if total else 0),
        "keys": state.keys,
        "rows": state.rows,
        "entries": state.entries,
        "min_size": least,
        "mean_size": mean,
        "p50_size": p50,
        "p99_size": p99,
        "max_size": most,
    }


def _contents(state: StateStatistics) -> Row:
    """Values of a state; shares are in percent."""
    least, mean, p50, p99, most = _five(state.items)
    return {
        "operator": state.operator,
        "state": state.state,
        "null": _share(state.nulls, state.null_share),
        "empty": _share(state.empties, state.empty_share),
        "min_items": least,
        "mean_items": mean,
        "p50_items": p50,
        "p99_items": p99,
        "max_items": most,
        "first_access": state.first_access,
        "last_access": state.last_access,
        "expired": _share(state.expired, state.expired_share),
        "different": state.different if state.different != state.entries else None,
        "problem": state.problem,
    }


_MOST_ROWS = 10
_SAVED = "What the time to live would save"
_TELLING = ("null", "empty", "min_items", "first_access", "different", "problem")


def statistics_tables(
    report: SavepointStatistics, *, with_key_groups: bool = False
) -> list[tuple[str, Sequence[Any]]]:
    """Titles and rows of the tables for people."""
    contents = map(_contents, report.states)
    states, largest_keys = _largest_tables(report)
    tables: list[tuple[str, Sequence[Any]]] = [
        (_SAVED, report.ttl),
        states,
        ("Values: nulls, empties, items", [row for row in contents if any(map(row.get, _TELLING))]),
        ("Timers", report.timers),
        ("Skew", report.skew),
        ("Subtasks", report.subtasks),
        largest_keys,
    ]
    if with_key_groups:
        tables.insert(-1, ("Key groups", report.key_groups))
    return [(title, rows) for title, rows in tables if rows]


def largest_tables(report: SavepointStatistics) -> list[tuple[str, Sequence[Any]]]:
    """Tables of the largest states and keys, for a small screen."""
    saved = (_SAVED, report.ttl)
    return [(title, rows) for title, rows in (saved, *_largest_tables(report)) if rows]


def _largest_tables(report: SavepointStatistics) -> list[tuple[str, Sequence[Any]]]:
    states = [_sizes(state, report.size) for state in report.states]
    return [
        ("States: bytes, keys, entries, bytes of a row", states),
        ("Largest keys", report.largest_keys),
    ]


def _five(distribution: Distribution | None) -> tuple[Any, ...]:
    if distribution is None:
        return (None,) * 5
    return (
        distribution.min,
        round(distribution.mean),
        distribution.p50,
        distribution.p99,
        distribution.max,
    )


def _share(count: int | None, share: float | None) -> str:
    """A number with its share; empty for 0, the usual case."""
    return f"{count:,} ({share:.1%})" if count and share is not None else ""


def page(report: SavepointStatistics, description: SavepointDescription) -> str:
    """A self-contained page, for a file; ``MissingPackageError`` without Matplotlib."""
    facts = {
        "kind": description.kind,
        "Flink": description.flink,
        "checkpoint": str(description.checkpoint_id),
        "files": ByteCount(description.size).text,
    }
    largest_first = sorted(
        description.operators, key=lambda operator: -(operator.keyed_size + operator.operator_size)
    )
    operators = ("Operators", largest_first)
    body = _body(report, facts, plots(report), [operators])
    return page_of(f"State of {report.path}", body)


def fragment(report: SavepointStatistics) -> str:
    """The page's content for a notebook; without plots if Matplotlib is not installed."""
    charts: list[tuple[str, str]] = []
    with suppress(MissingPackageError):
        charts = plots(report)
    return _body(report, {}, charts, [])


def _body(
    report: SavepointStatistics,
    facts: dict[str, str],
    charts: Iterable[tuple[str, str]],
    more: Iterable[tuple[str, Sequence[Any]]],
) -> str:
    overdue = sum(timers.overdue or 0 for timers in report.timers)
    shown = {
        **facts,
        "state": ByteCount(report.size).text,
        "states": f"{len(report.states):,}",
        "timers": f"{sum(timers.timers for timers in report.timers):,}",
        "timers overdue": f"{overdue:,}",
        "as of": report.at,
    }
    return report_html(
        f"State of {report.path}",
        report.verdict,
        shown,
        (*more, *statistics_tables(report)),
        problems=report.problems,
        charts=charts,
        most=_MOST_ROWS,
    )
