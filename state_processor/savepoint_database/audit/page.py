"""The answer of ``stats`` as one page of HTML: plots and tables that load nothing."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from savepoint_database.audit.plots import plots
from savepoint_database.audit.statistics_views import statistics_tables
from savepoint_formats.errors import MissingPackageError
from savepoint_formats.printable import html_printable, identifies
from savepoint_formats.quantities import ByteCount, Share

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from savepoint_database.audit.statistics import SavepointStatistics
    from savepoint_database.snapshot.description import SavepointDescription

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


def page(report: SavepointStatistics, description: SavepointDescription) -> str:
    """A self-contained page, for a file.

    Raises:
        MissingPackageError: Matplotlib is not installed.
    """
    facts = {
        "kind": description.kind,
        "Flink": description.flink,
        "checkpoint": str(description.checkpoint_id),
        "files": ByteCount(description.size).text,
    }
    largest_first = sorted(
        description.operators,
        key=lambda operator: -(operator.keyed_size + operator.operator_size),
    )
    operators = ("Operators", largest_first)
    body = _body(report, facts, plots(report), [operators])
    return _PAGE.format(title=f"State of {html_printable(report.path)}", body=body)


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
        '<div class="facts">',
        *(
            f"<div><span>{html_printable(name)}</span><b>{html_printable(value)}</b></div>"
            for name, value in shown.items()
        ),
        "</div>",
        *(f'<p class="problem">{html_printable(problem)}</p>' for problem in report.problems),
        *(f"<h2>{html_printable(title)}</h2>\n{svg}" for title, svg in charts),
        *(_table(title, rows) for title, rows in (*more, *statistics_tables(report))),
        "</div>",
    ]
    return "\n".join(parts)


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
        case None | False | tuple():
            return ""
        case True:
            return "yes"
        case int() if name.endswith("size"):
            return f'<span title="{int(value)} bytes">{ByteCount(value).text}</span>'
        case Share():
            return value.text
        case int():
            return str(value) if identifies(name) else f"{value:,}"
        case float():
            return f"{value:.4g}"
        case _:
            return html_printable(str(value))
