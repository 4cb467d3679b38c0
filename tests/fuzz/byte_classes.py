"""The class of each byte of a file: what its format has it for.

It is told by the formats, without the readers that are tried; only the fields of ``_metadata`` are those
that its codecs read.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from fuzz.structure import HEAP_HEAD, canonical_entries
from savepoint_formats.bytes.data_view import DataInputView
from savepoint_formats.key_groups.ranges import prefix_size
from savepoint_formats.locations.state_file import StateFile
from savepoint_formats.metadata import CheckpointMetadata, InlineStream, KeyGroupsHandle
from savepoint_formats.state_files.rocksdb.footer import FOOTER_SIZE
from savepoint_formats.state_files.rocksdb.sst import Sst
from savepoint_formats.state_files.rocksdb.sst_blocks import Compression
from savepoint_formats.tables.catalog import base_handles

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fuzz.samples import InMemory

Classes = dict[str, list[int]]
"""Class -> places of its bytes."""

_IDENTIFIER = bytes.fromhex("ff060000") + b"sNaPpY"


class _Traced(DataInputView):
    """A view that notes which field of which record each of its bytes is read for."""

    __slots__ = ("classes",)

    def __init__(self, buffer: bytes) -> None:
        super().__init__(buffer, "_metadata")
        self.classes: Classes = defaultdict(list)

    def _advance(self, size: int) -> int:
        start = super()._advance(size)
        self.classes[_field(sys._getframe(1))] += range(start, start + size)
        return start


def _field(frame: Any) -> str:
    """The innermost record and its field that are being read."""
    kind = frame.f_code.co_name.removeprefix("read_")
    while frame is not None:
        codec = frame.f_locals.get("codec")
        for holder in (frame, frame.f_back):
            cls: Any = None if holder is None else holder.f_locals.get("cls")
            if codec is not None and codec in getattr(cls, "FIELDS", ()):
                names = cls.__match_args__[-len(cls.FIELDS) :]
                return f"{cls.__name__}.{names[cls.FIELDS.index(codec)]} ({kind})"
        if isinstance(frame.f_locals.get("cls"), type):
            return f"{frame.f_locals['cls'].__name__} ({kind})"
        frame = frame.f_back
    return str(kind)


def metadata_classes(data: bytes) -> Classes:
    """Classes of the bytes of ``_metadata``: the fields that they are read for."""
    view = _Traced(data)
    CheckpointMetadata.read(view)
    return dict(view.classes)


def file_classes(kind: str, operator: InMemory, name: str, data: bytes) -> Classes:
    """Classes of the bytes of a file of this kind; see ``state_targets``."""
    match kind:
        case "canonical":
            return _sorted(_canonical(operator, name, data), len(data))
        case "heap":
            return _sorted(_heap(operator, name, data), len(data))
        case "compressed" | "changelog":
            return _sorted(_frames(data), len(data), "plain bytes")
        case "state":
            return _sorted(_elements(operator, name, len(data)), len(data))
        case "rocksdb" if name.endswith(".sst"):
            return _sorted(_table(data), len(data), "filters and unnamed bytes")
        case "rocksdb" if "MANIFEST" in name:
            return _sorted(_log(data), len(data), "zeros at the end of a block")
        case _:
            return {"all bytes": list(range(len(data)))}


def _sorted(ranges: Iterator[tuple[str, int, int]], size: int, rest: str = "header") -> Classes:
    """The classes of ranges; bytes of none are those of ``rest``."""
    names = [rest] * size
    for name, start, end in ranges:
        names[start:end] = [name] * (end - start)
    classes: Classes = defaultdict(list)
    for at, name in enumerate(names):
        classes[name].append(at)
    return dict(classes)


def handle_of(operator: InMemory, name: str) -> KeyGroupsHandle:
    """The handle whose stream has this name."""
    for subtask in operator.record.subtasks:
        raw = subtask.raw_keyed_state
        for one in (*base_handles(subtask.managed_keyed_state), raw):
            stream = one.stream if isinstance(one, KeyGroupsHandle) else None
            if isinstance(stream, InlineStream) and stream.name == name:
                assert isinstance(one, KeyGroupsHandle)
                return one
    raise LookupError(name)


def _canonical(operator: InMemory, name: str, data: bytes) -> Iterator[tuple[str, int, int]]:
    prefix = prefix_size(operator.record.max_parallelism)
    yield from canonical_entries(data, handle_of(operator, name), prefix)


def _heap(operator: InMemory, name: str, data: bytes) -> Iterator[tuple[str, int, int]]:
    starts = sorted(start for start in handle_of(operator, name).groups.offsets if start)
    for start, end in zip(starts, [*starts[1:], len(data)], strict=True):
        yield "key group", start, start + 4
        yield "state id", start + 4, start + 6
        yield "count of entries", start + 6, start + HEAP_HEAD
        yield "namespaces, keys, values, later states", start + HEAP_HEAD, end


def _frames(data: bytes) -> Iterator[tuple[str, int, int]]:
    """Frames of Snappy, wherever a stream of them begins."""
    at = data.find(_IDENTIFIER)
    while at >= 0:
        yield "identifier of Snappy", at, at + len(_IDENTIFIER)
        at += len(_IDENTIFIER)
        while at + 8 <= len(data) and data[at] in (0, 1):
            size = int.from_bytes(data[at + 1 : at + 4], "little")
            yield "type and size of a chunk", at, at + 4
            yield "checksum of a chunk", at + 4, at + 8
            yield "chunk", at + 8, at + 4 + size
            at += 4 + size
        at = data.find(_IDENTIFIER, at)


def _elements(operator: InMemory, name: str, size: int) -> Iterator[tuple[str, int, int]]:
    for subtask in operator.record.subtasks:
        handle = subtask.managed_operator_state
        if handle is not None and getattr(handle.stream, "name", "") == name:
            first = min((at for state in handle.states for at in state.offsets), default=size)
            yield "elements", first, size


def _table(data: bytes) -> Iterator[tuple[str, int, int]]:
    table = Sst.open(StateFile("000001.sst", data=data), len(data))
    index, footer = table.read_index(), table.footer
    names = {
        (int(offset), int(size)): "data block"
        for offset, size in zip(index.offsets, index.sizes, strict=True)
    }
    names[table.index_handle.offset, table.index_handle.size] = "index block"
    names[footer.metaindex.offset, footer.metaindex.size] = "metaindex block"
    for (start, size), name in names.items():
        compression = Compression(data[start + size]).name.lower()
        yield f"{name} ({compression})", start, start + size
        yield f"compression of a {name}", start + size, start + size + 1
        yield f"checksum of a {name}", start + size + 1, start + size + 5
    at = len(data) - FOOTER_SIZE
    handles = _handles_end(data, at + 1)
    yield "footer: type of checksums", at, at + 1
    yield "footer: places of index and metaindex", at + 1, handles
    yield "footer: zeros", handles, at + 41
    yield "footer: version and magic", at + 41, len(data)


def _handles_end(data: bytes, at: int) -> int:
    """The end of four numbers of variable length."""
    for _ in range(4):
        while data[at] & 0x80:
            at += 1
        at += 1
    return at


def _log(data: bytes) -> Iterator[tuple[str, int, int]]:
    """Records of a manifest that has one block."""
    at = 0
    while at + 7 <= len(data):
        size = int.from_bytes(data[at + 4 : at + 6], "little")
        yield "checksum of a record", at, at + 4
        yield "size and type of a record", at + 4, at + 7
        yield "record", at + 7, at + 7 + size
        at += 7 + size
