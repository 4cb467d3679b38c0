"""Descriptors of state: what a function asks for, and what new state is written by.

They are named as in Flink. To read, a name is enough: the savepoint knows the type of every state.
To write new state, the descriptor has its types, which are those of the job's own descriptor.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Self

from savepoint_formats.catalog import StateKind
from savepoint_formats.snapshots import constructed

if TYPE_CHECKING:
    from savepoint_formats.snapshots import TypeSerializerSnapshot
    from state_processor.types import TypeInformation


@dataclass(frozen=True, slots=True)
class StateDescriptor(ABC):
    """A state.

    Attributes:
        name: The name that the job gives it.
        has_ttl: Whether its values carry the time of their last access.
        kind: What keyed state of this descriptor is to the job.
    """

    name: str
    has_ttl: bool = field(default=False, kw_only=True)

    kind: ClassVar[StateKind]

    @property
    @abstractmethod
    def stored(self) -> TypeSerializerSnapshot:
        """The serializer of what a key has in keyed state.

        Raises:
            ValueError: The descriptor has no type.
        """

    def with_ttl(self) -> Self:
        """The descriptor of the same state in a job that gives it a time to live.

        Example:
            >>> ValueStateDescriptor("last_seen", Types.LONG()).with_ttl()
        """
        return replace(self, has_ttl=True)

    def _snapshot(self, what: str, found: TypeInformation | None) -> TypeSerializerSnapshot:
        """The serializer of a type that the descriptor must have."""
        if found is None:
            raise ValueError(
                f"the descriptor of state {self.name!r} has no {what}, which writing needs;"
                f" e.g. {what}=Types.LONG()"
            )
        return found.snapshot

    def _timed(self, snapshot: TypeSerializerSnapshot) -> TypeSerializerSnapshot:
        return constructed.ttl(snapshot) if self.has_ttl else snapshot


@dataclass(frozen=True, slots=True)
class ValueStateDescriptor(StateDescriptor):
    """A state of one value.

    Example:
        >>> runtime_context.get_state(ValueStateDescriptor("total"))
        >>> ValueStateDescriptor("total", Types.DOUBLE())  # to write it
    """

    value_type: TypeInformation | None = None

    kind = StateKind.VALUE

    @property
    def stored(self) -> TypeSerializerSnapshot:
        return self._timed(self._snapshot("value_type", self.value_type))


@dataclass(frozen=True, slots=True)
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
        """The serializer of an element. Raises ``ValueError`` if the descriptor has no type."""
        return self._timed(self._snapshot("element_type", self.element_type))

    @property
    def stored(self) -> TypeSerializerSnapshot:
        return constructed.list_of(self.element)


@dataclass(frozen=True, slots=True)
class MapStateDescriptor(StateDescriptor):
    """A state of a map; as operator state, broadcast state.

    Example:
        >>> runtime_context.get_map_state(MapStateDescriptor("by_currency"))
        >>> MapStateDescriptor("by_currency", Types.STRING(), Types.LONG())  # to write it
    """

    key_type: TypeInformation | None = None
    value_type: TypeInformation | None = None

    kind = StateKind.MAP

    @property
    def user_key(self) -> TypeSerializerSnapshot:
        """The serializer of the map's keys. Raises ``ValueError`` if there is no type."""
        return self._snapshot("key_type", self.key_type)

    @property
    def user_value(self) -> TypeSerializerSnapshot:
        """The serializer of the map's values. Raises ``ValueError`` if there is no type."""
        return self._timed(self._snapshot("value_type", self.value_type))

    @property
    def stored(self) -> TypeSerializerSnapshot:
        return constructed.map_of(self.user_key, self.user_value)


@dataclass(frozen=True, slots=True)
class ReducingStateDescriptor(StateDescriptor):
    """A state of one value, to which the job's function has reduced all that was added.

    Example:
        >>> runtime_context.get_reducing_state(ReducingStateDescriptor("cents_sum"))
        >>> ReducingStateDescriptor("cents_sum", Types.LONG())  # to write it
    """

    value_type: TypeInformation | None = None

    kind = StateKind.REDUCING

    @property
    def stored(self) -> TypeSerializerSnapshot:
        return self._timed(self._snapshot("value_type", self.value_type))


@dataclass(frozen=True, slots=True)
class AggregatingStateDescriptor(StateDescriptor):
    """A state of an accumulator, in which the job's function has gathered all that was added.

    Example:
        >>> runtime_context.get_aggregating_state(AggregatingStateDescriptor("average"))
        >>> AggregatingStateDescriptor("average", Types.TUPLE([Types.LONG(), Types.LONG()]))
    """

    accumulator_type: TypeInformation | None = None

    kind = StateKind.AGGREGATING

    @property
    def stored(self) -> TypeSerializerSnapshot:
        return self._timed(self._snapshot("accumulator_type", self.accumulator_type))
