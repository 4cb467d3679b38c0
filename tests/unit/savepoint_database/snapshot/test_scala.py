"""Savepoints of jobs in Scala: every value is what the job put in."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from support.scala_rows import (
    CASES,
    KRYO,
    UIDS,
    expected_states,
    expected_words,
    stored_states,
    without_order,
)

from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
from savepoint_formats.layout import holds_kryo
from savepoint_formats.state_files.state import StateKind, entry_layouts
from savepoint_formats.tables.remarks import state_remarks
from savepoint_formats.values.state_entries import EntryReader, EntryWriter
from savepoint_spark.changing.stored_rows import stored_chunks
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

    from savepoint_formats.layout import Layout


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("uid", ["by-string", "by-int", "by-case-class"])
def test_every_value_is_what_the_job_put_in(corpus: Path, case: str, uid: str) -> None:
    savepoint = Savepoint.open(str(corpus / "scala" / case / "savepoint"))
    stored = stored_states(savepoint, uid)
    expected = expected_states(corpus, case)[uid]
    assert set(stored) == set(expected)
    count = 0
    for name in set(expected) - KRYO:
        data_type, key_type, rows = stored[name]
        values = {str(row["key"]): without_order(name, row["value"]) for row in rows}
        for entry in expected[name]["entries"]:
            key = expected_words(entry["key"], key_type)
            value = without_order(name, expected_words(entry["value"], data_type))
            assert values.pop(str(key)) == value, (name, key)
            count += 1
        assert not any(value for value in values.values()), (name, values)
    assert count > 30


def test_objects_of_scala_that_kryo_wrote_need_no_description(corpus: Path) -> None:
    case = "flinkscala-1.20.5-hashmap-canonical"
    savepoint = Savepoint.open(str(corpus / "scala" / case / "savepoint"), uids=UIDS)
    noted = {
        state.name
        for state in savepoint.operator("by-string").catalog.states
        if any(state_remarks(state))
    }
    states, read = stored_states(savepoint, "by-string"), dict.fromkeys(KRYO - {"uuid-kryo"}, 0)
    for name in read:
        values = {row["key"]: row["value"]["json"] for row in states[name][2]}
        for entry in expected_states(corpus, case)["by-string"][name]["entries"]:
            text, value = values[entry["key"]], entry["value"]
            if name != "shape-kryo" or value == {"$type": "sc.NoShape$"}:
                assert in_json(text) == value
                read[name] += 1
    assert read == {"big-decimal": 20, "big-int": 20, "shape-kryo": 5}
    assert noted & set(read) == {"shape-kryo"}


def in_json(text: str) -> Any:
    """An object of Scala as ``expected.json`` has it."""
    value = json.loads(text)
    match value:
        case {"bigDecimal": number} | {"bigInteger": number}:
            return str(number)
    return {"$type": value["$class"]}


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize("case", CASES)
def test_every_value_is_written_as_the_job_wrote_it(corpus: Path, case: str) -> None:
    savepoint = Savepoint.open(str(corpus / "scala" / case / "savepoint"), uids=UIDS)
    count = 0
    for uid in UIDS:
        operator = savepoint.operator(uid)
        for state in operator.catalog.states:
            if state.name in KRYO or not state.kind.is_keyed or state.kind is StateKind.TIMERS:
                continue
            for chunk in stored_chunks(operator, state.name):
                _, layout = entry_layouts(chunk.state)
                assert layout is not None
                if holds_kryo(layout):
                    continue
                for value in chunk.entries.values.to_pylist():
                    reader = EntryReader(DataInputView(value), operator.kryo)
                    count += check_rewritten(layout, reader, value, state.name)
    assert count > 500


def check_rewritten(layout: Layout, reader: EntryReader, data: bytes, state: str) -> bool:
    """Whether the bytes were compared; a column has one null for ``None`` and what is around it."""
    value = reader.read(layout)
    target = DataOutputView()
    EntryWriter(target).write(layout, value)
    is_whole = state != "opts" or value["_3"] is not None
    assert not is_whole or target.to_bytes() == data[: target.position], state
    return is_whole
