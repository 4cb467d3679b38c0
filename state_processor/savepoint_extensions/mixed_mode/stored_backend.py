"""The state backend of a stream: state of one key, from Spark's state store and back to it.

Spark keeps a row per key, in one value state, so a key costs one read and at most one write in a
micro-batch. The row has the bytes of each registered state, as Flink's serializer writes them, and
the timers of the key.

| column                 | type          | meaning                                                |
|------------------------|---------------|--------------------------------------------------------|
| state_0_total …        | BINARY        | the first state of the key, null for nothing           |
| state_1_of_windows …   | ARRAY<BINARY> | a state with namespaces, or timers with namespaces:    |
|                        |               | an entry for each namespace, or timer                  |
| event_time_timers      | ARRAY<BIGINT> | its timers of event time, in ms                        |
| processing_time_timers | ARRAY<BIGINT> | its timers of processing time                          |
| watermark              | BIGINT        | watermark at the last visit, if a timer was due by it; |
|                        |               | the timer fires with a later one                       |
| alarm                  | BIGINT        | watermark at which Spark wakes the key up              |
| is_of_switch           | BOOLEAN       | whether the key had state at the switch; then its row  |
|                        |               | stays when it is empty, or the old state would be back |

Names are numbered and cleaned, because Spark describes the row by an Avro schema, which only takes
letters, digits and ``_``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
from pyspark.sql.types import ArrayType, BinaryType, BooleanType, LongType, StructField, StructType

from savepoint_formats.layout import Long, MapOf, Nullable, Repeated, Struct
from savepoint_formats.program.encode import Encoder
from savepoint_formats.tables import stored_key
from savepoint_formats.values import arrow_type
from savepoint_functions.functions import (
    TIMER_STATE_PREFIX,
    HeldMapState,
    SingleKeyBackend,
    TimerService,
    ValueCodec,
    decoded_keys,
    pairs,
    plain,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from savepoint_formats.layout import Layout
    from savepoint_functions.functions import Clock, HeldListState, HeldState, HeldT, HeldValueState

EVENT_TIMERS, PROCESSING_TIMERS = "event_time_timers", "processing_time_timers"
TIMERS = {TimerService.EVENT: EVENT_TIMERS, TimerService.PROCESSING: PROCESSING_TIMERS}
"""The state of timers of each time domain -> its column."""

_NOT_IN_NAMES = re.compile("[^0-9A-Za-z_]")


def state_columns(states: Iterable[str]) -> dict[str, str]:
    """The column of each registered state, timers excluded."""
    return {
        name: f"state_{number}_{_NOT_IN_NAMES.sub('_', name)}" for number, name in enumerate(states)
    }


class StoredState(NamedTuple):
    """A state in the row of a key."""

    name: str
    has_namespaces: bool = False


def row_type(states: Iterable[StoredState]) -> StructType:
    """The type of a key's row with these states."""
    states = tuple(states)
    columns = state_columns(state.name for state in states)
    fields = [
        StructField(
            columns[state.name], ArrayType(BinaryType()) if state.has_namespaces else BinaryType()
        )
        for state in states
    ]
    fields += [StructField(name, ArrayType(LongType())) for name in TIMERS.values()]
    fields += [StructField(name, LongType()) for name in ("watermark", "alarm")]
    return StructType([*fields, StructField("is_of_switch", BooleanType())])


def entry_layout(namespace: Layout, contents: Layout) -> Struct:
    """The layout of an entry: a namespace and what a state has there, or a timestamp in ms."""
    return Struct(("namespace", "contents"), (namespace, contents))


def first_alarm(watermark: int) -> int:
    """The first later watermark at which Spark can wake a key; Spark's begins with 0."""
    return max(watermark, 0) + 1


@dataclass(frozen=True, slots=True)
class KeyRow:
    """The row of a key in Spark's store, as the module describes it."""

    states: tuple[bytes | tuple[bytes, ...] | None, ...]
    timers: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    watermark: int | None = None
    alarm: int | None = None
    is_of_switch: bool = False

    @classmethod
    def of(cls, row: Sequence[Any]) -> KeyRow:
        """Reads a row of ``row_type``."""
        *states, event, processing, watermark, alarm, is_of_switch = row
        return cls(
            tuple(map(_data, states)),
            (tuple(sorted(event or ())), tuple(sorted(processing or ()))),
            watermark,
            alarm,
            bool(is_of_switch),
        )

    @classmethod
    def merged(cls, rows: Sequence[KeyRow]) -> KeyRow:
        """Merges the rows of a key: one has its state, each other one timer or namespace."""
        columns = zip(*(row.states for row in rows), strict=True)
        event, processing = zip(*(row.timers for row in rows), strict=True)
        return cls(tuple(map(_merged, columns)), (_sorted(event), _sorted(processing)))

    def to_row(self) -> tuple[Any, ...]:
        """A row of ``row_type``."""
        timers = (list(timer) or None for timer in self.timers)
        states = (list(state) if isinstance(state, tuple) else state for state in self.states)
        return (*states, *timers, self.watermark, self.alarm, self.is_of_switch)

    @property
    def is_empty(self) -> bool:
        return not any(self.timers) and all(state is None for state in self.states)


def _data(state: Any) -> bytes | tuple[bytes, ...] | None:
    if isinstance(state, list):
        return tuple(map(bytes, state)) or None
    return None if state is None else bytes(state)


def _merged(column: Iterable[Any]) -> bytes | tuple[bytes, ...] | None:
    present = [state for state in column if state is not None]
    if present and isinstance(present[0], tuple):
        return tuple(chain.from_iterable(present))
    return present[0] if present else None


def _sorted(timers: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(sorted(chain.from_iterable(timers)))


@dataclass(frozen=True, slots=True)
class StateCell:
    """A state of the current key, and its place in a row."""

    held: HeldState
    codec: ValueCodec

    def load(self, data: Any) -> None:
        held = self.held
        held.hold(None if data is None else _held(held, self.codec.decode(data)))

    def stored(self) -> Any:
        snapshot = self.held.snapshot()
        return None if snapshot is None else self.codec.encode(snapshot)


class NamespacedCell(StateCell):
    """A state with namespaces, as entries of ``entry_layout``."""

    def load(self, data: Any) -> None:
        entries = map(self.codec.decode, data or ())
        self.held.hold({plain(namespace): _held(self.held, held) for namespace, held in entries})

    def stored(self) -> Any:
        return self._encoded(self.held.snapshot() or ())

    def _encoded(self, entries: Iterable[tuple[Any, Any]]) -> tuple[bytes, ...] | None:
        return tuple(sorted(map(self.codec.encode, entries))) or None


class TimersCell(NamespacedCell):
    """Timers with namespaces."""

    def load(self, data: Any) -> None:
        timers: dict[Any, Any] = {}
        for namespace, timestamp in map(self.codec.decode, data or ()):
            timers.setdefault(plain(namespace), {})[timestamp] = timestamp, None
        self.held.hold(timers)

    def stored(self) -> Any:
        by_namespace = self.held.snapshot() or ()
        return self._encoded(
            (namespace, timestamp) for namespace, timers in by_namespace for timestamp, _ in timers
        )


class StoredBackend(SingleKeyBackend):
    """State of the current key, which is loaded from a ``KeyRow``, and stored in one."""

    name = "spark"

    def __init__(self, key: Layout, clock: Clock | None = None) -> None:
        super().__init__(key, clock)
        self._cells: list[StateCell] = []
        # Of event time, and of processing time.
        self._timers: list[HeldMapState] = []

    @property
    def row_type(self) -> StructType:
        held = (cell.held for cell in self._cells)
        return row_type(StoredState(state.name, state.has_namespaces) for state in held)

    def load(self, key: Any, key_bytes: bytes, row: KeyRow | None) -> None:
        """Makes a key the current one, with the state of its row; None for no state."""
        self.set_current_key(key, key_bytes)
        for index, cell in enumerate(self._cells):
            cell.load(None if row is None else row.states[index])
        for index, held in enumerate(self._timers):
            if not held.has_namespaces:
                times = () if row is None else row.timers[index]
                held.hold({timestamp: (timestamp, None) for timestamp in times} or None)

    def stored(self) -> KeyRow:
        """The state of the current key."""
        event, processing = map(_timestamps, self._timers)
        return KeyRow(tuple(cell.stored() for cell in self._cells), (event, processing))

    def value_state(self, name: str, stored: Layout, namespace: Layout | None) -> HeldValueState:
        return self._in_row(super().value_state(name, stored, namespace), stored, namespace)

    def list_state(self, name: str, element: Layout, namespace: Layout | None) -> HeldListState:
        state = super().list_state(name, element, namespace)
        return self._in_row(state, Repeated(element), namespace)

    def map_state(
        self, name: str, user_key: Layout, user_value: Layout, namespace: Layout | None
    ) -> HeldMapState:
        state = super().map_state(name, user_key, user_value, namespace)
        if not name.startswith(TIMER_STATE_PREFIX):
            return self._in_row(state, MapOf(user_key, Nullable(user_value)), namespace)
        self._timers.append(state)
        if namespace is not None:
            codec = ValueCodec(entry_layout(namespace, Long()), f"state {name!r}")
            self._cells.append(TimersCell(state, codec))
        return state

    def _in_row(self, held: HeldT, stored: Layout, namespace: Layout | None) -> HeldT:
        what = f"state {held.name!r}"
        if namespace is None:
            self._cells.append(StateCell(held, ValueCodec(stored, what)))
        else:
            codec = ValueCodec(entry_layout(namespace, stored), what)
            self._cells.append(NamespacedCell(held, codec))
        return held


def _held(held: HeldState, value: Any) -> Any:
    return held.held(list(pairs(value)) if isinstance(held, HeldMapState) else value)


def _timestamps(timers: HeldMapState) -> tuple[int, ...]:
    if not timers.has_namespaces:
        return tuple(sorted(timers.keys()))
    by_namespace = timers.snapshot() or ()
    return tuple(sorted(timestamp for _, pairs in by_namespace for timestamp, _ in pairs))


def encoded(layout: Layout, values: pa.Array) -> pa.Array:
    """The bytes of each value; null for null. Raises ``UnencodableError`` if a value doesn't fit."""
    present = values.is_valid()
    data = Encoder(layout).encode(values.filter(present)).cast(pa.binary())
    return _spread(data, present)


def decoded(layout: Layout, data: pa.Array) -> pa.Array:
    """The values of these bytes; null for null. Raises ``FormatError`` if some bytes are not a value."""
    present = data.is_valid()
    return _spread(decoded_keys(layout, data.filter(present).cast(pa.binary())), present)


def encoded_keys(layout: Layout, keys: pa.Array) -> pa.Array:
    """The bytes of keys of a table; its rows have no kinds, and as keys all are inserts."""
    return encoded(layout, stored_key(keys, arrow_type(layout)))


def _spread(values: pa.Array, present: pa.BooleanArray) -> pa.Array:
    """The values in the places that are present, and nulls between them."""
    if present.false_count == 0:
        return values
    places = pa.compute.cumulative_sum(present.cast(pa.int64()))
    return values.take(pa.compute.if_else(present, pa.compute.subtract(places, 1), None))
