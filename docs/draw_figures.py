"""Draws the plots of ``docs/performance.md`` from its tables: python docs/draw_figures.py.

The page is the only place of the figures. Who measures anew changes its tables, and runs this.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape
from pathlib import Path

PAGE = Path(__file__).with_name("performance.md")
PICTURES = Path(__file__).with_name("pictures")

# Colours that can be read on light and on dark ground.
_COLOURS = ("#3f83c5", "#d2792f", "#5a9e6f")
_INK = "#7d8894"
_WIDTH, _LABELS, _BAR, _GAP, _TOP = 790, 320, 15, 9, 30


@dataclass(frozen=True, slots=True)
class Plot:
    """Bars of some columns of a table.

    Attributes:
        name: Of the file.
        heading: The table is the first one below it.
        labels: The columns that say what a row is.
        values: The columns whose numbers are drawn, a bar each.
        unit: What the numbers are of.
    """

    name: str
    heading: str
    labels: tuple[str, ...]
    values: tuple[str, ...]
    unit: str


PLOTS = (
    Plot("reading", "Reading into Arrow", ("savepoint", "keys"), ("M keys/s",), "million keys/s"),
    Plot(
        *("writing", "Writing and rescaling, beside Flink", ("what",)),
        *(("ours s", "Flink s"), "seconds"),
    ),
    Plot(
        *("scale", "More and more keys", ("savepoint", "keys", "what")),
        *(("seconds of CPU",), "seconds of CPU"),
    ),
    Plot(
        *("commands", "Commands as whole processes", ("process",)),
        *(("canonical, cold", "RocksDB, cold"), "seconds of CPU"),
    ),
    Plot("checks", "Stats, verify and diff", ("what",), ("CPU seconds",), "seconds of CPU"),
    Plot("backlog", "A backlog, then a stream", ("way",), ("seconds",), "seconds"),
    Plot(
        *("value-state", "Value state of a function", ("backend",), ("add", "get", "update")),
        "accesses per ms of CPU",
    ),
    Plot("local-aggregation", "Local aggregation", ("words", "way"), ("seconds",), "seconds"),
    Plot(
        *("word-count", "Counting words", ("records", "keys", "backend"), ("rows/s of CPU",)),
        "rows per second of CPU",
    ),
)


def table_below(heading: str, page: str) -> list[dict[str, str]]:
    """The rows of the first table below a heading, by the names of its columns."""
    _, _, behind = page.partition(f"## {heading}\n")
    found = re.search(r"^\|.*(?:\n\|.*)+", behind, re.MULTILINE)
    if found is None:
        raise KeyError(f"no table below {heading!r}")
    names, _, *rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in found[0].split("\n")
    ]
    return [dict(zip(names, row, strict=True)) for row in rows]


def number(cell: str) -> str | None:
    """The number that a cell begins with, if it holds but this and a remark in brackets."""
    match = re.fullmatch(r"([\d,]+(?:\.\d+)?)(?: \([\d.]+\))?", cell)
    return match[1] if match else None


def picture(plot: Plot, page: str) -> str:
    """The SVG of a plot."""
    bars = [
        (", ".join(row[name] for name in plot.labels).replace("`", ""), numbers)
        for row in table_below(plot.heading, page)
        if all(numbers := [number(row[name]) or "" for name in plot.values])
    ]
    longest = max(_value(number) for _, numbers in bars for number in numbers)
    parts, top = _legend(plot), _TOP
    for label, numbers in bars:
        middle = top + len(numbers) * _BAR / 2 + 4
        parts.append(_text(label, _LABELS - 10, middle, "end"))
        for place, text in enumerate(numbers):
            length = _value(text) / longest * (_WIDTH - _LABELS - 80)
            parts.append(_rectangle(_LABELS, top, length, _BAR - 2, _COLOURS[place]))
            parts.append(_text(text, _LABELS + length + 6, top + _BAR - 4, "start"))
            top += _BAR
        top += _GAP
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {top}" role="img"'
        f' aria-label="{escape(f"{plot.heading}: {plot.unit}")}" font-family="system-ui,sans-serif"'
        f' font-size="12" fill="{_INK}">\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _value(text: str) -> float:
    return float(text.replace(",", ""))


def _legend(plot: Plot) -> list[str]:
    """Names of the bars, and of their colours if there are several."""
    parts, left = [_text(plot.unit, _LABELS, 14, "start")], 10.0
    for colour, name in zip(_COLOURS, plot.values if len(plot.values) > 1 else (), strict=False):
        parts.append(_rectangle(left, 5, 10, 10, colour))
        parts.append(_text(name, left + 15, 14, "start"))
        left += 32 + 6.3 * len(name)
    return parts


def _rectangle(x: float, y: float, width: float, height: float, colour: str) -> str:
    size = f'width="{width:.1f}" height="{height}"'
    return f'<rect x="{x:.1f}" y="{y}" {size} rx="2" fill="{colour}"/>'


def _text(text: str, x: float, y: float, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def pictures() -> dict[str, str]:
    """The name of each file, and what is in it."""
    page = PAGE.read_text(encoding="utf-8")
    return {f"{plot.name}.svg": picture(plot, page) for plot in PLOTS}


if __name__ == "__main__":
    for file, text in pictures().items():
        (PICTURES / file).write_text(text, encoding="utf-8")
