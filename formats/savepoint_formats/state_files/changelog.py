"""Reads changelogs: changes to keyed state since it was last written as a whole.

A changelog's handle has base handles, whose files hold the materialized state, and changes to apply
in order. Changes are in ``_metadata`` itself, or in files (DSTL) that several subtasks and
checkpoints use. Such a file is one byte, and then change sets:

| bytes  | field         | meaning                                                            |
|--------|---------------|--------------------------------------------------------------------|
| u8     | is_compressed | 1: the rest is one snappy-framed stream; 0: it is plain            |
| i32    | groups        | number of groups in the change set                                 |
| i32    | changes       | number of changes in the group                                     |
| i32    | key group     | -1 = of no key group: states are registered                        |
| i32, … | change        | size and bytes, of each change                                     |

A handle says where its change sets begin, in the uncompressed bytes behind the first.

Flink: ``StateChangeFormat``, ``StateChangeFsUploader``, ``ChangelogBackendLogApplier``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from itertools import takewhile
from typing import TYPE_CHECKING, Self

from savepoint_formats.bytes.data_view import DataInputView
from savepoint_formats.bytes.snappy import decompress
from savepoint_formats.errors import (
    FormatError,
    TruncatedError,
    UnknownSnapshotError,
    UnsupportedVersionError,
)
from savepoint_formats.java.stream import read_java_object
from savepoint_formats.key_groups import EMPTY, MAX_PARALLELISM, KeyGroupRange
from savepoint_formats.metadata.keyed_handles import FileChanges
from savepoint_formats.metadata.references import FileKind
from savepoint_formats.snapshots import SnapshotView, read_resynchronised
from savepoint_formats.state_files.header import (
    MARKS,
    VALUE_SERIALIZER,
    BackendStateType,
    StateMetaInfo,
)
from savepoint_formats.state_files.recognition import expect_kind
from savepoint_formats.values.values import ValueReader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_formats.locations.file_io import SnapshotDirectory
    from savepoint_formats.locations.state_file import StateFile
    from savepoint_formats.metadata.keyed_handles import (
        ChangelogHandle,
        ChangesHandle,
        InMemoryChanges,
    )
    from savepoint_formats.metadata.stream_handles import PlainStream

NO_KEY_GROUP = -1
_ALL = KeyGroupRange(0, MAX_PARALLELISM - 1)

_META_INFO_VERSIONS = (6, 7)
_REGISTRATION_TAIL = 3
_NO_TTL_NO_DEFAULT = b"\0\0"
_FLAG_SIZE = 1
_LEAST_GROUP_SIZE = 8
_LEAST_CHANGE_SIZE = 4

# Registrations are in front of a change set, and seldom longer.
_HEAD_SIZE = 64 << 10


class StateChangeOperation(IntEnum):
    """Effect of a change, with Flink's names."""

    CLEAR = 0
    SET = 1
    SET_INTERNAL = 2
    ADD = 3
    MERGE_NS = 4
    ADD_ELEMENT = 5
    ADD_OR_UPDATE_ELEMENT = 6
    REMOVE_ELEMENT = 7
    METADATA = 8


@dataclass(frozen=True, slots=True)
class StateRegistration:
    """A change of no key group: from here on, ``number`` stands for this state.

    | bytes   | field     | meaning                                                           |
    |---------|-----------|-------------------------------------------------------------------|
    | u8      | operation | METADATA                                                          |
    | i32     |           | version of the meta info: 6 (Flink 1.15), 7 (1.18), alike         |
    | …       | info      |                                                                   |
    | bool, … |           | whether there is a TTL configuration; it, as a Java object        |
    | bool, … |           | whether there is a default value; it, by the value serializer     |
    | i16     | number    |                                                                   |
    | u8      |           | the type of the info once more                                    |

    Only key-value states have the TTL configuration and the default value.

    Flink: ``AbstractStateChangeLogger.logMetaIfNeeded``.
    """

    number: int
    info: StateMetaInfo

    @classmethod
    def read(cls, record: DataInputView) -> Self:
        """Reads a registration.

        Raises ``UnknownSnapshotError`` for an unknown serializer around which nothing can be read.
        """
        view = SnapshotView(record.buffer[record.position :], record.path, record.offset)
        _read_operation(view, is_registration=True)
        version = view.read_int()
        if version not in _META_INFO_VERSIONS:
            view.position -= 4
            expected = " or ".join(map(str, _META_INFO_VERSIONS))
            message = f"a state registered in version {version}, expected {expected}"
            raise view.error(message, UnsupportedVersionError)
        body = view.read_view(view.remaining - _REGISTRATION_TAIL)
        info = _read_info(body)
        number, state_type = view.read_unsigned_short(), view.read_unsigned_byte()
        if state_type != info.type:
            raise view.error(f"state {info.name!r} of type {state_type}, expected {info.type}")
        return cls(number, info)


def _read_info(body: DataInputView) -> StateMetaInfo:
    view = SnapshotView(body.buffer, body.path, body.base)
    try:
        info = StateMetaInfo.read(view)
    except UnknownSnapshotError:
        # The end of an unknown snapshot is known only if the bytes behind it are.
        if not bytes(body.buffer).endswith(_NO_TTL_NO_DEFAULT):
            raise
        data = body.buffer[: -len(_NO_TTL_NO_DEFAULT)]
        view = SnapshotView(data, body.path, body.base)
        return read_resynchronised(StateMetaInfo.read, view, MARKS)
    if info.type is not BackendStateType.PRIORITY_QUEUE:
        _skip_ttl_and_default(info, view)
    view.expect_end()
    return info


def _skip_ttl_and_default(info: StateMetaInfo, view: DataInputView) -> None:
    if view.read_strict_bool():
        read_java_object(view)
    if view.read_strict_bool():
        serializer = info.serializer(VALUE_SERIALIZER)
        if serializer is None:
            raise view.error(f"state {info.name!r} has a default value and no serializer")
        ValueReader(view).read(serializer.layout())


@dataclass(frozen=True, slots=True, eq=False)
class KeyedChange:
    """A change of a state of a key group.

    | bytes  | field     | meaning                                             |
    |--------|-----------|-----------------------------------------------------|
    | u8     | operation | a ``StateChangeOperation`` other than METADATA      |
    | i16    | state     | the number that the state was registered with       |
    | …      | body      | key-value state: key, namespace, payload; priority  |
    |        |           | queue: payload                                      |
    """

    key_group: int
    operation: StateChangeOperation
    state: int
    body: DataInputView

    @classmethod
    def read(cls, key_group: int, record: DataInputView) -> Self:
        """Raises ``FormatError`` for an unknown operation, or a registration."""
        operation = _read_operation(record, is_registration=False)
        return cls(key_group, operation, record.read_unsigned_short(), record)


def _read_operation(view: DataInputView, *, is_registration: bool) -> StateChangeOperation:
    code = view.read_unsigned_byte()
    operation = _OPERATIONS.get(code)
    if operation is None or (operation is StateChangeOperation.METADATA) != is_registration:
        view.position -= 1
        where = "outside of any key group" if is_registration else "of a key group"
        expected = "8" if is_registration else "0 to 7"
        raise view.error(f"a change {where} of operation {code}, expected {expected}")
    return operation


_OPERATIONS = {operation.value: operation for operation in StateChangeOperation}

Change = StateRegistration | KeyedChange


def read_changes(
    directory: SnapshotDirectory, handle: ChangelogHandle, key_groups: KeyGroupRange
) -> Iterator[Change]:
    """Changes of these key groups in order, and all registrations among them."""
    files = _ChangelogFiles(directory)
    for changes in handle.changes:
        wanted = changes.key_groups.intersection(key_groups)
        for key_group, record in _records(files, changes, wanted):
            if key_group == NO_KEY_GROUP:
                yield StateRegistration.read(record)
            else:
                yield KeyedChange.read(key_group, record)


def read_registrations(
    directory: SnapshotDirectory, handle: ChangelogHandle
) -> Iterator[StateRegistration]:
    """Registered states; little more than these is read of uncompressed files."""
    files = _ChangelogFiles(directory)
    for changes in handle.changes:
        if isinstance(changes, FileChanges):
            for change_set in changes.streams:
                yield from files.registrations(change_set.stream, change_set.offset)
        else:
            for _, record in _memory_records(changes, EMPTY):
                yield StateRegistration.read(record)


def _records(
    files: _ChangelogFiles, changes: ChangesHandle, wanted: KeyGroupRange
) -> Iterator[tuple[int, DataInputView]]:
    """Key group and bytes of each wanted change, and of each registration."""
    if isinstance(changes, FileChanges):
        # Rescaling cuts a handle to fewer key groups, and its size is unknown then. Its files
        # still have changes of other key groups.
        expected = changes.key_groups if changes.size else _ALL
        for change_set in changes.streams:
            yield from _set_records(
                files.view(change_set.stream, change_set.offset), wanted, expected
            )
    else:
        yield from _memory_records(changes, wanted)


def _memory_records(
    changes: InMemoryChanges, wanted: KeyGroupRange
) -> Iterator[tuple[int, DataInputView]]:
    for index, change in enumerate(changes.changes):
        path = f"change {index} of the changelog {changes.handle_id}"
        if change.key_group != NO_KEY_GROUP and change.key_group not in changes.key_groups:
            raise FormatError(_displaced(change.key_group, changes.key_groups), path, 0)
        if change.key_group == NO_KEY_GROUP or change.key_group in wanted:
            yield change.key_group, DataInputView(change.data, path)


def _set_records(
    view: DataInputView, wanted: KeyGroupRange, expected: KeyGroupRange
) -> Iterator[tuple[int, DataInputView]]:
    """Wanted changes and registrations of a change set; its key groups must be ``expected``."""
    for _ in range(view.read_count(_LEAST_GROUP_SIZE)):
        changes, key_group = _read_group(view, expected)
        for _ in range(changes):
            size = view.read_count()
            if key_group == NO_KEY_GROUP or key_group in wanted:
                base = view.offset
                # A copy: a slice would keep the whole file in memory.
                yield key_group, DataInputView(view.read_bytes(size), view.path, base)
            else:
                view.read_view(size)


def _read_group(view: DataInputView, expected: KeyGroupRange) -> tuple[int, int]:
    """Number of changes, and their key group."""
    changes = view.read_count(_LEAST_CHANGE_SIZE)
    key_group = view.read_int()
    if key_group != NO_KEY_GROUP and key_group not in expected:
        view.position -= 4
        raise view.error(_displaced(key_group, expected))
    return changes, key_group


def _displaced(key_group: int, expected: KeyGroupRange) -> str:
    numbers = f"{expected.start} to {expected.end}, or -1 for none"
    return f"a change of key group {key_group}, expected {numbers}"


class _ChangelogFiles:
    """Files of a changelog; the last one stays in memory, because change sets are neighbours."""

    def __init__(self, directory: SnapshotDirectory) -> None:
        self._directory = directory
        self._stream: PlainStream | None = None
        self._content = DataInputView(b"")

    def view(self, stream: PlainStream, offset: int) -> DataInputView:
        """Content from an offset of the uncompressed bytes on."""
        if stream != self._stream:
            self._content = _content(self._directory.file(stream))
            self._stream = stream
        content = self._content
        if not 0 <= offset <= content.end:
            message = f"a change set at {offset}, with {content.end} bytes in the file"
            raise content.error(message, TruncatedError)
        return DataInputView(content.buffer[offset:], content.path, content.base + offset)

    def registrations(self, stream: PlainStream, offset: int) -> list[StateRegistration]:
        """States that a change set registers, which are its first group."""
        try:
            return _first_registrations(self._head(stream, offset))
        except FormatError:
            return _first_registrations(self.view(stream, offset))

    def _head(self, stream: PlainStream, offset: int) -> DataInputView:
        """First bytes of a change set."""
        file = self._directory.file(stream, head=_HEAD_SIZE)
        expect_kind(file, FileKind.CHANGELOG)
        is_read = stream == self._stream
        if is_read or offset < 0 or file.read(0, _FLAG_SIZE) != b"\0":
            return self.view(stream, offset)
        start = _FLAG_SIZE + offset
        return DataInputView(file.read(start, start + _HEAD_SIZE), file.path, start)


def _first_registrations(view: DataInputView) -> list[StateRegistration]:
    records = _set_records(view, _ALL, _ALL)
    first = takewhile(lambda record: record[0] == NO_KEY_GROUP, records)
    return [StateRegistration.read(record) for _, record in first]


def _content(file: StateFile) -> DataInputView:
    """Uncompressed content of a file."""
    expect_kind(file, FileKind.CHANGELOG)
    data = file.read()
    is_compressed = DataInputView(data, file.path).read_strict_bool()
    content: bytes | memoryview = memoryview(data)[_FLAG_SIZE:]
    if is_compressed:
        content = decompress(content, file.path, _FLAG_SIZE)
    return DataInputView(content, file.path, 0 if is_compressed else _FLAG_SIZE)
