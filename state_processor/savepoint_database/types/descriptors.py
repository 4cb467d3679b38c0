"""Descriptors of state, for functions that ask for it and for new state.

They have Flink's names. Reading needs only a name because the savepoint knows the type of every
state. For new state, the descriptor has the types of the job's own descriptor.

A savepoint has the time of the last access of each value, but neither the time to live nor which
access counts. The job decides both, and so does a function that runs with a time to live.

Flink: ``StateTtlConfig``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields, replace
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

from savepoint_database.types.types import expect_type
from savepoint_formats.printable import call_text
from savepoint_formats.snapshots import constructed
from savepoint_formats.state_files import StateKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_database.types.types import TypeInformation
    from savepoint_formats.snapshots import TypeSerializerSnapshot


class UpdateType(Enum):
    """Access that prolongs the life of a value."""

    ON_CREATE_AND_WRITE = auto()
    ON_READ_AND_WRITE = auto()


class StateVisibility(Enum):
    """Whether an expired value is visible until reading it removes it."""

    NEVER_RETURN_EXPIRED = auto()
    RETURN_EXPIRED_IF_NOT_CLEANED_UP = auto()


@dataclass(frozen=True, slots=True, repr=False)
class StateTtlConfig:
    """How long values live, in processing time.

    Attributes:
        time_to_live_ms: How long after its last access a value lives, in ms.
        update_type: Access that prolongs its life.
        state_visibility: Whether an expired value is visible.

    Raises:
        ValueError: The time to live is less than 1 ms.

    Example:
        >>> day = StateTtlConfig(86_400_000, update_type=UpdateType.ON_READ_AND_WRITE)
    """

    time_to_live_ms: int
    update_type: UpdateType = UpdateType.ON_CREATE_AND_WRITE
    state_visibility: StateVisibility = StateVisibility.NEVER_RETURN_EXPIRED

    def __repr__(self) -> str:
        return call_text(self)

    def __post_init__(self) -> None:
        if self.time_to_live_ms <= 0:
            raise ValueError(f"time to live of {self.time_to_live_ms} ms, expected at least 1 ms")

    @property
    def reads_prolong(self) -> bool:
        """Whether reading a value prolongs its life."""
        return self.update_type is UpdateType.ON_READ_AND_WRITE

    @property
    def shows_expired(self) -> bool:
        """Whether an expired value is visible once more."""
        return self.state_visibility is StateVisibility.RETURN_EXPIRED_IF_NOT_CLEANED_UP

    def is_expired(self, last_access: int, now: int) -> bool:
        """Whether a value has expired; all times in ms."""
        return last_access + self.time_to_live_ms <= now


@dataclass(frozen=True, slots=True, repr=False)
class StateDescriptor(ABC):
    """A state.

    Attributes:
        name: The job's name for it.
        has_ttl: Whether its values have the time of their last access.
        ttl: How long values live after it while a function runs; None for no end.
        kind: Kind of keyed state with this descriptor.
    """

    name: str
    has_ttl: bool = field(default=False, kw_only=True)
    ttl: StateTtlConfig | None = field(default=None, kw_only=True)

    kind: ClassVar[StateKind]

    def __post_init__(self) -> None:
        """Raises ``TypeError`` or ``ValueError`` for an invalid name or type."""
        if not isinstance(self.name, str):
            raise TypeError(f"the name of a state is {self.name!r}, expected a text")
        if not self.name:
            raise ValueError("the name of a state is empty, expected a text such as 'total'")
        for attribute in fields(self):
            given = getattr(self, attribute.name)
            if attribute.name.endswith("_type") and given is not None:
                expect_type(given, f"{attribute.name} of state {self.name!r}")

    def __repr__(self) -> str:
        return call_text(self)

    @property
    @abstractmethod
    def stored(self) -> TypeSerializerSnapshot:
        """Serializer of a key's state.

        Raises:
            ValueError: The descriptor has no type.
        """

    def with_ttl(self, ttl: StateTtlConfig | None = None) -> Self:
        """Descriptor of the same state in a job that gives it a time to live.

        Args:
            ttl: How long values live while a function runs; for ever by default.

        Example:
            >>> ValueStateDescriptor("last_seen", Types.LONG()).with_ttl()
            >>> ValueStateDescriptor("last_seen", Types.LONG()).with_ttl(StateTtlConfig(60_000))
        """
        return replace(self, has_ttl=True, ttl=ttl)

    def _snapshot(
        self, what: str, type_information: TypeInformation | None
    ) -> TypeSerializerSnapshot:
        """Serializer of a type that the descriptor must have."""
        if type_information is None:
            raise ValueError(
                f"the descriptor of state {self.name!r} has no {what}, which writing needs;"
                f" e.g. {what}=Types.LONG()"
            )
        return type_information.snapshot

    def _timed(self, snapshot: TypeSerializerSnapshot) -> TypeSerializerSnapshot:
        return constructed.ttl(snapshot) if self.has_ttl else snapshot


@dataclass(frozen=True, slots=True, repr=False)
class ValueStateDescriptor(StateDescriptor):
    """A state of one value.

    Attributes:
        value_type: Type of the values.
        merge_function: Merges two values, for local state whose instances are merged.

    Example:
        >>> runtime_context.get_state(ValueStateDescriptor("total"))
        >>> ValueStateDescriptor("total", Types.DOUBLE())  # to write it
        >>> ValueStateDescriptor("highest", merge_function=max)  # to read local state
    """

    value_type: TypeInformation | None = None
    merge_function: Callable[[Any, Any], Any] | None = field(default=None, kw_only=True)

    kind = StateKind.VALUE

    @property
    def stored(self) -> TypeSerializerSnapshot:
        return self._timed(self._snapshot("value_type", self.value_type))


@dataclass(frozen=True, slots=True, repr=False)
class ListStateDescriptor(StateDescriptor):
    """A state of a list; as operator state, the list or union list of a subtask.

    Example:
        >>> runtime_context.get_list_state(ListStateDescriptor("memos"))
        >>> ListStateDescriptor("memos", Types.STRING())  # to write it
    """

    element_type: TypeInformation | None = None

    kind = StateKind.LIST

    @property
    def element(self) -> TypeSerializerSnapshot:
        """Serializer of an element. Raises ``ValueError`` if the descriptor has no type."""
        return self._timed(self._snapshot("element_type", self.element_type))

    @property
    def stored(self) -> TypeSerializerSnapshot:
        return constructed.list_of(self.element)


@dataclass(frozen=True, slots=True, repr=False)
class MapStateDescriptor(StateDescriptor):
    """A state of a map; as operator state, broadcast state.

    Attributes:
        key_type: Type of the user keys.
        value_type: Type of their values.
        merge_function: Merges two values of a user key, for local state whose instances are merged.

    Example:
        >>> runtime_context.get_map_state(MapStateDescriptor("by_currency"))
        >>> MapStateDescriptor("by_currency", Types.STRING(), Types.LONG())  # to write it
    """

    key_type: TypeInformation | None = None
    value_type: TypeInformation | None = None
    merge_function: Callable[[Any, Any], Any] | None = field(default=None, kw_only=True)

    kind = StateKind.MAP

    @property
    def user_key(self) -> TypeSerializerSnapshot:
        """Serializer of the map's keys. Raises ``ValueError`` if there is no type."""
        return self._snapshot("key_type", self.key_type)

    @property
    def user_value(self) -> TypeSerializerSnapshot:
        """Serializer of the map's values. Raises ``ValueError`` if there is no type."""
        return self._timed(self._snapshot("value_type", self.value_type))

    @property
    def stored(self) -> TypeSerializerSnapshot:
        return constructed.map_of(self.user_key, self.user_value)


@dataclass(frozen=True, slots=True, repr=False)
class ReducingStateDescriptor(StateDescriptor):
    """A state of one value, to which the job's function reduces all added values.

    Attributes:
        value_type: Type of the values.
        reduce_function: Reduces two values to one; for functions that add to the state.

    Example:
        >>> runtime_context.get_reducing_state(ReducingStateDescriptor("cents_sum"))
        >>> ReducingStateDescriptor("cents_sum", Types.LONG())  # to write it
        >>> ReducingStateDescriptor("most", Types.LONG(), max)  # to add to it
    """

    value_type: TypeInformation | None = None
    reduce_function: Callable[[Any, Any], Any] | None = None

    kind = StateKind.REDUCING

    @property
    def stored(self) -> TypeSerializerSnapshot:
        return self._timed(self._snapshot("value_type", self.value_type))


class AggregateFunction(Protocol):
    """The function of an aggregating state.

    Example:
        >>> class Average:
        ...     def create_accumulator(self):
        ...         return {"f0": 0, "f1": 0}
        ...
        ...     def add(self, value, accumulator):
        ...         return {"f0": accumulator["f0"] + value, "f1": accumulator["f1"] + 1}
        ...
        ...     def get_result(self, accumulator):
        ...         return accumulator["f0"] / accumulator["f1"]
        ...
        ...     def merge(self, one, other):
        ...         return {name: one[name] + other[name] for name in one}
    """

    def create_accumulator(self) -> Any:
        """A new, empty accumulator."""

    def add(self, value: Any, accumulator: Any) -> Any:
        """The accumulator with a value added."""

    def get_result(self, accumulator: Any) -> Any:
        """The result of an accumulator."""

    def merge(self, accumulator: Any, other: Any) -> Any:
        """An accumulator with the contents of both."""


@dataclass(frozen=True, slots=True, repr=False)
class AggregatingStateDescriptor(StateDescriptor):
    """A state of an accumulator, in which the job's function gathers all added values.

    Attributes:
        accumulator_type: Type of the accumulators.
        aggregate_function: Gathers values in them; for functions that add to the state.

    Example:
        >>> runtime_context.get_aggregating_state(AggregatingStateDescriptor("average"))
        >>> AggregatingStateDescriptor("average", Types.TUPLE([Types.LONG(), Types.LONG()]))
    """

    accumulator_type: TypeInformation | None = None
    aggregate_function: AggregateFunction | None = None

    kind = StateKind.AGGREGATING

    @property
    def stored(self) -> TypeSerializerSnapshot:
        return self._timed(self._snapshot("accumulator_type", self.accumulator_type))
