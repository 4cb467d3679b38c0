"""VARIANT: bytes that Flink 2.2.1 wrote, and bytes that nobody should have written."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest
from support.scalar_layouts import VARIANTS

from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
from savepoint_formats.errors import FormatError, UndecodableError
from savepoint_formats.layout import Variant
from savepoint_formats.values.value_writer import write_value
from savepoint_formats.values.values import read_value
from savepoint_formats.values.variants import variant_json

NO_NAMES = b"\x01\0\0"

# By BinaryVariantInternalBuilder.parseJson and VariantBuilder.
FLINK: list[tuple[str, str, str]] = [
    (
        "01020001026261",
        (
            "020201003f0046030c0002050a1319222324252a2d300c0110d4fe14701101001800f2052a01000000"
            "20010f0000001c9c7500883ce4377e040800115a6fc3ab03000002000002010000020578"
        ),
        '{"a":{"b":"x"},"b":[1,-300,70000,5000000000,1.5,1e+300,true,false,null,"Zoë",[],{}]}',
    ),
    ("010000", "2c464d0000", '"2024-02-29"'),
    ("010000", "341466aa7c84120600", '"2024-02-29T12:34:56.789012"'),
    ("010000", "30ffffffffffffffff", '"1969-12-31T23:59:59.999999+00:00"'),
    ("010000", "200232fbffff", "-12.30"),
    ("010000", "240279df0d8648700000", "1234567890123.45"),
    ("010000", "2809b20cc721af6fb63becccfd0f094fb6f6", "-12345678901234567890123456789.012345678"),
    ("010000", "38cdcccc3d", "0.1"),
    ("010000", "1c9a9999999999b93f", "0.1"),
    ("010000", "3c030000000102ff", '"AQL/"'),
    ("010000", "1c000000000000f87f", '"NaN"'),
    ("010000", "0cfb", "-5"),
    ("010000", "1568656c6c6f", '"hello"'),
    ("010000", "4046000000" + "79" * 70, f'"{"y" * 70}"'),
]


def shown(value: bytes, metadata: bytes = NO_NAMES) -> str:
    return variant_json(metadata, value, "a value")


def array(*elements: bytes) -> bytes:
    """As many offsets of four bytes as it takes."""
    ends = [0]
    for element in elements:
        ends.append(ends[-1] + len(element))
    return struct.pack(f"<BI{len(ends)}I", 0x1F, len(elements), *ends) + b"".join(elements)


@pytest.mark.parametrize(("metadata", "value", "text"), FLINK)
def test_what_flink_wrote_is_shown_as_json(metadata: str, value: str, text: str) -> None:
    assert shown(bytes.fromhex(value), bytes.fromhex(metadata)) == text
    json.loads(text)


def test_arrays_of_many_elements_have_large_offsets() -> None:
    elements = [struct.pack("<Bh", 0x10, number) for number in range(300)]
    assert json.loads(shown(array(*elements))) == [*range(300)]
    assert json.loads(shown(array(array(), array(b"\0")))) == [[], [None]]


@pytest.mark.parametrize("in_row", [False, True])
@pytest.mark.parametrize("value", VARIANTS)
def test_values_are_written_as_they_were_read(value: dict[str, Any], *, in_row: bool) -> None:
    view = DataOutputView()
    write_value(Variant(in_row), value, view)
    assert read_value(Variant(in_row), DataInputView(view.to_bytes())) == value
    again = DataOutputView()
    write_value(Variant(in_row), value | {"json": None}, again)
    assert again.to_bytes() == view.to_bytes()


def test_json_that_is_not_the_value_is_refused() -> None:
    with pytest.raises(ValueError, match="whose json is not its value"):
        write_value(Variant(), VARIANTS[0] | {"json": "2"}, DataOutputView())


@pytest.mark.parametrize(
    ("metadata", "value", "reason"),
    [
        ("020000", "00", "of version 2, expected 1"),
        ("", "00", "the data ends"),
        ("01ff0001", "00", "with 255 elements"),
        ("0101000561", "00", "from 0 to 5 of 1 bytes"),
        ("01010001ff", "00", "not UTF-8"),
        ("01020100016161", "00", "from 1 to 0"),
        ("010000", "", "the data ends"),
        ("010000", "0c", "the data ends"),
        ("010000", "fc", "type 63"),
        ("010000", "0961", "the data ends"),
        ("010000", "05ff", "not UTF-8"),
        ("010000", "02010000010000", "without a name: there are 0 names"),
        ("010000", "0205", "which its bytes do not hold"),
        ("010000", "1fffffffff", "with 4294967295 elements"),
        ("010000", "0301000900", "from 0 to 9"),
        ("010000", "20270000000000", "scale 39"),
        ("010000", "44ffffffffffffffff", "no time of a day"),
    ],
)
def test_damage_is_an_error_of_its_place(metadata: str, value: str, reason: str) -> None:
    with pytest.raises(FormatError, match=reason) as raised:
        shown(bytes.fromhex(value), bytes.fromhex(metadata))
    assert "a value at byte" in str(raised.value)


def test_values_that_share_bytes_are_damaged() -> None:
    """Each of a thousand elements is the next array, of a thousand again."""
    inner = b"\x11text"
    for _ in range(30):
        inner = (
            struct.pack("<BI", 0x1F, 1000) + struct.pack("<1001I", *[0] * 1000, len(inner)) + inner
        )
    with pytest.raises(FormatError, match="share bytes"):
        shown(inner)


def test_values_that_nest_too_deep_are_refused() -> None:
    value = b"\0"
    for _ in range(200):
        value = array(value)
    with pytest.raises(UndecodableError, match="deeper than 100 levels"):
        shown(value)


def test_json_that_would_be_vast_is_refused() -> None:
    """Names may stand in it as often as there are objects."""
    name = b"n" * (1 << 20)
    metadata = b"\xc1" + struct.pack("<III", 1, 0, len(name)) + name
    one = bytes.fromhex("02010000010000")[:-1] + b"\0"
    with pytest.raises(UndecodableError, match="more than 67,108,864 characters"):
        shown(array(*[one] * 100), metadata)
