"""Tables that fit a terminal: long cells are shortened, then columns are left out, with a note."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size

if TYPE_CHECKING:
    from collections.abc import Sequence

_GAP = "  "
_LONGEST = 48
# A narrower column can't be read.
_SHORTEST = 10


@dataclass(frozen=True, slots=True)
class TextTable:
    """Cells of one line each.

    Columns in ``numbers`` are aligned to the right; cells of columns in ``whole`` are useless if cut.
    """

    names: tuple[str, ...]
    rows: Sequence[Sequence[str]]
    numbers: frozenset[int] = frozenset()
    whole: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class FoldedTable:
    """The lines of a table, with a heading of two lines, and a note on omissions."""

    lines: tuple[str, ...]
    note: str


def folded(table: TextTable, width: int) -> FoldedTable:
    """Fits the table into a terminal; columns on the left stay longest, and numbers stay whole."""
    cells = [
        max((cell_len(row[place]) for row in table.rows), default=0)
        for place in range(len(table.names))
    ]
    full = [max(cell_len(name), cell) for name, cell in zip(table.names, cells, strict=True)]
    least = [
        min(whole, max(cell, _SHORTEST) if place in table.numbers else _SHORTEST)
        for place, (whole, cell) in enumerate(zip(full, cells, strict=True))
    ]
    if least and 0 not in table.numbers:
        # The first column names the row.
        least[0] = max(least[0], min(full[0], _LONGEST, width // 2))
    for place in table.whole:
        least[place] = max(least[place], min(full[place], width - least[0] - len(_GAP)))
    widths = _fitting(full, least, width)
    shown = range(len(widths))
    lines = [
        _line(table.names, widths, table.numbers),
        _GAP.join("─" * widths[place] for place in shown),
        *(_line(row, widths, table.numbers) for row in table.rows),
    ]
    shortened = [table.names[place] for place in shown if widths[place] < cells[place]]
    return FoldedTable(
        tuple(line.rstrip() for line in lines), _note(shortened, table.names[len(widths) :])
    )


def _fitting(full: list[int], least: list[int], width: int) -> list[int]:
    if _total(full) <= width:
        return full
    widths = [max(small, min(wanted, _LONGEST)) for wanted, small in zip(full, least, strict=True)]
    for place in reversed(range(len(widths))):
        excess = max(0, _total(widths) - width)
        widths[place] = max(least[place], widths[place] - excess)
    while len(widths) > 1 and _total(widths) > width:
        widths.pop()
    return _grown(widths, full, width)


def _grown(widths: list[int], full: list[int], width: int) -> list[int]:
    """The widths, after spare space went to columns that need it, from the left."""
    grown: list[int] = []
    spare = width - _total(widths)
    for have, want in zip(widths, full, strict=False):
        more = max(0, min(spare, want - have))
        grown.append(min(have + more, width))
        spare -= more
    return grown


def _total(widths: list[int]) -> int:
    return sum(widths) + len(_GAP) * max(0, len(widths) - 1)


def _line(cells: Sequence[str], widths: list[int], numbers: frozenset[int]) -> str:
    placed = zip(cells, widths, strict=False)
    return _GAP.join(
        _sized(cell, width, is_right=place in numbers) for place, (cell, width) in enumerate(placed)
    )


def _sized(cell: str, width: int, *, is_right: bool) -> str:
    length = cell_len(cell)
    if length > width:
        return set_cell_size(cell, width - 1) + "…"
    padding = " " * (width - length)
    return padding + cell if is_right else cell + padding


def _note(shortened: Sequence[str], left_out: Sequence[str]) -> str:
    parts = []
    if left_out:
        parts.append(f"{_columns(left_out)} left out: {', '.join(left_out)}")
    if shortened:
        parts.append(f"{_columns(shortened)} shortened: {', '.join(shortened)}")
    return f"{'; '.join(parts)} (--vertical shows all)" if parts else ""


def _columns(names: Sequence[str]) -> str:
    return f"{len(names)} column{'s' if len(names) > 1 else ''}"


def vertical(table: TextTable) -> list[str]:
    """A line per cell, row by row, without shortening."""
    width = max(map(cell_len, table.names), default=0)
    lines = []
    for number, row in enumerate(table.rows, 1):
        lines.append(f"─── row {number:,} " + "─" * 20)
        lines += [
            f"{set_cell_size(name, width)}  {cell}"
            for name, cell in zip(table.names, row, strict=True)
        ]
    return lines
