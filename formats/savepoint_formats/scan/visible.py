"""What a reader sees of decoded values: no times of TTL, and keys without a row kind.

A value with TTL decodes to ``struct<timestamp, value>``; so do the elements of a list and the
values of a map. A row that is a key decodes with its kind, which says nothing there.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from savepoint_formats.columns.arrow_types import visible_key_type
from savepoint_formats.layout import Layout, MapOf, Nullable, Repeated, Ttl


def visible_values(values: pa.Array, stored: Layout) -> pa.Array:
    """Decoded values of the layout ``stored`` without the times of their last access."""
    match stored:
        case Ttl():
            return pc.struct_field(values, "value")
        case Repeated(Ttl()):
            elements = pc.struct_field(values.values, "value")
            return pa.ListArray.from_arrays(_bounds(values), elements)
        case MapOf(_, Ttl() | Nullable(Ttl())) if pa.types.is_map(values.type):
            items = pc.struct_field(values.items, "value")
            return pa.MapArray.from_arrays(_bounds(values), values.keys, items)
        case _:
            return values


def _bounds(values: pa.ListArray | pa.MapArray) -> pa.Array:
    """Offsets that are null where the value is."""
    is_null = pa.concat_arrays([values.is_null(), pa.array([False])])
    return pc.if_else(is_null, pa.scalar(None, pa.int32()), values.offsets)


def visible_key(keys: pa.Array) -> pa.Array:
    """Decoded keys without the kind of a row."""
    wanted = visible_key_type(keys.type)
    if wanted == keys.type:
        return keys
    fields = [pc.struct_field(keys, field.name) for field in wanted]
    return pa.StructArray.from_arrays(fields, fields=list(wanted), mask=keys.is_null())
