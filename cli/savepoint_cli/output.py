"""Answers as tables for people or as JSON lines for programs."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, fields, is_dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from rich import markup
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from savepoint_formats.printable import json_printable, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


# What a value of a table may have, as a cell has lines of its own.
_OF_VALUES = "\n\t"

# What a pipe or a file gets, where no terminal says how wide it is.
PIPED_WIDTH = 160


class OutputFormat(StrEnum):
    """What an answer looks like."""

    TEXT = "text"
    JSON = "json"


class Output:
    """Prints records: frozen dataclasses of plain values, or of more such records."""

    def __init__(self, output_format: OutputFormat) -> None:
        self.format = output_format
        self._console = Console(highlight=False)
        if not self._console.is_terminal:
            self._console.width = PIPED_WIDTH

    def rows(self, title: str, records: Sequence[Any]) -> None:
        """A table with a row per record, or a JSON line per record."""
        if self.format is OutputFormat.JSON:
            for record in records:
                self._print_json(record)
        else:
            self._print_table(title, records)

    def page(self, record: Any, *nested: tuple[str, Sequence[Any]]) -> None:
        """The plain fields of a record that say something, then tables of the records in it.

        Or one JSON line.
        """
        if self.format is OutputFormat.JSON:
            self._print_json(record)
            return
        grid = Table.grid(padding=(0, 2))
        for name in filter(lambda name: _is_told(name, [record]), _plain_fields([record])):
            grid.add_row(name.replace("_", " "), _cell(name, getattr(record, name)))
        self._console.print(grid)
        for title, records in nested:
            self._print_table(title, records)

    def values(self, title: str, names: Sequence[str], rows: Sequence[dict[str, Any]]) -> None:
        """A table of rows of data, or a JSON line per row; bytes are hexadecimal."""
        if self.format is OutputFormat.JSON:
            for row in rows:
                print(json_printable(_json(row)))
            return
        table = self._table(title)
        for name in names:
            is_number = any(isinstance(row[name], int | float) for row in rows)
            table.add_column(
                escape(name), justify="right" if is_number else "left", overflow="fold"
            )
        for row in rows:
            table.add_row(*(escape(_shown(row[name]), keep=_OF_VALUES) for name in names))
        self._console.print(table)

    def text(self, place: dict[str, str], text: str) -> None:
        """A text to copy, or a JSON line with it in ``text``."""
        if self.format is OutputFormat.JSON:
            print(json_printable(_json({**place, "text": text})))
        else:
            print(printable(text, keep=_OF_VALUES))

    def moment(
        self, place: dict[str, Any], rows: Sequence[dict[str, Any]], problem: str = ""
    ) -> None:
        """What there was at some time: a table, or a JSON line for all ``rows``."""
        if self.format is OutputFormat.JSON:
            print(json_printable(_json({**place, "rows": rows, "problem": problem})))
            return
        title = ", ".join(str(one) for one in place.values())
        if rows:
            self.values(title, list(rows[0]), rows)
        else:
            self._console.print(escape(f"{title}: {problem or 'none'}"))

    def placed_values(
        self,
        title: str,
        place: dict[str, str],
        names: Sequence[str],
        rows: Sequence[dict[str, Any]],
    ) -> None:
        """Rows of one of several tables; a JSON line tells the place, and has them in ``row``."""
        if self.format is OutputFormat.JSON:
            for row in rows:
                print(json_printable(_json({**place, "row": row})))
        else:
            self.values(title, names, rows)

    def _table(self, title: str) -> Table:
        heading = escape(title) or None
        return Table(title=heading, title_justify="left", title_style="bold", box=SIMPLE)

    def _print_json(self, record: Any) -> None:
        print(json_printable(json.dumps(asdict(record), ensure_ascii=False)))

    def _print_table(self, title: str, records: Sequence[Any]) -> None:
        if not records:
            self._console.print(escape(f"{title}: none"))
            return
        table = self._table(title)
        names = [name for name in _plain_fields(records) if _is_told(name, records)]
        for name in names:
            is_number = any(isinstance(getattr(one, name), int | float) for one in records)
            heading = name.replace("_", " ")
            table.add_column(heading, justify="right" if is_number else "left", overflow="fold")
        for record in records:
            table.add_row(*(_cell(name, getattr(record, name)) for name in names))
        self._console.print(table)


def escape(text: str, keep: str = "") -> str:
    """The text as it is: no markup to ``rich``, no command to a terminal."""
    return markup.escape(printable(text, keep=keep))


def _plain_fields(records: Sequence[Any]) -> Iterable[str]:
    """The names of the fields that hold no records."""
    for field in fields(records[0]):
        values = (getattr(record, field.name) for record in records)
        tuples = (value for value in values if isinstance(value, tuple))
        if not any(is_dataclass(one) for value in tuples for one in value):
            yield field.name


def _is_told(name: str, records: Sequence[Any]) -> bool:
    """Whether a column says anything at all."""
    return any(_cell(name, getattr(record, name)) for record in records)


def _cell(name: str, value: Any) -> str:
    """How people see a value."""
    match value:
        case None | False:
            return ""
        case True:
            return "yes"
        case tuple():
            return "\n".join(escape(str(element)) for element in value)
        case int() if name.endswith("size"):
            return f"{value:,}"
        case float():
            return f"{value:.4g}"
        case _:
            return escape(str(value))


def _shown(value: Any) -> str:
    """How people see a value of a table."""
    match value:
        case None:
            return "null"
        case str():
            return value
        case bytes():
            return value.hex()
        case _:
            return _json(value)


def _json(value: Any) -> str:
    return json.dumps(_plain(value), ensure_ascii=False, allow_nan=False, default=_text)


def _plain(value: Any) -> Any:
    """The value with texts for the numbers that JSON has not: ``NaN`` and ``Infinity``."""
    match value:
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case dict():
            return {name: _plain(element) for name, element in value.items()}
        case list() | tuple():
            return [_plain(element) for element in value]
        case _:
            return value


def _text(value: Any) -> str:
    """What JSON has no word for."""
    return value.hex() if isinstance(value, bytes) else str(value)
