"""Bytes of real Flinks are decoded, and encoded to the same bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
import support.flink_vectors as flink
from support.each import each
from support.passed_state import infos_of, key_of
from support.sample_rows import Sample, samples
from support.slow_cases import fast_few

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.layout import Layout, MapOf, Nullable, Repeated, Struct, VoidNamespace
from savepoint_formats.locations.file_io import SnapshotDirectory
from savepoint_formats.program.assembly import program
from savepoint_formats.program.byte_ranges import ranges_in
from savepoint_formats.program.decode import decode
from savepoint_formats.program.encode import Encoder
from savepoint_formats.sources.entry_source import SourceSettings
from savepoint_formats.sources.keyed_source import keyed_source
from savepoint_formats.state_files.state import StateKind
from savepoint_formats.values.arrow_types import arrow_type
from savepoint_formats.values.state_entries import Delimited, NullableRest, entry_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_formats.state_files.state import State
    from savepoint_formats.state_files.state_chunk import StateChunk


# Forms of a value that only one of Java's writers makes, and values that no column holds.
OTHER_FORMS = {"bi1new", "row_cgnull", *flink.NO_COLUMN, *flink.ONLY_SHOWN}


def is_writable(vector: dict[str, Any]) -> bool:
    layout = flink.layout_of(bytes.fromhex(vector["snapshot"]))
    return vector["name"] not in OTHER_FORMS and not flink.has(layout, layouts.Kryo)


VECTORS = [one for one in flink.VECTORS if is_writable(one)]


@each("vector", VECTORS, ids=[f"{one['name']} {one['flink']}" for one in VECTORS])
def test_encodes_the_bytes_that_the_jar_wrote(vector: dict[str, Any]) -> None:
    data = bytes.fromhex(vector["data"])
    layout = flink.layout_of(bytes.fromhex(vector["snapshot"]))
    value = flink.read(layout, data, vector["flink"])
    column = pa.array([value], arrow_type(layout))
    assert Encoder(layout).encode(column).to_pylist() == [data]


def state_chunks_of(sample: Sample) -> Iterator[StateChunk]:
    """All entries of keyed state and of timers."""
    savepoint = sample.open()
    directory = SnapshotDirectory.of(savepoint.path)
    for operator in savepoint.metadata.operators:
        settings = SourceSettings(operator.max_parallelism)
        for subtask in operator.subtasks:
            handle = subtask.managed_keyed_state
            if handle is not None:
                key = key_of(directory, operator).layout()
                names = frozenset(infos_of(directory, operator))
                source = keyed_source(directory, handle, key, settings)
                yield from source.state_chunks(names, handle.key_groups)


def entry_layouts(state: State) -> tuple[Layout, Layout | None]:
    """Layouts of the key without its prefix, and of the value; timers have no value."""
    assert state.key is not None
    if state.kind is StateKind.TIMERS:
        return state.stored, None
    user_key = state.stored.key if isinstance(state.stored, MapOf) else None
    namespace = state.namespace or VoidNamespace()
    is_map = state.kind is StateKind.MAP
    whole = entry_key(0, state.key, namespace, user_key if is_map else None)
    key = Struct(whole.names[1:], whole.fields[1:])
    match state.kind, state.stored:
        case StateKind.LIST, Repeated(element):
            return key, Delimited(element)
        case StateKind.MAP, MapOf(_, Nullable(value)):
            return key, NullableRest(value)
        case _:
            return key, state.stored


def decoded(layout: Layout, stored: pa.LargeBinaryArray) -> pa.Array:
    data, ranges = ranges_in(stored)
    return decode(program(layout), Chunk(data), ranges.starts, ranges.ends)


@pytest.mark.parametrize("sample", fast_few(samples()), ids=str)
def test_entries_of_keyed_state_are_encoded_as_they_were_stored(sample: Sample) -> None:
    for state_chunk in state_chunks_of(sample):
        if len(state_chunk.entries):
            key, value = entry_layouts(state_chunk.state)
            keys, values = state_chunk.entries.keys, state_chunk.entries.values
            assert Encoder(key).encode(decoded(key, keys)).equals(keys)
            if value is not None:
                found = decoded(value, values)
                expected = with_plain_nulls(found, values) if is_map(state_chunk) else values
                assert Encoder(value).encode(found).equals(expected)


def is_map(state_chunk: StateChunk) -> bool:
    return state_chunk.state.kind is StateKind.MAP


def with_plain_nulls(found: pa.Array, stored: pa.LargeBinaryArray) -> pa.LargeBinaryArray:
    """Stored bytes, with each null of a map as RocksDB writes it: its flag and nothing else.

    The heap backend writes a second flag, of the serializer of the values, and maybe that alone.
    """
    return pc.if_else(found.is_null(), pa.scalar(b"\1", pa.large_binary()), stored)
