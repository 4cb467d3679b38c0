"""The serializers of the shop's own classes.

| class    | bytes                                               | known as           |
|----------|-----------------------------------------------------|--------------------|
| Money    | u8 size, cents of that size, three letters          | a codec            |
| Sku      | long supplier, writeUTF number                      | a layout           |
| Interval | two values of the nested serializer                 | a composite layout |
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa

from state_processor.plugins import (
    Coded,
    DataInputView,
    DataOutputView,
    JavaUtf,
    Layout,
    Long,
    SnapshotKind,
    Struct,
    TypeSerializerSnapshot,
    ValueCodec,
    simple,
)


def read_money(view: DataInputView) -> dict[str, Any]:
    """As ``MoneySerializer.deserialize``."""
    cents = int.from_bytes(view.read_bytes(view.read_unsigned_byte()), "big", signed=True)
    currency = view.read_bytes(3).decode("ascii")
    if not currency.isupper():
        raise ValueError(f"{currency!r} is no currency")
    return {"amount": Decimal(cents).scaleb(-2), "currency": currency}


def write_money(view: DataOutputView, money: dict[str, Any]) -> None:
    """As ``MoneySerializer.serialize``."""
    cents = int(money["amount"].scaleb(2))
    data = cents.to_bytes((cents.bit_length() + 8) // 8, "big", signed=True)
    view.write_byte(len(data))
    view.write_bytes(data)
    view.write_bytes(money["currency"].encode("ascii"))


MONEY = ValueCodec(
    read_money,
    write_money,
    pa.struct([("amount", pa.decimal128(18, 2)), ("currency", pa.utf8())]),
)
SKU = Struct(("supplier", "number"), (Long(), JavaUtf()))


def interval(snapshot: TypeSerializerSnapshot) -> Layout:
    """Both ends, by the nested serializer."""
    (end,) = snapshot.nested_layouts()
    return Struct(("low", "high"), (end, end))


KINDS = {
    "shop.MoneySerializer$MoneySerializerSnapshot": simple(Coded(MONEY)),
    "shop.SkuSerializer$SkuSerializerSnapshot": simple(SKU),
    "shop.IntervalSerializerSnapshot": SnapshotKind(
        interval, is_composite=True, newest_outer=1, parts=1
    ),
}
