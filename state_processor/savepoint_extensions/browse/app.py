"""The browser: a tree of places on the left, the rows of the chosen place on the right."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from rich.text import Text
from textual import on
from textual.app import App
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Footer, Header, Input, Static

from savepoint_cli.terminal import (
    Line,
    bounded,
    cell_text,
    key_lines,
    record_lines,
    row_lines,
)
from savepoint_database.audit.key_state import key_texts
from savepoint_database.snapshot import OperatorDescription
from savepoint_extensions.browse.details import Details, Heavy, RecordsTable
from savepoint_extensions.browse.places import PlacesTree, TablePlace
from savepoint_extensions.browse.row_pages import PAGE_ROWS, RowPages
from savepoint_extensions.browse.short_names import ShortNames
from savepoint_formats.errors import SavepointError
from savepoint_formats.locations import started
from savepoint_formats.printable import printable
from savepoint_formats.tables import KEY

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence

    from textual.app import ComposeResult
    from textual.worker import Worker

    from savepoint_database.snapshot import SavepointDescription
    from savepoint_extensions.browse.row_pages import Page
    from state_processor import Savepoint, SavepointStatistics

    T = TypeVar("T")

_OF_MAIN = frozenset({"turn", "find", "key_of_row", "weigh", "leave"})


async def answer(call: Callable[[], T]) -> T:
    """The result of a call in another thread; the browser ends without waiting for it."""
    return await asyncio.wrap_future(started(call))


class SavepointBrowser(App[None]):
    """Shows the contents of a savepoint; reads it in threads, so the screen never stops."""

    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "turn(1)", "Next page"),
        Binding("p", "turn(-1)", "Previous"),
        Binding("slash", "find", "Find a key"),
        Binding("k", "key_of_row", "All of this key"),
        Binding("s", "weigh", "What is heavy"),
        Binding("escape", "leave", "Back", show=False),
        Binding("q", "quit", "Quit"),
    ]
    CSS = """
    PlacesTree { width: 34%; max-width: 48; border-right: solid $primary; }
    .title { padding: 0 1; }
    .problem { color: $error; padding: 0 1; }
    #status { dock: bottom; padding: 0 1; }
    #find { display: none; }
    #find.is-open { display: block; }
    """

    def __init__(self, savepoint: Savepoint, *, page_rows: int = PAGE_ROWS) -> None:
        super().__init__()
        self.title = printable(savepoint.path)
        self._savepoint, self._page_rows = savepoint, page_rows
        self._described: SavepointDescription | None = None
        self._pages: RowPages | None = None
        self._page: Page | None = None
        self._weighing: asyncio.Task[SavepointStatistics] | None = None
        name = savepoint.path.rstrip("/").rpartition("/")[2]
        self._tree = PlacesTree(Text(printable(name) or "savepoint"))
        self._place = Static(classes="title")
        self._short = ShortNames.of(
            savepoint.short_ids(),
            (operator.uid for operator in savepoint.operators() if operator.uid),
        )
        self._rows = RecordsTable((), self._short, id="rows")
        self._status = Static(id="status")
        self._find = Input(placeholder="a key: text, number, hex of bytes, or JSON", id="find")

    def compose(self) -> ComposeResult:
        """Lays out the tree, the rows, and the line for a key."""
        yield Header(icon="")
        with Horizontal():
            yield self._tree
            with Vertical():
                yield self._place
                yield self._rows
                yield self._status
        yield self._find
        yield Footer()

    def on_mount(self) -> None:
        self._tree.focus()
        self._go(self._describe)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002  # Textual's
        """Allows actions on rows only on the main screen."""
        return action not in _OF_MAIN or len(self.screen_stack) == 1

    # Places.

    async def _describe(self) -> None:
        savepoint = self._savepoint
        described = await self._answer(
            "reading headers …", lambda: (savepoint.describe(), savepoint.tables())
        )
        if described is not None:
            self._described, tables = described
            self._tree.fill(self._described, tables, self._short)
            self._show_records("Operators", self._described.operators)

    @on(PlacesTree.NodeSelected)
    def choose_place(self, event: PlacesTree.NodeSelected[Any]) -> None:
        """Shows the contents of a place."""
        event.node.expand()
        place = event.node.data
        if isinstance(place, TablePlace):
            self._go(partial(self._open, place))
        elif isinstance(place, OperatorDescription):
            self._show_records(f"States of {place.uid or place.hash}", place.states)
        elif self._described is not None:
            self._show_records("Operators", self._described.operators)

    def _show_records(self, title: str, records: Sequence[Any]) -> None:
        self._pages, self._page = None, None
        self._place.update(self._title(title))
        self._rows.show_records(records)
        problems = [problem for record in records for problem in getattr(record, "problems", ())]
        self._tell("; ".join(problems) or self._short.note, is_wrong=bool(problems))

    def _title(self, text: str) -> Text:
        return Text(self._short.text(text), style="bold")

    async def _open(self, place: TablePlace) -> None:
        self._place.update(self._title(place.title))
        self._pages, self._page = None, None
        self._rows.show_records(())
        scan = partial(
            self._savepoint.with_forms(undescribed_subclasses="bytes").scan,
            place.table.table,
            columns=place.columns,
        )
        pages = await self._answer("reading …", lambda: RowPages(scan(), self._page_rows))
        if pages is not None:
            self._pages = pages
            await self._turn_to(0)

    # Rows.

    def action_turn(self, pages: int) -> None:
        """Turns forwards, or back if negative."""
        page = self._page
        if page is not None and page.number + pages >= 0 and not (page.is_last and pages > 0):
            self._go(partial(self._turn_to, page.number + pages))

    async def _turn_to(self, number: int) -> None:
        pages = self._pages
        assert pages is not None  # a table is open
        half = self._rows.size.width // 2
        turned = await self._answer("reading …", lambda: _with_cells(pages.page(number), half))
        if turned is None:
            return
        self._page, cells = turned
        self._rows.show(self._page.rows.schema.names, cells)
        first, count = self._page.first_row, len(cells)
        end = "" if self._page.is_last else ", and more (n)"
        self._tell(f"rows {first + 1:,} to {first + count:,}{end}" if count else "no rows")

    @on(RecordsTable.RowSelected, "#rows")
    def choose_row(self, event: RecordsTable.RowSelected) -> None:
        page, title = self._page, str(self._place.content)
        if page is not None:
            row = page.rows.slice(event.cursor_row, 1)
            title = f"{title}, row {page.first_row + event.cursor_row + 1:,}"
            self._go(partial(self._show_details, title, row_lines(row)))
        elif event.cursor_row < len(self._rows.records):
            record = self._rows.records[event.cursor_row]
            self._go(partial(self._show_details, title, record_lines(record)))

    async def _show_details(self, title: str, lines: Iterator[Line]) -> None:
        shown = await self._answer("", lambda: list(bounded(lines)))
        if shown is not None:
            self.push_screen(Details(title, shown))

    # Keys.

    def action_find(self) -> None:
        """Opens the line for a key."""
        self._find.add_class("is-open")
        self._find.focus()

    def action_leave(self) -> None:
        """Goes back to the rows, or from the rows to the tree."""
        was_open = self._find.has_class("is-open")
        self._find.remove_class("is-open")
        (self._rows if was_open else self._tree).focus()

    @on(Input.Submitted)
    def find(self, event: Input.Submitted) -> None:
        """Looks for a key in all operators."""
        self.action_leave()
        if event.value:
            self._go(partial(self._show_key, event.value))

    def action_key_of_row(self) -> None:
        """Shows all state of the row's key."""
        page, pages = self._page, self._pages
        if page is None or pages is None or not page.rows.num_rows:
            return
        if not pages.scan.kind.is_keyed or KEY not in page.rows.schema.names:
            self._tell("rows of this table have no key", is_wrong=True)
            return
        (key,) = key_texts(page.rows.column(KEY).slice(self._rows.cursor_row, 1))
        operator, _ = self._savepoint.table(pages.scan.full_name)
        self._go(partial(self._show_key, key, operator.name))

    @on(Heavy.KeyChosen)
    def show_heavy_key(self, event: Heavy.KeyChosen) -> None:
        self._go(partial(self._show_key, event.key, event.operator))

    async def _show_key(self, key: str, operator: str | None = None) -> None:
        savepoint = self._savepoint.with_forms(undescribed_subclasses="bytes")
        key_state = await self._answer(
            "looking for the key …",
            lambda: savepoint.key(key, operator=operator),
        )
        if key_state is not None and key_state.is_found:
            self._tell("")
            await self._show_details(f"Key {key_state.key}", key_lines(key_state))
        elif key_state is not None:
            self._tell(f"no operator has the key {key_state.key}", is_wrong=True)

    # Heavy state.

    def action_weigh(self) -> None:
        """Shows the sizes of state."""
        self._go(self._weigh)

    async def _weigh(self) -> None:
        # The answer is kept for a user who goes elsewhere and asks again.
        if self._weighing is None or (self._weighing.done() and self._weighing.exception()):
            self._weighing = asyncio.create_task(answer(self._savepoint.stats))
        report = await self._awaited("weighing all state …", asyncio.shield(self._weighing))
        if report is not None:
            self._tell("")
            self.push_screen(Heavy(report, self._short))

    # Answers.

    def _go(self, work: Callable[[], Coroutine[None, None, None]]) -> None:
        """Begins some work, and cancels earlier work."""
        _: Worker[None] = self.run_worker(work, exclusive=True)

    async def _answer(self, text: str, call: Callable[[], T]) -> T | None:
        """The result of a call; None after an error, which is shown."""
        return await self._awaited(text, answer(call))

    async def _awaited(self, text: str, awaited: Awaitable[T]) -> T | None:
        if text:
            self._tell(text)
        try:
            return await awaited
        except SavepointError as error:
            self._tell(str(error), is_wrong=True)
            return None

    def _tell(self, text: str, *, is_wrong: bool = False) -> None:
        self._status.update(Text(printable(text), style="bold red" if is_wrong else "dim"))
        if is_wrong and len(self.screen_stack) > 1:
            self.notify(printable(text), severity="error", markup=False)


def _with_cells(page: Page, half: int) -> tuple[Page, list[list[str]]]:
    """The page, and its cells. A long key leaves half of the window to the values behind it."""
    first, *others = page.rows.columns
    columns = [[cell_text(value) for value in column] for column in others]
    most = half if others else 2 * half
    names = [cell_text(value, most) for value in first]
    return page, [list(row) for row in zip(names, *columns, strict=True)]
