"""Answers for people on a terminal, and for programs as lines with tabs or JSON.

``csv_output`` has CSV, ``markdown_output`` Markdown.
"""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from dataclasses import asdict, is_dataclass
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import click
from rich.cells import cell_len

from savepoint_cli.terminal.cells import (
    person_cell,
    person_field,
    plain_cell,
    plain_field,
    plain_fields,
    shortened,
    to_json,
)
from savepoint_cli.terminal.folded_table import TextTable, folded, vertical
from savepoint_cli.terminal.help import common_option
from savepoint_formats.lazy_modules import LazyModule
from savepoint_formats.printable import (
    fields_of,
    is_of_records,
    json_printable,
    printable,
    without_secrets,
)
from savepoint_formats.shared_names import NAMES, leave_out_shared

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from rich import markup
else:
    markup = LazyModule("rich.markup")

# Lines of a table besides its rows: a title, the heading, the rule, two notes, an empty line.
_OTHER_LINES = 6
_FEWEST_ROWS = 2
_PART = 1 << 20
_LABEL_WIDTH = 8


class OutputFormat(StrEnum):
    """The format of an answer."""

    TEXT = "text"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"
    VERTICAL = "vertical"


class Output:
    """Prints records: frozen dataclasses or dicts of plain values, or of more such records.

    Text is a table that fits a terminal; in a pipe or a file it is lines with tabs. A terminal shows
    one screen of a page, unless ``is_whole``.
    """

    def __init__(self, output_format: OutputFormat, *, is_whole: bool = False) -> None:
        self.format = output_format
        self.is_for_people = sys.stdout.isatty() or output_format is OutputFormat.VERTICAL
        self._is_whole = is_whole or not sys.stdout.isatty()
        self._short: Mapping[str, str] = {}

    def shorten(self, names: Mapping[str, str]) -> None:
        """Shows short names of operators, unless cells are wanted as they are."""
        if self.explains:
            self._short = names

    def rows(self, title: str, records: Sequence[Any], whole: Sequence[str] = ()) -> None:
        """Prints a row, or a JSON line, per record; fields in ``whole`` are useless if they are cut."""
        if self.format is OutputFormat.JSON:
            for record in records:
                _echo_json(_plain(record))
        else:
            self._print_records(title, records, len(records), whole)

    def page(
        self,
        record: Any,
        *nested: tuple[str, Sequence[Any]],
        digest: Sequence[tuple[str, Sequence[Any]]] = (),
    ) -> None:
        """Prints the plain fields of a record that aren't empty, then tables of records in it.

        As JSON it is one line. On a terminal it is one screen, unless all is wanted: tables of
        ``digest`` replace tables that don't fit; without a digest, their first rows are shown.
        """
        if self.format is OutputFormat.JSON:
            _echo_json(_plain(record))
            return
        lines = self._field_lines(record)
        _echo_all(lines)
        columns = shutil.get_terminal_size().columns
        taken = sum(1 + max(0, cell_len(line) - 1) // columns for line in lines)
        limits = self._row_limits(nested, taken)
        is_digest = bool(digest) and limits != [len(records) for _, records in nested]
        if is_digest:
            nested, limits = (*digest,), self._row_limits(digest, taken + 1)
        for (title, records), limit in zip(nested, limits, strict=True):
            click.echo()
            if records:
                self._print_heading(title)
            self._print_records(title, records, limit)
        if is_digest and limits == [len(records) for _, records in digest]:
            _echo_styled("more than one screen (--all shows it)", dim=True)

    def values(self, title: str, names: Sequence[str], rows: Iterable[dict[str, Any]]) -> int:
        """Prints rows of data, and returns their number; bytes are hexadecimal.

        Programs get each row as soon as it is there, people a table that fits all rows.
        """
        if self.format is OutputFormat.JSON:
            return _echo_all(json_printable(to_json(row)) for row in rows)
        shown = tuple(printable(name, keep="") for name in names)
        if self.is_for_people:
            all_rows = list(rows)
            cells = [[person_cell(row[name]) for name in names] for row in all_rows]
            numbers = _numbers([row[name] for row in all_rows] for name in names)
            self._print_table(title, TextTable(shown, cells, numbers))
            return len(all_rows)
        click.echo("\t".join(shown))
        return _echo_all("\t".join(plain_cell(row[name]) for name in names) for row in rows)

    def text(self, place: dict[str, str], text: str) -> None:
        """Prints a text to copy, or a JSON line with it in ``text``."""
        if self.format is OutputFormat.JSON:
            _echo_json({**place, "text": text})
        else:
            click.echo(printable(text, keep="\n\t"))

    def moment(
        self, place: dict[str, Any], rows: Sequence[dict[str, Any]], problem: str = ""
    ) -> None:
        """Prints the rows of one point in time: a table, or one JSON line."""
        if self.format is OutputFormat.JSON:
            _echo_json({**place, "rows": rows, "problem": problem})
            return
        title = ", ".join(str(part) for part in place.values())
        if not rows:
            click.echo(printable(f"{title}: {problem or 'none'}"))
            return
        self._print_heading(title)
        self.values(title, list(rows[0]), rows)

    def placed_values(
        self,
        title: str,
        place: dict[str, str],
        names: Sequence[str],
        rows: Sequence[dict[str, Any]],
    ) -> None:
        """Prints rows of one of several tables; a JSON line has the place, and the row in ``row``."""
        if self.format is OutputFormat.JSON:
            for row in rows:
                _echo_json({**place, "row": row})
        else:
            self._print_heading(title)
            self.values(title, names, rows)

    @property
    def is_json(self) -> bool:
        """Whether the answer is for programs, as JSON."""
        return self.format is OutputFormat.JSON

    def json(self, value: dict[str, Any]) -> None:
        """Prints one JSON object."""
        _echo_json(value)

    @property
    def explains(self) -> bool:
        """Whether long texts are shown as paragraphs, to a person who doesn't want cells."""
        return self.is_for_people and self.format is OutputFormat.TEXT

    def explain(self, title: str, lines: Iterable[tuple[str, str]]) -> None:
        """Prints a paragraph of labelled texts, folded at the edge of the terminal."""
        click.echo()
        _echo_styled(printable(without_secrets(title)), bold=True)
        width = shutil.get_terminal_size().columns
        lines = list(lines)
        label_width = max([_LABEL_WIDTH, *(cell_len(label) + 1 for label, _ in lines)])
        for label, text in lines:
            start = f"  {label:<{label_width}}"
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
        """Prints a remark to stderr, so that programs don't read it as an answer."""
        click.echo(printable(text), err=True)

    def _print_heading(self, title: str) -> None:
        """Prints the title of one of several tables for programs."""
        if not self.is_for_people:
            click.echo(f"# {printable(without_secrets(title))}")

    def _field(self, name: str, value: Any) -> str:
        if not self.is_for_people:
            return plain_field(value)
        return shortened(person_field(value, name), self._short)

    def _field_lines(self, record: Any) -> list[str]:
        """A line per plain field that is not empty."""
        values = fields_of(record)
        cells = {
            name.replace("_", " "): self._field(name, values[name])
            for name in plain_fields([record])
        }
        said = {label: cell for label, cell in cells.items() if cell}
        width = max(map(len, said), default=0)
        return [
            f"{label:<{width}}  {cell}" if self.is_for_people else f"{label}\t{cell}"
            for label, cell in said.items()
        ]

    def _row_limits(self, tables: Sequence[tuple[str, Sequence[Any]]], taken: int) -> list[int]:
        """The number of rows of each table that fit on the screen below ``taken`` lines."""
        counts = [len(records) for _, records in tables]
        if self._is_whole or self.format is not OutputFormat.TEXT:
            return counts
        space = shutil.get_terminal_size().lines - taken - _OTHER_LINES * len(counts) - 1
        limits = [0] * len(counts)
        # Small tables are shown as a whole; large ones get the rest of the space.
        for order, place in enumerate(sorted(range(len(counts)), key=counts.__getitem__)):
            fair = max(_FEWEST_ROWS, space // (len(counts) - order))
            limits[place] = min(counts[place], fair)
            space -= limits[place]
        return limits

    def _print_records(
        self, title: str, records: Sequence[Any], limit: int, whole: Sequence[str] = ()
    ) -> None:
        if not records:
            click.echo(printable(without_secrets(f"{title}: none")))
            return
        rows = list(map(fields_of, records))
        names = [
            name
            for name in plain_fields(records)
            if not self.is_for_people or any(self._field(name, row[name]) for row in rows)
        ]
        cells = [[self._field(name, row[name]) for name in names] for row in rows[:limit]]
        notes = self._leave_out_shared(names, cells, rows)
        if self.explains and names[:1] == ["operator"]:
            _leave_out_repeated(cells)
        numbers = _numbers([row[name] for row in rows] for name in names)
        headings = (name.replace("_", " ") for name in names)
        uncut = frozenset(names.index(name) for name in whole if name in names)
        telling = frozenset(names.index(name) for name in (*NAMES, "state") if name in names)
        self._print_table(title, TextTable(tuple(headings), cells, numbers, uncut, telling))
        for note in notes:
            _echo_styled(note, dim=True)
        if limit < len(records):
            click.echo(f"… {len(records) - limit:,} more (--all shows them)")

    def _leave_out_shared(
        self, names: Sequence[str], cells: list[list[str]], rows: Sequence[Mapping[str, Any]]
    ) -> list[str]:
        """Shortens operators and tables in ``cells`` if these don't fit; returns notes on it."""
        widths = [max(map(cell_len, column)) + 2 for column in zip(*cells, strict=True)]
        if not self.explains or sum(widths) <= shutil.get_terminal_size().columns:
            return []
        columns = [pair for pair in enumerate(names) if pair[1] in NAMES]
        return leave_out_shared(
            cells, columns, lambda column: (self._field(column, row[column]) for row in rows)
        )

    def _print_table(self, title: str, table: TextTable) -> None:
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
    """The options that choose the format of an answer; the command gets an ``Output``."""
    for decorate in (
        common_option(
            "--output",
            metavar="FORMAT",
            type=click.Choice([form.value for form in OutputFormat]),
            default=OutputFormat.TEXT.value,
            show_default=True,
            callback=_output,
            help="The form of the answer: text (tables for people, lines with tabs in a pipe), json"
            " (lines), csv, markdown, or vertical (a line per cell).",
        ),
        _flag("--vertical", "Show each cell on a line of its own; the same as --output vertical."),
        _flag("--all", "Show the whole page, even if it is longer than the terminal."),
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
    if form is OutputFormat.CSV:
        from savepoint_cli.terminal.csv_output import CsvOutput  # noqa: PLC0415  # it extends Output

        return CsvOutput()
    if form is OutputFormat.MARKDOWN:
        from savepoint_cli.terminal.markdown_output import MarkdownOutput  # noqa: PLC0415  # likewise

        return MarkdownOutput()
    return Output(form, is_whole=context.meta.get("savepoint_cli.all", False))


def escape(text: str, keep: str = "") -> str:
    """The text without ``rich`` markup and without terminal commands."""
    return markup.escape(printable(text, keep=keep))


def _echo_json(value: dict[str, Any]) -> None:
    click.echo(json_printable(to_json(value)))


def _echo_all(lines: Iterable[str]) -> int:
    """Prints each line as soon as it exists; returns the number of lines."""
    count = 0
    for line in lines:
        # As a whole, a line is copied three times.
        for start in range(0, len(line), _PART):
            click.echo(line[start : start + _PART], nl=False)
        click.echo()
        count += 1
    return count


def _echo_styled(text: str, *, bold: bool = False, dim: bool = False) -> None:
    """Prints a styled line, or a plain one for users without colour: https://no-color.org."""
    is_plain = bool(os.environ.get("NO_COLOR"))
    click.echo(text if is_plain else click.style(text, bold=bold or None, dim=dim or None))


def _leave_out_repeated(rows: list[list[str]]) -> None:
    """Empties the first cell of a row if it is the same as above: the rows are a group."""
    above = ""
    for row in rows:
        row[0], above = "" if row[0] == above else row[0], row[0]


def _plain(record: Any) -> dict[str, Any]:
    """A record, and those in it, as dicts."""
    if is_dataclass(record) and not isinstance(record, type):
        return asdict(record)
    fields_in = fields_of(record).items()
    return {name: list(map(_plain, it)) if is_of_records(it) else it for name, it in fields_in}


def _numbers(columns: Iterable[Sequence[Any]]) -> frozenset[int]:
    return frozenset(index for index, values in enumerate(columns) if any(map(_is_number, values)))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)
