"""A report as one page of HTML that loads nothing: a verdict, facts, charts and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from savepoint_formats.printable import field_text, fields_of, html_printable
from savepoint_formats.quantities import ByteCount
from savepoint_formats.shared_names import leave_out_shared

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

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
REPORT td:first-child{min-width:14em}
REPORT .number{text-align:right}REPORT td.number{white-space:nowrap}
REPORT tbody tr{background:none}REPORT tbody tr:nth-child(even){background:var(--stripe)}
.savepoint-report summary{cursor:pointer;margin:.4em .7em}
.savepoint-report .problem{color:var(--second)}
@media (prefers-color-scheme:dark){.savepoint-report{--ink:#e4ebf2;--faint:#5d7890;--first:#6fb1ee;
--second:#f0955c;--sheet:#141a21;--stripe:#1d2731}}
""".replace("REPORT", _OF_REPORT)
_MOST_CHARTS = 3
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


def page_of(title: str, body: str) -> str:
    """A self-contained page, for a file."""
    return _PAGE.format(title=html_printable(title), body=body)


def report_html(
    title: str,
    verdict: str,
    facts: Mapping[str, str],
    tables: Iterable[tuple[str, Sequence[Any]]],
    *,
    problems: Iterable[str] = (),
    charts: Iterable[tuple[str, str]] = (),
    most: int | None = None,
) -> str:
    """The content of a page; rows of tables are records, and charts are SVG.

    A reader opens what comes behind ``most`` rows of a table, and the last of more charts than
    that. Then what all names of operators share is left out, too.
    """
    drawn = [f"<h2>{html_printable(name)}</h2>\n{svg}" for name, svg in charts]
    first = len(drawn) if most is None or len(drawn) <= most else _MOST_CHARTS
    parts = [
        f'<div class="savepoint-report"><style>{_STYLE}</style>',
        f"<h1>{html_printable(title)}</h1>",
        f'<p class="verdict">{html_printable(verdict)}</p>',
        *_facts(facts),
        *(f'<p class="problem">{html_printable(problem)}</p>' for problem in problems),
        *drawn[:first],
        *_folded("charts", drawn[first:]),
        *(_table(name, rows, most) for name, rows in tables),
        "</div>",
    ]
    return "\n".join(parts)


def _facts(facts: Mapping[str, str]) -> list[str]:
    shown = (
        f"<div><span>{html_printable(name)}</span><b>{html_printable(value)}</b></div>"
        for name, value in facts.items()
    )
    return ['<div class="facts">', *shown, "</div>"]


def _folded(what: str, parts: Sequence[str]) -> list[str]:
    if not parts:
        return []
    return [f"<details><summary>{len(parts):,} more {what}</summary>", *parts, "</details>"]


def _table(title: str, records: Sequence[Any], most: int | None) -> str:
    rows = list(map(fields_of, records))
    names = rows[0] if rows else ()
    named = {"uid", "operator", "name"}.intersection(names) if most is not None else ()
    notes = leave_out_shared(rows, [(name, name) for name in names if name in named])
    filled = [name for name in names if any(_cell(name, row[name]) for row in rows)]
    kinds = {name: _kind(row[name] for row in rows) for name in filled}
    head = "".join(
        f"<th{kinds[name]}>{html_printable(name.replace('_', ' '))}</th>" for name in filled
    )
    lines = [
        f"<tr>{''.join(f'<td{kinds[name]}>{_cell(name, row[name])}</td>' for name in filled)}</tr>"
        for row in rows
    ]
    first = len(lines) if most is None else most

    def table(lines: Sequence[str]) -> str:
        body = "\n".join(lines)
        table = f"<table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>"
        return f'<div class="wide">{table}</div>'

    rest = lines[first:]
    more = f"<details><summary>{len(rest):,} more rows</summary>{table(rest)}</details>"
    noted = "".join(f"<p>{html_printable(note)}</p>" for note in notes)
    shown = f"{noted}{table(lines[:first])}{more if rest else ''}"
    return f"<h2>{html_printable(title)}</h2>\n{shown}"


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
