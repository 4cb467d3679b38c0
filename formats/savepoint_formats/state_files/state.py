"""Registered states: their kinds and layouts, as the header of a file says."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from savepoint_formats import layout as layouts
from savepoint_formats.errors import DescriptionError, KeyTypeError
from savepoint_formats.layout import (
    Layout,
    as_records,
    timer_namespace,
    with_kryo_classes,
    with_named_classes,
    with_open_pojos,
    without_ttl,
)
from savepoint_formats.lazy_modules import LazyModule
from savepoint_formats.metadata.operator_handles import DistributionMode
from savepoint_formats.python_state.stored_forms import (
    KEY,
    as_python_entry,
    as_python_key,
    as_python_state,
    as_python_timer,
    as_thread_state,
    is_python_state,
    job_name,
    own_type,
)
from savepoint_formats.snapshots.pojo import layouts_with_subclasses
from savepoint_formats.state_files.header import (
    DISTRIBUTION_MODE,
    KEY_SERIALIZER,
    KEYED_STATE_TYPE,
    NAMESPACE_SERIALIZER,
    USER_KEY_SERIALIZER,
    VALUE_SERIALIZER,
    BackendStateType,
)
from savepoint_formats.state_files.local_state import KeyScope, local_type

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_formats.python_state import type_texts
    from savepoint_formats.state_files.header import (
        KeyedBackendHeader,
        OperatorBackendHeader,
        StateMetaInfo,
    )
    from savepoint_formats.values.kryo.dialect import KryoDialect
else:
    type_texts = LazyModule("savepoint_formats.python_state.type_texts")


class StateKind(StrEnum):
    """Kind of a state in the job that made it."""

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
KINDS_BY_TYPE = {
    kind.name: kind for kind in StateKind if kind is not StateKind.TIMERS and kind.is_keyed
}
"""Value of ``KEYED_STATE_TYPE`` -> the kind."""


class StateNames(Protocol):
    """Names of the fields of an operator's states, from outside the savepoint."""

    def named(self, state: State) -> State:
        """The state with these names in its layouts."""

    def remarks(self, state: str) -> Iterator[str]:
        """Purpose of a state, and other facts about it."""


@dataclass(frozen=True, slots=True)
class State:
    """A registered state.

    Attributes:
        kind: How it is stored.
        stored: Layout of what its serializer writes: the value, list or map of a key, an element
            of an operator list, a timer.
        key: Layout of the key; for broadcast state of the map's key; None for operator lists.
        namespace: Layout of the namespace; None where there is none.
        local_kind: Kind in the job of local keyed state, whose instances are stored as ``kind``.
        names: Names of fields that no file tells, if the user knows them.
    """

    name: str
    kind: StateKind
    stored: Layout
    key: Layout | None = None
    namespace: Layout | None = None
    local_kind: StateKind | None = None
    names: StateNames | None = field(default=None, compare=False, repr=False)

    @property
    def scope(self) -> KeyScope:
        """Scope of its keys; each subtask has its own instances of local state."""
        return KeyScope.KEYED if self.local_kind is None else KeyScope.LOCAL

    @property
    def job_kind(self) -> StateKind:
        """Kind of the state in the job, as far as it is known."""
        is_list = isinstance(self.timed_value, layouts.Repeated)
        if self.kind is StateKind.LIST and is_python_state(self.name) and not is_list:
            return StateKind.VALUE
        return self.local_kind or self.kind

    @property
    def job_name(self) -> str:
        return job_name(self.name)

    @property
    def instances(self) -> Layout:
        """Layout of the instances: those of a local list are one list, of all their elements."""
        is_list, stored = self.local_kind is StateKind.LIST, self.stored
        return stored.element if is_list and isinstance(stored, layouts.Repeated) else stored

    @property
    def value(self) -> Layout:
        """Layout of what a reader sees: the stored layout without the times of TTL."""
        return without_ttl(self.timed_value)

    @property
    def timed_value(self) -> Layout:
        """Layout of what a reader sees, with the times of TTL."""
        return as_records(self.instances) if self.kind is StateKind.LIST else self.stored

    @property
    def has_ttl(self) -> bool:
        """Whether each value carries the time of its last access."""
        return self.value != self.timed_value

    def as_told(self, kryo: KryoDialect | None) -> State:
        """The state with the layouts of described classes, and of types of PyFlink."""
        told = {} if kryo is None else dict(kryo.python_types)
        state = self._with_python_key(told.get(KEY)) if told else self
        text = told.get(self.name) or (told.get(self.job_name) if self.job_name != KEY else None)
        if is_python_state(self.name):
            text = text or own_type(self.job_name, self.key, self.namespace)
            return state._with_python_type(None if text is None else type_texts.state_layout(text))
        if text is not None:
            return replace(
                state, stored=as_thread_state(state.stored, type_texts.state_layout(text))
            )
        if told:
            return state
        if kryo is None or not kryo.classes:
            return self
        own = with_kryo_classes((self.stored, self.key, self.namespace), kryo.classes)
        stored, key, namespace = layouts_with_subclasses(
            own, kryo.classes, is_of_flink_1=not kryo.is_5
        )
        return replace(self, stored=stored, key=key, namespace=namespace)

    def with_names(self, names: StateNames | None) -> State:
        """The state with the names of fields that no file tells."""
        return self if names is None else replace(names.named(self), names=names)

    def _with_python_key(self, text: str | None) -> State:
        if self.key is None or not self.kind.is_keyed:
            return self
        is_timer = self.kind is StateKind.TIMERS
        try:
            key = as_python_key(self.key, None if text is None else type_texts.type_layout(text))
        except ValueError as error:
            raise KeyTypeError(f"the keys of state {self.job_name!r}: {error}") from error
        return replace(
            self, key=key, stored=as_python_timer(self.stored, key) if is_timer else self.stored
        )

    def _with_python_type(self, told: Layout | None) -> State:
        is_map = self.kind in (StateKind.MAP, StateKind.BROADCAST)
        if told is not None and is_map != isinstance(told, layouts.MapOf):
            stored = "a map" if is_map else "a value or a list"
            raise DescriptionError(f"state {self.job_name!r} is {stored}, but its type is not")
        if self.kind is StateKind.BROADCAST:
            key, value = as_python_entry(self.key, self.stored, told)
            return replace(self, stored=value, key=key)
        return replace(self, stored=as_python_state(self.stored, told))

    def with_open_pojos(self) -> State:
        """The state with POJOs that may be bytes if they can't be decoded."""
        if self.kind is StateKind.TIMERS:
            return self
        return replace(self, stored=with_open_pojos(self.stored))


def element_layout(state: State) -> Layout:
    """Layout of an element of an operator state; of broadcast state that is its whole map."""
    if state.kind is StateKind.BROADCAST and state.key is not None:
        return layouts.MapOf(state.key, state.stored)
    return state.stored


def value_parts(kind: StateKind, layout: Layout) -> tuple[Layout, ...]:
    """Layouts of a value, of an element of a list, or of a user key and its value."""
    match kind, layout:
        case StateKind.LIST, layouts.Repeated(element):
            return (element,)
        case StateKind.MAP, layouts.MapOf(key, layouts.Nullable(value)) | layouts.MapOf(key, value):
            return key, value
        case _:
            return (layout,)


def key_layout(state: State) -> Layout:
    """Layout of a keyed state's key."""
    if state.key is None:
        raise ValueError(f"{state.name} is no keyed state")
    return state.key


def namespace_layout(state: State) -> Layout:
    """Layout of a keyed state's namespace."""
    return layouts.VoidNamespace() if state.namespace is None else state.namespace


def entry_layouts(state: State) -> tuple[Layout, Layout | None]:
    """Layouts of keys and values of a state's entries; timers have no values."""
    from savepoint_formats.values.state_entries import Delimited, NullableRest, entry_key  # noqa: PLC0415  # headers need no entries

    if state.kind is StateKind.TIMERS:
        return state.stored, None
    key, namespace = key_layout(state), namespace_layout(state)
    match state.kind, state.stored:
        case StateKind.LIST, layouts.Repeated(element):
            return entry_key(0, key, namespace), Delimited(element)
        case StateKind.MAP, layouts.MapOf(user_key, layouts.Nullable(value)):
            return entry_key(0, key, namespace, user_key), NullableRest(value)
        case _:
            return entry_key(0, key, namespace), state.stored


def keyed_states(header: KeyedBackendHeader) -> tuple[State, ...]:
    """States of a file of keyed state; a state's id is its index."""
    key = header.key_serializer.layout()
    states = tuple(keyed_state(info, key) for info in header.states)
    if any(is_python_state(state.name) for state in states):
        states = tuple(map(_of_python_job, states))
    return _with_named_classes(states)


def _of_python_job(state: State) -> State:
    assert state.key is not None  # what makes a state keyed
    is_timer = state.kind is StateKind.TIMERS
    key = as_python_key(state.key)
    return replace(
        state, stored=as_python_timer(state.stored, key) if is_timer else state.stored, key=key
    )


def keyed_state(info: StateMetaInfo, key: Layout) -> State:
    """A keyed state; meta infos don't have the layout of keys."""
    value = info.layout(VALUE_SERIALIZER)
    if info.type is BackendStateType.PRIORITY_QUEUE:
        local_kind, namespace = _local_kind(info, StateKind.TIMERS), timer_namespace(value)
        return State(info.name, StateKind.TIMERS, value, key, namespace, local_kind)
    type_name = info.option(KEYED_STATE_TYPE, StateKind.VALUE.name)
    kind = KINDS_BY_TYPE.get(type_name, StateKind.VALUE)
    if type_name not in KINDS_BY_TYPE:
        value = layouts.Opaque("", f"state {info.name!r} is of the unknown type {type_name!r}")
    elif info.type is BackendStateType.KEY_VALUE_V2:
        value = _collection_layout(kind, info, value)
    namespace = info.layout(NAMESPACE_SERIALIZER)
    is_void = isinstance(namespace, layouts.VoidNamespace)
    local_kind = _local_kind(info, kind)
    return State(info.name, kind, value, key, None if is_void else namespace, local_kind)


def _local_kind(info: StateMetaInfo, kind: StateKind) -> StateKind | None:
    return None if (name := local_type(info)) is None else KINDS_BY_TYPE.get(name, kind)


def _collection_layout(kind: StateKind, info: StateMetaInfo, value: Layout) -> Layout:
    """Layout of state V2, which names the serializers of the contents of a collection."""
    match kind:
        case StateKind.LIST:
            return layouts.Repeated(value)
        case StateKind.MAP:
            return layouts.MapOf(info.layout(USER_KEY_SERIALIZER), layouts.Nullable(value))
        case _:
            return value


def operator_states(header: OperatorBackendHeader) -> tuple[State, ...]:
    """States of a file of operator state."""
    lists = (
        State(info.name, _list_kind(info), info.layout(VALUE_SERIALIZER))
        for info in header.list_states
    )
    kind = StateKind.BROADCAST
    broadcasts = (
        State(info.name, kind, info.layout(VALUE_SERIALIZER), info.layout(KEY_SERIALIZER))
        for info in header.broadcast_states
    )
    return _with_named_classes((*lists, *broadcasts))


def _with_named_classes(states: tuple[State, ...]) -> tuple[State, ...]:
    """States with the fields that their serializers name."""
    named = with_named_classes(
        tuple((state.stored, state.key, state.namespace) for state in states)
    )
    return tuple(
        replace(state, stored=stored, key=key, namespace=namespace)
        for state, (stored, key, namespace) in zip(states, named, strict=True)
    )


def _list_kind(info: StateMetaInfo) -> StateKind:
    is_union = info.option(DISTRIBUTION_MODE) == DistributionMode.UNION.name
    return StateKind.UNION_LIST if is_union else StateKind.OPERATOR_LIST
