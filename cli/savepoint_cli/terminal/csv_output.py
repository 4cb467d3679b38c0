"""Answers as CSV alone: one table, without titles, and all remarks on stderr."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

import click

from savepoint_cli.terminal.cells import plain_cell, plain_field, to_json
from savepoint_cli.terminal.output import Output, OutputFormat
from savepoint_formats.printable import fields_of, json_printable, printable, without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from savepoint_cli.terminal.folded_table import TextTable


class CsvOutput(Output):
    """Prints the first table of an answer; ``--output json`` has all of it."""

    def __init__(self) -> None:
        super().__init__(OutputFormat.CSV, is_whole=True)
        self.is_for_people = False
        self._names: tuple[str, ...] | None = None

    def page(
        self,
        record: Any,
        *nested: tuple[str, Sequence[Any]],
        digest: Sequence[tuple[str, Sequence[Any]]] = (),  # noqa: ARG002  # all is printed
    ) -> None:
        """Prints the first table that has rows; the plain fields if there is no table."""
        if not nested:
            facts = {name: plain_field(value) for name, value in fields_of(record).items()}
            self._lines(("field", "value"), facts.items())
            return
        (title, records), *others = [table for table in nested if table[1]] or nested[:1]
        self._print_records(title, records, len(records))
        if others:
            names = ", ".join(name for name, _ in others)
            self.note(f"CSV has one table; --output json has these, too: {names}")

    def values(self, title: str, names: Sequence[str], rows: Iterable[dict[str, Any]]) -> int:
        """Prints a line per row; returns their number."""
        del title
        return self._lines(names, ([plain_cell(row[name]) for name in names] for row in rows))

    def moment(
        self, place: dict[str, Any], rows: Sequence[dict[str, Any]], problem: str = ""
    ) -> None:
        """Prints the rows of one point in time, with its place in front."""
        where = [plain_field(part) for part in place.values()]
        for row in rows:
            self._lines((*place, *row), [[*where, *map(plain_cell, row.values())]])
        if problem:
            self.note(f"{', '.join(where)}: {problem}")

    def placed_values(
        self,
        title: str,
        place: dict[str, str],
        names: Sequence[str],
        rows: Sequence[dict[str, Any]],
    ) -> None:
        """Prints a line per row: the place, and the row as JSON, since tables have other columns."""
        del title, names
        where = [plain_field(part) for part in place.values()]
        lines = ([*where, json_printable(to_json(row))] for row in rows)
        self._lines((*place, "row"), lines)

    def _print_records(
        self, title: str, records: Sequence[Any], limit: int, whole: Sequence[str] = ()
    ) -> None:
        if records:
            super()._print_records(title, records, limit, whole)
        else:
            self.note(without_secrets(f"{title}: none"))

    def _print_heading(self, title: str) -> None:
        """CSV has no titles."""

    def _print_table(self, title: str, table: TextTable) -> None:
        del title
        self._lines(table.names, table.rows)

    def _lines(self, names: Iterable[str], rows: Iterable[Iterable[str]]) -> int:
        """Prints the names, unless the lines before had the same, and the rows."""
        shown = tuple(printable(name, keep="") for name in names)
        if self._names != shown:
            self._names = shown
            click.echo(_csv_line(shown))
        count = 0
        for row in rows:
            click.echo(_csv_line(row))
            count += 1
        return count


def _csv_line(cells: Iterable[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(cells)
    return line.getvalue()
