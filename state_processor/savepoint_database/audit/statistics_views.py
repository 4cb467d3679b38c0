"""The answer of ``stats`` for people: flat rows, and one page of HTML that loads nothing."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Self

from savepoint_database.audit.plots import plots
from savepoint_formats.errors import MissingPackageError
from savepoint_formats.printable import field_text, html_printable
from savepoint_formats.quantities import ByteCount, Share

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from savepoint_database.audit.statistics import SavepointStatistics, StateStatistics
    from savepoint_database.snapshot.description import SavepointDescription
    from savepoint_formats.statistics.distribution import Distribution

# Notebooks style tables by three selectors; ours need more to take precedence.
_OF_REPORT = ".savepoint-report" * 4
_STYLE = """
.savepoint-report{--ink:#1b2733;--faint:#9fb1c3;--first:#2f6fab;--second:#c2571a;--sheet:#fff;
--stripe:#f2f6fa;color:var(--ink);background:var(--sheet);font:14px/1.45 system-ui,sans-serif;
padding:1.2em;max-width:76em;margin:0 auto}
.savepoint-report h1{font-size:1.3em;overflow-wrap:anywhere}.savepoint-report h2{font-size:1.05em;
margin:1.6em 0 .4em}
.savepoint-report .facts{display:flex;flex-wrap:wrap;gap:.4em 2em}
.savepoint-report .facts b{display:block;font-size:1.25em;font-weight:normal;
font-variant-numeric:tabular-nums}.savepoint-report .facts span{opacity:.75}
.savepoint-report .verdict{font-size:1.1em;margin:.8em 0;overflow-wrap:anywhere}
.savepoint-report .wide{overflow-x:auto}
.savepoint-report svg{display:block;width:100%;max-width:none;height:auto}
REPORT table{border-collapse:collapse;table-layout:auto;margin:0;color:inherit;font:inherit;
font-variant-numeric:tabular-nums}
REPORT th,REPORT td{padding:.2em .7em;text-align:left;vertical-align:top;background:none}
REPORT th{font-weight:bold}
REPORT td{max-width:32em;overflow-wrap:break-word}
REPORT .number{text-align:right}REPORT td.number{white-space:nowrap}
REPORT tbody tr{background:none}REPORT tbody tr:nth-child(even){background:var(--stripe)}
.savepoint-report .problem{color:var(--second)}
@media (prefers-color-scheme:dark){.savepoint-report{--ink:#e4ebf2;--faint:#5d7890;--first:#6fb1ee;
--second:#f0955c;--sheet:#141a21;--stripe:#1d2731}}
""".replace("REPORT", _OF_REPORT)
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>body{{margin:0}}@media (prefers-color-scheme:dark){{body{{background:#141a21}}}}</style>
</head>
<body>
{body}
</body>
</html>
"""


@dataclass(frozen=True, slots=True)
class StateSizes:
    """Numbers of keys and entries of a state, and the bytes of its rows."""

    operator: str
    state: str
    kind: str
    total_size: int
    share: float
    keys: int | None
    rows: int | None
    entries: int
    min_size: int | None
    mean_size: int | None
    p50_size: int | None
    p99_size: int | None
    max_size: int | None

    @classmethod
    def of(cls, state: StateStatistics, total: int) -> Self:
        counts = (state.keys, state.rows, state.entries)
        sizes = (None if size is None else ByteCount(size) for size in _five(state.sizes))
        share = Share(state.size / total if total else 0)
        named = (state.operator, state.state, state.kind)
        return cls(*named, ByteCount(state.size), share, *counts, *sizes)


@dataclass(frozen=True, slots=True)
class StateContents:
    """Values of a state; shares are in percent."""

    operator: str
    state: str
    null: str
    empty: str
    min_items: int | None
    mean_items: float | None
    p50_items: int | None
    p99_items: int | None
    max_items: int | None
    first_access: str | None
    last_access: str | None
    expired: str
    problem: str

    @classmethod
    def of(cls, state: StateStatistics) -> Self:
        least, mean, p50, p99, most = _five(state.items)
        return cls(
            state.operator,
            state.state,
            _share(state.nulls, state.null_share),
            _share(state.empties, state.empty_share),
            least,
            mean,
            p50,
            p99,
            most,
            state.first_access,
            state.last_access,
            _share(state.expired, state.expired_share),
            state.problem,
        )

    def tells_something(self) -> bool:
        return any((self.null, self.empty, self.min_items, self.first_access, self.problem))


def statistics_tables(
    report: SavepointStatistics, *, with_key_groups: bool = False
) -> list[tuple[str, Sequence[Any]]]:
    """Titles and rows of the tables for people."""
    contents = [StateContents.of(state) for state in report.states]
    states, largest_keys = _largest_tables(report)
    tables: list[tuple[str, Sequence[Any]]] = [
        states,
        ("Values: nulls, empties, items", [state for state in contents if state.tells_something()]),
        ("Timers", report.timers),
        ("Skew", report.skew),
        ("Subtasks", report.subtasks),
        largest_keys,
    ]
    if with_key_groups:
        tables.insert(5, ("Key groups", report.key_groups))
    return [(title, rows) for title, rows in tables if rows]


def largest_tables(report: SavepointStatistics) -> list[tuple[str, Sequence[Any]]]:
    """Tables of the largest states and keys, for a small screen."""
    return [(title, rows) for title, rows in _largest_tables(report) if rows]


def _largest_tables(report: SavepointStatistics) -> list[tuple[str, Sequence[Any]]]:
    states = [StateSizes.of(state, report.size) for state in report.states]
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
    return _PAGE.format(title=f"State of {html_printable(report.path)}", body=body)


def html_page(
    title: str,
    verdict: str,
    facts: dict[str, str],
    tables: Iterable[tuple[str, Sequence[Any]]],
) -> str:
    """A page of tables in the style of ``page``, without plots; rows are dataclasses."""
    parts = [
        f'<div class="savepoint-report"><style>{_STYLE}</style>',
        f"<h1>{html_printable(title)}</h1>",
        f'<p class="verdict">{html_printable(verdict)}</p>',
        *_facts(facts),
        *(_table(name, rows) for name, rows in tables),
        "</div>",
    ]
    return _PAGE.format(title=html_printable(title), body="\n".join(parts))


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
    parts = [
        f'<div class="savepoint-report"><style>{_STYLE}</style>',
        f"<h1>State of {html_printable(report.path)}</h1>",
        f'<p class="verdict">{html_printable(report.verdict)}</p>',
        *_facts(shown),
        *(f'<p class="problem">{html_printable(problem)}</p>' for problem in report.problems),
        *(f"<h2>{html_printable(title)}</h2>\n{svg}" for title, svg in charts),
        *(_table(title, rows) for title, rows in (*more, *statistics_tables(report))),
        "</div>",
    ]
    return "\n".join(parts)


def _facts(facts: dict[str, str]) -> list[str]:
    shown = (
        f"<div><span>{html_printable(name)}</span><b>{html_printable(value)}</b></div>"
        for name, value in facts.items()
    )
    return ['<div class="facts">', *shown, "</div>"]


def _table(title: str, rows: Sequence[Any]) -> str:
    names = [field.name for field in fields(rows[0])] if rows else []
    filled = [name for name in names if any(_cell(name, getattr(row, name)) for row in rows)]
    kinds = {name: _kind(rows, name) for name in filled}
    head = "".join(
        f"<th{kinds[name]}>{html_printable(name.replace('_', ' '))}</th>" for name in filled
    )
    body = "\n".join(
        "<tr>"
        + "".join(f"<td{kinds[name]}>{_cell(name, getattr(row, name))}</td>" for name in filled)
        + "</tr>"
        for row in rows
    )
    table = f"<table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>"
    return f'<h2>{html_printable(title)}</h2>\n<div class="wide">{table}</div>'


def _kind(rows: Sequence[Any], name: str) -> str:
    values = [getattr(row, name) for row in rows]
    is_number = any(isinstance(value, int | float) and value is not True for value in values)
    return ' class="number"' if is_number else ""


def _cell(name: str, value: Any) -> str:
    match value:
        case tuple():
            return ""
        case int() if name.endswith("size"):
            return f'<span title="{int(value)} bytes">{ByteCount(value).text}</span>'
        case _:
            return html_printable(field_text(value, name))
