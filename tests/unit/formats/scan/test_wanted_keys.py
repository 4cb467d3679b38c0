"""Look-ups find keys of all kinds, in every form in which keys are given."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from support.keys_of_kinds import KINDS, KindOfKey

from savepoint_extensions.privacy.chosen_keys import listed_keys
from savepoint_extensions.privacy.mask_plan import MaskPlan
from savepoint_extensions.privacy.mask_rules import MaskRules
from savepoint_formats.errors import KeyTypeError
from savepoint_formats.key_groups.ranges import KeyGroupRange
from savepoint_formats.pass_through.divided_entries import decoded_keys
from savepoint_formats.pass_through.stored_states import StoredStates
from savepoint_formats.scan.wanted_keys import keys_of
from savepoint_formats.state_files.state import key_layout
from savepoint_formats.values.kinds.precise_times import is_precise, precise_type
from state_processor import Types

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from savepoint_formats.state_files.state_chunk import StateChunk
    from state_processor import Savepoint


def totals(savepoint: Savepoint, key: Any) -> list[int]:
    scan = savepoint.scan("a.keyed_state", columns=["total"], keys=[key])
    return [row["total"] for batch in scan.batches() for row in batch.to_pylist()]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_key_is_found_as_the_table_has_it(kind: KindOfKey, tmp_path: Path) -> None:
    savepoint = kind.savepoint(tmp_path)
    rows = savepoint.scan("a.keyed_state").to_arrow()
    assert (
        rows.column("key")
        .combine_chunks()
        .take(pc.sort_indices(rows.column("total")))
        .equals(kind.columns)
    )
    found = [totals(savepoint, key) for key in kind.keys]
    assert found == [[number] for number in range(len(kind.keys))]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_key_is_found_by_its_text(kind: KindOfKey, tmp_path: Path) -> None:
    savepoint = kind.savepoint(tmp_path)
    assert [totals(savepoint, text) for text in kind.texts] == [[n] for n in range(len(kind.keys))]
    for number, text in enumerate(kind.texts):
        told = savepoint.key(text)
        assert told.tables[0].rows.column("total").to_pylist() == [number]
        # The text that is shown finds the key again.
        assert totals(savepoint, told.key) == [number]


def test_what_is_not_a_number_is_found_in_a_key(tmp_path: Path) -> None:
    keys = tuple({"f0": number, "f1": "a"} for number in (math.nan, 1.0))
    kind = KindOfKey("nan", Types.TUPLE([Types.DOUBLE(), Types.STRING()]), keys, ())
    savepoint = kind.savepoint(tmp_path)
    assert [totals(savepoint, key) for key in keys] == [[0], [1]]
    assert totals(savepoint, '{"f0": NaN, "f1": "a"}') == [0]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_keys_are_listed_for_an_erasure(kind: KindOfKey, tmp_path: Path) -> None:
    operator = kind.savepoint(tmp_path).operator("a")
    of_keys = listed_keys(operator, kind.keys, is_excluded=True).keys
    assert of_keys.equals(listed_keys(operator, kind.texts, is_excluded=True).keys)
    assert len(of_keys) == len(kind.keys)


def _state_chunks(savepoint: Savepoint) -> Iterator[StateChunk]:
    operator = savepoint.operator("a")
    (state,) = operator.catalog.states
    stored = StoredStates(operator.directory, operator.record, key_layout(state), operator.kryo)
    everything = KeyGroupRange(0, operator.record.max_parallelism - 1)
    chunks = stored.state_chunks(frozenset({"total"}), everything)
    return (chunk for chunk in chunks if len(chunk.entries))


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_exactly_the_entries_of_the_keys_are_erased(kind: KindOfKey, tmp_path: Path) -> None:
    savepoint = kind.savepoint(tmp_path)
    operator = savepoint.operator("a")
    erased = listed_keys(operator, kind.keys[1:], is_excluded=True)
    rest = list(erased.chosen(_state_chunks(savepoint), operator.kryo))
    values = [int.from_bytes(one) for chunk in rest for one in chunk.entries.values.to_pylist()]
    assert values == [0]


_PLAIN = [
    kind
    for kind in KINDS
    if not pa.types.is_nested(kind.columns.type) or is_precise(kind.columns.type)
]


@pytest.mark.parametrize("kind", _PLAIN, ids=str)
def test_keys_are_masked_by_the_text_of_a_key(kind: KindOfKey, tmp_path: Path) -> None:
    savepoint = kind.savepoint(tmp_path)
    operator = savepoint.operator("a")
    rules = f"rules: [{{field: key, method: fixed, value: {json.dumps(kind.texts[0])}}}]"
    masked = MaskPlan.of(operator, MaskRules.of_text(rules)).masked()
    assert masked is not None
    for chunk in _state_chunks(savepoint):
        new = replace(chunk, entries=masked.entries(chunk))
        keys = decoded_keys(new, operator.kryo)
        assert keys.equals(pa.concat_arrays([kind.columns[:1]] * len(keys)))


_PAIR = pa.struct({"at": precise_type("UTC"), "tags": pa.map_(pa.utf8(), pa.duration("ms"))})


def test_fields_elements_and_entries_have_these_forms_too() -> None:
    moment = datetime(2026, 1, 31, tzinfo=UTC)
    forms = [
        {"at": moment, "tags": {"a": timedelta(seconds=1)}},
        {"tags": [("a", 1000)], "at": {"nanos": 0, "seconds": moment}},
        '{"at": "2026-01-31T00:00:00Z", "tags": {"a": "1000"}}',
        '{"at": {"seconds": 1769817600, "nanos": 0}, "tags": [["a", 1000]]}',
    ]
    assert keys_of(forms, _PAIR).equals(keys_of(forms[:1] * len(forms), _PAIR))


@pytest.mark.parametrize(
    ("key", "kind", "reason"),
    [
        ({"at": None}, _PAIR, "it lacks tags"),
        ({"at": None, "tags": None, "to": 1}, _PAIR, "no field 'to'"),
        ('["at"]', _PAIR, "not a dict"),
        (1, pa.list_(pa.int64()), "not a list"),
        ({"seconds": datetime(2026, 1, 1, 0, 0, 0, 5), "nanos": 0}, precise_type(), "data"),
        ({"seconds": 1, "nanos": 10**9}, precise_type(), "nanoseconds none of a second"),
        (datetime(2026, 1, 1), pa.int64(), "not a key of type int64"),
        ("25:00:00", pa.time64("ns"), "not a key of type time64"),
    ],
)
def test_a_key_of_another_form_is_refused(key: Any, kind: pa.DataType, reason: str) -> None:
    with pytest.raises(KeyTypeError, match=reason):
        keys_of([key], kind)
