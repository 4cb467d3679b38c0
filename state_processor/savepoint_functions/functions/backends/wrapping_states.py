"""States that another state object keeps: with a time to live, or folded into one value.

A value with TTL has the form of its serializer: the time of the last access in ms, and the
value. Writing counts as access, and so does reading if the descriptor says so. Accessing an
expired value removes it. Each element of a list and each entry of a map has its own time.

Flink: ``TtlStateFactory``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from savepoint_database.types import (
    AggregatingStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from savepoint_formats.layout import Long, Nullable, Struct, Ttl, stream_record
from savepoint_functions.functions.backends.value_codec import shape_of
from savepoint_spark.reading import (
    AggregatingState,
    ListState,
    MapState,
    ReducingState,
    State,
    ValueState,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping

    from savepoint_database.types import AggregateFunction, StateDescriptor, StateTtlConfig
    from savepoint_formats.layout import Layout
    from savepoint_functions.functions.backends.value_codec import Shape

    Clock = Callable[[], int]

StateT = TypeVar("StateT", bound=State)

_TIMESTAMP, _VALUE = "timestamp", "value"


class WrappingState(State, Generic[StateT]):
    """State that another state object keeps, with the same name and namespaces."""

    def __init__(self, inner: StateT) -> None:
        super().__init__(inner.name)
        self._inner = inner

    def set_current_namespace(self, namespace: Hashable) -> None:
        self._inner.set_current_namespace(namespace)

    def clear(self) -> None:
        self._inner.clear()


class ChangeableListState(ListState):
    """A list whose elements are added one by one."""

    def add_all(self, values: Iterable[Any]) -> None:
        for value in values:
            self.add(value)


class ChangeableMapState(MapState):
    """A map whose entries are put one by one."""

    def put_all(self, entries: Mapping[Any, Any] | Iterable[tuple[Any, Any]]) -> None:
        for key, value in pairs(entries):
            self.put(key, value)


def present(state: State, value: Any) -> Any:
    """The value. Raises ``ValueError`` for null, which can't be added to a state."""
    if value is None:
        raise ValueError(f"null cannot be added to state {state.name!r}")
    return value


def pairs(entries: Mapping[Any, Any] | Iterable[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
    """The entries of a dict, or of pairs."""
    items = getattr(entries, "items", None)
    return iter(entries if items is None else items())


def timed_layout(layout: Layout) -> Layout:
    """The layout with the time of TTL as a number instead of a date; a record as it is shown."""
    if isinstance(layout, Ttl):
        return Struct((_TIMESTAMP, _VALUE), (Long(), layout.value))
    if (record := stream_record(layout)) is not None:
        return Struct((_TIMESTAMP, _VALUE), (Nullable(Long()), record))
    return layout


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """Rules by which values of a state expire; they never do if ``ttl`` is None. Times are in ms."""

    clock: Clock
    ttl: StateTtlConfig | None = None

    def timed(self, value: Any) -> dict[str, Any]:
        """The value with the time of an access now."""
        return {_TIMESTAMP: self.clock(), _VALUE: value}

    @property
    def reads_prolong(self) -> bool:
        """Whether reading counts as access."""
        return self.ttl is not None and self.ttl.reads_prolong

    @property
    def shows_expired(self) -> bool:
        """Whether a function sees an expired value that has not been removed yet."""
        return self.ttl is None or self.ttl.shows_expired

    def is_expired(self, timed: dict[str, Any]) -> bool:
        return self.ttl is not None and self.ttl.is_expired(timed[_TIMESTAMP], self.clock())


class TimedState(WrappingState[StateT]):
    """State whose values have times."""

    def __init__(self, timed: StateT, lifetimes: Lifetimes) -> None:
        super().__init__(timed)
        self._lifetimes = lifetimes


class TimedValueState(TimedState[ValueState], ValueState):
    """A value with a time, which another state keeps."""

    def value(self) -> Any:
        timed = self._inner.value()
        if timed is None:
            return None
        if self._lifetimes.is_expired(timed):
            self._inner.clear()
            return timed[_VALUE] if self._lifetimes.shows_expired else None
        if self._lifetimes.reads_prolong:
            self._inner.update(self._lifetimes.timed(timed[_VALUE]))
        return timed[_VALUE]

    def update(self, value: Any) -> None:
        self._inner.update(None if value is None else self._lifetimes.timed(value))


class TimedListState(TimedState[ListState], ChangeableListState):
    """A list of elements with times, which another state keeps."""

    def get(self) -> list[Any]:
        timed, lifetimes = self._inner.get(), self._lifetimes
        living = [element for element in timed if not lifetimes.is_expired(element)]
        if living and lifetimes.reads_prolong:
            self._inner.update([lifetimes.timed(element[_VALUE]) for element in living])
        elif len(living) < len(timed):
            self._inner.update(living)
        return [element[_VALUE] for element in (timed if lifetimes.shows_expired else living)]

    def add(self, value: Any) -> None:
        self._inner.add(self._lifetimes.timed(present(self, value)))

    def update(self, values: Iterable[Any]) -> None:
        self._inner.update([self._lifetimes.timed(present(self, value)) for value in values])


class TimedMapState(TimedState[MapState], ChangeableMapState):
    """A map whose values have times, which another state keeps."""

    def get(self, key: Any) -> Any:
        timed = self._inner.get(key)
        return timed[_VALUE] if timed is not None and self._is_seen(key, timed) else None

    def contains(self, key: Any) -> bool:
        timed = self._inner.get(key)
        return timed is not None and self._is_seen(key, timed)

    def put(self, key: Any, value: Any) -> None:
        self._inner.put(key, self._lifetimes.timed(value))

    def remove(self, key: Any) -> None:
        self._inner.remove(key)

    def items(self) -> list[tuple[Any, Any]]:
        return [
            (key, timed[_VALUE]) for key, timed in self._inner.items() if self._is_seen(key, timed)
        ]

    def is_empty(self) -> bool:
        return self._inner.is_empty() or not self.items()

    def _is_seen(self, key: Any, timed: dict[str, Any]) -> bool:
        """Whether a function sees an entry; an expired one is removed."""
        if self._lifetimes.is_expired(timed):
            self._inner.remove(key)
            return self._lifetimes.shows_expired
        if self._lifetimes.reads_prolong:
            self._inner.put(key, self._lifetimes.timed(timed[_VALUE]))
        return True


class FoldingReducingState(WrappingState[ValueState], ReducingState):
    """A value, into which all added values are reduced."""

    def __init__(
        self, values: ValueState, reduce: Callable[[Any, Any], Any], shape: Shape | None
    ) -> None:
        super().__init__(values)
        self._reduce = reduce
        self._shape = shape

    def get(self) -> Any:
        return self._inner.value()

    def add(self, value: Any) -> None:
        held = self._inner.value()
        value = present(self, value)
        if self._shape is not None:
            value = self._shape(value)
        self._inner.update(value if held is None else self._reduce(held, value))


class FoldingAggregatingState(WrappingState[ValueState], AggregatingState):
    """An accumulator of all added values."""

    def __init__(
        self, values: ValueState, function: AggregateFunction, shape: Shape | None
    ) -> None:
        super().__init__(values)
        self._function = function
        self._shape = shape

    def get(self) -> Any:
        """Result of the accumulator; None without an accumulator."""
        held = self._inner.value()
        return None if held is None else self._function.get_result(held)

    @property
    def accumulator(self) -> Any:
        """The accumulator; None if there is none."""
        return self._inner.value()

    def merge(self, accumulator: Any) -> None:
        """Merges another accumulator into that of the state."""
        held = self._inner.value()
        merged = accumulator if held is None else self._function.merge(held, accumulator)
        self._inner.update(merged)

    def add(self, value: Any) -> None:
        held = self._inner.value()
        accumulator = held
        if held is None:
            accumulator = self._function.create_accumulator()
            if self._shape is not None:
                accumulator = self._shape(accumulator)
        self._inner.update(self._function.add(present(self, value), accumulator))


def folded(descriptor: StateDescriptor, values: ValueState) -> State:
    """A value as the state of a descriptor. Raises ``ValueError`` if that lacks its function."""
    match descriptor:
        case ReducingStateDescriptor(reduce_function=function) if function is not None:
            return FoldingReducingState(values, function, _shape(descriptor))
        case AggregatingStateDescriptor(aggregate_function=aggregation) if aggregation is not None:
            return FoldingAggregatingState(values, aggregation, _shape(descriptor))
        case ReducingStateDescriptor():
            lacking = "reduce_function, which adding needs; e.g. reduce_function=max"
        case AggregatingStateDescriptor():
            lacking = (
                "aggregate_function, which adding needs: an object with create_accumulator, add,"
                " get_result and merge"
            )
        case ValueStateDescriptor():
            return values
        case _:
            raise TypeError(f"a {type(descriptor).__name__} is no descriptor of keyed state")
    raise ValueError(f"the descriptor of state {descriptor.name!r} has no {lacking}")


def _shape(descriptor: ReducingStateDescriptor | AggregatingStateDescriptor) -> Shape | None:
    layout = descriptor.stored.layout()
    unwrapped = layout.value if isinstance(layout, Ttl) else layout
    return shape_of(unwrapped, f"state {descriptor.name!r}")
