"""The state backend of a stream: state of one key, from Spark's state store and back to it.

Spark keeps a row per key, in one value state, so that a key costs one read and at most one write in
a micro-batch. The row has the bytes of each registered state, as Flink's serializer writes them,
and the timers of the key.

| column                 | type          | meaning                                                |
|------------------------|---------------|--------------------------------------------------------|
| state_0_total …        | BINARY        | the first state of the key, null for nothing           |
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
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.types import ArrayType, BinaryType, BooleanType, LongType, StructField, StructType

from savepoint_formats.layout import MapOf, Nullable, Repeated
from savepoint_formats.program.encode import Encoder
from savepoint_formats.tables.visible import stored_key
from savepoint_formats.values.arrow_types import arrow_type
from savepoint_functions.functions.backends import TimerService
from savepoint_functions.functions.backends.held_states import HeldMapState, pairs
from savepoint_functions.functions.backends.in_memory import SingleKeyBackend
from savepoint_functions.functions.backends.value_codec import ValueCodec
from savepoint_functions.functions.key_spans import decoded_keys

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from savepoint_formats.layout import Layout
    from savepoint_functions.functions.backends.backend import Clock
    from savepoint_functions.functions.backends.held_states import (
        HeldListState,
        HeldState,
        HeldValueState,
    )
    from savepoint_functions.functions.backends.in_memory import HeldT

EVENT_TIMERS, PROCESSING_TIMERS = "event_time_timers", "processing_time_timers"
TIMERS = {TimerService.EVENT: EVENT_TIMERS, TimerService.PROCESSING: PROCESSING_TIMERS}
"""The state of timers of each time domain -> its column."""

_NOT_IN_NAMES = re.compile("[^0-9A-Za-z_]")


def state_columns(states: Iterable[str]) -> dict[str, str]:
    """The column of each registered state, timers excluded."""
    return {
        name: f"state_{number}_{_NOT_IN_NAMES.sub('_', name)}" for number, name in enumerate(states)
    }


def row_type(states: Iterable[str]) -> StructType:
    """The type of a key's row with these states."""
    fields = [StructField(name, BinaryType()) for name in state_columns(states).values()]
    fields += [StructField(name, ArrayType(LongType())) for name in TIMERS.values()]
    fields += [StructField(name, LongType()) for name in ("watermark", "alarm")]
    return StructType([*fields, StructField("is_of_switch", BooleanType())])


def first_alarm(watermark: int) -> int:
    """The first later watermark at which Spark can wake a key; Spark's begins with 0."""
    return max(watermark, 0) + 1


@dataclass(frozen=True, slots=True)
class KeyRow:
    """The row of a key in Spark's store, as the module describes it."""

    states: tuple[bytes | None, ...]
    timers: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    watermark: int | None = None
    alarm: int | None = None
    is_of_switch: bool = False

    @classmethod
    def of(cls, row: Sequence[Any]) -> KeyRow:
        """Reads a row of ``row_type``."""
        *states, event, processing, watermark, alarm, is_of_switch = row
        return cls(
            tuple(None if state is None else bytes(state) for state in states),
            (tuple(sorted(event or ())), tuple(sorted(processing or ()))),
            watermark,
            alarm,
            bool(is_of_switch),
        )

    @classmethod
    def merged(cls, rows: Sequence[KeyRow]) -> KeyRow:
        """Merges the rows of a key, one of which has its state, and each other one timer."""
        columns = zip(*(row.states for row in rows), strict=True)
        states = (
            next((state for state in column if state is not None), None) for column in columns
        )
        event, processing = zip(*(row.timers for row in rows), strict=True)
        return cls(tuple(states), (_sorted(event), _sorted(processing)))

    def to_row(self) -> tuple[Any, ...]:
        """A row of ``row_type``."""
        timers = (list(timer) or None for timer in self.timers)
        return (*self.states, *timers, self.watermark, self.alarm, self.is_of_switch)

    @property
    def is_empty(self) -> bool:
        return not any(self.timers) and all(state is None for state in self.states)


def _sorted(timers: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(sorted(chain.from_iterable(timers)))


class StoredBackend(SingleKeyBackend):
    """State of the current key, which is loaded from a ``KeyRow``, and stored in one."""

    name = "spark"
    keeps_all_keys = True

    def __init__(self, key: Layout, clock: Clock | None = None) -> None:
        super().__init__(key, clock)
        self._codecs: list[tuple[HeldState, ValueCodec]] = []
        self._timers: list[HeldMapState] = []

    @property
    def row_type(self) -> StructType:
        return row_type(held.name for held, _ in self._codecs)

    def load(self, key: Any, key_bytes: bytes, row: KeyRow | None) -> None:
        """Makes a key the current one, with the state of its row; None for no state."""
        self.set_current_key(key, key_bytes)
        for index, (held, codec) in enumerate(self._codecs):
            data = None if row is None else row.states[index]
            held.hold(None if data is None else _held(held, codec.decode(data)))
        for index, held in enumerate(self._timers):
            times = () if row is None else row.timers[index]
            held.hold({timestamp: (timestamp, None) for timestamp in times} or None)

    def stored(self) -> KeyRow:
        """The state of the current key."""
        event, processing = (sorted(held.keys()) for held in self._timers)
        states = tuple(_stored(held, codec) for held, codec in self._codecs)
        return KeyRow(states, (tuple(event), tuple(processing)))

    def value_state(self, name: str, stored: Layout, namespace: Layout | None) -> HeldValueState:
        return self._with_codec(super().value_state(name, stored, namespace), stored)

    def list_state(self, name: str, element: Layout, namespace: Layout | None) -> HeldListState:
        return self._with_codec(super().list_state(name, element, namespace), Repeated(element))

    def map_state(
        self, name: str, user_key: Layout, user_value: Layout, namespace: Layout | None
    ) -> HeldMapState:
        state = super().map_state(name, user_key, user_value, namespace)
        if name in TIMERS:
            self._timers.append(state)
            return state
        return self._with_codec(state, MapOf(user_key, Nullable(user_value)))

    def _added(self, state: HeldT) -> HeldT:
        if state.has_namespaces:
            raise ValueError(
                f"state {state.name!r} has namespaces, which a stream does not keep: make them keys"
                " of a map state"
            )
        return super()._added(state)

    def _with_codec(self, held: HeldT, stored: Layout) -> HeldT:
        self._codecs.append((held, ValueCodec(stored, f"state {held.name!r}")))
        return held


def _held(held: HeldState, value: Any) -> Any:
    return held.held(list(pairs(value)) if isinstance(held, HeldMapState) else value)


def _stored(held: HeldState, codec: ValueCodec) -> bytes | None:
    snapshot = held.snapshot()
    return None if snapshot is None else codec.encode(snapshot)


def encoded(layout: Layout, values: pa.Array) -> pa.Array:
    """The bytes of each value; null for null. Raises ``UnencodableError`` if a value doesn't fit."""
    present = values.is_valid()
    data = Encoder(layout).encode(values.filter(present)).cast(pa.binary())
    return _spread(data, present)


def decoded(layout: Layout, data: pa.Array) -> pa.Array:
    """The values of these bytes; null for null. Raises ``FormatError`` if some bytes are no value."""
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
