"""Headers of state files: the states of a file, and their serializers.

Every file of keyed state begins with a keyed backend header; the meta stream of an incremental
handle has nothing else. Files of operator state begin with an operator backend header.

Flink: ``KeyedBackendSerializationProxy``, ``OperatorBackendSerializationProxy``,
``StateMetaInfoSnapshotReadersWriters``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, ClassVar, Self, TypeVar

from savepoint_formats.bytes.codecs import UTF, Codec, Record, enum_codec, list_codec, tuple_codec
from savepoint_formats.errors import FormatError, UnsupportedVersionError
from savepoint_formats.layout import Opaque
from savepoint_formats.locations.stored_object import MAX_KEPT_SIZE
from savepoint_formats.metadata.keyed_handles import header_of
from savepoint_formats.metadata.operator_handles import DistributionMode
from savepoint_formats.snapshots import (
    SERIALIZER,
    SnapshotView,
    read_resynchronised,
    read_serializer,
    write_serializer,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_formats.bytes.data_view import DataOutputView
    from savepoint_formats.layout import Layout
    from savepoint_formats.locations.file_io import SnapshotDirectory
    from savepoint_formats.locations.state_file import StateFile
    from savepoint_formats.metadata.keyed_handles import BaseHandle
    from savepoint_formats.metadata.operator_handles import OperatorStateHandle
    from savepoint_formats.snapshots import TypeSerializerSnapshot

HeaderT = TypeVar("HeaderT")

MAX_HEADER_SIZE = 64 << 20

KEYED_VERSION = 6
OPERATOR_VERSION = 5
OPERATOR_VERSION_COMPRESSED = 6
OPERATOR_VERSIONS = (OPERATOR_VERSION, OPERATOR_VERSION_COMPRESSED)

KEY_SERIALIZER = "KEY_SERIALIZER"
NAMESPACE_SERIALIZER = "NAMESPACE_SERIALIZER"
VALUE_SERIALIZER = "VALUE_SERIALIZER"
USER_KEY_SERIALIZER = "USER_KEY_SERIALIZER"
KEYED_STATE_TYPE = "KEYED_STATE_TYPE"
DISTRIBUTION_MODE = "OPERATOR_STATE_DISTRIBUTION_MODE"
KEY_SCOPE = "KEY_SCOPE"
LOCAL_STATE_TYPE = "LOCAL_STATE_TYPE"
"""Not an option of Flink, nor is ``KEY_SCOPE``; Flink ignores options that it doesn't know."""

_ROLES = (KEY_SERIALIZER, NAMESPACE_SERIALIZER, VALUE_SERIALIZER, USER_KEY_SERIALIZER)
_OPTIONS = (KEYED_STATE_TYPE, DISTRIBUTION_MODE, KEY_SCOPE, LOCAL_STATE_TYPE)
# No snapshot holds these names, so that its unknown body ends in front of them.
MARKS = (*_ROLES, *_OPTIONS)

# Version 6 and the flag: a snappy-framed stream of elements follows the header.
_COMPRESSED_START = bytes.fromhex("00000006 01")
SNAPPY_IDENTIFIER = bytes.fromhex("ff060000") + b"sNaPpY"


@dataclass(frozen=True, slots=True)
class HeaderBytes:
    """Bytes of a header up to its end, so that unknown snapshots can be read around."""

    data: bytes
    path: str

    @classmethod
    def of_keyed_state(cls, directory: SnapshotDirectory, handle: BaseHandle) -> Self:
        stream, end = header_of(handle)
        file = directory.file(stream, head=end or MAX_KEPT_SIZE)
        return cls(_read_head(file, end), file.path)

    @classmethod
    def of_operator_state(cls, directory: SnapshotDirectory, handle: OperatorStateHandle) -> Self:
        end = handle.header_end
        file = directory.file(handle.stream, head=end or MAX_KEPT_SIZE)
        data = _read_head(file, end)
        if data.startswith(_COMPRESSED_START):
            data = data.removesuffix(SNAPPY_IDENTIFIER)
        return cls(data, file.path)

    def parse(self, read: Callable[[SnapshotView], HeaderT]) -> HeaderT:
        """Result of ``read``; raises ``FormatError`` if it leaves bytes."""
        return read_resynchronised(read, SnapshotView(self.data, self.path), MARKS)


def _read_head(file: StateFile, end: int | None) -> bytes:
    limit = MAX_HEADER_SIZE + 1
    data = file.head(limit if end is None else min(end, limit))
    if len(data) > MAX_HEADER_SIZE:
        message = f"a header of more than {MAX_HEADER_SIZE:,} bytes, which no Flink writes"
        raise FormatError(message, file.path, MAX_HEADER_SIZE)
    return data


class BackendStateType(IntEnum):
    """Kind of state that a meta info describes."""

    KEY_VALUE = 0
    OPERATOR = 1
    BROADCAST = 2
    PRIORITY_QUEUE = 3
    KEY_VALUE_V2 = 4


class KeyedStateType(StrEnum):
    """Kind of keyed state in the job: the value of ``KEYED_STATE_TYPE``."""

    VALUE = "VALUE"
    LIST = "LIST"
    MAP = "MAP"
    REDUCING = "REDUCING"
    AGGREGATING = "AGGREGATING"


def _name(known: tuple[str, ...]) -> Codec:
    """A name, which must be known only in a guess: a newer Flink may have added others."""

    def read(view: SnapshotView) -> str:
        name = view.read_utf()
        if view.is_guessed and name not in known:
            raise view.error(f"{name!r}, expected one of {', '.join(known)}")
        return name

    return Codec(read, UTF.write)


@dataclass(frozen=True, slots=True)
class StateMetaInfo(Record):
    """One state of a file.

    | bytes    | field       | meaning                                     |
    |----------|-------------|---------------------------------------------|
    | utf      | name        |                                             |
    | i32      | type        | a ``BackendStateType``                      |
    | i32, …   | options     | count, then utf key and utf value of each   |
    | i32, …   | serializers | count, then utf role and serializer of each |
    """

    FIELDS: ClassVar[tuple[Codec, ...]] = (
        UTF,
        enum_codec(BackendStateType, "a state of type"),
        list_codec(tuple_codec(_name(_OPTIONS), UTF), 4),
        list_codec(tuple_codec(_name(_ROLES), SERIALIZER), 6),
    )
    name: str
    type: BackendStateType
    options: tuple[tuple[str, str], ...]
    serializers: tuple[tuple[str, TypeSerializerSnapshot], ...]

    @classmethod
    def of_keys(
        cls,
        name: str,
        state_type: KeyedStateType,
        namespace: TypeSerializerSnapshot,
        value: TypeSerializerSnapshot,
    ) -> Self:
        """A state of keys; ``value`` serializes the whole list, map or accumulator."""
        options = ((KEYED_STATE_TYPE, state_type.value),)
        # Flink happens to write the roles in this order.
        serializers = ((VALUE_SERIALIZER, value), (NAMESPACE_SERIALIZER, namespace))
        return cls(name, BackendStateType.KEY_VALUE, options, serializers)

    @classmethod
    def of_timers(cls, name: str, timer: TypeSerializerSnapshot) -> Self:
        """Timers of a service, of one time domain."""
        return cls(name, BackendStateType.PRIORITY_QUEUE, (), ((VALUE_SERIALIZER, timer),))

    @classmethod
    def of_operator(
        cls, name: str, mode: DistributionMode, element: TypeSerializerSnapshot
    ) -> Self:
        """A list that is spread over the subtasks."""
        options = ((DISTRIBUTION_MODE, mode.name),)
        return cls(name, BackendStateType.OPERATOR, options, ((VALUE_SERIALIZER, element),))

    @classmethod
    def of_broadcast(
        cls, name: str, key: TypeSerializerSnapshot, value: TypeSerializerSnapshot
    ) -> Self:
        """A map that every subtask has a copy of."""
        options = ((DISTRIBUTION_MODE, DistributionMode.BROADCAST.name),)
        serializers = ((VALUE_SERIALIZER, value), (KEY_SERIALIZER, key))
        return cls(name, BackendStateType.BROADCAST, options, serializers)

    def option(self, key: str, default: str = "") -> str:
        return dict(self.options).get(key, default)

    def serializer(self, role: str) -> TypeSerializerSnapshot | None:
        """Snapshot of the serializer with this role, if there is one."""
        return dict(self.serializers).get(role)

    def layout(self, role: str) -> Layout:
        """Layout of the serializer with this role; opaque if there is none."""
        snapshot = self.serializer(role)
        if snapshot is None:
            return Opaque("", f"state {self.name!r} names no {role.lower().replace('_', ' ')}")
        return snapshot.layout()

    def with_serializer(self, role: str, snapshot: TypeSerializerSnapshot) -> Self:
        """Replaces the serializer of a role that the state has."""
        changed = ((name, snapshot if name == role else other) for name, other in self.serializers)
        return replace(self, serializers=tuple(changed))

    @classmethod
    def expect_begun(cls, view: SnapshotView) -> None:
        """Raises ``FormatError`` where no state begins; its serializers may be unknown."""
        for field in cls.FIELDS[:2]:
            field.read(view)


def _states(*types: BackendStateType) -> Codec:
    """An i16 count, then each state, which must have one of these types."""

    def read(view: SnapshotView) -> tuple[StateMetaInfo, ...]:
        states: list[StateMetaInfo] = []
        for _ in range(view.read_unsigned_short()):
            state = view.once(StateMetaInfo.read)
            if state.type not in types:
                expected = " or ".join(allowed.name for allowed in types)
                raise view.error(f"state {state.name!r} is {state.type.name}, expected {expected}")
            states.append(state)
        return tuple(states)

    def write(view: DataOutputView, states: tuple[StateMetaInfo, ...]) -> None:
        view.write_unsigned_short(len(states))
        for state in states:
            state.write(view)

    return Codec(read, write)


_KEYED_STATES = _states(
    BackendStateType.KEY_VALUE, BackendStateType.PRIORITY_QUEUE, BackendStateType.KEY_VALUE_V2
)
_LIST_STATES, _BROADCAST_STATES = (
    _states(BackendStateType.OPERATOR),
    _states(BackendStateType.BROADCAST),
)


@dataclass(frozen=True, slots=True)
class KeyedBackendHeader:
    """Header of a file of keyed state; a state's id is its index in ``states``.

    | bytes  | field          | meaning                                       |
    |--------|----------------|-----------------------------------------------|
    | i32    |                | version, 6                                    |
    | bool   | is_compressed  | whether the key groups are snappy-compressed  |
    | …      | key_serializer |                                               |
    | i16, … | states         | count, then each                              |
    """

    is_compressed: bool
    key_serializer: TypeSerializerSnapshot
    states: tuple[StateMetaInfo, ...]

    @classmethod
    def of(cls, key: TypeSerializerSnapshot, states: tuple[StateMetaInfo, ...]) -> Self:
        """Header of a new file."""
        return cls(False, key, states)

    @classmethod
    def read(cls, view: SnapshotView) -> Self:
        """Raises ``UnsupportedVersionError`` for a file of Flink 1.6 or older."""
        read_version(view, "keyed state", (KEYED_VERSION,))
        is_compressed = view.read_strict_bool()
        return cls(is_compressed, view.once(read_serializer), _KEYED_STATES.read(view))

    @classmethod
    def parse(cls, header: HeaderBytes) -> Self:
        """Raises ``FormatError`` if the bytes are no such header."""
        return header.parse(cls.read)

    def write(self, view: DataOutputView) -> None:
        view.write_int(KEYED_VERSION)
        view.write_bool(self.is_compressed)
        write_serializer(view, self.key_serializer)
        _KEYED_STATES.write(view, self.states)


@dataclass(frozen=True, slots=True)
class OperatorBackendHeader:
    """Header of a file of operator state.

    | bytes  | field            | meaning                                       |
    |--------|------------------|-----------------------------------------------|
    | i32    | version          | 5 (Flink 1.8), 6 (1.18)                       |
    | bool   | is_compressed    | version 6 only                                |
    | i16, … | list_states      | count, then each                              |
    | i16, … | broadcast_states | count, then each                              |
    """

    version: int
    is_compressed: bool
    list_states: tuple[StateMetaInfo, ...]
    broadcast_states: tuple[StateMetaInfo, ...]

    @classmethod
    def of(
        cls, list_states: tuple[StateMetaInfo, ...], broadcast_states: tuple[StateMetaInfo, ...]
    ) -> Self:
        """Header of a new file, of the version that every Flink from 1.8 on restores."""
        return cls(OPERATOR_VERSION, False, list_states, broadcast_states)

    @classmethod
    def read(cls, view: SnapshotView) -> Self:
        """Raises ``UnsupportedVersionError`` for a file of Flink 1.6 or older."""
        version = read_version(view, "operator state", OPERATOR_VERSIONS)
        is_compressed = version == OPERATOR_VERSION_COMPRESSED and view.read_strict_bool()
        lists = _LIST_STATES.read(view)
        return cls(version, is_compressed, lists, _BROADCAST_STATES.read(view))

    @classmethod
    def parse(cls, header: HeaderBytes) -> Self:
        """Raises ``FormatError`` if the bytes are no such header."""
        return header.parse(cls.read)

    @classmethod
    def of_handle(cls, directory: SnapshotDirectory, handle: OperatorStateHandle) -> Self:
        """Header of a handle's file; raises ``FormatError`` if the handle has other states."""
        data = HeaderBytes.of_operator_state(directory, handle)
        header = cls.parse(data)
        infos = (*header.list_states, *header.broadcast_states)
        here = {(info.name, info.option(DISTRIBUTION_MODE)) for info in infos}
        there = {(state.name, state.mode.name) for state in handle.states}
        for name, mode in sorted(there ^ here):
            where = "the file" if (name, mode) in here else "_metadata"
            raise FormatError(f"state {name!r} ({mode}) is in {where} only", data.path, 0)
        return header

    def write(self, view: DataOutputView) -> None:
        view.write_int(self.version)
        if self.version == OPERATOR_VERSION_COMPRESSED:
            view.write_bool(self.is_compressed)
        _LIST_STATES.write(view, self.list_states)
        _BROADCAST_STATES.write(view, self.broadcast_states)


def read_version(view: SnapshotView, what: str, known: tuple[int, ...]) -> int:
    """Version of a header, which must be known."""
    version = view.read_int()
    if version not in known:
        view.position -= 4
        raise view.error(
            f"{what} of version {version}, expected {' or '.join(map(str, known))}",
            UnsupportedVersionError,
        )
    return version
