"""Recognises files: a savepoint may name any file of the machine.

| handle               | a file is accepted if                                                    |
|----------------------|--------------------------------------------------------------------------|
| keyed state          | a keyed backend header begins                                            |
| operator state       | an operator backend header begins                                        |
| changelog            | the flag of compression, then a snappy-framed stream or a change set     |
| in-flight data       | i32 version 0, then an i32 size that fits into the file                  |
| of RocksDB           | by its name: the magic number of an SST or blob file, the checksum of a  |
|                      | log's first record, the words that CURRENT, OPTIONS and IDENTITY have    |
| raw state            | it is in a directory of the savepoint, or where the user allows          |

Other files are neither read nor copied. This check does not look at later bytes.

RocksDB: ``log_format.h``, ``OptionsFileName``, ``SetCurrentFile``, ``BlobLogHeader``.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.bytes.data_view import DataInputView
from savepoint_formats.errors import FormatError, WrongFileError
from savepoint_formats.key_groups import MAX_PARALLELISM
from savepoint_formats.metadata.references import FileKind
from savepoint_formats.snapshots import SnapshotView
from savepoint_formats.snapshots.snapshot import expect_serializer
from savepoint_formats.state_files.header import (
    KEYED_VERSION,
    OPERATOR_VERSION_COMPRESSED,
    OPERATOR_VERSIONS,
    SNAPPY_IDENTIFIER,
    StateMetaInfo,
    read_version,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_formats.locations.state_file import StateFile

# The name of a class or of a state may have 64 KiB, and no later bytes are checked.
_HEAD_SIZE = 1 << 17

_SST_MAGICS = (bytes.fromhex("f7cff485b741e288"), bytes.fromhex("57fb808b247547db"))
_BLOB_MAGIC = (2395959).to_bytes(4, "little")

_BLOCK_SIZE = 32 << 10
"""The bytes of a log's block; its first record lies in it."""


def expect_kind(file: StateFile, kind: FileKind, name: str = "") -> None:
    """Raises ``WrongFileError`` if a file is not what its handle says.

    ``name`` is the name of a file of RocksDB in the directory of RocksDB.
    """
    if file.data is not None:
        # Bytes in _metadata belong to the savepoint.
        return
    try:
        _CHECKS[kind](file, name)
    except FormatError as error:
        what = f"{kind}, {name!r}" if kind is FileKind.ROCKSDB else kind
        raise WrongFileError(
            f"it is not what the savepoint says, a {what}: {error.message}; it is neither read nor"
            " copied",
            file.path,
            error.offset,
        ) from error


def _keyed_state(file: StateFile, _name: str) -> None:
    view = SnapshotView(file.read(0, _HEAD_SIZE), file.path)
    read_version(view, "keyed state", (KEYED_VERSION,))
    view.read_strict_bool()
    expect_serializer(view)


def _operator_state(file: StateFile, _name: str) -> None:
    view = SnapshotView(file.read(0, _HEAD_SIZE), file.path)
    version = read_version(view, "operator state", OPERATOR_VERSIONS)
    if version == OPERATOR_VERSION_COMPRESSED:
        view.read_strict_bool()
    # The number of list states; if there are none, that of broadcast states.
    if view.read_unsigned_short() or view.read_unsigned_short():
        StateMetaInfo.expect_begun(view)


def _changelog(file: StateFile, _name: str) -> None:
    view = DataInputView(file.read(0, 32), file.path)
    if view.read_strict_bool():
        if view.read_bytes(len(SNAPPY_IDENTIFIER)) != SNAPPY_IDENTIFIER:
            raise view.error("no snappy-framed stream begins")
        return
    groups, changes, key_group = view.read_int(), view.read_int(), view.read_int()
    if groups <= 0 or changes < 0 or not -1 <= key_group < MAX_PARALLELISM:
        raise view.error(f"{groups} groups, {changes} changes of key group {key_group} first")


def _channel_state(file: StateFile, _name: str) -> None:
    view = DataInputView(file.read(0, 8), file.path)
    version = view.read_int()
    if version:
        raise view.error(f"in-flight data of version {version}, expected 0")
    if view.remaining:
        size, rest = view.read_int(), file.length() - view.position
        if not 0 <= size <= rest:
            raise view.error(f"{size} bytes of in-flight data, with {rest} in the file")


def _raw(file: StateFile, _name: str) -> None:
    if not file.is_own:
        message = (
            "it lies in no directory of the savepoint's own, and only its operator knows what raw"
            " state looks like"
        )
        raise FormatError(message, file.path, 0)


def _rocksdb(file: StateFile, name: str) -> None:
    for pattern, (is_so, what) in _OF_ROCKSDB.items():
        if re.fullmatch(pattern, name):
            if not is_so(file):
                offset = file.length() if is_so is _is_sst else 0
                raise FormatError(f"it lacks {what}", file.path, offset)
            return
    raise FormatError("RocksDB has no file of such a name", file.path, 0)


def _is_sst(file: StateFile) -> bool:
    return file.read(max(file.length() - 8, 0)) in _SST_MAGICS


def _begins_with_record(file: StateFile) -> bool:
    with suppress(FormatError):
        from savepoint_formats.state_files.rocksdb.manifest import log_record  # noqa: PLC0415  # one kind of file

        log_record(np.frombuffer(file.read(0, _BLOCK_SIZE), np.uint8), 0, file.path)
        return True
    return False


_OF_ROCKSDB: dict[str, tuple[Callable[[StateFile], bool], str]] = {
    r".+\.sst": (_is_sst, "the footer of an SST file"),
    r".+\.blob": (lambda file: file.read(0, 4) == _BLOB_MAGIC, "the head of a blob file"),
    r".+\.log": (lambda file: not file.length() or _begins_with_record(file), "a record of a log"),
    r"MANIFEST-\d+": (_begins_with_record, "a record of a log"),
    r"OPTIONS-\d+": (
        lambda file: re.match(rb"# This is a \w+ option file\.", file.read(0, 64)) is not None,
        "the words of an option file",
    ),
    r"CURRENT": (
        lambda file: re.fullmatch(rb"MANIFEST-\d+\n", file.read(0, 64)) is not None,
        "the name of a MANIFEST",
    ),
    r"IDENTITY": (
        lambda file: re.fullmatch(rb"[0-9A-Fa-f-]{32,36}\n?", file.read(0, 64)) is not None,
        "an id",
    ),
}

_CHECKS: dict[FileKind, Callable[[StateFile, str], None]] = {
    FileKind.KEYED_STATE: _keyed_state,
    FileKind.OPERATOR_STATE: _operator_state,
    FileKind.CHANGELOG: _changelog,
    FileKind.CHANNEL_STATE: _channel_state,
    FileKind.ROCKSDB: _rocksdb,
    FileKind.RAW: _raw,
}
