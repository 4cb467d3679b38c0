"""The screen for heavy state: the tables of ``stats``, a tab for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Footer, Static, TabbedContent, TabPane

from savepoint_cli.browse.records_table import RecordsTable
from savepoint_cli.terminal.cells import shortened
from savepoint_database.audit.statistics import KeyStatistics
from savepoint_database.audit.statistics_views import statistics_tables
from savepoint_formats.printable import printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from textual.app import ComposeResult

    from savepoint_database.audit.statistics import SavepointStatistics


class Heavy(Screen[None]):
    """Sizes of states, key groups and keys; Enter on a key shows all of its state."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "app.pop_screen", "Back")]

    class KeyChosen(Message):
        """The user wants to see a key."""

        def __init__(self, key: KeyStatistics) -> None:
            super().__init__()
            self.key = key

    def __init__(self, report: SavepointStatistics, short_ids: Mapping[str, str]) -> None:
        super().__init__()
        self._report, self._short_ids = report, short_ids
        tables = statistics_tables(report)
        # The largest keys come first: people look for them, and they lead further.
        self._tables = sorted(tables, key=lambda table: not isinstance(table[1][0], KeyStatistics))

    def compose(self) -> ComposeResult:
        """Lays out the verdict, a tab per table, and problems."""
        report = self._report
        title = shortened(printable(f"{report.verdict}; {report.at}"), self._short_ids)
        yield Static(Text(title, style="bold"), classes="title")
        with TabbedContent():
            for name, records in self._tables:
                with TabPane(name.partition(":")[0]):
                    yield _Records(records, self._short_ids)
        for problem in report.problems:
            yield Static(Text(printable(problem)), classes="problem")
        yield Footer()

    def on_mount(self) -> None:
        """Fills the tables."""
        for table in self.query(_Records):
            table.show_records(table.records)
        for table in self.query(_Records)[:1]:
            table.focus()

    @on(RecordsTable.RowSelected)
    def choose(self, event: RecordsTable.RowSelected) -> None:
        """Asks for the chosen key."""
        assert isinstance(event.data_table, _Records)
        chosen = event.data_table.records[event.cursor_row]
        if isinstance(chosen, KeyStatistics):
            self.post_message(self.KeyChosen(chosen))


class _Records(RecordsTable):
    """A table that remembers its records."""

    def __init__(self, records: Sequence[Any], short_ids: Mapping[str, str]) -> None:
        super().__init__()
        self.records, self.short_ids = records, short_ids
