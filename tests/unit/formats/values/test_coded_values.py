"""Codecs of plug-ins in columns: alone, and inside other values."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from support.plug_in_codecs import MONEY, MONEY_TYPE, read_money, write_money

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
from savepoint_formats.errors import (
    FormatError,
    NullValueError,
    TruncatedError,
    UndecodableError,
    UnencodableError,
)
from savepoint_formats.layout import Coded, ValueCodec
from savepoint_formats.program.assembly import program
from savepoint_formats.program.decode import decode
from savepoint_formats.program.encode import Encoder
from savepoint_formats.values.arrow_types import arrow_type
from savepoint_formats.values.coded_values import read_coded, write_coded
from savepoint_formats.values.values import ValueReader, read_value

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_formats.layout import Layout

OWNER = "shop.Money (plug-in shop-types 1.0)"
OPEN = Coded(MONEY, "shop.Money", "shop-types 1.0")
STRICT = Coded(ValueCodec(read_money, write_money, MONEY_TYPE, is_strict=True), "shop.Money")
EURO = {"amount": Decimal("12.50"), "currency": "EUR"}
EURO_BYTES = b"\x02\x04\xe2EUR"
SHOWN = EURO | {"$undecoded": None}
LOST = {"amount": None, "currency": None}
BAD_BYTES = EURO_BYTES.replace(b"EUR", b"XXX")
FAILED = f"{OWNER}: its codec failed: KeyError: 'no currency XXX'"


def bad(data: bytes, reason: str = FAILED) -> dict[str, Any]:
    return LOST | {"$undecoded": {"bytes": data, "reason": reason}}


def read_number(view: DataInputView) -> int | None:
    return view.read_byte() or None


def write_number(view: DataOutputView, value: int | None) -> None:
    view.write_byte(value or 0)


NUMBER = ValueCodec(read_number, write_number, pa.int8(), is_nullable=True)
SIZED = ValueCodec(read_money, write_money, MONEY_TYPE, 6)


def decoded(layout: Layout, *records: bytes) -> list[Any]:
    ends = np.cumsum([len(record) for record in records])
    starts = np.array([0, *ends[:-1]])
    chunk = Chunk(np.frombuffer(b"".join(records), np.uint8))
    values: list[Any] = decode(program(layout), chunk, starts, ends).to_pylist()
    return values


def encoded(layout: Layout, *values: Any) -> list[bytes]:
    data: list[bytes] = Encoder(layout).encode(pa.array(values, arrow_type(layout))).to_pylist()
    return data


ORDER = layouts.Struct(("id", "price", "note"), (layouts.Long(), OPEN, layouts.Text()))
PLACES: dict[str, tuple[Layout, Any, bytes]] = {
    "itself": (OPEN, SHOWN, EURO_BYTES),
    "strict": (STRICT, EURO, EURO_BYTES),
    "in a struct": (
        ORDER,
        {"id": 7, "price": SHOWN, "note": "a"},
        bytes(7) + b"\7" + EURO_BYTES + b"\2a",
    ),
    "in a POJO": (
        layouts.Pojo(
            "shop.Order", ("price", "n"), (layouts.Nullable(OPEN), layouts.Nullable(layouts.Int()))
        ),
        {"price": SHOWN, "n": 1},
        b"\2\0" + EURO_BYTES + b"\0\0\0\0\1",
    ),
    "in a list": (layouts.Repeated(OPEN), [SHOWN, SHOWN], b"\0\0\0\2" + 2 * EURO_BYTES),
    "in a map": (
        layouts.MapOf(STRICT, layouts.Nullable(OPEN)),
        [(EURO, SHOWN)],
        b"\0\0\0\1" + EURO_BYTES + b"\0" + EURO_BYTES,
    ),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_value_is_read_and_written_wherever_it_lies(place: str) -> None:
    layout, value, data = PLACES[place]
    assert decoded(layout, data, data) == [value, value]
    assert encoded(layout, value, value) == [data, data]
    assert read_value(layout, DataInputView(data)) == value


@pytest.mark.parametrize(("value", "data"), [(5, b"\5"), (None, b"\0")], ids=["a number", "null"])
def test_a_value_that_is_no_struct_is_shown_as_value(value: int | None, data: bytes) -> None:
    layout = Coded(NUMBER, "shop.Number")
    shown = None if value is None else {"value": value, "$undecoded": None}
    assert decoded(layout, data) == [shown]
    assert encoded(layout, shown) == [data]


def test_a_value_that_the_codec_refuses_is_shown_as_bytes_with_the_plug_in() -> None:
    assert decoded(OPEN, EURO_BYTES, BAD_BYTES) == [SHOWN, bad(BAD_BYTES)]


def test_a_refused_value_takes_no_other_along_if_the_rest_fits_in_one_way() -> None:
    (value,) = decoded(ORDER, bytes(8) + BAD_BYTES + b"\2a")
    assert value == {"id": 0, "price": bad(BAD_BYTES), "note": "a"}


def test_a_refused_value_of_a_known_length_ends_there() -> None:
    layout = layouts.Struct(
        ("a", "b"), (Coded(SIZED, "shop.Money", "shop-types 1.0"), layouts.Bytes())
    )
    (value,) = decoded(layout, BAD_BYTES + b"\0\0\0\2xy")
    assert value == {"a": bad(BAD_BYTES), "b": b"xy"}


def test_bytes_behind_a_value_that_belong_to_nobody_are_a_reason() -> None:
    data = EURO_BYTES + b"!"
    left = f"{OWNER}: 1 bytes are left behind its fields"
    (value,) = decoded(OPEN, data)
    assert value == bad(data, left)


def test_a_strict_codec_makes_an_error_of_the_read() -> None:
    with pytest.raises(
        UndecodableError, match=r"shop\.Money: its codec failed: KeyError: 'no currency XXX'"
    ):
        decoded(STRICT, EURO_BYTES, BAD_BYTES)


def test_a_record_that_is_shorter_than_the_length_is_truncated() -> None:
    with pytest.raises(TruncatedError):
        decoded(Coded(SIZED), EURO_BYTES[:-1])


def reads_nothing(view: DataInputView) -> dict[str, Any]:
    return EURO


def reads_a_text(view: DataInputView) -> str:
    return view.read_rest().hex()


def reads_null(view: DataInputView) -> None:
    view.read_rest()


def moves_behind_the_end(view: DataInputView) -> dict[str, Any]:
    view.position = view.end + 1
    return EURO


def writes_cents_only(view: DataOutputView, value: dict[str, Any]) -> None:
    write_money(view, value | {"amount": Decimal(0)})


def writes_too_much(view: DataOutputView, value: dict[str, Any]) -> None:
    write_money(view, value)
    view.write_byte(0)


def writes_with_an_error(view: DataOutputView, value: dict[str, Any]) -> None:
    raise ZeroDivisionError("no cents")


@pytest.mark.parametrize(
    ("read", "reason"),
    [
        (reads_nothing, "its codec read no bytes"),
        (reads_a_text, "its codec failed: ValueError: .* is no struct<amount"),
        (reads_null, "its codec returned None, and is not nullable"),
        (moves_behind_the_end, "its codec moved to position 7 of 6"),
    ],
    ids=["no bytes", "another type", "null", "behind the end"],
)
def test_a_codec_that_breaks_its_contract_is_not_believed(
    read: Callable[[DataInputView], Any], reason: str
) -> None:
    reader = ValueReader(DataInputView(EURO_BYTES))
    layout = Coded(ValueCodec(read, write_money, MONEY_TYPE), "shop.Money")
    value = read_coded(layout, reader)
    assert value["$undecoded"]["bytes"] == EURO_BYTES
    assert re.search(reason, value["$undecoded"]["reason"])
    strict = Coded(ValueCodec(read, write_money, MONEY_TYPE, is_strict=True), "shop.Money")
    with pytest.raises(FormatError, match=reason):
        decoded(strict, EURO_BYTES)


@pytest.mark.parametrize(
    ("write", "length", "reason"),
    [
        (writes_cents_only, -1, "was written, but not read again: it is read as .*'0.00'"),
        (writes_too_much, -1, "not read again: 1 of 7 bytes are left behind its value"),
        (writes_too_much, 6, "wrote 7 bytes, expected 6"),
        (writes_with_an_error, -1, "ZeroDivisionError: no cents"),
    ],
    ids=["another value", "too much", "another length", "error"],
)
def test_what_a_codec_does_not_read_again_is_not_written(
    write: Callable[[DataOutputView, Any], None], length: int, reason: str
) -> None:
    layout = Coded(ValueCodec(read_money, write, MONEY_TYPE, length), "shop.Money")
    with pytest.raises(UnencodableError, match=reason) as raised:
        encoded(layout, SHOWN)
    assert raised.value.row == 0


def test_a_null_that_has_no_bytes_is_refused() -> None:
    with pytest.raises(NullValueError, match=r"a null, for which the serializer has no bytes"):
        encoded(OPEN, None)


def test_refused_bytes_are_written_back_as_they_are() -> None:
    assert encoded(OPEN, SHOWN, bad(BAD_BYTES)) == [EURO_BYTES, BAD_BYTES]
    view = DataOutputView()
    assert not write_coded(OPEN, bad(BAD_BYTES), view)
    assert view.to_bytes() == BAD_BYTES


def test_an_end_that_the_codec_moved_by_too_little_fits_no_list() -> None:
    layout = layouts.Repeated(OPEN)
    with pytest.raises(UndecodableError, match="these bytes are also those of 1 more elements"):
        decoded(layout, b"\0\0\0\2" + 2 * BAD_BYTES)
