"""Columns of state, as a savepoint has it, from and to the bytes that the state store keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from savepoint_formats.program.encode import Encoder
from savepoint_formats.tables.visible import stored_key
from savepoint_formats.values.arrow_types import arrow_type
from savepoint_functions.functions.key_spans import decoded_keys

if TYPE_CHECKING:
    from savepoint_formats.layout import Layout


def encoded(layout: Layout, values: pa.Array) -> pa.Array:
    """The bytes of each value; null for null.

    Raises:
        UnencodableError: A value is none of the layout.
    """
    present = values.is_valid()
    data = Encoder(layout).encode(values.filter(present)).cast(pa.binary())
    return _spread(data, present)


def decoded(layout: Layout, data: pa.Array) -> pa.Array:
    """The values of these bytes; null for null.

    Raises:
        FormatError: Some bytes are no value of the layout.
    """
    present = data.is_valid()
    return _spread(decoded_keys(layout, data.filter(present).cast(pa.binary())), present)


def encoded_keys(layout: Layout, keys: pa.Array) -> pa.Array:
    """The bytes of keys of a table, which shows rows without their kind: as keys, all are inserts."""
    return encoded(layout, stored_key(keys, arrow_type(layout)))


def _spread(values: pa.Array, present: pa.BooleanArray) -> pa.Array:
    """The values in the places that are present, and nulls between them."""
    if present.false_count == 0:
        return values
    places = pa.compute.cumulative_sum(present.cast(pa.int64()))
    return values.take(pa.compute.if_else(present, pa.compute.subtract(places, 1), None))
