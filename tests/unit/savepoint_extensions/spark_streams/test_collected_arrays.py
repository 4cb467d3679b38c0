"""Arrays in Spark's state: bytes of a real Spark, any lists, and damage."""

from __future__ import annotations

import struct
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.each import each

from savepoint_extensions.spark_streams.collected_arrays import element_type, lists, with_lists
from savepoint_formats.errors import ColumnTypeError, FormatError

if TYPE_CHECKING:
    from collections.abc import Sequence

# Spark 4.3: collect_set of six INT.
GOLDEN = bytes.fromhex(
    "0000000000000000 28000000 10000000 0600000000000000 0000000000000000"
    "00000000 01000000 02000000 08000000 09000000 0a000000"
)
FORMATS = {"int": "<i", "bigint": "<q", "double": "<d", "smallint": "<h", "boolean": "<?"}


def stored(values: Sequence[Any], kind: str) -> bytes:
    """A buffer, written value by value as the table of the format says."""
    bits, rest = bytearray((len(values) + 63) // 64 * 8), b""
    start, numbers = 8 + len(bits) + 8 * len(values), b""
    for place, value in enumerate(values):
        if value is None:
            bits[place // 8] |= 1 << place % 8
        if kind == "string":
            text = (value or "").encode()
            word = 0 if value is None else (start + len(rest)) << 32 | len(text)
            numbers += struct.pack("<q", word)
            rest += text + bytes(-len(text) % 8)
        else:
            numbers += struct.pack(FORMATS[kind], value or 0)
    array = struct.pack("<q", len(values)) + bytes(bits) + numbers
    array += bytes(-len(array) % 8) + rest
    return struct.pack("<qii", 0, len(array), 16) + array


def test_reads_what_spark_wrote() -> None:
    assert lists(pa.array([GOLDEN]), pa.int32()).to_pylist() == [[0, 1, 2, 8, 9, 10]]
    assert stored([0, 1, 2, 8, 9, 10], "int") == GOLDEN


VALUES = {
    "bigint": st.integers(-(2**63), 2**63 - 1),
    "int": st.integers(-(2**31), 2**31 - 1),
    "smallint": st.integers(-(2**15), 2**15 - 1),
    "double": st.floats(allow_nan=False),
    "boolean": st.booleans(),
    "string": st.text(st.characters(exclude_categories=["Cs"]), max_size=9),
}


@given(st.data(), st.sampled_from(sorted(VALUES)))
def test_any_lists_are_read_as_they_were_written(data: st.DataObject, kind: str) -> None:
    arrays = st.lists(st.none() | VALUES[kind], max_size=70)
    rows = data.draw(st.lists(st.none() | arrays, max_size=5))
    column = pa.array([None if it is None else stored(it, kind) for it in rows], pa.binary())
    sliced = pa.concat_arrays([pa.array([GOLDEN]), column]).slice(1)
    assert lists(sliced, element_type(kind)).to_pylist() == rows


def test_decimals_are_numbers_without_their_point() -> None:
    buffer = stored([5, None, -(10**17)], "bigint")
    expected = [[Decimal("0.05"), None, Decimal(-(10**15))]]
    assert lists(pa.array([buffer]), element_type("DECIMAL(18, 2)")).to_pylist() == expected


def test_only_named_columns_are_decoded() -> None:
    batch = pa.RecordBatch.from_pydict({"k": ["a"], "raw": [GOLDEN], "ids": [GOLDEN]})
    (decoded,) = with_lists({"ids": pa.int32()})([batch])
    assert decoded.to_pylist() == [{"k": "a", "raw": GOLDEN, "ids": [0, 1, 2, 8, 9, 10]}]


@each("cut", range(1, len(GOLDEN)))
def test_every_cut_is_noticed(cut: int) -> None:
    with pytest.raises(FormatError, match="no collected array of int32"):
        lists(pa.array([GOLDEN[:cut]]), pa.int32())


@each(
    ("place", "value"),
    [(0, 1), (8, 0x27), (12, 0x18), (16, 7), (16, 0), (23, 0x80), (23, 0x7F), (20, 1)],
)
def test_a_flipped_count_is_noticed(place: int, value: int) -> None:
    damaged = bytearray(GOLDEN)
    damaged[place] = value
    with pytest.raises(FormatError, match="no collected array"):
        lists(pa.array([bytes(damaged)]), pa.int32())


@each("kind", ["BIGINT", "SMALLINT", "STRING", "BOOLEAN"])
def test_elements_of_another_size_are_noticed(kind: str) -> None:
    with pytest.raises(FormatError, match="no collected array"):
        lists(pa.array([GOLDEN]), element_type(kind))


def test_a_text_that_is_not_utf8_or_out_of_the_array_is_noticed() -> None:
    good = stored(["abc"], "string")
    for bad in (
        good.replace(b"abc", b"\xff\xfe\xfd"),
        good.replace(b"\x03\0\0\0\x18", b"\x30\0\0\0\x18"),
        good.replace(b"\x03\0\0\0\x18\0\0\0", b"\x03\0\0\0\x18\0\0\x80"),
    ):
        assert bad != good
        with pytest.raises(FormatError, match="no collected array of string"):
            lists(pa.array([bad]), pa.string())


def test_other_types_of_elements_are_refused() -> None:
    for name in ("ARRAY<INT>", "DECIMAL(19, 0)", "", "MAP"):
        with pytest.raises(ColumnTypeError, match="are not read from a collected array"):
            element_type(name)
