"""Answers for people on a terminal, as lines with tabs or as JSON lines for programs."""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
from dataclasses import asdict, fields, is_dataclass
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import click
from rich import markup
from rich.cells import cell_len

from savepoint_cli.terminal.cells import (
    person_cell,
    person_field,
    plain_cell,
    plain_field,
    shortened,
    to_json,
)
from savepoint_cli.terminal.folded_table import TextTable, folded, vertical
from savepoint_cli.terminal.help import common_option
from savepoint_formats.printable import json_printable, printable, without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

# Lines of a table besides its rows: a title, the heading, the rule, two notes, and one between.
_FRAME_LINES = 6
_FEWEST_ROWS = 2
_LABEL_WIDTH = 8


class OutputFormat(StrEnum):
    """What an answer looks like."""

    TEXT = "text"
    JSON = "json"
    CSV = "csv"
    VERTICAL = "vertical"


class Output:
    """Prints records: frozen dataclasses of plain values, or of more such records.

    Text is a table that fits, where a terminal shows it; to a pipe or a file it is lines with tabs,
    which look the same everywhere.

    Args:
        output_format: What answers look like.
        is_whole: Whether a page is shown to its end on a terminal.
    """

    def __init__(self, output_format: OutputFormat, *, is_whole: bool = False) -> None:
        self.format = output_format
        self.is_for_people = sys.stdout.isatty() or output_format is OutputFormat.VERTICAL
        self._is_whole = is_whole or not sys.stdout.isatty()
        self._short: Mapping[str, str] = {}

    def shorten(self, names: Mapping[str, str]) -> None:
        """Shows shorter names to a person who has not asked for cells: here those of operators."""
        if self.explains:
            self._short = names

    def rows(self, title: str, records: Sequence[Any], whole: Sequence[str] = ()) -> None:
        """A table with a row per record, or a JSON line per record.

        Args:
            title: What the table is about.
            records: Dataclasses of one kind.
            whole: The fields that are of no use to a person when they are cut.
        """
        if self.format is OutputFormat.JSON:
            for record in records:
                self._print_json(record)
        else:
            self._print_records(title, records, len(records), whole)

    def page(
        self,
        record: Any,
        *nested: tuple[str, Sequence[Any]],
        digest: Sequence[tuple[str, Sequence[Any]]] = (),
    ) -> None:
        """The plain fields of a record that say something, then tables of the records in it.

        Or one JSON line. On a terminal it is one screen, unless all is asked for: tables of the
        ``digest`` stand for those that do not fit, or else their first rows.
        """
        if self.format is OutputFormat.JSON:
            self._print_json(record)
            return
        lines = self._field_lines(record)
        _echo_all(lines)
        columns = shutil.get_terminal_size().columns
        taken = sum(1 + max(0, cell_len(line) - 1) // columns for line in lines)
        shares = self._shares(nested, taken)
        is_digest = bool(digest) and shares != [len(records) for _, records in nested]
        if is_digest:
            nested, shares = (*digest,), self._shares(digest, taken + 1)
        for (title, records), share in zip(nested, shares, strict=True):
            click.echo()
            if records:
                self._print_part(title)
            self._print_records(title, records, share)
        if is_digest and shares == [len(records) for _, records in digest]:
            _echo_styled("more than one screen (--all shows it)", dim=True)

    def values(self, title: str, names: Sequence[str], rows: Iterable[dict[str, Any]]) -> int:
        """A table of rows of data, or a JSON line per row; bytes are hexadecimal.

        Programs get each row when it is there, people a table that fits all of them.

        Returns:
            How many rows there are.
        """
        if self.format is OutputFormat.JSON:
            return _echo_all(json_printable(to_json(row)) for row in rows)
        shown = tuple(printable(name, keep="") for name in names)
        if self.is_for_people and self.format is not OutputFormat.CSV:
            return self._print_values(title, names, list(rows))
        line = _csv_line if self.format is OutputFormat.CSV else "\t".join
        click.echo(line(shown))
        return _echo_all(line([plain_cell(row[name]) for name in names]) for row in rows)

    def text(self, place: dict[str, str], text: str) -> None:
        """A text to copy, or a JSON line with it in ``text``."""
        if self.format is OutputFormat.JSON:
            click.echo(json_printable(to_json({**place, "text": text})))
        else:
            click.echo(printable(text, keep="\n\t"))

    def moment(
        self, place: dict[str, Any], rows: Sequence[dict[str, Any]], problem: str = ""
    ) -> None:
        """What there was at some time: a table, or a JSON line for all ``rows``."""
        if self.format is OutputFormat.JSON:
            click.echo(json_printable(to_json({**place, "rows": rows, "problem": problem})))
            return
        title = ", ".join(str(part) for part in place.values())
        if not rows:
            click.echo(printable(f"{title}: {problem or 'none'}"))
            return
        self._print_part(title)
        self.values(title, list(rows[0]), rows)

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
                click.echo(json_printable(to_json({**place, "row": row})))
        else:
            self._print_part(title)
            self.values(title, names, rows)

    @property
    def explains(self) -> bool:
        """Whether long texts are shown as paragraphs: to a person, who has not asked for cells."""
        return self.is_for_people and self.format is OutputFormat.TEXT

    def explain(self, title: str, lines: Iterable[tuple[str, str]]) -> None:
        """A paragraph of labelled texts, folded at the edge of the terminal and never shortened."""
        click.echo()
        _echo_styled(printable(without_secrets(title)), bold=True)
        width = shutil.get_terminal_size().columns
        for label, text in lines:
            start = f"  {label:<{_LABEL_WIDTH}}"
            _echo_all(
                textwrap.wrap(
                    shortened(printable(text, keep=""), self._short),
                    max(width, 2 * len(start)),
                    initial_indent=start,
                    subsequent_indent=" " * len(start),
                    break_on_hyphens=False,
                    break_long_words=False,
                )
            )

    def note(self, text: str) -> None:
        """What is to be known besides the answer; not among the lines that programs read."""
        click.echo(printable(text), err=True)

    def _print_part(self, title: str) -> None:
        """The title of one of several tables, where programs read them."""
        if not self.is_for_people:
            click.echo(f"# {printable(without_secrets(title))}")

    def _field(self, name: str, value: Any) -> str:
        """A field of a record as it is shown."""
        if not self.is_for_people or self.format is OutputFormat.CSV:
            return plain_field(value)
        return shortened(person_field(value, name), self._short)

    def _field_lines(self, record: Any) -> list[str]:
        """A line for each plain field that says something."""
        cells = {
            name.replace("_", " "): self._field(name, getattr(record, name))
            for name in _plain_fields([record])
        }
        said = {label: cell for label, cell in cells.items() if cell}
        width = max(map(len, said), default=0)
        return [
            f"{label:<{width}}  {cell}" if self.is_for_people else f"{label}\t{cell}"
            for label, cell in said.items()
        ]

    def _shares(self, tables: Sequence[tuple[str, Sequence[Any]]], taken: int) -> list[int]:
        """How many rows of each table fit on the screen, below as many lines as are taken."""
        counts = [len(records) for _, records in tables]
        if self._is_whole or self.format is not OutputFormat.TEXT:
            return counts
        space = shutil.get_terminal_size().lines - taken - _FRAME_LINES * len(counts) - 1
        shares = [0] * len(counts)
        # Small tables are shown as a whole; what they leave is for the large ones.
        for order, place in enumerate(sorted(range(len(counts)), key=counts.__getitem__)):
            fair = max(_FEWEST_ROWS, space // (len(counts) - order))
            shares[place] = min(counts[place], fair)
            space -= shares[place]
        return shares

    def _print_json(self, record: Any) -> None:
        click.echo(json_printable(json.dumps(asdict(record), ensure_ascii=False)))

    def _print_records(
        self, title: str, records: Sequence[Any], share: int, whole: Sequence[str] = ()
    ) -> None:
        if not records:
            click.echo(printable(without_secrets(f"{title}: none")))
            return
        names = [
            name
            for name in _plain_fields(records)
            if not self.is_for_people
            or any(self._field(name, getattr(record, name)) for record in records)
        ]
        cells = [
            [self._field(name, getattr(record, name)) for name in names]
            for record in records[:share]
        ]
        if self.explains and names[:1] == ["operator"]:
            _leave_out_repeated(cells)
        numbers = (
            place
            for place, name in enumerate(names)
            if any(_is_number(getattr(record, name)) for record in records)
        )
        headings = (name.replace("_", " ") for name in names)
        kept = frozenset(names.index(name) for name in whole if name in names)
        self._print_table(title, TextTable(tuple(headings), cells, frozenset(numbers), kept))
        if share < len(records):
            click.echo(f"… {len(records) - share:,} more (--all shows them)")

    def _print_values(
        self, title: str, names: Sequence[str], rows: Sequence[dict[str, Any]]
    ) -> int:
        cells = [[person_cell(row[name]) for name in names] for row in rows]
        numbers = (
            place for place, name in enumerate(names) if any(_is_number(row[name]) for row in rows)
        )
        shown = tuple(printable(name, keep="") for name in names)
        self._print_table(title, TextTable(shown, cells, frozenset(numbers)))
        return len(rows)

    def _print_table(self, title: str, table: TextTable) -> None:
        if self.format is OutputFormat.CSV:
            _echo_all(map(_csv_line, (table.names, *table.rows)))
            return
        if title and self.is_for_people:
            _echo_styled(shortened(printable(without_secrets(title)), self._short), bold=True)
        if self.format is OutputFormat.VERTICAL:
            _echo_all(vertical(table))
        elif self.is_for_people:
            self._print_folded(table)
        else:
            _echo_all("\t".join(row) for row in (table.names, *table.rows))

    def _print_folded(self, table: TextTable) -> None:
        narrow = folded(table, shutil.get_terminal_size().columns)
        _echo_styled(narrow.lines[0], bold=True)
        _echo_all(narrow.lines[1:])
        if narrow.note:
            _echo_styled(narrow.note, dim=True)


def output_option(command: Callable[..., None]) -> Callable[..., None]:
    """The options that say how an answer is shown; the command gets an ``Output``."""
    for decorate in (
        common_option(
            "--output",
            metavar="FORMAT",
            type=click.Choice([form.value for form in OutputFormat]),
            default=OutputFormat.TEXT.value,
            show_default=True,
            callback=_output,
            help="How the answer is shown: text (tables for people, lines with tabs in a pipe), json"
            " (lines), csv, or vertical (a line per cell).",
        ),
        _flag("--vertical", "Show each cell on a line of its own; the same as --output vertical."),
        _flag("--all", "Show all of a page on a terminal, more than one screen."),
    ):
        command = decorate(command)
    return command


def _flag(name: str, text: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return common_option(
        name, is_flag=True, is_eager=True, expose_value=False, callback=_noted, help=text
    )


def _noted(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    context.meta[f"savepoint_cli.{parameter.name}"] = value


def _output(context: click.Context, _parameter: click.Parameter, value: str) -> Output:
    is_vertical = context.meta.get("savepoint_cli.vertical", False)
    form = OutputFormat.VERTICAL if is_vertical else OutputFormat(value)
    return Output(form, is_whole=context.meta.get("savepoint_cli.all", False))


def escape(text: str, keep: str = "") -> str:
    """The text as it is: no markup to ``rich``, no command to a terminal."""
    return markup.escape(printable(text, keep=keep))


def _echo_all(lines: Iterable[str]) -> int:
    """Prints each line when it is there; gives their number."""
    count = 0
    for line in lines:
        click.echo(line)
        count += 1
    return count


def _echo_styled(text: str, *, bold: bool = False, dim: bool = False) -> None:
    """A line in another weight, unless the user wants none: https://no-color.org."""
    is_plain = bool(os.environ.get("NO_COLOR"))
    click.echo(text if is_plain else click.style(text, bold=bold or None, dim=dim or None))


def _csv_line(cells: Sequence[str]) -> str:
    quoted = (
        '"' + cell.replace('"', '""') + '"' if any(mark in cell for mark in ',"\n\r') else cell
        for cell in cells
    )
    return ",".join(quoted)


def _leave_out_repeated(rows: list[list[str]]) -> None:
    """Leaves the first cell of a row out if it is that of the row above: they are a group."""
    above = ""
    for row in rows:
        row[0], above = "" if row[0] == above else row[0], row[0]


def _plain_fields(records: Sequence[Any]) -> Iterable[str]:
    """The names of the fields that hold no records, of any of these."""
    for field in fields(records[0]):
        values = [getattr(record, field.name) for record in records]
        inner = (item for value in values if isinstance(value, tuple) for item in value)
        if not any(map(is_dataclass, (*inner, *values))) and not _is_of_records(field.type):
            yield field.name


def _is_of_records(declared: object) -> bool:
    """Whether a field is for records, of which there may be none: a tuple of no plain values."""
    text = str(declared)
    return text.startswith("tuple[") and not text.startswith(("tuple[str", "tuple[int"))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)
