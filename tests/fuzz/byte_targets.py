"""Readers of bytes in memory: metadata, snapshots, Java's streams, Kryo, pickles, values."""

from __future__ import annotations

import json
import pickle
import sys
from collections import OrderedDict, deque
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np
import pyarrow as pa
from support import kryo_vectors, serializer_snapshots
from support.stored_snapshots import snapshot_bytes, stored_snapshots

from fuzz.guarded import GuardedMemory
from fuzz.promises import BrokenPromiseError
from fuzz.target import Seed, Target
from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
from savepoint_formats.errors import FormatError
from savepoint_formats.java.stream import read_java_object
from savepoint_formats.layout import Kryo, nodes_of
from savepoint_formats.metadata import CheckpointMetadata
from savepoint_formats.program.assembly import program
from savepoint_formats.program.decode import decode
from savepoint_formats.python_state.pickles import plain_json, unpickle_plain
from savepoint_formats.snapshots import SnapshotView, TypeSerializerSnapshot, read_resynchronised
from savepoint_formats.snapshots.sql.logical_type import logical_type
from savepoint_formats.values.arrow_types import arrow_type
from savepoint_formats.values.kryo.graph import read_kryo
from savepoint_formats.values.state_entries import EntryReader

if TYPE_CHECKING:
    from fuzz.samples import Inputs
    from savepoint_formats.layout import Layout, LogicalType
    from savepoint_formats.values.kryo.dialect import KryoDialect


def metadata(inputs: Inputs) -> Target:
    """``_metadata``: what is read is written again so that it means the same."""

    def read(data: bytes, _: Any) -> CheckpointMetadata:
        read = CheckpointMetadata.read(DataInputView(data, "_metadata"))
        view = DataOutputView()
        read.write(view)
        if CheckpointMetadata.read(DataInputView(view.to_bytes(), "written")) != read:
            raise BrokenPromiseError("what is written is read as something else")
        return read

    return Target("metadata", [Seed(path.read_bytes()) for path in inputs.metadata_files], read)


def snapshots(inputs: Inputs) -> Target:
    """Snapshots of serializers of every family: read, written again, laid out, shown as a type."""

    def read(data: bytes, _: Any) -> TypeSerializerSnapshot:
        view = SnapshotView(data, "header")
        snapshot = read_resynchronised(TypeSerializerSnapshot.read, view)
        written = SnapshotView(snapshot_bytes(snapshot), "written")
        if read_resynchronised(TypeSerializerSnapshot.read, written) != snapshot:
            raise BrokenPromiseError("what is written is read as something else")
        layout = snapshot.layout()
        hash(layout)
        arrow_type(layout)
        program(layout)
        return snapshot

    stored = {snapshot_bytes(one) for folder in inputs.folders for one in stored_snapshots(folder)}
    stored |= set(serializer_snapshots.DATA.values())
    return Target("snapshots", [Seed(data) for data in sorted(stored)], read)


def java_streams(inputs: Inputs) -> Target:
    """Java's object streams, and the types of SQL that they spell."""

    def read(data: bytes, _: Any) -> LogicalType:
        view = DataInputView(data, "stream")
        return logical_type(read_java_object(view))

    start = bytes.fromhex("aced0005")
    streams: set[bytes] = set()
    snapshots = (one for folder in inputs.folders for one in stored_snapshots(folder))
    for data in map(snapshot_bytes, snapshots):
        at = data.find(start)
        while at >= 0:
            view = DataInputView(data[at:])
            read_java_object(view)
            streams.add(data[at : at + view.position])
            at = data.find(start, at + 1)
    return Target("java", [Seed(data) for data in sorted(streams)], read)


def pickles(_: Inputs) -> Target:
    """Pickles of plain data and of others: nothing is imported or called, and memory is bounded."""

    def read(data: bytes, _: Any) -> str:
        value = unpickle_plain(data)
        text = json.dumps(plain_json(value))
        if "this" in sys.modules:
            raise BrokenPromiseError("a pickle has imported a module")
        return text

    values = [
        {"a": [1, (2.5, None, True)], "b": b"bytes", "c": {3, 4}},
        [date(2024, 1, 2), datetime(2024, 1, 2, tzinfo=UTC), time(1, 2), timedelta(3)],
        [Decimal("1.5"), UUID(int=7), OrderedDict(a=1), deque([1]), 1 << 100, bytearray(b"x")],
        [print, Path("x")],
    ]
    seeds = [pickle.dumps(value, protocol) for value in values for protocol in (2, 4, 5)]
    # A module of Python that nothing else imports.
    seeds += [b"cthis\ns\n.", b"\x80\x04\x8c\x04this\x8c\x01s\x93)R."]
    return Target("pickles", [Seed(data) for data in seeds], read)


def kryo(inputs: Inputs) -> Target:
    """Object graphs of both versions of Kryo, with the classes of the user described and not."""

    def read(data: bytes, context: tuple[Kryo, KryoDialect]) -> str:
        layout, dialect = context
        return repr(read_kryo(layout, DataInputView(data, "graph"), dialect))

    seeds = [
        Seed(bytes.fromhex(text.replace(" ", "")), (kryo_vectors.ANYTHING, dialect))
        for dialect in kryo_vectors.DIALECTS.values()
        for text in (
            kryo_vectors.named("java.util.ArrayList") + "0100",
            kryo_vectors.named("java.util.HashMap")
            + "010101"
            + kryo_vectors.named(kryo_vectors.TEXT),
            kryo_vectors.named("GenKryo$Fin") + "01" + "03" * 8,
            kryo_vectors.LIST + "0103" + "03" * 12,
        )
    ]
    seeds += [
        Seed(bytes.fromhex(one["data"]), (kryo_vectors.layout_of(one["snapshot"]), dialect))
        for one in kryo_vectors.VECTORS
        for dialect in (kryo_vectors.DIALECTS[str(one["flink"])[0]],)
    ]
    seeds += [
        Seed(value.data, (layout, value.kryo))
        for value in inputs.values
        if value.kryo is not None
        for layout in nodes_of(value.layout, Kryo)
    ]
    return Target("kryo", seeds, read)


_INPUT = GuardedMemory(1 << 20)


def stored_values(inputs: Inputs) -> Target:
    """Keys and values: the kernel and the general path have the same value, or the same error.

    Behind bytes that can't be decoded there are several ways to go on, of which only the whole
    decoder knows the one that fits: such values have to be valid, whatever they are.
    """

    def read(data: bytes, context: tuple[Layout, KryoDialect | None, bool]) -> str:
        layout, dialect, is_first = context
        place = _INPUT.first(len(data)) if is_first else _INPUT.last(len(data))
        place[:] = np.frombuffer(data, np.uint8)
        chunk, ends = Chunk(place, "values"), np.array([len(data)], np.int64)
        general, is_certain = _general(layout, dialect, data)
        try:
            bulk: Any = decode(program(layout, dialect), chunk, np.zeros(1, np.int64), ends)
        except FormatError as error:
            bulk = error
        if is_certain:
            _expect_same(general, bulk, program(layout, dialect).type)
        if isinstance(bulk, FormatError):
            raise bulk
        bulk.validate(full=True)
        return str(bulk.to_string())

    seeds = [
        Seed(value.data, (value.layout, value.kryo, is_first))
        for value in inputs.values
        for is_first in (False, True)
    ]
    return Target("values", seeds, read)


def _general(layout: Layout, dialect: KryoDialect | None, data: bytes) -> tuple[Any, bool]:
    """The value or the error of the general path, and whether there is no other way to read it."""
    view = DataInputView(data, "values")
    reader = EntryReader(view, dialect)
    try:
        value = reader.read(layout)
        view.expect_end()
    except FormatError as error:
        return error, reader.described is None
    return value, not (reader.is_lost or reader.hides or reader.is_ambiguous)


def _text(array: pa.Array) -> str:
    """Values with equal NaN, and without what lies below nulls."""
    try:
        return repr(array.to_pylist())
    except (ValueError, OverflowError):
        # Python has no times before its first year.
        return str(array.to_string())


def _expect_same(general: Any, bulk: Any, data_type: pa.DataType) -> None:
    """Raises ``BrokenPromiseError`` if one path takes what the other refuses, or means another value."""
    if isinstance(general, FormatError) != isinstance(bulk, FormatError):
        raise BrokenPromiseError(f"the general path has {general!r}, the kernel {bulk!r}")
    if isinstance(general, FormatError):
        if (type(general), general.offset) != (type(bulk), bulk.offset):
            raise BrokenPromiseError(f"the general path has {general!r}, the kernel {bulk!r}")
        return
    expected = pa.array([general], data_type)
    if not bulk.equals(expected) and _text(bulk) != _text(expected):
        raise BrokenPromiseError(f"the general path has {expected}, the kernel {bulk}")
