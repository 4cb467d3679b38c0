"""Finds values that are shown as bytes, and why, in decoded columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from savepoint_formats.checks.faults import Check, Fault, Severity
from savepoint_formats.printable import printable
from savepoint_formats.values.kryo.structs import OBJECT_TYPE, UNDECODED_TYPE

if TYPE_CHECKING:
    from collections.abc import Iterator

_WITH_REASON = (UNDECODED_TYPE, OBJECT_TYPE)


def first_reason(*columns: pa.Array | None) -> str | None:
    """Why the first value that isn't decoded is bytes; None if all values are decoded."""
    reasons = (reason for column in columns if column is not None for reason in _reasons(column))
    return next(reasons, None)


def unread_fault(state: str, reason: str) -> Fault:
    """The fault of a state that has such values."""
    return Fault(Severity.NOT_READ, Check.VALUES, printable(reason), state=state)


def _reasons(array: pa.Array) -> Iterator[str]:
    if not _may_have_reasons(array.type):
        return
    if array.type in _WITH_REASON:
        yield from pc.struct_field(array, "reason").drop_null().slice(0, 1).to_pylist()
    elif pa.types.is_struct(array.type):
        for child in array.flatten():
            yield from _reasons(child)
    elif pa.types.is_map(array.type):
        yield from _reasons(array.keys)
        yield from _reasons(array.items)
    else:
        yield from _reasons(array.flatten())


def _may_have_reasons(data_type: pa.DataType) -> bool:
    if data_type in _WITH_REASON:
        return True
    if not pa.types.is_nested(data_type):
        return False
    return any(
        _may_have_reasons(data_type.field(index).type) for index in range(data_type.num_fields)
    )
