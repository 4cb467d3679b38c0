"""State of one key, compared with all rows of all tables."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from support.commands import run
from support.hand_made import (
    LONG,
    MAX_PARALLELISM,
    canonical_base,
    encoded,
    entry_identity,
    header,
    meta_info,
    operator_of,
)
from support.sample_rows import SAMPLES, Sample
from support.slow_cases import slow_unless

from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.errors import KeyTypeError, OperatorNotFoundError
from savepoint_formats.hashing.key_hash import java_hash
from savepoint_formats.key_groups.operator_id import OperatorId
from savepoint_formats.key_groups.ranges import key_group
from savepoint_formats.layout import Long, VoidNamespace
from savepoint_formats.locations.state_file import StateFile
from savepoint_formats.metadata import CheckpointMetadata, KeyGroupsHandle, SubtaskState
from savepoint_formats.snapshots.nested import snapshot_bytes
from state_processor import Savepoint, Types

if TYPE_CHECKING:
    from pathlib import Path

NAMES = [
    "states-1.20.5-hashmap-changelog",
    "states-2.2.1-hashmap-native",
    "states-2.2.1-rocksdb-heaptimers",
    "windows-2.2.1-rocksdb-native",
    "sql-2.2.1-hashmap-canonical",
]


def rows_by_key(savepoint: Savepoint) -> dict[str, dict[str, list[Any]]]:
    """Operator -> key as text -> the rows of all tables that have it."""
    found: dict[str, dict[str, list[Any]]] = {}
    for operator in savepoint.operators():
        for table in operator.tables:
            name = f"{operator.name}.{table.name}"
            if not table.states[0].kind.is_keyed or "key" not in savepoint.scan(name).schema.names:
                continue
            for batch in savepoint.scan(name).batches():
                for row in batch.to_pylist():
                    key = row["key"]
                    text = key if isinstance(key, str) else json.dumps(key, default=str)
                    found.setdefault(operator.name, {}).setdefault(text, []).append(
                        (table.name, row)
                    )
    return found


@pytest.mark.parametrize("name", slow_unless(NAMES[-2:].__contains__, NAMES))
def test_a_key_has_the_rows_that_all_tables_have_of_it(name: str) -> None:
    savepoint = Sample(name).open()
    expected = rows_by_key(savepoint)
    assert expected
    for operator, keys in expected.items():
        for text in sorted(keys)[:3]:
            found = savepoint.key(text, operator=operator)
            told = [(one.table, row) for one in found.tables for row in one.rows.to_pylist()]
            assert sorted(told, key=str) == sorted(keys[text], key=str), text
            assert found.key == text


def test_all_operators_whose_keys_are_of_the_type_are_asked(samples: Path) -> None:
    savepoint = Savepoint.open(str(samples / "currency-2.2.1-rocksdb-native"))
    found = savepoint.key(1)
    assert {one.operator for one in found.tables} == {"summarize"}
    assert found.table("summarize.keyed_state").num_rows == 1


def test_only_the_key_group_of_a_key_is_read(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The keys are tuples, whose class the layout does not tell.
    savepoint = Savepoint.open(str(corpus / "savepoints" / "complexKeyed-flink1.20"))
    (operator,) = (one for one in savepoint.operators() if one.catalog.keyed_size)
    read: list[tuple[int, int | None]] = []
    whole = StateFile.read

    def noted(file: StateFile, start: int = 0, end: int | None = None) -> bytes:
        read.append((start, end))
        return whole(file, start, end)

    _ = operator.catalog
    monkeypatch.setattr(StateFile, "read", noted)
    found = savepoint.key({"f0": 6})
    assert found.is_found
    group = found.tables[0].key_group
    sections = set()
    for subtask in operator.record.subtasks:
        handle = subtask.managed_keyed_state
        assert isinstance(handle, KeyGroupsHandle)
        sections |= {
            (number, offset)
            for number, offset in zip(handle.key_groups, handle.groups.offsets, strict=True)
            if offset
        }
    touched = {number for number, offset in sections for start, _ in read if start == offset}
    assert touched == {group}
    assert len(sections) > 1


def test_a_key_that_nobody_has_is_not_found(samples: Path) -> None:
    savepoint = Savepoint.open(str(samples / "states-2.2.1-rocksdb-native"))
    found = savepoint.key("nobody")
    assert not found.is_found
    with pytest.raises(KeyError):
        found.table("stateful.keyed_state")


def test_a_key_of_another_type_is_refused(samples: Path) -> None:
    savepoint = Savepoint.open(str(samples / "currency-2.2.1-rocksdb-native"))
    with pytest.raises(KeyTypeError, match="'euro' is not a key of type int32"):
        savepoint.key("euro")


NUMBERS = {
    "BigInteger": (Types.BIG_INT(), ["123456789012345678901234567890", "-7"], "-07"),
    "BigDecimal": (Types.BIG_DEC(), ["1.50", "-7"], "01.50"),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_key_that_is_no_number_is_not_one_of_an_operator_with_numbers(
    name: str, tmp_path: Path
) -> None:
    of_numbers, keys, form = NUMBERS[name]
    operators = []
    for uid, key_type, own in (("n", of_numbers, keys), ("t", Types.STRING(), ["abc", "x"])):
        serializer = snapshot_bytes(key_type.snapshot)
        head = header(meta_info("count", "VALUE", LONG), key=serializer)
        layouts = (key_type.layout, VoidNamespace())
        entries = [
            (
                key_group(java_hash(key_type.layout, key), MAX_PARALLELISM),
                0,
                entry_identity(key, None, layouts),
                encoded(Long(), number),
            )
            for number, key in enumerate(own)
        ]
        subtask = SubtaskState(0, managed_keyed_state=canonical_base(head, entries))
        operators.append(
            replace(operator_of(subtask), operator_id=OperatorId.from_uid(uid), uid=uid)
        )
    view = DataOutputView()
    CheckpointMetadata.new(tuple(operators)).write(view)
    (tmp_path / "_metadata").write_bytes(view.to_bytes())
    savepoint = Savepoint.open(str(tmp_path), uids=["n", "t"])

    found = savepoint.key("abc")
    assert [(rows.operator, rows.rows["count"].to_pylist()) for rows in found.tables] == [
        ("t", [0])
    ]
    assert found.other_operators == ("n",)
    code, output = run("key", tmp_path, "abc", "--uid", "n", "--uid", "t")
    assert (code, "count" in output) == (0, True), output
    for key in (*keys, form):
        (rows,) = savepoint.key(key).tables
        assert (rows.operator, rows.table) == ("n", "keyed_state")
    with pytest.raises(KeyTypeError, match=f"'abc' is not a key of type {name}"):
        savepoint.key("abc", operator="n")
    with pytest.raises(KeyTypeError, match=f"'abc' is not a key of type {name}"):
        savepoint.scan("n.keyed_state", keys=["abc"]).count()


def test_an_operator_that_there_is_not_is_told(samples: Path) -> None:
    savepoint = Savepoint.open(str(samples / "currency-2.2.1-rocksdb-native"))
    with pytest.raises(OperatorNotFoundError, match="no operator 'sum'; it has: "):
        savepoint.key(1, operator="sum")


def test_times_of_timers_and_windows_are_times_or_numbers() -> None:
    savepoint = Savepoint.open(SAMPLES / "windows-1.20.5-hashmap-canonical")
    windows, timers = savepoint.key(1, operator="1228afe0").tables
    (row,), (numbers,) = windows.printable(), windows.printable("numbers")
    bounds = {"start": "2024-03-01 10:00:00.000000Z", "end": "2024-03-01 11:00:00.000000Z"}
    assert row["namespace"] == bounds
    assert numbers["namespace"] == {"start": 1709287200000, "end": 1709290800000}
    assert timers.printable()[0]["timestamp"] == "2024-03-01 10:59:59.999000Z"
    assert timers.printable("numbers")[0]["timestamp"] == 1709290799999
