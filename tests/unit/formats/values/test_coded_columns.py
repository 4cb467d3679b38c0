from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from support.plug_in_codecs import MONEY, MONEY_TYPE, read_money, write_money

from savepoint_formats.layout import Coded, ValueCodec
from savepoint_formats.values.coded_columns import (
    codec_value,
    coded_type,
    column_value,
    is_same,
    undecoded_value,
)
from savepoint_formats.values.kryo.structs import UNDECODED_TYPE

EURO = {"amount": Decimal("12.50"), "currency": "EUR"}
SINCE = datetime(2024, 2, 29, 12, tzinfo=UTC)


def of_type(data_type: pa.DataType, *, is_strict: bool = False) -> Coded:
    return Coded(ValueCodec(read_money, write_money, data_type, is_strict=is_strict))


def test_the_column_has_a_place_for_bytes_unless_the_codec_is_strict() -> None:
    undecoded = pa.field("$undecoded", UNDECODED_TYPE)
    assert coded_type(Coded(MONEY)) == pa.struct([*MONEY_TYPE, undecoded])
    assert coded_type(of_type(pa.int8())) == pa.struct([pa.field("value", pa.int8()), undecoded])
    assert coded_type(of_type(pa.int8(), is_strict=True)) == pa.int8()
    assert coded_type(Coded(MONEY, is_closed=True)) == MONEY_TYPE


@pytest.mark.parametrize(
    ("layout", "value"),
    [
        (Coded(MONEY), EURO),
        (Coded(MONEY, is_closed=True), EURO),
        (of_type(pa.timestamp("us", "UTC")), SINCE),
        (of_type(pa.list_(MONEY_TYPE)), [EURO, None]),
        (of_type(pa.map_(pa.utf8(), pa.int64()), is_strict=True), [("a", 1)]),
        (of_type(pa.int8()), None),
    ],
    ids=["struct", "closed", "time", "list", "map", "null"],
)
def test_the_codec_gets_back_what_it_returned(layout: Coded, value: object) -> None:
    shown = column_value(layout, value)
    assert pa.array([shown], coded_type(layout)).null_count == (value is None)
    assert codec_value(layout, shown) == value


def test_a_value_of_another_type_is_refused() -> None:
    with pytest.raises(ValueError, match="300 is no int8"):
        column_value(of_type(pa.int8()), 300)


def test_all_fields_beside_undecoded_bytes_are_null() -> None:
    undecoded = {"bytes": b"x", "reason": "no"}
    assert undecoded_value(Coded(MONEY), undecoded) == {
        "amount": None,
        "currency": None,
        "$undecoded": undecoded,
    }


def test_values_are_compared_as_java_does() -> None:
    layout = of_type(pa.float64())
    assert is_same(layout, float("nan"), float("nan"))
    assert not is_same(layout, 0.0, -0.0)
