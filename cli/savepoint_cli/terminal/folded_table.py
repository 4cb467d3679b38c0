"""Tables that fit a terminal: long cells are shortened, then columns are left out, with a note."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from itertools import pairwise
from os.path import commonprefix
from typing import TYPE_CHECKING

from rich.cells import cell_len, chop_cells, set_cell_size

if TYPE_CHECKING:
    from collections.abc import Sequence

_GAP = "  "
_LONGEST = 48
# A narrower column can't be read.
_SHORTEST = 10
_TELLING = 6
"""Letters of cut names behind what they share with another one, the sign of the cut included."""
_MOST_LINES = 4
"""Lines of a cell that is useless if it is cut, in the last column."""


@dataclass(frozen=True, slots=True)
class TextTable:
    """Cells of one line each.

    Columns in ``numbers`` are aligned to the right; cells of columns in ``whole`` are useless if cut.
    Those in ``telling`` are names, which stay different if cut.
    """

    names: tuple[str, ...]
    rows: Sequence[Sequence[str]]
    numbers: frozenset[int] = frozenset()
    whole: frozenset[int] = frozenset()
    telling: frozenset[int] = frozenset()

    @property
    def wrapped(self) -> int | None:
        """The last column, if its cells may have several lines."""
        last = len(self.names) - 1
        return last if last > 0 and last in self.whole else None


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
    widths = _fitting(full, _least(table, cells, full, width), width)
    shown = range(len(widths))
    rows = [_wrapped(row, table.wrapped, widths) for row in table.rows]
    lines = [
        _line(table.names, widths, table.numbers),
        _GAP.join("─" * widths[place] for place in shown),
        *(_line(row, widths, table.numbers) for parts in rows for row in parts),
    ]
    if (place := table.wrapped) is not None and place in shown:
        cells[place] = max((cell_len(part[place]) for parts in rows for part in parts), default=0)
    shortened = [table.names[place] for place in shown if widths[place] < cells[place]]
    return FoldedTable(
        tuple(line.rstrip() for line in lines), _note(shortened, table.names[len(widths) :])
    )


def _least(table: TextTable, cells: list[int], full: list[int], width: int) -> list[int]:
    """The width that each column needs to be of use."""
    least = [
        min(whole, max(cell, _SHORTEST) if place in table.numbers else _SHORTEST)
        for place, (whole, cell) in enumerate(zip(full, cells, strict=True))
    ]
    if least and 0 not in table.numbers:
        # The first column names the row.
        least[0] = max(least[0], min(full[0], _LONGEST, width // 2))
    wanted = [(place, full[place]) for place in table.whole if place != table.wrapped]
    wanted += [(place, _telling([row[place] for row in table.rows])) for place in table.telling]
    for place, letters in wanted:
        space = width - least[0] - len(_GAP) if place else _LONGEST
        least[place] = max(least[place], min(full[place], letters, space))
    return least


def _telling(names: Sequence[str]) -> int:
    """The width at which cut names still differ."""
    shared = (len(commonprefix(pair)) for pair in pairwise(sorted(set(names))))  # noqa: RUF071  # no paths
    return max(shared, default=0) + _TELLING


def _wrapped(row: Sequence[str], place: int | None, widths: list[int]) -> list[Sequence[str]]:
    """The row, and those that have the rest of its last cell."""
    if place is None or place >= len(widths) or cell_len(row[place]) <= widths[place]:
        return [row]
    lines = textwrap.wrap(row[place], widths[place], break_on_hyphens=False) or [""]
    parts = [part for line in lines for part in chop_cells(line, widths[place])]
    if len(parts) > _MOST_LINES:
        # The last line is too long, so it gets the sign of a cut.
        parts[_MOST_LINES - 1 :] = [" ".join(parts[_MOST_LINES - 1 :])]
    above = [*row[:place], parts[0]]
    return [above, *([*[""] * place, part] for part in parts[1:])]


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
