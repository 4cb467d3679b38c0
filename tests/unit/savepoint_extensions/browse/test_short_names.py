"""The browser over forty operators with long names, in a terminal of 80 columns."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from support.long_names import LARGEST, LONG, MANY_STATES, NAMES, job_of_long_names
from textual.widgets import DataTable, Static

from savepoint_extensions.browse.app import SavepointBrowser
from savepoint_extensions.browse.details import Heavy
from savepoint_extensions.browse.places import PlacesTree
from savepoint_extensions.browse.short_names import ShortNames
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

UIDS = [LONG.format(name) for name in NAMES]


def test_names_that_share_little_stay_whole() -> None:
    short = ShortNames.of({"ab" * 16: "abababab"}, ["orders", "payments", "refunds"])
    assert (short.note, short.operator("orders")) == ("", "orders")
    assert short.text(f"orders of {'ab' * 16}") == "orders of abababab"


def test_a_uid_that_another_one_begins_with_keeps_its_own_name() -> None:
    uids = [f"com.acme.payments.{name}" for name in ("total", "total-of-day", "refunds")]
    short = ShortNames.of({}, uids)
    assert short.text(f"{uids[1]}.keyed_state") == "total-of-day.keyed_state"


@pytest.mark.usefixtures("slow")
def test_each_place_shows_what_only_its_operator_has(tmp_path: Path) -> None:
    savepoint = Savepoint.open(job_of_long_names(tmp_path, keys=1))
    asyncio.run(_look(SavepointBrowser(savepoint)))


async def _look(app: SavepointBrowser) -> None:
    async with app.run_test(size=(80, 40)) as pilot:

        async def settle(*keys: str) -> None:
            await pilot.press(*keys)
            await pilot.pause()
            await app.workers.wait_for_complete()
            await pilot.pause()

        await settle()
        tree = app.query_one(PlacesTree)
        assert [str(node.label).split()[0] for node in tree.root.children] == list(NAMES)
        table = app.query_one(DataTable)
        headings = [str(column.label) for column in table.ordered_columns]
        assert headings[:4] == ["uid", "hash", "parallelism", "max parallelism"]
        assert [str(table.get_row_at(place)[0]) for place in range(40)] == list(NAMES)
        note = "each operator begins with com.acme.payments.risk.streaming. and ends with "
        assert note in str(app.query_one("#status", Static).content)
        tree.move_cursor(tree.root.children[LARGEST].children[0])
        await settle("enter")
        title = str(app.query(Static).filter(".title").first(Static).content)
        assert title == f"{NAMES[LARGEST]}.keyed_state"
        # A long key leaves room for the values behind it.
        tree.move_cursor(tree.root.children[MANY_STATES].children[0])
        await settle("enter")
        rows = app.query_one("#rows", DataTable)
        keys = [str(rows.get_row_at(place)[0]) for place in range(rows.row_count)]
        (long_key,) = (key for key in keys if key.startswith("xxx"))
        assert len(long_key) == rows.size.width // 2
        await settle("s")
        assert isinstance(app.screen, Heavy)
        verdict = str(app.screen.query(Static).filter(".title").first(Static).content)
        assert verdict.startswith(f"{NAMES[LARGEST]}.picture has 9")
        (operator, *_) = app.screen.query(DataTable).first().get_row_at(0)
        assert str(operator) == NAMES[LARGEST]
        # What is chosen is still found by its whole name.
        await settle("enter")
        assert UIDS[LARGEST] in "".join(line.name + line.text for line in app.screen.lines)  # type: ignore[attr-defined]
