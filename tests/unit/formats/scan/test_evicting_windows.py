"""Windows with an evictor: their elements are records with timestamps, and shown as such."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from support.hand_made import (
    STRING,
    TIME_WINDOW,
    canonical_base,
    encoded,
    group_of,
    header,
    heap_base,
    list_of,
    meta_info,
    operator_of,
    rows,
    stream_elements_of,
)

from savepoint_formats.errors import StateTypeError
from savepoint_formats.layout import Long, Text
from savepoint_formats.locations.file_io import SnapshotDirectory
from savepoint_formats.metadata import KeyGroupsHandle, OperatorState, SubtaskState
from savepoint_formats.tables.catalog import OperatorCatalog
from savepoint_formats.tables.tables import tables_of
from savepoint_formats.tables.visible import stream_elements, visible_elements
from savepoint_formats.values.arrow_types import arrow_type

CONTENTS = meta_info("window-contents", "LIST", list_of(stream_elements_of(STRING)), TIME_WINDOW)
SPAN = encoded(Long(), 0) + encoded(Long(), 1_000)

# Tag 0 is a record with a timestamp, 1 one without, 2 a watermark.
TIMED = bytes.fromhex("00 0000000000000007") + encoded(Text(), "a")
UNTIMED = b"\1" + encoded(Text(), "b")
WATERMARK = bytes.fromhex("02 0000000000000009")
SHOWN = [{"timestamp": 7, "value": "a"}, {"timestamp": None, "value": "b"}]


def canonical(*elements: bytes) -> KeyGroupsHandle:
    key = encoded(Text(), "k") + SPAN
    return canonical_base(header(CONTENTS), [(group_of("k"), 0, key, b",".join(elements))])


def heap(*elements: bytes) -> KeyGroupsHandle:
    content = len(elements).to_bytes(4) + b"".join(elements)
    entry = SPAN + encoded(Text(), "k") + content
    return heap_base(header(CONTENTS), 1, [(group_of("k"), 0, entry)])


def operator(handle: KeyGroupsHandle) -> OperatorState:
    return operator_of(SubtaskState(0, managed_keyed_state=handle))


@pytest.mark.parametrize("file", [canonical, heap])
@pytest.mark.parametrize("with_times", [False, True])
def test_elements_are_values_with_their_timestamps(file: Any, with_times: bool) -> None:
    (row,) = rows(operator(file(TIMED, UNTIMED)), "window_state", with_times=with_times)
    assert row["window-contents"] == SHOWN
    assert row["namespace"] == {"start": 0, "end": 1_000}


def test_the_flat_view_has_a_row_per_element() -> None:
    found = rows(operator(heap(TIMED, UNTIMED)), "window_state", flat="window-contents")
    assert [row["list_value"] for row in found] == SHOWN


def test_the_catalog_has_the_type_that_is_shown() -> None:
    one = operator(heap(TIMED))
    (state,) = OperatorCatalog.of(SnapshotDirectory.of("/"), one).states
    (table,) = tables_of((state,))
    assert table.columns[-1].layout == state.value
    assert not state.has_ttl


def test_what_is_no_record_is_never_left_out() -> None:
    with pytest.raises(StateTypeError, match="stream element 'watermark'"):
        rows(operator(heap(TIMED, WATERMARK)), "window_state")


def test_nulls_and_empty_lists_stay_what_they_are() -> None:
    (state,) = OperatorCatalog.of(SnapshotDirectory.of("/"), operator(heap(TIMED))).states
    record = {"record": {"timestamp": 1, "value": "x"}}
    values = pa.array([None, [], [record], None, [record, record]], arrow_type(state.stored))
    shown = {"timestamp": 1, "value": "x"}
    expected = [None, [], [shown], None, [shown, shown]]
    assert visible_elements(values, state.stored).to_pylist() == expected
    assert visible_elements(values[2:], state.stored).to_pylist() == expected[2:]
    assert visible_elements(values, state.stored).type == arrow_type(state.value)


def test_what_is_shown_is_written_as_it_was() -> None:
    (state,) = OperatorCatalog.of(SnapshotDirectory.of("/"), operator(heap(TIMED))).states
    timed = {"record": {"timestamp": 1, "value": "x"}}
    values = pa.array(
        [[timed], None, [], [{"record_without_timestamp": "y"}, timed]], arrow_type(state.stored)
    )
    for column in (values, values[2:]):
        shown = visible_elements(column, state.stored)
        assert stream_elements(shown, state.stored).equals(column)
