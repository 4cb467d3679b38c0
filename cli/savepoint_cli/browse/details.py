"""A page with all values of a row, or all state of a key."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Footer, RichLog, Static

from savepoint_cli.browse.lines import Line, row_lines
from savepoint_cli.terminal.cells import is_of_records, person_field
from savepoint_database.types.spark_values import to_printable
from savepoint_database.types.timer_dates import for_people
from savepoint_formats.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa
    from textual.app import ComposeResult

    from savepoint_database.audit.key_state import KeyRows, KeyState

_MOST_ROWS = 100


class Details(Screen[None]):
    """Lines that can be scrolled, below a title."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "app.pop_screen", "Back")]

    def __init__(self, title: str, lines: Sequence[Line]) -> None:
        super().__init__()
        self._title, self.lines = title, lines

    def compose(self) -> ComposeResult:
        """Lays out the title, the lines and the key bindings."""
        yield Static(Text(printable(self._title), style="bold"), classes="title")
        yield RichLog(wrap=True, auto_scroll=False)
        yield Footer()

    def on_mount(self) -> None:
        """Shows the lines."""
        log = self.query_one(RichLog)
        for line in self.lines:
            log.write(_styled(line), expand=True)
        log.focus()


def _styled(line: Line) -> Text:
    colon = ": " if line.name and line.text else ""
    return Text.assemble("  " * line.depth, (line.name, "bold"), colon, line.text)


def record_lines(record: Any, depth: int = 0) -> Iterator[Line]:
    """All fields of the description of an operator or a state."""
    for field in fields(record):
        value, name = getattr(record, field.name), field.name.replace("_", " ")
        if text := person_field(value, field.name):
            yield Line(depth, name, text)
        if is_of_records(value):
            for inner in value:
                yield from record_lines(inner, depth + 1)
                yield Line(0, "")


def key_lines(key_state: KeyState) -> Iterator[Line]:
    """All state of a key."""
    for key_rows in key_state.tables:
        name = f"{key_rows.operator}.{key_rows.table}"
        count = f"{len(key_rows.rows):,} row" + ("s" if len(key_rows.rows) != 1 else "")
        yield Line(0, printable(name), f"{count}, key group {key_rows.key_group}")
        for row in _shown_rows(key_rows):
            yield from row_lines(row, depth=1)
            yield Line(0, "")
        if len(key_rows.rows) > _MOST_ROWS:
            yield Line(1, "", f"… {len(key_rows.rows) - _MOST_ROWS:,} rows more")
    if key_state.other_operators:
        yield Line(0, "keys of another type", printable(", ".join(key_state.other_operators)))


def _shown_rows(key_rows: KeyRows) -> Iterator[pa.RecordBatch]:
    for batch in key_rows.rows.slice(0, _MOST_ROWS).to_batches():
        shown = to_printable(for_people(batch, key_rows.dated))
        for index in range(shown.num_rows):
            yield shown.slice(index, 1)
