"""Files of operator state: those of a real Flink written anew, and wrong calls."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from support.hand_made import encoded, operator_of, rows
from support.sample_rows import Sample, samples

from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
from savepoint_formats.layout import Layout, Long, Struct, Text
from savepoint_formats.locations.file_io import SnapshotDirectory
from savepoint_formats.metadata import (
    CheckpointMetadata,
    DistributionMode,
    InlineStream,
    OperatorStateHandle,
    SubtaskState,
)
from savepoint_formats.program.byte_ranges import bytes_of
from savepoint_formats.snapshots import TypeSerializerSnapshot, constructed
from savepoint_formats.state_files.header import (
    DISTRIBUTION_MODE,
    KEY_SERIALIZER,
    OPERATOR_VERSION,
    VALUE_SERIALIZER,
    HeaderBytes,
    OperatorBackendHeader,
    StateMetaInfo,
)
from savepoint_formats.state_files.operator_state import (
    BroadcastEntries,
    ListElements,
    OperatorStateFile,
    read_elements,
)
from savepoint_formats.values.kryo.dialect import KryoDialect, KryoVersion
from savepoint_formats.values.values import ValueReader

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LONG, STRING = constructed.long(), constructed.string()
SPLIT, UNION, BROADCAST = DistributionMode


@dataclass(frozen=True)
class Source:
    """A file of operator state."""

    directory: SnapshotDirectory
    handle: OperatorStateHandle

    @property
    def header(self) -> OperatorBackendHeader:
        return OperatorBackendHeader.parse(
            HeaderBytes.of_operator_state(self.directory, self.handle)
        )

    @property
    def content(self) -> bytes:
        return self.directory.file(self.handle.stream).read()

    def elements(self, state: str) -> list[bytes]:
        """The bytes of each element of a state."""
        return [
            element
            for chunk, ranges in read_elements(
                self.directory.file(self.handle.stream),
                self.handle,
                state,
                is_compressed=self.header.is_compressed,
                size=1 << 10,
            )
            for element in bytes_of(chunk, ranges).to_pylist()
        ]

    def states(self) -> dict[str, list[bytes]]:
        infos = (*self.header.list_states, *self.header.broadcast_states)
        return {info.name: self.elements(info.name) for info in infos}


def sources(path: str) -> Iterator[Source]:
    """The files of operator state of a savepoint that have any state."""
    directory = SnapshotDirectory.of(path)
    metadata = CheckpointMetadata.read(DataInputView(directory.read_metadata()))
    for operator in metadata.operators:
        for subtask in operator.subtasks:
            handle = subtask.managed_operator_state
            if handle is not None and handle.states:
                yield Source(directory, handle)


def binary(*items: bytes) -> pa.LargeBinaryArray:
    return pa.array(items, pa.large_binary())


def serializer(info: StateMetaInfo, role: str) -> TypeSerializerSnapshot:
    snapshot = info.serializer(role)
    assert snapshot is not None
    return snapshot


def list_state(source: Source, info: StateMetaInfo) -> ListElements:
    mode = DistributionMode[info.option(DISTRIBUTION_MODE)]
    elements = binary(*source.elements(info.name))
    return ListElements(info.name, mode, serializer(info, VALUE_SERIALIZER), elements)


def broadcast_state(source: Source, info: StateMetaInfo) -> BroadcastEntries:
    key, value = serializer(info, KEY_SERIALIZER), serializer(info, VALUE_SERIALIZER)
    (data,) = source.elements(info.name)
    pairs = list(map_entries(data, key.layout(), value.layout()))
    keys, values = binary(*(key for key, _ in pairs)), binary(*(value for _, value in pairs))
    return BroadcastEntries.of(info.name, key, value, keys, values)


def map_entries(data: bytes, key: Layout, value: Layout) -> Iterator[tuple[bytes, bytes]]:
    """The bytes of each key and value of a broadcast state."""
    view = DataInputView(data)
    reader = ValueReader(view, KryoDialect(KryoVersion.V5_6))
    for _ in range(view.read_int()):
        borders = [view.position]
        for layout in (key, value):
            reader.read(layout)
            borders.append(view.position)
        yield data[borders[0] : borders[1]], data[borders[1] : borders[2]]
    view.expect_end()


def rewritten(source: Source) -> Source:
    output = io.BytesIO()
    written = OperatorStateFile.write(
        output,
        [list_state(source, info) for info in source.header.list_states],
        [broadcast_state(source, info) for info in source.header.broadcast_states],
    )
    data = output.getvalue()
    assert written.size == len(data)
    return Source(source.directory, written.handle(InlineStream("new", data)))


def header_size(header: OperatorBackendHeader) -> int:
    view = DataOutputView()
    header.write(view)
    return view.position


@pytest.mark.parametrize("sample", samples(), ids=str)
def test_a_file_written_anew_has_the_same_states_and_elements(sample: Sample) -> None:
    for source in sources(sample.path):
        found = rewritten(source)
        assert found.states() == source.states()
        assert {one.name: one.mode for one in found.handle.states} == {
            one.name: one.mode for one in source.handle.states
        }


@pytest.mark.parametrize("sample", samples(), ids=str)
def test_the_bytes_are_those_of_flink_but_for_version_and_flag(sample: Sample) -> None:
    for source in sources(sample.path):
        header, found = source.header, rewritten(source)
        assert found.header == OperatorBackendHeader(
            OPERATOR_VERSION, False, header.list_states, header.broadcast_states
        )
        if not header.is_compressed:
            start, found_start = header_size(header), header_size(found.header)
            assert source.content[start:] == found.content[found_start:]


def test_a_file_of_the_same_version_is_the_same_byte_for_byte(corpus: Path) -> None:
    count = 0
    for folder in sorted((corpus / "savepoints").iterdir()):
        for source in sources(str(folder)):
            if source.header.version == OPERATOR_VERSION:
                found = rewritten(source)
                assert found.content == source.content
                states = {state.name: state for state in source.handle.states}
                assert {state.name: state for state in found.handle.states} == states
                count += 1
    assert count > 10


def test_what_is_written_is_what_is_read() -> None:
    elements = binary(*(encoded(Text(), text) for text in ("", "two", "три")))
    pairs = [(encoded(Text(), "k"), encoded(Long(), 1)), (encoded(Text(), ""), encoded(Long(), 2))]
    output = io.BytesIO()
    written = OperatorStateFile.write(
        output,
        [
            ListElements("split", SPLIT, STRING, elements),
            ListElements("union", UNION, STRING, elements[1:]),
            ListElements("empty", SPLIT, LONG, binary()),
        ],
        [
            BroadcastEntries.of(
                "map", STRING, LONG, *(binary(*part) for part in zip(*pairs, strict=True))
            ),
            BroadcastEntries.of("nothing", LONG, LONG, binary(), binary()),
        ],
    )
    handle = written.handle(InlineStream("new", output.getvalue()))
    operator = operator_of(SubtaskState(0, managed_operator_state=handle))
    assert [row["value"] for row in rows(operator, "split")] == ["", "two", "три"]
    assert [row["value"] for row in rows(operator, "union")] == ["two", "три"]
    assert rows(operator, "empty") == rows(operator, "nothing") == []
    assert rows(operator, "map") == [{"key": "k", "value": 1}, {"key": "", "value": 2}]


def test_elements_of_no_bytes_share_a_place() -> None:
    written = OperatorStateFile.write(
        io.BytesIO(), [ListElements("a", SPLIT, STRING, binary(b"", b"", b"x"))]
    )
    (state,) = written.states
    assert np.diff(state.offsets).tolist() == [0, 0]
    assert written.size == state.offsets[-1] + 1


WRONG: list[tuple[list[Any], list[Any], str]] = [
    (
        [ListElements("a", SPLIT, LONG, binary()), ListElements("a", UNION, LONG, binary())],
        [],
        "two states of the name 'a'",
    ),
    (
        [ListElements("a", SPLIT, LONG, binary())],
        [BroadcastEntries.of("a", LONG, LONG, binary(), binary())],
        "two states of the name 'a'",
    ),
    ([ListElements("a", BROADCAST, LONG, binary())], [], "list state 'a' is broadcast"),
    ([ListElements("a", SPLIT, LONG, pa.array([None], pa.large_binary()))], [], "1 nulls"),
]


def test_a_key_without_a_value_is_a_wrong_call() -> None:
    with pytest.raises(ValueError, match="state 'a' of 1 keys and 0 values"):
        BroadcastEntries.of("a", LONG, LONG, binary(b""), binary())


@pytest.mark.parametrize(("lists", "broadcasts", "reason"), WRONG)
def test_states_that_no_restore_would_take_are_refused(
    lists: list[Any], broadcasts: list[Any], reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        OperatorStateFile.write(io.BytesIO(), lists, broadcasts)


def test_a_row_of_fields_is_an_element_like_any_other() -> None:
    pair = Struct(("f0", "f1"), (Text(), Long()))
    value = {"f0": "a", "f1": 7}
    elements = binary(encoded(pair, value))
    output = io.BytesIO()
    snapshot = constructed.tuple_of([STRING, LONG])
    written = OperatorStateFile.write(output, [ListElements("pairs", UNION, snapshot, elements)])
    handle = written.handle(InlineStream("new", output.getvalue()))
    operator = operator_of(SubtaskState(0, managed_operator_state=handle))
    assert rows(operator, "pairs") == [{"value": value}]
