"""Savepoints of a stranger: few bytes that become many, nest without an end, or refer to themselves."""

from __future__ import annotations

import struct
import zlib
from dataclasses import replace
from typing import TYPE_CHECKING

import cramjam
import numpy as np
from rocksdict import DBCompressionType, Rdict
from support.hand_made import (
    LONG,
    STRING,
    encoded,
    header,
    i32,
    kryo_of,
    list_of,
    meta_info,
    utf,
)
from support.rocksdb_databases import files_of, table_options, varint

from faults.extreme_savepoints import (
    EVERYTHING,
    file_of,
    groups_of,
    one_value,
    write,
    write_alone,
    written_entry,
)
from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.key_groups.operator_id import OperatorId
from savepoint_formats.layout import Text
from savepoint_formats.metadata import (
    DistributionMode,
    InlineStream,
    OperatorState,
    OperatorStateHandle,
    RelativeFile,
    SubtaskState,
)
from savepoint_formats.metadata.operator_handles import OperatorStateOffsets

if TYPE_CHECKING:
    from pathlib import Path

CODECS = {
    "Snappy": DBCompressionType.snappy(),
    "LZ4": DBCompressionType.lz4(),
    "Zstandard": DBCompressionType.zstd(),
    "bzip2": DBCompressionType.bz2(),
}
"""Compressions of blocks that the RocksDB of the tests writes; it has no zlib."""

_ZLIB = 2
_MAGIC = bytes.fromhex("f7cff485b741e288")
_FOOTER, _TRAILER = 41, 5

_OPERATOR_SIZE = 29
"""Bytes of an operator without state: id, parallelism, limit, coordinator, subtasks."""

_OBJECTS = b"\1\0" + b"[Ljava.lang.Object" + bytes([ord(";") | 0x80])
_KRYO_ARRAY = kryo_of("[Ljava.lang.Object;")


def long_text(size: int) -> bytes:
    """A text of so many letters, as Flink stores it."""
    view = DataOutputView()
    view.write_varint(size + 1)
    return view.to_bytes() + b"x" * size


def block(codec: str, size: int, folder: Path) -> None:
    """A text of one key in a RocksDB whose block is compressed."""
    ((group, (key,)),) = groups_of(["key"]).items()
    options = table_options(compression_type=CODECS[codec])
    database = Rdict(str(folder), options)
    state = database.create_column_family("s", options)
    state[bytes([group]) + encoded(Text(), key) + b"\0"] = long_text(size)
    state.flush()
    state.close()
    database.close()
    head = InlineStream("head", header(meta_info("s", "VALUE", STRING)))
    handle = replace(files_of(folder).handle, meta=head)
    write_alone(folder, SubtaskState(0, managed_keyed_state=handle))


def zlib_block(size: int, folder: Path) -> None:
    """The same with zlib: a table with one block, written by hand, in the place of RocksDB's own."""
    block("Snappy", size, folder)
    ((group, (key,)),) = groups_of(["key"]).items()
    (path,) = folder.glob("*.sst")
    # A value that was put, in the first write.
    stored = bytes([group]) + encoded(Text(), key) + b"\0" + (1 << 8 | 1).to_bytes(8, "little")
    content = _block([(stored, long_text(size))])
    compressor = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    compressed = varint(len(content)) + compressor.compress(content) + compressor.flush()
    data = _with_trailer(compressed, _ZLIB)
    table, places = b"", []
    for part in (data, _with_trailer(_block([(b"rocksdb.column.family.name", b"s")]), 0)):
        places.append(varint(len(table)) + varint(len(part) - _TRAILER))
        table += part
    for part in (_block([(b"rocksdb.properties", places[1])]), _block([(stored, places[0])])):
        places.append(varint(len(table)) + varint(len(part)))
        table += _with_trailer(part, 0)
    footer = (b"\0" + places[2] + places[3]).ljust(_FOOTER, b"\0")
    path.write_bytes(table + footer + (2).to_bytes(4, "little") + _MAGIC)
    head = InlineStream("head", header(meta_info("s", "VALUE", STRING)))
    write_alone(
        folder, SubtaskState(0, managed_keyed_state=replace(files_of(folder).handle, meta=head))
    )


def _block(entries: list[tuple[bytes, bytes]]) -> bytes:
    """Entries with whole keys, and the places of restarts: the first entry alone."""
    parts = [
        varint(0) + varint(len(key)) + varint(len(value)) + key + value for key, value in entries
    ]
    return b"".join(parts) + bytes(4) + (1).to_bytes(4, "little")


def _with_trailer(content: bytes, compression: int) -> bytes:
    """A block in a file without checksums."""
    return content + bytes([compression]) + bytes(_TRAILER - 1)


def key_group(size: int, folder: Path) -> None:
    """A text of one key in a key group that is compressed."""
    ((group, (key,)),) = groups_of(["key"]).items()
    entry = written_entry(bytes([group]), key, long_text(size), is_last=True)
    section = bytes(cramjam.snappy.compress(b"\0\0" + entry + b"\xff\xff"))
    head = bytearray(header(meta_info("s", "VALUE", STRING)))
    head[4] = 1
    write_alone(folder, file_of(folder, "f", bytes(head), {group: [section]}, EVERYTHING))


def operator_state(size: int, folder: Path) -> None:
    """A list state of one text, in a file that is compressed."""
    head = _list_header(is_compressed=True)
    data = head + bytes(cramjam.snappy.compress(long_text(size)))
    (folder / "f").write_bytes(data)
    write_alone(folder, _list_state(0, len(head), RelativeFile("f", len(data))))


def inline_state(subtasks: int, size: int, folder: Path) -> None:
    """State in ``_metadata``: a list state of one text for each subtask."""
    head = _list_header(is_compressed=False)
    data = head + long_text(size)
    records = [
        _list_state(index, len(head), InlineStream(f"f-{index}", data)) for index in range(subtasks)
    ]
    write(
        folder, OperatorState(OperatorId.from_uid("a"), subtasks, subtasks, tuple(records), uid="a")
    )


def many_operators(count: int, folder: Path) -> None:
    """Operators without state, written at once because they are many."""
    write(folder, OperatorState(OperatorId(bytes(16)), 1, 128, ()))
    whole = (folder / "_metadata").read_bytes()
    head, record = whole[:-_OPERATOR_SIZE], whole[-_OPERATOR_SIZE:]
    records = np.tile(np.frombuffer(record, np.uint8), (count, 1))
    records[:, :8] = np.arange(count, dtype=">i8").view(np.uint8).reshape(-1, 8)
    with (folder / "_metadata").open("wb") as file:
        file.write(head[:-4] + i32(count))
        records.tofile(file)


def _list_header(*, is_compressed: bool) -> bytes:
    info = utf("l") + i32(1) + i32(1) + utf("OPERATOR_STATE_DISTRIBUTION_MODE")
    info += utf("SPLIT_DISTRIBUTE") + i32(1) + utf("VALUE_SERIALIZER") + i32(2) + STRING
    count, nothing = struct.pack(">H", 1), struct.pack(">H", 0)
    return i32(6) + bytes([is_compressed]) + count + info + nothing


def _list_state(index: int, start: int, stream: RelativeFile | InlineStream) -> SubtaskState:
    state = OperatorStateOffsets("l", DistributionMode.SPLIT_DISTRIBUTE, (start,))
    return SubtaskState(index, managed_operator_state=OperatorStateHandle((state,), stream))


def deep_type(depth: int, folder: Path) -> None:
    """A state whose lists nest so deep."""
    before, after = list_of(LONG).split(LONG)
    snapshot = before * depth + LONG + after * depth
    one_value(folder, meta_info("s", "VALUE", snapshot), i32(0))


def deep_value(depth: int, folder: Path) -> None:
    """Arrays of Kryo that nest so deep."""
    inner = b"\1\0\1\2"
    one_value(
        folder, meta_info("s", "VALUE", _KRYO_ARRAY), _OBJECTS + b"\1\2", inner * depth, b"\0"
    )


def cycle(count: int, folder: Path) -> None:
    """An array of Kryo that holds itself so often."""
    view = DataOutputView()
    view.write_varint(count + 1)
    value = _OBJECTS + b"\1" + view.to_bytes()
    one_value(folder, meta_info("s", "VALUE", _KRYO_ARRAY), value, b"\1\0\2" * count)
