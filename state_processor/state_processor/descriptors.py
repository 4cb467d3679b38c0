"""Descriptors of state, by which a user's function asks for it.

They are named as in Flink. The savepoint knows the type of every state, so a descriptor is no more
than a name and a kind.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StateDescriptor:
    """A state that a function asks for.

    Attributes:
        name: The name that the job gave it.
    """

    name: str


class ValueStateDescriptor(StateDescriptor):
    """A state of one value.

    Example:
        >>> runtime_context.get_state(ValueStateDescriptor("total"))
    """

    __slots__ = ()


class ListStateDescriptor(StateDescriptor):
    """A state of a list.

    Example:
        >>> runtime_context.get_list_state(ListStateDescriptor("memos"))
    """

    __slots__ = ()


class MapStateDescriptor(StateDescriptor):
    """A state of a map.

    Example:
        >>> runtime_context.get_map_state(MapStateDescriptor("by_currency"))
    """

    __slots__ = ()


class ReducingStateDescriptor(StateDescriptor):
    """A state of one value, to which the job's function has reduced all that was added.

    Example:
        >>> runtime_context.get_reducing_state(ReducingStateDescriptor("cents_sum"))
    """

    __slots__ = ()


class AggregatingStateDescriptor(StateDescriptor):
    """A state of an accumulator, in which the job's function has gathered all that was added.

    Example:
        >>> runtime_context.get_aggregating_state(AggregatingStateDescriptor("average"))
    """

    __slots__ = ()
