"""Pages: all values of a row or all state of a key, line by line; and the heaviest keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from rich.text import Text
from textual import on
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.screen import Screen
from textual.widgets import DataTable, Footer, RichLog, Static, TabbedContent, TabPane

from savepoint_cli.terminal import record_cells
from savepoint_formats.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from textual.app import ComposeResult

    from savepoint_cli.terminal import Line
    from savepoint_extensions.browse.short_names import ShortNames
    from state_processor import SavepointStatistics


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


class RecordsTable(DataTable[Text]):
    """A table whose cursor is a row, perhaps of records. Its cells are text, never markup."""

    def __init__(self, records: Sequence[Any], short: ShortNames, **given: Any) -> None:
        super().__init__(cursor_type="row", zebra_stripes=True, **given)
        self.records, self.short = records, short

    def show(self, names: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
        """Replaces all rows; the cursor goes to the first one."""
        self.clear(columns=True)
        for name in names:
            self.add_column(Text(printable(name), style="bold"))
        for row in rows:
            self.add_row(*(Text(cell, no_wrap=True) for cell in row))

    def show_records(self, records: Sequence[Any]) -> None:
        """Shows a row per record, without columns that are empty in all records."""
        self.records = records
        self.show(*record_cells(list(map(self.short.record, records)), self.short.hashes))


class Heavy(Screen[None]):
    """Sizes of states, key groups and keys; Enter on a key shows all of its state."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "app.pop_screen", "Back")]

    class KeyChosen(Message):
        """Asks to show a key."""

        def __init__(self, key: str, operator: str) -> None:
            super().__init__()
            self.key, self.operator = key, operator

    def __init__(self, report: SavepointStatistics, short: ShortNames) -> None:
        super().__init__()
        self._report, self._short = report, short
        keys = report.largest_keys
        # The largest keys come first: people look for them, and Enter opens them.
        self._tables = sorted(report.tables(), key=lambda table: table[1] is not keys)

    def compose(self) -> ComposeResult:
        """Lays out the verdict, a tab per table, and problems."""
        report = self._report
        title = self._short.text(f"{report.verdict}; {report.at}")
        yield Static(Text(title, style="bold"), classes="title")
        with TabbedContent():
            for name, records in self._tables:
                with TabPane(name.partition(":")[0]):
                    yield RecordsTable(records, self._short)
        for problem in report.problems:
            yield Static(Text(printable(problem)), classes="problem")
        yield Footer()

    def on_mount(self) -> None:
        """Fills the tables."""
        for table in self.query(RecordsTable):
            table.show_records(table.records)
        for table in self.query(RecordsTable)[:1]:
            table.focus()

    @on(RecordsTable.RowSelected)
    def choose(self, event: RecordsTable.RowSelected) -> None:
        """Asks for the chosen key."""
        assert isinstance(event.data_table, RecordsTable)
        chosen = event.data_table.records[event.cursor_row]
        if event.data_table.records is self._report.largest_keys:
            self.post_message(self.KeyChosen(chosen.key, chosen.operator))
