"""Splits of file sources, and the files that an enumerator still has.

A split of a file source, version 1:

| bytes      | field     | meaning                                                        |
|------------|-----------|----------------------------------------------------------------|
| utf        | split     | id, a number                                                   |
| bool, …    | path      | the parts of a URI                                             |
| i64 i64    | range     | offset and length in the file                                  |
| i64 i64    | file      | time of its change in milliseconds, size                       |
| i32 n: utf | hosts     |                                                                |
| bool, …    | position  | i64 offset, i64 records that were read behind it; none before  |

State of its enumerator, version 1, little-endian: i32 ``DEADBEEF``, i32 version of splits, i32 n splits,
i32 m paths, then i32 size and bytes of each split, and i32 size and UTF-8 of each path.

Flink: ``FileSourceSplitSerializer``, ``PendingSplitsCheckpointSerializer``, ``Path``.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, replace
from typing import Self

from savepoint_extensions.connectors.kafka.versioned import Versioned
from savepoint_formats.bytes import DataInputView, DataOutputView
from savepoint_formats.errors import RefusedError, UnsupportedVersionError

_VERSION = 1
_HEADER = struct.Struct("<iiii")
_MAGIC = 0xDEADBEEF - (1 << 32)
_PATH = re.compile(r"(?:([^:/]+):)?(?://(?:([^@/]+)@)?([^:/]*)(?::(\d+))?)?(/.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class FileSplit:
    """A range of a file, with the position of its reader.

    Attributes:
        offset: Where the range begins.
        position: Offset, and number of records that were read behind it; None before the first.
        head: All bytes in front of the position.
    """

    split: str
    path: str
    offset: int
    length: int
    position: tuple[int, int] | None
    head: bytes

    @classmethod
    def of(cls, versioned: Versioned, path: str) -> Self:
        """Raises ``FormatError`` if the bytes are no split of a file source."""
        view = DataInputView(versioned.data, path)
        if versioned.version != _VERSION:
            message = f"a file split of version {versioned.version}"
            raise view.error(message, UnsupportedVersionError)
        split, file = view.read_utf(), _path(view)
        offset, length, _, _ = view.read_longs(4)
        for _ in range(view.read_count(2)):
            view.read_utf()
        head = versioned.data[: view.position]
        position = (view.read_long(), view.read_long()) if view.read_strict_bool() else None
        view.expect_end()
        return cls(split, file, offset, length, position, head)

    @classmethod
    def of_file(cls, split: str, path: str, size: int, modified_ms: int) -> Self:
        """A split of a whole file, which no reader has begun; ``path`` is not escaped."""
        view = DataOutputView()
        view.write_utf(split)
        _write_path(view, path)
        view.write_longs((0, size, modified_ms, size))
        view.write_int(0)
        return cls(split, path, 0, size, None, view.to_bytes())

    def at(self, offset: int, records: int) -> Self:
        """The split whose reader goes on elsewhere."""
        return replace(self, position=(offset, records))

    def to_versioned(self) -> Versioned:
        """The split, of version 1."""
        view = DataOutputView()
        view.write_bytes(self.head)
        view.write_bool(self.position is not None)
        view.write_longs(self.position or ())
        return Versioned(_VERSION, view.to_bytes())


def _path(view: DataInputView) -> str:
    """The text of a path: bool, then scheme, user, host, i32 port, path, query and fragment."""
    if not view.read_strict_bool():
        return ""
    scheme, user, host = (_nullable(view) for _ in range(3))
    port = view.read_int()
    file, query, fragment = (_nullable(view) for _ in range(3))
    place = f"{user + '@' if user else ''}{host or ''}{f':{port}' if port >= 0 else ''}"
    start = f"{scheme}:{'//' + place if place else ''}" if scheme else ""
    return f"{start}{file or ''}{'?' + query if query else ''}{'#' + fragment if fragment else ''}"


def _write_path(view: DataOutputView, path: str) -> None:
    parts = _PATH.fullmatch(path)
    if parts is None:
        raise RefusedError(f"{path} has no form of a path of Flink")
    scheme, user, host, port, file = parts.groups()
    view.write_bool(True)
    for text in (scheme, user, host):
        _write_nullable(view, text)
    view.write_int(int(port or -1))
    for text in (file, None, None):
        _write_nullable(view, text)


def _write_nullable(view: DataOutputView, text: str | None) -> None:
    view.write_bool(text is not None)
    if text is not None:
        view.write_string_value(text)


def _nullable(view: DataInputView) -> str | None:
    return view.read_string_value() if view.read_strict_bool() else None


@dataclass(frozen=True, slots=True)
class FileEnumerator:
    """The splits that no reader has, and the files that a source that watches a directory won't read again."""

    splits: tuple[FileSplit, ...]
    processed: tuple[str, ...]

    @classmethod
    def of(cls, versioned: Versioned, path: str) -> Self:
        """Raises ``FormatError`` for another enumerator."""
        view = DataInputView(versioned.data, path)
        magic, version, splits, paths = _HEADER.unpack(view.read_bytes(_HEADER.size))
        if versioned.version != _VERSION or magic != _MAGIC:
            raise view.error("no enumerator of a file source", UnsupportedVersionError)
        if min(splits, paths) < 0:
            raise view.error(f"{splits} splits and {paths} paths")
        waiting = tuple(FileSplit.of(Versioned(version, _sized(view)), path) for _ in range(splits))
        processed = tuple(_sized(view).decode("utf-8", "replace") for _ in range(paths))
        view.expect_end()
        return cls(waiting, processed)

    def to_versioned(self) -> Versioned:
        """The state, of version 1."""
        view = DataOutputView()
        header = (_MAGIC, _VERSION, len(self.splits), len(self.processed))
        view.write_bytes(_HEADER.pack(*header))
        splits = (split.to_versioned().data for split in self.splits)
        for data in (*splits, *(path.encode() for path in self.processed)):
            view.write_bytes(_little(len(data)) + data)
        return Versioned(_VERSION, view.to_bytes())


def _little(number: int) -> bytes:
    return number.to_bytes(4, "little")


def _sized(view: DataInputView) -> bytes:
    return view.read_bytes(int.from_bytes(view.read_bytes(4), "little", signed=True))
