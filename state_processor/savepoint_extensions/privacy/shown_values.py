"""Numbers and times that are shown as one of some texts."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from savepoint_database.audit.key_state import key_texts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def is_shown(values: pa.Array, texts: Sequence[str]) -> bool:
    """Whether a number, time or bytes in hexadecimal is shown as a text that is looked for."""
    if pa.types.is_integer(values.type):
        numbers = [int(text) for text in texts if _is_number(text, values.type)]
        return bool(numbers) and bool(
            pc.any(pc.is_in(values, pa.array(numbers, values.type))).as_py()
        )
    if pa.types.is_boolean(values.type) or pa.types.is_null(values.type):
        return False
    if pa.types.is_decimal(values.type) or pa.types.is_floating(values.type):
        numbers = [equal for text in texts for equal in _equal(text, values.type)]
        return bool(numbers) and bool(
            pc.any(pc.is_in(values, pa.array(numbers, values.type))).as_py()
        )
    distinct = values if pa.types.is_nested(values.type) else values.unique()
    return any(text in texts for text in key_texts(distinct.drop_null()))


def _equal(text: str, data_type: pa.DataType) -> Iterator[pa.Scalar]:
    """The decimal or floating-point number that a text is, whatever zeros it has: none or one."""
    try:
        number = Decimal(text)
        yield pa.scalar(float(number) if pa.types.is_floating(data_type) else number, data_type)
    except (InvalidOperation, OverflowError, pa.ArrowInvalid):
        return


def _is_number(text: str, data_type: pa.DataType) -> bool:
    try:
        pa.scalar(int(text), data_type)
    except (ValueError, OverflowError, pa.ArrowInvalid):
        return False
    return True
