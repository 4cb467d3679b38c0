"""Values behind one that hides its end: all of them are read, or all say why not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from support.commands import run
from support.hidden_values import (
    KEYS,
    LAST,
    REASON,
    broadcast,
    canonical,
    heap,
    heap_collections,
    last,
    order,
    rows,
    shown,
    text,
    unknown,
)

from savepoint_formats.checks.faults import Severity
from savepoint_formats.errors import UndecodableError
from savepoint_formats.key_groups.operator_id import OperatorId

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from savepoint_formats.scan.read_options import UndescribedSubclasses
    from state_processor import Savepoint

NAME = str(OperatorId.from_uid("a"))
FAKE = b"ab" + text("rule 9") + last(3)
"""Fields of an object that look as if another entry lay in them."""

NUMBERS = range(2, 7)


def counted(folder: Path, savepoint: Savepoint, table: str) -> dict[str, Any]:
    """How many rows each way finds; or the error that it has."""
    name = f"{NAME}.{table}"
    out = folder / "rows.jsonl"

    def exported() -> int:
        code, output = run("export", folder, name, out, "--to", "jsonl", "--output", "json")
        if code:
            raise UndecodableError(output, "", 0)
        assert len(out.read_text().splitlines()) == json.loads(output)["rows"]
        return int(json.loads(output)["rows"])

    def differing() -> int:
        (diff,) = savepoint.diff(savepoint, table=name, full=True).tables
        return diff.unchanged or 0

    ways: dict[str, Callable[[], int]] = {
        "read": lambda: len(rows(savepoint, table)),
        "count": lambda: savepoint.scan(name).count(),
        "sql": lambda: len(savepoint.sql(f'SELECT * FROM "{NAME}".{table}').to_pylist()),
        "sql count": lambda: savepoint.sql(
            f'SELECT count(*) AS n FROM "{NAME}".{table}'
        ).to_pylist()[0]["n"],
        "export": exported,
        "diff": differing,
    }
    found: dict[str, Any] = {}
    for way, count in ways.items():
        try:
            found[way] = count()
        except UndecodableError as error:
            found[way] = error
    return found


def test_a_broadcast_state_has_as_many_rows_as_it_says(tmp_path: Path) -> None:
    savepoint = broadcast(tmp_path, [order(number) for number in NUMBERS])
    assert set(counted(tmp_path, savepoint, "rules").values()) == {5}
    expected = [
        {"key": f"rule {index}", "value": shown(number)} for index, number in enumerate(NUMBERS)
    ]
    assert rows(savepoint, "rules") == expected
    assert rows(savepoint, "offers") == [{"value": shown(number)} for number in NUMBERS]
    faults = savepoint.verify().faults
    assert {(fault.severity, fault.state) for fault in faults} == {
        (Severity.NOT_READ, "rules"),
        (Severity.NOT_READ, "offers"),
    }


@pytest.mark.usefixtures("slow")
def test_a_native_heap_file_has_all_rows_and_timers(tmp_path: Path) -> None:
    savepoint = heap(tmp_path, [last(number) for number in range(60)], LAST)
    assert set(counted(tmp_path, savepoint, "keyed_state").values()) == {60}
    assert len(rows(savepoint, "timers")) == 60
    found = {row["key"]: row for row in rows(savepoint, "keyed_state")}
    other = {"json": None, "bytes": unknown(b"more"), "reason": REASON}
    assert found == {
        key: {"key": key, "count": number, "order": {"id": number, "other": other}}
        for number, key in enumerate(KEYS)
    }
    faults = savepoint.verify().faults
    assert [(fault.severity, fault.state) for fault in faults] == [(Severity.NOT_READ, "order")]
    assert REASON in faults[0].problem


def test_lists_and_maps_of_a_native_heap_file_have_all_elements(tmp_path: Path) -> None:
    savepoint = heap_collections(tmp_path, [order(number) for number in NUMBERS])
    (row,) = rows(savepoint, "keyed_state")
    assert row["all"] == [shown(number) for number in NUMBERS]
    assert row["by"] == [(f"u{index}", shown(number)) for index, number in enumerate(NUMBERS)]


def test_fields_that_are_not_known_are_no_nulls(tmp_path: Path) -> None:
    # An id of 1 may be the end of the object, and a null behind it.
    savepoint = broadcast(tmp_path, [order(number) for number in (0, 1, 2)])
    found = counted(tmp_path, savepoint, "rules")
    assert (found["count"], found["sql count"], found["diff"]) == (3, 3, 3)
    for way in ("read", "sql", "export"):
        assert "these bytes are also those of 'id', 'name', which can't" in str(found[way])
        assert "--undescribed-subclasses bytes" in str(found[way])
    assert [row["key"] for row in rows(savepoint, "rules", columns=["key"])] == [
        "rule 0",
        "rule 1",
        "rule 2",
    ]
    first, second, third = rows(savepoint.with_forms(undescribed_subclasses="bytes"), "rules")
    whole = {"$undecoded": None}
    assert (first["value"], third["value"]) == (shown(0) | whole, shown(2) | whole)
    assert (second["value"]["id"], second["value"]["name"]) == (None, None)
    reason = f"{REASON}; these bytes are also those of 'id', 'name'"
    assert second["value"]["extra"]["reason"] == reason


@pytest.mark.parametrize(
    ("form", "options"), [("refuse", {}), ("bytes", {}), ("refuse", {"columns": ["key"]})]
)
def test_entries_that_nobody_can_tell_apart_are_an_error_with_their_count(
    tmp_path: Path, form: UndescribedSubclasses, options: dict[str, Any]
) -> None:
    savepoint = broadcast(tmp_path, [last(7, FAKE), *map(last, range(4))], LAST)
    message = "also those of 4 more elements, which can't be told apart"
    with pytest.raises(UndecodableError, match=message) as error:
        rows(savepoint.with_forms(undescribed_subclasses=form), "rules", **options)
    assert "undescribed_subclasses='rest') (--undescribed-subclasses rest)" in str(error.value)


def test_all_ways_to_count_such_entries_have_the_same_error(tmp_path: Path) -> None:
    savepoint = broadcast(tmp_path, [last(7, FAKE), *map(last, range(4))], LAST)
    for error in counted(tmp_path, savepoint, "rules").values():
        assert "4 more elements, which can't be told apart" in str(error)
    (fault,) = [fault for fault in savepoint.verify().faults if fault.state == "rules"]
    assert "4 more elements, which can't be told apart" in fault.problem
    (seen,) = rows(savepoint.with_forms(undescribed_subclasses="rest"), "rules")
    assert seen["value"]["other"]["reason"].endswith(
        "; these bytes are also those of 4 more elements"
    )


def test_elements_without_a_count_are_an_error_if_there_may_be_others(tmp_path: Path) -> None:
    savepoint = canonical(tmp_path, [last(number) for number in range(5)], LAST)
    assert savepoint.scan(f"{NAME}.keyed_state").count() == 5
    with pytest.raises(UndecodableError, match="the elements behind it, if there are any") as error:
        rows(savepoint, "keyed_state")
    assert "state 'all'" in str(error.value)
    found = rows(savepoint, "keyed_state", columns=["key", "order"])
    assert sorted(row["order"]["id"] for row in found) == [0, 1, 2, 3, 4]
