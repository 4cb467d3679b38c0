"""The answer of ``stats`` for people: flat rows, and one page of HTML that loads nothing."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from savepoint_database.audit.plots import plots
from savepoint_formats.errors import MissingPackageError
from savepoint_formats.printable import field_text, fields_of, html_printable
from savepoint_formats.quantities import ByteCount, Share

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from savepoint_database.audit.statistics import SavepointStatistics, StateStatistics
    from savepoint_database.snapshot.description import SavepointDescription
    from savepoint_formats.statistics.distribution import Distribution

    Row = dict[str, Any]

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
        "problem": state.problem,
    }


_TELLING = ("null", "empty", "min_items", "first_access", "problem")


def statistics_tables(
    report: SavepointStatistics, *, with_key_groups: bool = False
) -> list[tuple[str, Sequence[Any]]]:
    """Titles and rows of the tables for people."""
    contents = map(_contents, report.states)
    states, largest_keys = _largest_tables(report)
    tables: list[tuple[str, Sequence[Any]]] = [
        states,
        ("Values: nulls, empties, items", [row for row in contents if any(map(row.get, _TELLING))]),
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
    return _PAGE.format(title=f"State of {html_printable(report.path)}", body=body)


def html_page(
    title: str,
    verdict: str,
    facts: dict[str, str],
    tables: Iterable[tuple[str, Sequence[Any]]],
) -> str:
    """A page of tables in the style of ``page``, without plots; rows are records."""
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


def _table(title: str, records: Sequence[Any]) -> str:
    rows = list(map(fields_of, records))
    names = rows[0] if rows else ()
    filled = [name for name in names if any(_cell(name, row[name]) for row in rows)]
    kinds = {name: _kind(row[name] for row in rows) for name in filled}
    head = "".join(
        f"<th{kinds[name]}>{html_printable(name.replace('_', ' '))}</th>" for name in filled
    )
    body = "\n".join(
        f"<tr>{''.join(f'<td{kinds[name]}>{_cell(name, row[name])}</td>' for name in filled)}</tr>"
        for row in rows
    )
    table = f"<table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>"
    return f'<h2>{html_printable(title)}</h2>\n<div class="wide">{table}</div>'


def _kind(values: Iterable[Any]) -> str:
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
