"""A codec as the author of a plug-in writes it: an amount of money in bytes that no layout has."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from savepoint_formats.layout import ValueCodec

if TYPE_CHECKING:
    from savepoint_formats.bytes.data_view import DataInputView, DataOutputView


def read_money(view: DataInputView) -> dict[str, Any]:
    """u8 size, that many bytes of cents, three letters; KeyError for a currency of no country."""
    cents = int.from_bytes(view.read_bytes(view.read_unsigned_byte()), "big", signed=True)
    currency = view.read_bytes(3).decode("ascii")
    if currency == "XXX":
        raise KeyError(f"no currency {currency}")
    return {"amount": Decimal(cents).scaleb(-2), "currency": currency}


def write_money(view: DataOutputView, value: dict[str, Any]) -> None:
    """The mirror of ``read_money``."""
    cents = int(value["amount"].scaleb(2))
    data = cents.to_bytes((cents.bit_length() + 8) // 8, "big", signed=True)
    view.write_byte(len(data))
    view.write_bytes(data)
    view.write_bytes(value["currency"].encode("ascii"))


MONEY_TYPE = pa.struct([("amount", pa.decimal128(18, 2)), ("currency", pa.utf8())])
MONEY = ValueCodec(read_money, write_money, MONEY_TYPE)
