"""The browser, driven by its keys over real savepoints."""

from __future__ import annotations

import asyncio
import re
import sys
from threading import Event
from typing import TYPE_CHECKING

import pytest
from support.commands import run
from support.hostile_names import HOSTILE, hostile_savepoint
from support.sample_rows import SAMPLES, Sample, copy_of, file_of
from support.terminal import Terminal
from textual.widgets import Input, RichLog, Static, TabbedContent

from savepoint_extensions.browse.app import SavepointBrowser, answer
from savepoint_extensions.browse.details import Details, Heavy, RecordsTable
from savepoint_extensions.browse.places import PlacesTree
from savepoint_formats.printable import printable
from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from textual.pilot import Pilot


STATES = Sample("states-2.2.1-hashmap-canonical")
OBJECTS = SAMPLES / "objects-2.2.1-hashmap-canonical"
WINDOWS = SAMPLES / "windows-1.20.5-rocksdb-native"


class Driver:
    """Presses keys, and tells what is on the screen."""

    def __init__(self, app: SavepointBrowser, pilot: Pilot[None]) -> None:
        self.app, self._pilot = app, pilot

    async def press(self, *keys: str) -> None:
        await self._pilot.press(*keys)
        await self.settle()

    async def settle(self) -> None:
        """Waits for all answers."""
        await self._pilot.pause()
        await self.app.workers.wait_for_complete()
        await self._pilot.pause()

    async def choose(self, *path: str) -> None:
        """Chooses the node of the tree behind these names."""
        tree = self.app.query_one(PlacesTree)
        node = tree.root
        for name in path:
            (node,) = [one for one in node.children if str(one.label).split("  ")[0] == name]
        tree.move_cursor(node)
        tree.action_select_cursor()
        await self.settle()

    async def find(self, key: str) -> None:
        """Looks for a key."""
        await self.press("slash")
        self.app.query_one(Input).value = key
        await self.press("enter")

    @property
    def place(self) -> str:
        return str(self.app.query(Static).filter(".title").first(Static).content)

    @property
    def status(self) -> str:
        return str(self.app.query_one("#status", Static).content)

    @property
    def names(self) -> list[str]:
        return [str(one.label) for one in self.table.columns.values()]

    @property
    def rows(self) -> list[list[str]]:
        table = self.table
        return [[str(cell) for cell in table.get_row_at(n)] for n in range(table.row_count)]

    @property
    def screen(self) -> str:
        """All letters of the screen."""
        strips = self.app.screen._compositor.render_strips()
        return "\n".join("".join(part.text for part in strip) for strip in strips)

    @property
    def table(self) -> RecordsTable:
        return self.app.screen.query(RecordsTable).first()

    @property
    def lines(self) -> list[str]:
        """The lines of the page on top."""
        return [line.text.rstrip() for line in self.app.screen.query_one(RichLog).lines]


def drive(savepoint: Savepoint, test: Callable[[Driver], Awaitable[None]]) -> None:
    """Runs the browser and the test in it."""

    async def driven() -> None:
        app = SavepointBrowser(savepoint, page_rows=10)
        async with app.run_test(size=(120, 40)) as pilot:
            driver = Driver(app, pilot)
            await driver.settle()
            await test(driver)

    asyncio.run(driven())


def test_operators_states_and_rows_by_page() -> None:
    async def test(browser: Driver) -> None:
        assert browser.place == "Operators"
        assert "stateful" in [row[0] for row in browser.rows]
        await browser.choose("stateful")
        assert browser.place == "States of stateful"
        assert ["by_currency", "map"] in [row[1:3] for row in browser.rows]

        await browser.choose("stateful", "keyed_state")
        assert (browser.names[0], len(browser.rows)) == ("key", 10)
        assert browser.status == "rows 1 to 10, and more (n)"
        first = browser.rows
        await browser.press("p")
        assert browser.rows == first
        await browser.press("n")
        await browser.press("n")
        assert (browser.status, len(browser.rows)) == ("rows 21 to 23", 3)
        await browser.press("n")
        assert browser.status == "rows 21 to 23"
        await browser.press("p")
        await browser.press("p")
        assert browser.rows == first

        await browser.choose("stateful", "keyed_state", "by_currency")
        assert browser.place == "stateful.keyed_state: by_currency"
        assert browser.names == ["key", "by_currency"]
        await browser.choose("stateful", "timers")
        assert browser.rows[0][1].startswith("2100-01-01")

    drive(STATES.open(), test)


def test_an_operator_shows_its_states_line_by_line() -> None:
    async def test(browser: Driver) -> None:
        names = [row[0] for row in browser.rows]
        assert not any("Description(" in cell for row in browser.rows for cell in row)
        browser.table.focus()
        browser.table.move_cursor(row=names.index("stateful"))
        await browser.press("enter")
        shown = "\n".join(browser.lines)
        assert "Description(" not in shown
        assert "  state: by_currency\n  kind: map\n" in shown

    drive(STATES.open(), test)


@pytest.mark.usefixtures("slow")
def test_hashes_are_short_and_times_are_times() -> None:
    async def test(browser: Driver) -> None:
        await browser.choose("1228afe0", "window_state")
        assert browser.place == "1228afe0.window_state"
        assert "2024-03-01 1" in browser.rows[0][1]
        await browser.find("1")
        assert "    start: 2024-03-01 10:00:00.000000Z" in browser.lines

    drive(Savepoint.open(str(WINDOWS)), test)


@pytest.mark.usefixtures("slow")
def test_a_row_shows_the_bytes_that_were_not_decoded_and_why() -> None:
    async def test(browser: Driver) -> None:
        await browser.choose("shapes", "keyed_state")
        await browser.press("tab", "enter")
        assert isinstance(browser.app.screen, Details)
        shown = "\n".join(browser.lines)
        assert "01 00 73 68 6f 70 2e 53" in shown
        assert "|..shop.Shape$" in shown
        assert "whose fields are not known" in shown
        assert "kryo_classes can" in shown
        await browser.press("escape")
        assert browser.place == "shapes.keyed_state"

        await browser.find("seven")
        assert browser.status == "'seven' is not a key of type int64"
        await browser.choose("transactions_source", "coordinator_state")
        await browser.press("k")
        assert browser.status == "rows of this table have no key"

    drive(Savepoint.open(str(OBJECTS)), test)


@pytest.mark.usefixtures("slow")
def test_a_key_is_found_and_shown_with_all_that_it_has() -> None:
    async def test(browser: Driver) -> None:
        await browser.find("customer-001")
        found = browser.lines
        assert found[0] == "stateful.keyed_state: 1 row, key group 152"
        assert "  key: customer-001" in found
        assert any(line.startswith("stateful.timers: ") for line in found)
        assert "  time_domain: EVENT_TIME" in found
        await browser.press("escape")
        await browser.find("nobody")
        assert browser.status == "no operator has the key nobody"

        await browser.choose("stateful", "keyed_state")
        keys = [row[0] for row in browser.rows]
        browser.table.focus()
        browser.table.move_cursor(row=keys.index("customer-005"))
        await browser.press("k")
        assert "  key: customer-005" in browser.lines

    drive(STATES.open(), test)


@pytest.mark.usefixtures("slow")
def test_what_is_heavy_leads_to_its_key() -> None:
    async def test(browser: Driver) -> None:
        await browser.press("s")
        assert isinstance(browser.app.screen, Heavy)
        assert browser.names[:2] == ["operator", "key"]
        assert len(browser.rows) == 10
        tabs = browser.app.screen.query_one(TabbedContent)
        assert tabs.tab_count == 6
        await browser.press("down", "enter")
        assert "  key: customer-005" in browser.lines
        await browser.press("escape", "escape", "n")
        assert browser.place == "Operators"

    drive(STATES.open(), test)


@pytest.mark.usefixtures("slow")
def test_what_is_damaged_is_told_and_the_rest_is_shown(tmp_path: Path) -> None:
    savepoint = copy_of(STATES, tmp_path / "[bold]x[/nothing]")
    file_of(savepoint, "stateful 1: keyed state").unlink()

    async def test(browser: Driver) -> None:
        assert "does not exist" in browser.status
        await browser.choose("buffer", "offsets")
        assert browser.status.startswith("rows 1 to ")
        await browser.choose("stateful", "keyed_state")
        assert browser.status.startswith("rows 1 to 10")
        for _ in range(2):
            await browser.press("n")
            assert "does not exist" in browser.status
            assert len(browser.rows) == 10
        await browser.press("s")
        problems = browser.app.screen.query(Static).filter(".problem")
        assert "does not exist" in str(problems.first(Static).content)

    drive(savepoint, test)


@pytest.mark.usefixtures("slow")
def test_no_text_of_a_stranger_is_a_command_or_markup(tmp_path: Path) -> None:
    path = hostile_savepoint(tmp_path / "[link=x]y", uids=(HOSTILE, f"{'x' * 65_000}[bold]y"))

    async def test(browser: Driver) -> None:
        tree = browser.app.query_one(PlacesTree)
        nodes = [tree.root]
        for node in nodes:
            nodes += node.children
        screens = []
        for node in (tree.root, *nodes[1:5], nodes[-1]):
            tree.move_cursor(node)
            tree.action_select_cursor()
            await browser.settle()
            browser.table.focus()
            screens.append(browser.screen)
            await browser.press("enter")
            screens.append(browser.screen)
            await browser.press("escape")
        await browser.find(f"{HOSTILE.partition(chr(10))[0]}[bold]z")
        screens.append(browser.screen)
        await browser.press("s")
        screens.append(browser.screen)
        await browser.press("enter")
        screens.append(browser.screen)
        assert [text for text in screens if printable(text, keep="\n") != text] == []
        shown = "".join(screens).replace("\n", "")
        assert r"a\x1b[2J\x1b]0;mine" in shown
        assert "[bold]x[/bold]" in shown
        assert "[bold]z" in shown

    drive(Savepoint.open(path), test)


@pytest.mark.usefixtures("slow")
def test_a_terminal_gets_no_command_of_a_stranger(tmp_path: Path) -> None:
    with Terminal(("browse", hostile_savepoint(tmp_path / "savepoint-1"))) as terminal:
        terminal.wait_for("a\\x1b[2J")
        terminal.type("q")
        assert terminal.finish() == 0
    assert re.findall("\x1b]0;mine|\x9b31m|[\u202e\u200b]", terminal.raw) == []


def test_without_textual_one_line_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    # This is how Python itself says that there is no such package.
    monkeypatch.setitem(sys.modules, "textual", None)
    code, output = run("browse", SAMPLES / STATES.name)
    assert code == 1
    assert output.startswith("Error: textual is not installed; install the extra that has it:")
    assert output.endswith("[browse]'\n")


def test_a_pipe_is_no_terminal() -> None:
    code, output = run("browse", SAMPLES / STATES.name)
    assert code == 2
    assert "browse needs a terminal" in output


@pytest.mark.usefixtures("slow")
def test_on_a_terminal_it_shows_operators_until_q_is_pressed() -> None:
    with Terminal(("browse", SAMPLES / STATES.name)) as terminal:
        terminal.wait_for("stateful")
        terminal.type("q")
        assert terminal.finish() == 0


def test_the_loop_goes_on_while_a_call_runs() -> None:
    async def run() -> str:
        event = Event()
        awaited = asyncio.create_task(answer(lambda: "so" if event.wait(60) else "stopped"))
        await asyncio.sleep(0)
        event.set()
        return await awaited

    assert asyncio.run(run()) == "so"


def test_errors_are_raised_where_the_answer_is_awaited() -> None:
    def fail() -> None:
        raise ValueError("of a call")

    with pytest.raises(ValueError, match="of a call"):
        asyncio.run(answer(fail))


def test_an_answer_that_is_not_wanted_holds_nobody_up() -> None:
    event, is_done = Event(), Event()

    def call() -> None:
        event.wait(60)
        is_done.set()

    async def run() -> None:
        awaited = asyncio.create_task(answer(call))
        await asyncio.sleep(0)
        awaited.cancel()
        with pytest.raises(asyncio.CancelledError):
            await awaited

    asyncio.run(run())
    assert not is_done.is_set()
    event.set()
    assert is_done.wait(60)
