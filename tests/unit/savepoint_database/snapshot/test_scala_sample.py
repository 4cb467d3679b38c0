"""The sample of a job in Scala has what its functions put in."""

from __future__ import annotations

from typing import Any

from support.scala_sample import SAMPLE

from state_processor import Savepoint

REGIONS = {"eu": (0, 3, 6, 9), "us": (1, 2, 4, 5, 7, 8, 10, 11)}


def order(number: int) -> dict[str, Any]:
    """Order of this number, as columns show a case class."""
    return {
        "_1": number,
        "_2": {"_1": "us" if number % 3 else "eu", "_2": number % 3},
        "_3": None if number % 2 else f"note {number}",
        "_4": [f"t{index}" for index in range(number % 4)],
    }


def rows(table: str) -> list[dict[str, Any]]:
    savepoint = Savepoint.open(SAMPLE, uids=("by_region", "by_customer"))
    return [row for batch in savepoint.scan(table).batches() for row in batch.to_pylist()]


def test_each_state_of_flinks_own_api_for_scala_has_its_values() -> None:
    stored = {row.pop("key"): row for row in rows("by_region.keyed_state")}
    assert stored.keys() == REGIONS.keys()
    for region, numbers in REGIONS.items():
        state, last = stored[region], numbers[-1]
        assert state["last"] == order(last)
        assert state["orders"] == [order(number) for number in numbers]
        assert state["pair"] == {"_1": region, "_2": last}
        assert state["side"] == {"left": f"odd {last}", "right": None}
        assert state["kind"] == ("Trade" if region == "eu" else "Retail")
        assert state["outcome"]["success"] == last
        counts = {f"c{number % 3}": 4 for number in numbers}
        assert {pair["_1"]: pair["_2"] for pair in state["counts"]} == counts
        assert dict(state["notes"]) == {number: order(number)["_3"] for number in numbers}


def test_unit_and_case_objects_are_what_scala_prints_and_no_null() -> None:
    """``Some(())`` and ``None`` differ, and so do the sides of an Either."""
    columns = ("visited", "checked", "paid", "seen", "anything")
    stored = {row.pop("key"): [row[it] for it in columns] for row in rows("by_region.keyed_state")}
    unit, quiet = '{"$class": "scala.runtime.BoxedUnit"}', '{"$class": "shop.Quiet$"}'
    for region, numbers in REGIONS.items():
        *typed, anything = stored[region]
        is_eu = region == "eu"
        sides = {"left": None, "right": "()"} if is_eu else {"left": "late", "right": None}
        seen = [(number, "()") for number in numbers]
        assert typed == ["()", "()" if is_eu else None, sides, seen]
        assert anything["json"] == (unit if is_eu else quiet)


def test_keys_are_case_classes_in_the_key_groups_of_scala() -> None:
    totals = {tuple(row["key"].values()): row["total"] for row in rows("by_customer.keyed_state")}
    assert totals == {("eu", 0): 18, ("us", 1): 22, ("us", 2): 26}
    assert not Savepoint.open(SAMPLE, uids=("by_region", "by_customer")).verify().faults
