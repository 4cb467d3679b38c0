"""The structure of a savepoint holds together: what contradicts itself is told, no row vanishes."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.nightly import examples
from support.sample_rows import Sample, copy_of, file_of

from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
from savepoint_formats.errors import FormatError, SavepointError
from savepoint_formats.metadata import (
    CheckpointMetadata,
    IncrementalHandle,
    KeyGroupRangeOffsets,
    KeyGroupsHandle,
)
from savepoint_formats.savepoint_warnings import UnknownUidWarning
from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_formats.metadata import OperatorState, SubtaskState

CANONICAL = Sample("currency-1.20.5-hashmap-canonical")
COMPRESSED = Sample("states-1.20.5-hashmap-compressed")
HEAP = Sample("currency-2.2.1-hashmap-native")
ROCKSDB = Sample("currency-2.2.1-rocksdb-native")
RAW_TIMERS = Sample("states-2.2.1-rocksdb-heaptimers")


Rows = Counter[tuple[str, str, str]]


def all_rows(path: str, uids: tuple[str, ...]) -> Rows:
    """Every row of every table, with its key group."""
    found: Rows = Counter()
    for operator in Savepoint.open(path, uids=uids).operators():
        for table in operator.tables:
            found.update(rows_of(path, uids, operator.name, table.name))
        if operator.catalog.problems:
            raise FormatError(str(operator.catalog.problems[0]), path, -1)
    return found


def rows_of(path: str, uids: tuple[str, ...], operator: str, table: str) -> Rows:
    opened = Savepoint.open(path, uids=uids)
    (found,) = [one for one in opened.operator(operator).tables if one.name == table]
    is_keyed = found.states[0].kind.is_keyed
    scan = opened.scan(f"{operator}.{table}", with_key_group=is_keyed)
    batches = (batch for split in scan.splits() for batch in scan.read(split))
    return Counter((operator, table, repr(row)) for batch in batches for row in batch.to_pylist())


def change(savepoint: Savepoint, uid: str, edit: Callable[[SubtaskState], SubtaskState]) -> None:
    """Writes ``_metadata`` with another first subtask of an operator."""
    path = Path(savepoint.path, "_metadata")
    metadata = CheckpointMetadata.read(DataInputView(path.read_bytes()))
    wanted = savepoint.operator(uid).record.operator_id

    def changed(operator: OperatorState) -> OperatorState:
        if operator.operator_id != wanted:
            return operator
        first, *others = operator.subtasks
        return replace(operator, subtasks=(edit(first), *others))

    view = DataOutputView()
    replace(metadata, operators=tuple(map(changed, metadata.operators))).write(view)
    path.write_bytes(view.to_bytes())


def with_offsets(
    subtask: SubtaskState, edit: Callable[[list[int]], None], *, is_raw: bool = False
) -> SubtaskState:
    handle = subtask.raw_keyed_state if is_raw else subtask.managed_keyed_state
    assert isinstance(handle, KeyGroupsHandle)
    offsets = list(handle.groups.offsets)
    edit(offsets)
    groups = KeyGroupRangeOffsets(handle.groups.key_groups, tuple(offsets))
    found = replace(handle, groups=groups)
    if is_raw:
        return replace(subtask, raw_keyed_state=found)
    return replace(subtask, managed_keyed_state=found)


def written(offsets: list[int]) -> list[int]:
    """The key groups that have a section behind the first one."""
    return [group for group, offset in enumerate(offsets) if offset > min(filter(None, offsets))]


def set_below_zero(offsets: list[int]) -> None:
    offsets[written(offsets)[1]] = -7


def set_nothing_written(offsets: list[int]) -> None:
    offsets[written(offsets)[1]] = 0


def swap(offsets: list[int]) -> None:
    first, second, *_ = written(offsets)
    offsets[first], offsets[second] = offsets[second], offsets[first]


def error_of(savepoint: Savepoint, sample: Sample, operator: str, table: str) -> FormatError:
    with pytest.raises(FormatError) as raised:
        rows_of(savepoint.path, sample.uids, operator, table)
    assert f"operator {operator}" in raised.value.places
    return raised.value


@pytest.mark.parametrize("damage", [set_below_zero, set_nothing_written, swap])
@pytest.mark.parametrize("sample", [CANONICAL, COMPRESSED, HEAP], ids=str)
def test_an_offset_that_leads_elsewhere_is_told(
    sample: Sample, damage: Callable[[list[int]], None], tmp_path: Path
) -> None:
    savepoint = copy_of(sample, tmp_path)
    uid = "stateful" if sample is COMPRESSED else "summarize"
    change(savepoint, uid, lambda subtask: with_offsets(subtask, damage))
    error = error_of(savepoint, sample, uid, "keyed_state")
    assert "key group " in str(error)


def test_a_prefix_is_compared_with_the_key_group_of_the_handle(tmp_path: Path) -> None:
    savepoint = copy_of(CANONICAL, tmp_path)
    change(savepoint, "summarize", lambda subtask: with_offsets(subtask, swap))
    error = error_of(savepoint, CANONICAL, "summarize", "keyed_state")
    assert error.message.startswith("a key of key group ")
    assert error.path == file_of(savepoint, "summarize 0: keyed state").name
    assert any(place.startswith("state ") for place in error.places)


def test_a_section_ends_at_its_end_mark(tmp_path: Path) -> None:
    savepoint = copy_of(CANONICAL, tmp_path)
    change(savepoint, "summarize", lambda subtask: with_offsets(subtask, set_nothing_written))
    error = error_of(savepoint, CANONICAL, "summarize", "keyed_state")
    assert "bytes behind the end mark of the key group" in error.message


@pytest.mark.parametrize(
    ("reference", "operator", "table"),
    [
        ("summarize 0: keyed state", "summarize", "keyed_state"),
        ("currency_converter 0: operator state", "currency_converter", "rates"),
    ],
)
def test_a_file_is_not_longer_than_its_handle_says(
    reference: str, operator: str, table: str, tmp_path: Path
) -> None:
    savepoint = copy_of(CANONICAL, tmp_path)
    file = file_of(savepoint, reference)
    size = file.stat().st_size
    file.write_bytes(file.read_bytes() + b"\0\0")
    error = error_of(savepoint, CANONICAL, operator, table)
    assert error.message == f"{size + 2} bytes in the file, expected {size} as its handle says"
    assert (error.path, error.offset) == (file.name, size)


def renamed(subtask: SubtaskState) -> SubtaskState:
    handle = subtask.managed_operator_state
    assert handle is not None
    *others, last = handle.states
    states = (*others, replace(last, name="other"))
    return replace(subtask, managed_operator_state=replace(handle, states=states))


def test_a_state_that_the_file_lacks_is_told(tmp_path: Path) -> None:
    savepoint = copy_of(RAW_TIMERS, tmp_path)
    change(savepoint, "buffer", renamed)
    error = error_of(savepoint, RAW_TIMERS, "buffer", "elements")
    assert error.message == "state 'elements' (SPLIT_DISTRIBUTE) is in the file only"
    assert error.path == file_of(savepoint, "buffer 0: operator state").name


def with_displaced_elements(subtask: SubtaskState) -> SubtaskState:
    handle = subtask.managed_operator_state
    assert handle is not None
    *others, last = handle.states
    offsets = (*last.offsets[:2], last.offsets[1] - 1, *last.offsets[3:])
    states = (*others, replace(last, offsets=offsets))
    return replace(subtask, managed_operator_state=replace(handle, states=states))


def test_elements_lie_in_their_order(tmp_path: Path) -> None:
    savepoint = copy_of(RAW_TIMERS, tmp_path)
    change(savepoint, "buffer", with_displaced_elements)
    error = error_of(savepoint, RAW_TIMERS, "buffer", "elements")
    assert error.message.startswith("an element of an operator state at ")


def test_a_key_group_of_a_heap_file_has_every_state(tmp_path: Path) -> None:
    savepoint = copy_of(HEAP, tmp_path)
    file = file_of(savepoint, "summarize 0: keyed state")
    size = file.stat().st_size
    # The last state of the last key group: its id, one entry of namespace, key and a double.
    cut = 2 + 4 + 1 + 4 + 8
    assert file.read_bytes()[-cut:].startswith(bytes.fromhex("0000 00000001 00"))

    def shorter(subtask: SubtaskState) -> SubtaskState:
        handle = subtask.managed_keyed_state
        assert isinstance(handle, KeyGroupsHandle)
        stream = replace(handle.stream, size=size - cut)  # type: ignore[arg-type]
        return replace(subtask, managed_keyed_state=replace(handle, stream=stream))

    change(savepoint, "summarize", shorter)
    file.write_bytes(file.read_bytes()[:-cut])
    error = error_of(savepoint, HEAP, "summarize", "keyed_state")
    assert error.message == "the key group ends, with 1 of 2 states missing"


def with_other_key_groups(subtask: SubtaskState) -> SubtaskState:
    handle = subtask.managed_keyed_state
    assert isinstance(handle, IncrementalHandle)
    groups = replace(handle.key_groups, start=handle.key_groups.start + 9)
    return replace(subtask, managed_keyed_state=replace(handle, key_groups=groups))


def test_a_subtask_has_its_own_key_groups(tmp_path: Path) -> None:
    savepoint = copy_of(ROCKSDB, tmp_path)
    change(savepoint, "summarize", with_other_key_groups)
    error = error_of(savepoint, ROCKSDB, "summarize", "keyed_state")
    assert error.message == "key groups 9 to 149, expected 0 to 149"
    assert "subtask 0" in error.places
    assert error.path.endswith("_metadata")


def test_no_subtask_is_there_twice(tmp_path: Path) -> None:
    savepoint = copy_of(ROCKSDB, tmp_path)
    change(savepoint, "summarize", lambda subtask: replace(subtask, index=1))
    error = error_of(savepoint, ROCKSDB, "summarize", "keyed_state")
    assert error.message == "subtask 1 once more, of parallelism 2"


def with_other_name(subtask: SubtaskState) -> SubtaskState:
    handle = subtask.managed_keyed_state
    assert isinstance(handle, IncrementalHandle)
    private = tuple(
        replace(file, name=file.name.replace(".sst", ".sot")) for file in handle.private
    )
    return replace(subtask, managed_keyed_state=replace(handle, private=private))


def test_no_table_is_passed_over_for_its_name(tmp_path: Path) -> None:
    savepoint = copy_of(ROCKSDB, tmp_path)
    change(savepoint, "summarize", with_other_name)
    error = error_of(savepoint, ROCKSDB, "summarize", "keyed_state")
    assert ".sot'" in error.message


def test_every_table_is_of_a_state_of_the_header(tmp_path: Path) -> None:
    savepoint = copy_of(ROCKSDB, tmp_path)
    file = file_of(savepoint, "summarize 0: keyed state header")
    data = file.read_bytes()
    assert data.count(b"\0\5total") == 1
    file.write_bytes(data.replace(b"\0\5total", b"\0\5total".replace(b"l", b"k")))
    error = error_of(savepoint, ROCKSDB, "summarize", "keyed_state")
    assert error.message == "entries of state 'total', expected one of 'totak', 'count'"


def inline_bytes(metadata: CheckpointMetadata) -> list[bytes]:
    states = (operator.coordinator_state for operator in metadata.operators)
    return [state.data for state in states if state is not None]


@pytest.mark.parametrize("sample", [CANONICAL, HEAP, ROCKSDB], ids=str)
def test_each_byte_of_metadata_is_told_or_does_not_matter(sample: Sample, tmp_path: Path) -> None:
    """Bytes at places that are the same in each run, but for the content of coordinators."""
    savepoint = copy_of(sample, tmp_path)
    before = all_rows(savepoint.path, sample.uids)
    path = Path(savepoint.path, "_metadata")
    data = path.read_bytes()
    content: set[int] = set()
    for one in inline_bytes(CheckpointMetadata.read(DataInputView(data))):
        content.update(range(data.index(one), data.index(one) + len(one)))
    chance = random.Random(sample.name)
    for place in chance.sample(
        [one for one in range(len(data)) if one not in content], examples(60)
    ):
        changed = bytearray(data)
        changed[place] ^= chance.choice([1, 2, 0x80, 0xFF])
        path.write_bytes(bytes(changed))
        try:
            found = all_rows(savepoint.path, sample.uids)
        except (SavepointError, UnknownUidWarning):
            continue
        assert {row[2] for row in found} == {row[2] for row in before}, place
        assert found.total() == before.total(), place
