"""The catalog of an operator: which states it has, of which kinds and types.

It is put together from the headers of the operator's state files, from what changelogs say of
states that were registered since, and from the timers among its raw state. Subtasks may differ in
the states that they have, and in their order; equal headers are parsed once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING

from savepoint_formats.errors import SavepointError
from savepoint_formats.key_groups.scope import KeyScope
from savepoint_formats.layout import (
    Layout,
    MapOf,
    Nullable,
    Opaque,
    Repeated,
    Struct,
    TimerTimestamp,
    VoidNamespace,
    as_records,
    timer_namespace,
    with_kryo_classes,
    with_open_pojos,
    without_ttl,
)
from savepoint_formats.metadata.keyed_handles import ChangelogHandle, KeyGroupsHandle
from savepoint_formats.metadata.operator_handles import DistributionMode
from savepoint_formats.metadata.references import stream_references
from savepoint_formats.state_files.changelog import read_registrations
from savepoint_formats.state_files.header import (
    DISTRIBUTION_MODE,
    KEY_SERIALIZER,
    KEYED_STATE_TYPE,
    NAMESPACE_SERIALIZER,
    USER_KEY_SERIALIZER,
    VALUE_SERIALIZER,
    BackendStateType,
    HeaderBytes,
    KeyedBackendHeader,
    OperatorBackendHeader,
    StateMetaInfo,
)
from savepoint_formats.state_files.local_state import local_type
from savepoint_formats.state_files.raw_timers import (
    DOMAINS,
    TimerServices,
    first_section,
    has_timers,
    raw_file,
)
from savepoint_formats.tables.catalog_problem import CatalogProblem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from savepoint_formats.layout import KryoClass
    from savepoint_formats.locations.file_io import SnapshotDirectory
    from savepoint_formats.metadata.checkpoint import OperatorState, SubtaskState
    from savepoint_formats.metadata.keyed_handles import BaseHandle, KeyedStateHandle
    from savepoint_formats.metadata.operator_handles import OperatorStateHandle
    from savepoint_formats.state_files.raw_timers import TimerService
    from savepoint_formats.values.kryo.dialect import KryoDialect


class StateKind(StrEnum):
    """What a state is to the job that made it."""

    VALUE = "value"
    LIST = "list"
    MAP = "map"
    REDUCING = "reducing"
    AGGREGATING = "aggregating"
    FOLDING = "folding"
    TIMERS = "timers"
    OPERATOR_LIST = "operator list"
    UNION_LIST = "union list"
    BROADCAST = "broadcast"
    RAW_KEYED = "raw keyed"
    RAW_OPERATOR = "raw operator"
    COORDINATOR = "coordinator"

    @property
    def is_keyed(self) -> bool:
        """Whether each key has a value of its own."""
        return self not in _OPERATOR_KINDS and not self.is_raw

    @property
    def is_raw(self) -> bool:
        """Whether only its operator knows the format; each operator has one such state at most."""
        return self in _RAW_KINDS


_OPERATOR_KINDS = (StateKind.OPERATOR_LIST, StateKind.UNION_LIST, StateKind.BROADCAST)
_RAW_KINDS = (StateKind.RAW_KEYED, StateKind.RAW_OPERATOR, StateKind.COORDINATOR)
_KINDS_BY_TYPE = {
    kind.name: kind for kind in StateKind if kind is not StateKind.TIMERS and kind.is_keyed
}


@dataclass(frozen=True, slots=True)
class State:
    """A registered state.

    Attributes:
        name: As in its descriptor.
        kind: What it is to the job.
        stored: Layout of what its serializer writes: the value, list or map of a key, an element
            of an operator list, a timer.
        key: Layout of the key; for broadcast state of the map's key; None for operator lists.
        namespace: Layout of the namespace; None where there is none.
        local_kind: What local keyed state is to the job, whose instances are stored as ``kind``.
    """

    name: str
    kind: StateKind
    stored: Layout
    key: Layout | None = None
    namespace: Layout | None = None
    local_kind: StateKind | None = None

    @property
    def scope(self) -> KeyScope:
        """Whether each subtask has an instance of its own of each key group."""
        return KeyScope.KEYED if self.local_kind is None else KeyScope.LOCAL

    @property
    def job_kind(self) -> StateKind:
        """What it is to the job."""
        return self.local_kind or self.kind

    @property
    def instances(self) -> Layout:
        """Layout of the instances: those of a local list are one list, of all their elements."""
        is_list, stored = self.local_kind is StateKind.LIST, self.stored
        return stored.element if is_list and isinstance(stored, Repeated) else stored

    @property
    def value(self) -> Layout:
        """Layout of what a reader sees: what is stored, without the times of TTL."""
        return without_ttl(self.timed_value)

    @property
    def timed_value(self) -> Layout:
        """The same with the times of TTL."""
        return as_records(self.instances) if self.kind is StateKind.LIST else self.stored

    @property
    def has_ttl(self) -> bool:
        """Whether each value carries the time of its last access."""
        return self.value != self.timed_value

    def with_kryo_classes(self, classes: tuple[KryoClass, ...]) -> State:
        """The state as it is to who knows these classes."""
        if not classes:
            return self
        stored, key, namespace = with_kryo_classes((self.stored, self.key, self.namespace), classes)
        return replace(self, stored=stored, key=key, namespace=namespace)

    def with_open_pojos(self) -> State:
        """The state as it is to who wants the bytes of POJOs that cannot be decoded."""
        if self.kind is StateKind.TIMERS:
            return self
        return replace(self, stored=with_open_pojos(self.stored))


@dataclass(frozen=True, slots=True)
class OperatorCatalog:
    """What an operator has.

    Attributes:
        states: All states of all subtasks, in the order of their files.
        keyed_size: Bytes of the streams that hold keyed state and timers.
        operator_size: Bytes of the other streams: operator state, coordinator, channels.
        problems: The files that could not be read, so that states may be missing here.
    """

    states: tuple[State, ...]
    keyed_size: int
    operator_size: int
    problems: tuple[CatalogProblem, ...] = ()

    @classmethod
    def of(
        cls,
        directory: SnapshotDirectory,
        operator: OperatorState,
        kryo: KryoDialect | None = None,
        key: Layout | None = None,
    ) -> OperatorCatalog:
        """Reads the headers of the operator's state files, and hardly anything else of them.

        Args:
            directory: Where the savepoint is.
            operator: The operator.
            kryo: What is known of the Kryo that wrote object graphs.
            key: The layout of keys, for changelogs where no file and no timer tells it.
        """
        reader = _CatalogReader(directory, kryo, {}, [], set(), given_key=key)
        for subtask in operator.subtasks:
            reader.read(subtask)
        reader.read_changelogs(operator.subtasks)
        if operator.coordinator_state is not None:
            reader.add(_raw_state(StateKind.COORDINATOR))
        keyed = sum(size for is_keyed, size in _sizes(operator) if is_keyed)
        others = sum(size for is_keyed, size in _sizes(operator) if not is_keyed)
        classes = kryo.classes if kryo else ()
        states = tuple(one.with_kryo_classes(classes) for one in reader.states.values())
        return cls(states, keyed, others, tuple(reader.problems))


def _sizes(operator: OperatorState) -> Iterator[tuple[bool, int]]:
    """Of each stream: whether it holds keyed state, and its bytes."""
    for reference in stream_references(operator):
        yield reference.is_keyed, max(reference.stream.size, 0)


@dataclass(slots=True)
class _CatalogReader:
    """Collects the states of an operator; a header that was seen before is not parsed again."""

    directory: SnapshotDirectory
    kryo: KryoDialect | None
    states: dict[tuple[bool, bool, str], State]
    problems: list[CatalogProblem]
    seen: set[bytes]
    key: Layout | None = None
    given_key: Layout | None = None

    def read(self, subtask: SubtaskState) -> None:
        for handle in base_handles(subtask.managed_keyed_state):
            self._read(subtask.index, partial(self._keyed_states, handle))
        handles = subtask.managed_operator_state
        if handles is not None and handles.states:
            names = tuple(state.name for state in handles.states)
            self._read(subtask.index, partial(self._operator_states, handles), names)
        raw_keyed = raw_keyed_handle(subtask)
        if raw_keyed is not None:
            self._read(subtask.index, partial(self._raw_keyed_states, raw_keyed))
        if subtask.raw_operator_state is not None:
            self.add(_raw_state(StateKind.RAW_OPERATOR))

    def read_changelogs(self, subtasks: Iterable[SubtaskState]) -> None:
        """Adds what changelogs register; all files come first, as one of them may tell the key."""
        infos: list[StateMetaInfo] = []
        for subtask in subtasks:
            handle = subtask.managed_keyed_state
            try:
                if isinstance(handle, ChangelogHandle):
                    infos += [one.info for one in read_registrations(self.directory, handle)]
            except SavepointError as error:
                self.problems.append(CatalogProblem(subtask.index, error, is_keyed=True))
        timers = (keyed_state(info, _UNKNOWN_KEY) for info in infos)
        told = self.key or _key_of(self.states.values()) or _key_of(timers)
        key = told or self.given_key or _UNKNOWN_KEY
        for info in infos:
            self.add(keyed_state(info, key))

    def add(self, state: State) -> None:
        """Adds a state; keyed and operator states may have the same names."""
        self.states.setdefault((state.kind.is_keyed, state.kind.is_raw, state.name), state)

    def _read(
        self, subtask: int, states: Callable[[], Iterable[State]], names: tuple[str, ...] = ()
    ) -> None:
        """Adds the states of one file; ``names`` are those of operator states."""
        try:
            for state in states():
                self.add(state)
        except SavepointError as error:
            self.problems.append(CatalogProblem(subtask, error, names, not names))

    def _keyed_states(self, handle: BaseHandle) -> tuple[State, ...]:
        data = HeaderBytes.of_keyed_state(self.directory, handle)
        if not self._is_new(data):
            return ()
        header = KeyedBackendHeader.parse(data)
        self.key = header.key_serializer.snapshot.layout()
        return keyed_states(header)

    def _operator_states(self, handle: OperatorStateHandle) -> tuple[State, ...]:
        header = HeaderBytes.of_operator_state(self.directory, handle)
        return operator_states(OperatorBackendHeader.parse(header)) if self._is_new(header) else ()

    def _raw_keyed_states(self, handle: KeyGroupsHandle) -> Iterator[State]:
        file = raw_file(self.directory, handle.stream)
        if (first := first_section(file, handle)) is None:
            return
        section, data = first
        if not has_timers(data):
            yield _raw_state(StateKind.RAW_KEYED)
            return
        found = TimerServices.of(data, file.path, section, self.kryo)
        for service in found.services:
            for domain in DOMAINS:
                yield _raw_timers(service, domain)
        if found.problem:
            yield State(RAW_TIMERS, StateKind.RAW_KEYED, Opaque("", found.problem))

    def _is_new(self, header: HeaderBytes) -> bool:
        is_new = header.data not in self.seen
        self.seen.add(header.data)
        return is_new


def base_handles(handle: KeyedStateHandle | None) -> tuple[BaseHandle, ...]:
    """The handles whose files hold state, without changelogs."""
    match handle:
        case None:
            return ()
        case ChangelogHandle():
            return handle.base
        case _:
            return (handle,)


def raw_keyed_handle(subtask: SubtaskState) -> KeyGroupsHandle | None:
    """The handle of a subtask's raw keyed state; Flink writes no other kind of handle there."""
    handle = subtask.raw_keyed_state
    return handle if isinstance(handle, KeyGroupsHandle) else None


def _raw_state(kind: StateKind) -> State:
    return State(_RAW_NAMES[kind], kind, Opaque("", "only its operator knows its format"))


RAW_TIMERS = "raw_timers"

_RAW_NAMES = {
    StateKind.RAW_KEYED: "raw_keyed_state",
    StateKind.RAW_OPERATOR: "raw_operator_state",
    StateKind.COORDINATOR: "coordinator_state",
}


def _raw_timers(service: TimerService, domain: str) -> State:
    """Timers as the managed state that they would be elsewhere."""
    names = ("timestamp", "key", "namespace")
    timer = Struct(names, (TimerTimestamp(), service.key, service.namespace))
    name = service.state_name(domain)
    return State(name, StateKind.TIMERS, timer, service.key, timer_namespace(timer))


_UNKNOWN_KEY = Opaque(
    "",
    "no file of the operator names the serializer of its keys; tell their type by key_types,"
    " --key-type or keyTypes",
)


def _key_of(states: Iterable[State]) -> Layout | None:
    """The layout of keys, if there are timers: their serializer tells it."""
    for state in states:
        if state.kind is StateKind.TIMERS and isinstance(state.stored, Struct):
            return dict(zip(state.stored.names, state.stored.fields, strict=True)).get("key")
    return None


def keyed_states(header: KeyedBackendHeader) -> tuple[State, ...]:
    """The states of a file of keyed state; a state's id is its index."""
    key = header.key_serializer.snapshot.layout()
    return tuple(keyed_state(info, key) for info in header.states)


def keyed_state(info: StateMetaInfo, key: Layout) -> State:
    """A keyed state, whose meta info does not tell the layout of keys."""
    value = info.layout(VALUE_SERIALIZER)
    if info.type is BackendStateType.PRIORITY_QUEUE:
        local_kind, namespace = _local_kind(info, StateKind.TIMERS), timer_namespace(value)
        return State(info.name, StateKind.TIMERS, value, key, namespace, local_kind)
    type_name = info.option(KEYED_STATE_TYPE, StateKind.VALUE.name)
    kind = _KINDS_BY_TYPE.get(type_name, StateKind.VALUE)
    if type_name not in _KINDS_BY_TYPE:
        value = Opaque("", f"state {info.name!r} is of the unknown type {type_name!r}")
    elif info.type is BackendStateType.KEY_VALUE_V2:
        value = _collection_layout(kind, info, value)
    namespace = info.layout(NAMESPACE_SERIALIZER)
    is_void = isinstance(namespace, VoidNamespace)
    local_kind = _local_kind(info, kind)
    return State(info.name, kind, value, key, None if is_void else namespace, local_kind)


def _local_kind(info: StateMetaInfo, kind: StateKind) -> StateKind | None:
    return None if (name := local_type(info)) is None else _KINDS_BY_TYPE.get(name, kind)


def _collection_layout(kind: StateKind, info: StateMetaInfo, value: Layout) -> Layout:
    """What state V2 stores: it names the serializers of the parts of a collection."""
    match kind:
        case StateKind.LIST:
            return Repeated(value)
        case StateKind.MAP:
            return MapOf(info.layout(USER_KEY_SERIALIZER), Nullable(value))
        case _:
            return value


def operator_states(header: OperatorBackendHeader) -> tuple[State, ...]:
    """The states of a file of operator state."""
    lists = (
        State(info.name, _list_kind(info), info.layout(VALUE_SERIALIZER))
        for info in header.list_states
    )
    kind = StateKind.BROADCAST
    broadcasts = (
        State(info.name, kind, info.layout(VALUE_SERIALIZER), info.layout(KEY_SERIALIZER))
        for info in header.broadcast_states
    )
    return (*lists, *broadcasts)


def _list_kind(info: StateMetaInfo) -> StateKind:
    is_union = info.option(DISTRIBUTION_MODE) == DistributionMode.UNION.name
    return StateKind.UNION_LIST if is_union else StateKind.OPERATOR_LIST
