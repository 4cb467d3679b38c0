"""Whether a file is what its handle says: a savepoint may name any file of the machine.

| what the handle says | how it is known                                                             |
|----------------------|-----------------------------------------------------------------------------|
| keyed state          | a keyed backend header begins                                               |
| operator state       | an operator backend header begins                                           |
| changelog            | the flag of compression, then a snappy-framed stream or a change set        |
| in-flight data       | i32 version 0, then an i32 size that fits into the file                     |
| of RocksDB           | by its name: the magic number of an SST or blob file, the checksum of the   |
|                      | first record of a log, the words that CURRENT, OPTIONS and IDENTITY have    |
| raw state            | nothing tells it: it must lie in a directory of the savepoint, or where the |
|                      | user allows                                                                 |

What is no such file is neither read nor copied. The bytes behind are not looked at here.

RocksDB: ``log_format.h``, ``OptionsFileName``, ``SetCurrentFile``, ``BlobLogHeader``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from savepoint_formats.bytes.data_view import DataInputView
from savepoint_formats.errors import FormatError, WrongFileError
from savepoint_formats.key_groups.ranges import MAX_PARALLELISM
from savepoint_formats.metadata.references import FileKind
from savepoint_formats.snapshots import SerializerEntry, SnapshotView
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

# A name of a class or of a state, which is all that is looked at, may have 64 KiB.
_HEAD_SIZE = 1 << 17

_SST_MAGICS = (bytes.fromhex("f7cff485b741e288"), bytes.fromhex("57fb808b247547db"))
_BLOB_MAGIC = (2395959).to_bytes(4, "little")

# What begins a record of a log: u32 checksum, u16 size, u8 type; and a u32 in recycled ones.
_RECORD_HEAD = 7
_RECYCLED = range(5, 9)
_RECORD_TYPES = range(1, 9)
_LOG_NUMBER_SIZE = 4
_BLOCK_SIZE = 32 << 10

_CURRENT = re.compile(rb"MANIFEST-\d+\n")
_OPTIONS = re.compile(rb"# This is a \w+ option file\.")
_IDENTITY = re.compile(rb"[0-9A-Fa-f-]{32,36}\n?")


def expect_kind(file: StateFile, kind: FileKind, name: str = "") -> None:
    """Refuses a file that is not what its handle says.

    Args:
        file: The file, or the piece of one.
        kind: What the handle says that it is.
        name: Of a file of RocksDB: its name in the directory of RocksDB.

    Raises:
        StateFileNotFoundError: The file is gone.
        UnreachableError: It can't be read.
        WrongFileError: It is something else.
    """
    if file.data is not None:
        # It lies in _metadata, so that nobody else's it can be.
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
    """Its serializers need not be known."""
    view = SnapshotView(file.read(0, _HEAD_SIZE), file.path)
    read_version(view, "keyed state", (KEYED_VERSION,))
    view.read_strict_bool()
    SerializerEntry.expect_begun(view)


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
    for pattern, check in _OF_ROCKSDB.items():
        if re.fullmatch(pattern, name):
            check(file)
            return
    raise FormatError("RocksDB has no file of such a name", file.path, 0)


def _sst(file: StateFile) -> None:
    size = file.length()
    _expect(file, file.read(max(size - 8, 0)) in _SST_MAGICS, "the footer of an SST file", size)


def _blob(file: StateFile) -> None:
    _expect(file, file.read(0, 4) == _BLOB_MAGIC, "the head of a blob file")


def _current(file: StateFile) -> None:
    _expect(file, _CURRENT.fullmatch(file.read(0, 64)) is not None, "the name of a MANIFEST")


def _options(file: StateFile) -> None:
    _expect(file, _OPTIONS.match(file.read(0, 64)) is not None, "the words of an option file")


def _identity_file(file: StateFile) -> None:
    _expect(file, _IDENTITY.fullmatch(file.read(0, 64)) is not None, "an id")


def _manifest(file: StateFile) -> None:
    _expect(file, _begins_with_record(file), "a record of a log")


def _log(file: StateFile) -> None:
    is_unwritten = not file.length()
    _expect(file, is_unwritten or _begins_with_record(file), "a record of a log")


def _begins_with_record(file: StateFile) -> bool:
    block = file.read(0, _BLOCK_SIZE)
    size, kind = int.from_bytes(block[4:6], "little"), block[6] if len(block) > 6 else 0
    head = _RECORD_HEAD + (_LOG_NUMBER_SIZE if kind in _RECYCLED else 0)
    is_whole = kind in _RECORD_TYPES and len(block) >= head + size
    checked = memoryview(block)[_RECORD_HEAD - 1 : head + size]
    return is_whole and _masked_crc32c(checked) == block[:4]


def _expect(file: StateFile, is_there: bool, what: str, offset: int = 0) -> None:
    if not is_there:
        raise FormatError(f"it lacks {what}", file.path, offset)


def _masked_crc32c(data: memoryview) -> bytes:
    """The checksum as logs of RocksDB have it. A block has little to check, once for each file."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _CRC32C[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    rotated = (crc >> 15 | crc << 17) & 0xFFFFFFFF
    return ((rotated + 0xA282EAD8) & 0xFFFFFFFF).to_bytes(4, "little")


def _crc32c_table() -> tuple[int, ...]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)  # noqa: PLW2901
        table.append(value)
    return tuple(table)


_CRC32C = _crc32c_table()

_OF_ROCKSDB: dict[str, Callable[[StateFile], None]] = {
    r".+\.sst": _sst,
    r".+\.blob": _blob,
    r".+\.log": _log,
    r"MANIFEST-\d+": _manifest,
    r"OPTIONS-\d+": _options,
    r"CURRENT": _current,
    r"IDENTITY": _identity_file,
}

_CHECKS: dict[FileKind, Callable[[StateFile, str], None]] = {
    FileKind.KEYED_STATE: _keyed_state,
    FileKind.OPERATOR_STATE: _operator_state,
    FileKind.CHANGELOG: _changelog,
    FileKind.CHANNEL_STATE: _channel_state,
    FileKind.ROCKSDB: _rocksdb,
    FileKind.RAW: _raw,
}
