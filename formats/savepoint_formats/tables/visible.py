"""Decoded values in the form that users see: keys without a row kind, plain records.

A row that is a key has a row kind, which means nothing there. Elements of a window with an evictor
are stored as stream elements, but all are records.

PyFlink stores values in lists of frames:

| layout                                  | column                                             |
|-----------------------------------------|----------------------------------------------------|
| ``Repeated(Framed(Packed(x, True)))``   | the value in the first frame, as PyFlink reads it  |
| ``Repeated(Framed(Packed(x)))``         | the elements of all frames                         |

With a time to live each frame has a time, and so each element of it.

TTL stores ``struct<timestamp, value>``: a time with each value, each element of a list, and each value
of a map. A reader sees the values; a row of a DataFrame has one time for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from savepoint_formats import layout as layouts
from savepoint_formats.errors import StateTypeError
from savepoint_formats.layout import Layout, stream_record
from savepoint_formats.python_state.stored_forms import KEY_FIELD
from savepoint_formats.state_files.raw_timers import TIMER_STATE_PREFIX
from savepoint_formats.tables.tables import KEY, KEY_GROUP
from savepoint_formats.values.arrow_types import ROW_KIND, ROW_KINDS, arrow_type, visible_key_type
from savepoint_formats.values.element_rows import Collections
from savepoint_formats.values.kryo.structs import UNDECODED_TYPE

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    from savepoint_formats.state_files.state import State


def without_times(values: pa.Array, stored: Layout) -> pa.Array:
    """Decoded values of a stored layout, without the times."""
    match stored:
        case layouts.Ttl():
            return pc.struct_field(values, "value")
        case layouts.Repeated(layouts.Ttl()):
            lists = Collections(values)
            return lists.with_elements(pc.struct_field(lists.elements, "value"))
        case layouts.MapOf(_, layouts.Ttl() | layouts.Nullable(layouts.Ttl())):
            return Collections(values).with_items(lambda items: pc.struct_field(items, "value"))
        case _:
            return values


def with_times(values: pa.Array, times: pa.Array, stored: Layout) -> pa.Array:
    """The mirror of ``without_times``; ``times`` has ms since the epoch for each row, no nulls."""
    wanted = arrow_type(stored)
    times = times.cast(pa.timestamp("ms", "UTC"))
    match stored:
        case layouts.Ttl():
            return _timed(values, times, wanted, mask=values.is_null())
        case layouts.Repeated(layouts.Ttl()):
            lists = Collections(values)
            elements = _timed(lists.elements, times.take(pa.array(lists.rows)), wanted.value_type)
            return lists.with_elements(elements, wanted)
        case layouts.MapOf(_, layouts.Nullable(layouts.Ttl())):
            maps = Collections(values)
            items = _timed(maps.items, times.take(pa.array(maps.rows)), wanted.item_type)
            return pa.MapArray.from_arrays(maps.offsets, maps.keys, items, type=wanted)
        case _:
            raise ValueError(f"{stored} has no time to live")


def _timed(
    values: pa.Array, times: pa.Array, wanted: pa.DataType, mask: pa.Array | None = None
) -> pa.Array:
    return pa.StructArray.from_arrays([times, values], fields=list(wanted), mask=mask)


def _frame(stored: Layout) -> layouts.Packed | None:
    match stored:
        case layouts.Repeated(layouts.Framed(layouts.Packed() as packed)) | layouts.Repeated(
            layouts.Ttl(layouts.Framed(layouts.Packed() as packed))
        ):
            return packed
        case _:
            return None


def is_framed(stored: Layout) -> bool:
    """Whether a state is a list of frames."""
    return _frame(stored) is not None


def without_frames(values: pa.ListArray, stored: Layout) -> pa.Array:
    """Values or lists of the job; null where there is no frame."""
    packed = _frame(stored)
    sizes = pc.fill_null(pc.list_value_length(values), 0)
    if packed is not None and packed.is_single:
        first = pc.if_else(pc.greater(sizes, 0), values.offsets[:-1], pa.scalar(None, pa.int32()))
        return values.values.take(first)
    frames = values.values
    is_timed = isinstance(stored, layouts.Repeated) and isinstance(stored.element, layouts.Ttl)
    lists = pc.struct_field(frames, "value") if is_timed else frames
    elements = lists.flatten()
    if is_timed:
        times = pc.struct_field(frames, "timestamp").take(pc.list_parent_indices(lists))
        elements = pa.StructArray.from_arrays([times, elements], names=["timestamp", "value"])
    counts = np.asarray(pc.fill_null(pc.list_value_length(lists), 0))
    borders = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    return _lists(pa.array(borders).take(values.offsets), elements, values.is_null())


def in_frames(values: pa.Array, stored: Layout) -> pa.ListArray:
    """The inverse of ``without_frames``: a list has one frame, or one per element if they have times."""
    packed = _frame(stored)
    if packed is not None and packed.is_single:
        return _one_each(values, values.is_null())
    if isinstance(stored, layouts.Repeated) and isinstance(stored.element, layouts.Ttl):
        elements = values.values
        times, items = (pc.struct_field(elements, name) for name in ("timestamp", "value"))
        lists = _one_each(items, pa.repeat(pa.scalar(False), len(items)))
        frames = pa.StructArray.from_arrays([times, lists], names=["timestamp", "value"])
        return _lists(values.offsets, frames, values.is_null())
    is_empty = pc.equal(pc.fill_null(pc.list_value_length(values), 0), 0)
    return _one_each(values, is_empty)


def _one_each(values: pa.Array, is_none: pa.Array) -> pa.ListArray:
    """A list of one element for each value, null for some."""
    is_there = ~np.asarray(is_none)
    borders = np.concatenate([[0], np.cumsum(is_there)]).astype(np.int32)
    return _lists(pa.array(borders), values.filter(pa.array(is_there)), is_none)


def _lists(offsets: pa.Array, elements: pa.Array, is_null: pa.Array) -> pa.ListArray:
    mask = pa.concat_arrays([pa.array(is_null), pa.array([False])])
    return pa.ListArray.from_arrays(
        pc.if_else(mask, pa.scalar(None, pa.int32()), offsets), elements
    )


def visible_values(state: State, values: pa.Array, *, with_times: bool) -> pa.Array:
    """Decoded values of a state as users see them; ``with_times`` shows times of TTL.

    Raises ``StateTypeError`` if a value can't be shown.
    """
    instances = state.instances
    if instances != state.stored:
        values = joined_instances(values)
    if state.timed_value != instances:
        values = visible_elements(values, instances)
    return values if with_times else without_times(values, state.timed_value)


def joined_instances(values: pa.ListArray) -> pa.ListArray:
    """Flattens lists of lists by one level; null stays null."""
    inner = values.values
    sizes = pc.fill_null(pc.list_value_length(inner), 0)
    bounds = pa.array(np.concatenate([[0], np.cumsum(sizes)]), pa.int32())
    is_null = pa.concat_arrays([values.is_null(), pa.array([False])])
    offsets = pc.if_else(is_null, pa.scalar(None, pa.int32()), bounds.take(values.offsets))
    return pa.ListArray.from_arrays(offsets, inner.flatten())


def visible_elements(values: pa.Array, stored: Layout) -> pa.Array:
    """Decoded elements as ``as_records`` says: stream elements as records ``struct<timestamp, value>``.

    Raises ``StateTypeError`` if a stream element is not a record.
    """
    if is_framed(stored):
        return without_frames(values, stored)
    if not isinstance(stored, layouts.Repeated) or stream_record(stored.element) is None:
        return values
    lists = Collections(values)
    elements = lists.elements
    timed, untimed, *others = elements.flatten()
    for field, other in zip(list(elements.type)[2:], others, strict=True):
        if other.null_count < len(other):
            raise StateTypeError(f"a list of records has a stream element {field.name!r}")
    times, timed_values = timed.flatten()
    parts = [times, pc.if_else(timed.is_valid(), timed_values, untimed)]
    records = pa.StructArray.from_arrays(parts, fields=list(timed.type))
    return lists.with_elements(records)


def stream_elements(values: pa.Array, stored: Layout) -> pa.Array:
    """The inverse of ``visible_elements``."""
    if is_framed(stored):
        return in_frames(values, stored)
    if not isinstance(stored, layouts.Repeated) or stream_record(stored.element) is None:
        return values
    lists = Collections(values)
    timestamps, items = lists.elements.flatten()
    timed, untimed, *others = list(arrow_type(stored.element))
    with_time = [timestamps, items]
    no_time = timestamps.is_null()
    elements = pa.StructArray.from_arrays(
        [
            pa.StructArray.from_arrays(with_time, fields=list(timed.type), mask=no_time),
            pc.if_else(no_time, items, pa.scalar(None, items.type)),
            *(pa.nulls(len(items), field.type) for field in others),
        ],
        fields=[timed, untimed, *others],
        mask=lists.elements.is_null(),
    )
    return lists.with_elements(elements)


def visible_key(keys: pa.Array) -> pa.Array:
    """Decoded keys without the row kind."""
    wanted = visible_key_type(keys.type)
    if wanted == keys.type:
        return keys
    if keys.type.field(0).name == KEY_FIELD:
        return visible_key(pc.struct_field(keys, KEY_FIELD))
    fields = [pc.struct_field(keys, field.name) for field in wanted]
    return pa.StructArray.from_arrays(fields, fields=list(wanted), mask=keys.is_null())


def stored_key(keys: pa.Array, stored: pa.DataType) -> pa.Array:
    """The inverse of ``visible_key``; all row kinds are inserts."""
    if not pa.types.is_struct(stored) or visible_key_type(stored) == stored:
        return keys
    kinds = pa.repeat(pa.scalar(ROW_KINDS[0], stored.field(ROW_KIND).type), len(keys))
    if stored.field(0).name == KEY_FIELD:
        row = stored_key(keys, stored.field(0).type)
        return pa.StructArray.from_arrays([row, kinds], fields=list(stored))
    fields = [*keys.type, stored.field(ROW_KIND)]
    return pa.StructArray.from_arrays([*keys.flatten(), kinds], fields=fields)


PROCESSING_TIME = "PROCESSING_TIME"
TIME_DOMAINS = {"event": "EVENT_TIME", "processing": PROCESSING_TIME}


@dataclass(frozen=True, slots=True, eq=False)
class TimerRows:
    """Timers of a state ``_timer_state/<domain>_<service>``, and the key group of each."""

    state: str
    timers: pa.Array
    key_groups: NDArray[np.int32]

    @classmethod
    def of_key_group(cls, state: str, timers: pa.Array, key_group: int) -> Self:
        """Timers of one key group."""
        return cls(state, timers, np.full(len(timers), key_group, np.int32))

    def columns(self, wanted: pa.DataType) -> dict[str, pa.Array]:
        """Columns of the timers, which elsewhere have the type ``wanted``.

        Raises ``StateTypeError`` if only one of both types has fields. Their order may differ.
        """
        if _has_fields(self.timers.type) != _has_fields(wanted):
            message = f"timers are {self.timers.type} here, {wanted} elsewhere"
            raise StateTypeError(message).within(f"state {self.state!r}")
        return {**self._fields(), KEY_GROUP: pa.array(self.key_groups)}

    def _fields(self) -> dict[str, pa.Array]:
        if not _has_fields(self.timers.type):
            return {"value": self.timers}
        domain, service = timer_service(self.state)
        rows = len(self.timers)
        fields = {name: self.timers.field(name) for name in self.timers.type.names}
        if KEY in fields:
            fields[KEY] = visible_key(fields[KEY])
        fields["time_domain"] = pa.repeat(domain, rows)
        fields["service"] = pa.repeat(service, rows)
        return fields


def timer_service(state: str) -> tuple[str, str]:
    """The time domain and the name of the timer service of a state of timers."""
    domain, _, service = state.removeprefix(TIMER_STATE_PREFIX).partition("_")
    return TIME_DOMAINS.get(domain, domain), service


def _has_fields(timer_type: pa.DataType) -> bool:
    return bool(pa.types.is_struct(timer_type)) and timer_type != UNDECODED_TYPE
