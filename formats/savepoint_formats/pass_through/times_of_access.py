"""Serializers and values of state with the times of last access, or without them.

Elements of list state and entries of map state have times of their own. A list or map that is the value of another
state has one time as a whole, as the rows of a rank or of a sink do.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from savepoint_formats.snapshots import constructed
from savepoint_formats.state_files.state import StateKind
from savepoint_formats.values.element_rows import Collections

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_formats.snapshots import TypeSerializerSnapshot

_AWARE = "org.apache.flink.runtime.state.ttl.TtlAwareSerializerSnapshot"
_TIMED = re.compile(r".*\.TtlStateFactory\$TtlSerializerSnapshot")


def with_access_times(snapshot: TypeSerializerSnapshot, kind: StateKind) -> TypeSerializerSnapshot:
    """The serializer of a state without times, with times."""
    return _changed(snapshot, kind, constructed.ttl)


def without_access_times(
    snapshot: TypeSerializerSnapshot, kind: StateKind
) -> TypeSerializerSnapshot:
    """The serializer of a state with times, without them."""
    return _changed(snapshot, kind, lambda value: value)


def _changed(
    snapshot: TypeSerializerSnapshot,
    kind: StateKind,
    change: Callable[[TypeSerializerSnapshot], TypeSerializerSnapshot],
) -> TypeSerializerSnapshot:
    if snapshot.class_name == _AWARE:
        snapshot = snapshot["inner"]
    if kind not in (StateKind.LIST, StateKind.MAP):
        return change(_value(snapshot))
    *keys, values = snapshot.nested
    return snapshot.with_fields(nested=(*keys, change(_value(values))))


def _value(snapshot: TypeSerializerSnapshot) -> TypeSerializerSnapshot:
    return snapshot.nested[1] if _TIMED.fullmatch(snapshot.class_name) else snapshot


_TIME = pa.timestamp("ms", "UTC")


def timed_values(column: pa.Array, kind: StateKind, now_ms: int | None) -> pa.Array:
    """Decoded values of entries with a time of access, ``now_ms``; without their times if it is None.

    Elements of a list have their own times; a null gets none.
    """
    lists = Collections(column) if kind is StateKind.LIST else None
    values = column if lists is None else lists.elements
    if now_ms is None:
        changed = pc.struct_field(values, "value")
    else:
        times = pa.repeat(pa.scalar(now_ms, pa.int64()).cast(_TIME), len(values))
        names = ["timestamp", "value"]
        changed = pa.StructArray.from_arrays([times, values], names=names, mask=values.is_null())
    return changed if lists is None else lists.with_elements(changed)
