"""Columns of values that a codec of a plug-in reads.

| codec                | Arrow                                                    |
|----------------------|----------------------------------------------------------|
| strict               | the codec's type                                         |
| of a struct          | struct of its fields and ``$undecoded``                  |
| of any other type    | struct of ``value`` and ``$undecoded``                   |

``$undecoded`` is a struct of ``bytes`` and ``reason``. It is null, unless the codec did not read the
value: then all other fields are null.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from savepoint_formats.values.kryo.structs import UNDECODED, UNDECODED_TYPE
from savepoint_formats.values.plain_columns import comparable, plain_values

if TYPE_CHECKING:
    from savepoint_formats.layout import Coded
    from savepoint_formats.values.kinds.codec import Value

VALUE = "value"


def coded_type(layout: Coded) -> pa.DataType:
    """The Arrow type of a codec's values in a column."""
    own = layout.codec.type
    if not layout.is_open:
        return own
    fields = list(own) if pa.types.is_struct(own) else [pa.field(VALUE, own)]
    return pa.struct([*fields, pa.field(UNDECODED, UNDECODED_TYPE)])


def column_value(layout: Coded, value: object) -> Value:
    """A value of the codec as the general path returns it.

    Raises ``ValueError`` or ``TypeError`` if the codec's type doesn't have it.
    """
    (plain,) = plain_values(_column(layout, value))
    if not layout.is_open or plain is None:
        return plain
    fields = plain if pa.types.is_struct(layout.codec.type) else {VALUE: plain}
    return {**fields, UNDECODED: None}


def codec_value(layout: Coded, value: Value) -> Value:
    """The mirror of ``column_value``: what the codec writes, as ``as_py`` returns it."""
    plain = value
    if layout.is_open and value is not None:
        is_struct = pa.types.is_struct(layout.codec.type)
        fields = {name: part for name, part in value.items() if name != UNDECODED}
        plain = fields if is_struct else fields[VALUE]
    return _column(layout, plain)[0].as_py()


def undecoded_value(layout: Coded, undecoded: dict[str, Value]) -> dict[str, Value]:
    """The value of bytes that the codec did not read."""
    values: dict[str, Value] = {field.name: None for field in coded_type(layout)}
    return values | {UNDECODED: undecoded}


def is_same(layout: Coded, value: object, other: object) -> bool:
    """Whether Java would take two values of the codec for equal."""
    return comparable(_column(layout, value)) == comparable(_column(layout, other))


def _column(layout: Coded, value: object) -> pa.Array:
    try:
        return pa.array([value], layout.codec.type)
    except (pa.ArrowException, OverflowError) as error:
        raise ValueError(f"{value!r} is no {layout.codec.type}: {error}") from error
