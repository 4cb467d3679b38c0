"""Bulk decoding equals the general path, for any layout, any values and any damage."""

from __future__ import annotations

import struct
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.decoding import (
    OF_SUBCLASSES,
    OFTEN,
    PLAIN,
    SQL_ROW,
    SQL_VALUES,
    SUBCLASSES,
    bulk,
    entry_records,
    records,
    same_on_both,
    written,
)
from support.scalar_layouts import VARIANTS

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.errors import FormatError, SavepointError
from savepoint_formats.layout import (
    BinaryArray,
    BinaryRow,
    Framed,
    Layout,
    LogicalType,
    Repeated,
    Struct,
)
from savepoint_formats.program.assembly import program
from savepoint_formats.program.decode import decode_sequence
from savepoint_formats.values.state_entries import entry_type


@OFTEN
@given(records() | entry_records())
def test_decoding_gives_what_was_written(case: tuple[Layout, list[Any]]) -> None:
    layout, values = case
    data, positions = written(layout, values)
    array = bulk(layout, data, list(pairwise(positions)))
    array.validate(full=True)
    assert array.type == entry_type(layout)
    assert array.equals(pa.array(values, entry_type(layout)))


@OFTEN
@given(records())
def test_records_back_to_back_need_no_ends(case: tuple[Layout, list[Any]]) -> None:
    layout, values = case
    data, positions = written(layout, values)
    prepared = program(layout)
    if prepared.needs_end:
        return
    chunk = Chunk(np.frombuffer(data + b"more", np.uint8))
    array, end = decode_sequence(prepared, chunk, 0, len(values))
    assert end == positions[-1]
    assert array.equals(pa.array(values, entry_type(layout)))


@OFTEN
@given(records() | entry_records(), st.data())
def test_damage_is_the_same_to_both_paths(
    case: tuple[Layout, list[Any]], data: st.DataObject
) -> None:
    layout, values = case
    content, positions = written(layout, values)
    damaged = bytearray(content or b"\0")
    for _ in range(data.draw(st.integers(0, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    cuts = st.integers(0, len(damaged))
    edges = sorted(data.draw(st.lists(cuts, max_size=4))) if data.draw(st.booleans()) else positions
    spans = list(pairwise(edges))
    same_on_both(layout, bytes(damaged), [one for one in spans if one[1] <= len(damaged)])


@OFTEN
@given(records() | entry_records(), st.binary(max_size=60))
def test_noise_is_the_same_to_both_paths(case: tuple[Layout, list[Any]], noise: bytes) -> None:
    same_on_both(case[0], noise, [(0, len(noise))])


@pytest.mark.parametrize(("layout", "values"), PLAIN, ids=lambda one: type(one).__name__)
def test_the_kernel_takes_what_is_plain(
    layout: Layout, values: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    data, positions = written(layout, values)
    monkeypatch.setattr("savepoint_formats.program.decode.EntryReader", None)
    array = bulk(layout, data, list(pairwise(positions)))
    array.validate(full=True)
    assert array.equals(pa.array(values, entry_type(layout)))


def test_the_kernel_takes_rows_of_sql(monkeypatch: pytest.MonkeyPatch) -> None:
    data, positions = written(SQL_ROW, SQL_VALUES)
    monkeypatch.setattr("savepoint_formats.program.decode.EntryReader", None)
    array = bulk(SQL_ROW, data, list(pairwise(positions)))
    array.validate(full=True)
    assert array.equals(pa.array(SQL_VALUES, entry_type(SQL_ROW)))


def test_the_kernel_takes_values_of_subclasses(monkeypatch: pytest.MonkeyPatch) -> None:
    data, positions = written(SUBCLASSES, OF_SUBCLASSES)
    monkeypatch.setattr("savepoint_formats.program.decode.EntryReader", None)
    array = bulk(SUBCLASSES, data, list(pairwise(positions)))
    array.validate(full=True)
    assert array.equals(pa.array(OF_SUBCLASSES, entry_type(SUBCLASSES)))


def test_a_row_of_more_fields_than_a_word_of_null_bits() -> None:
    names = tuple(f"f{number}" for number in range(60))
    row = Framed(BinaryRow(names, (LogicalType("INTEGER"),) * 60))
    value: dict[str, Any] = {name: number for number, name in enumerate(names)}
    values = [value | {"f56": None, "$row_kind": "+U"}]
    data, positions = written(row, values)
    assert bulk(row, data, list(pairwise(positions))).to_pylist() == values


def test_a_variant_in_a_row_takes_the_general_path() -> None:
    row = Framed(BinaryRow(("a", "b"), (LogicalType("BIGINT"), LogicalType("VARIANT"))))
    variants = [None, *VARIANTS, None]
    values = [{"a": number, "b": one, "$row_kind": "+I"} for number, one in enumerate(variants)]
    data, positions = written(row, values)
    assert bulk(row, data, list(pairwise(positions))).to_pylist() == values


TEXTS_ROW = Framed(
    BinaryRow(
        ("a", "b"),
        (
            LogicalType("BIGINT"),
            LogicalType(
                "ARRAY",
                children=(LogicalType("RAW", raw=layouts.MaskedRepeated(layouts.Utf8())),),
            ),
        ),
    )
)


def test_raw_values_of_plain_parts_are_records_of_their_own() -> None:
    """Values of their own program; nulls among them take no bytes."""
    lists = [[["a", None], None, []], None, [], [["b" * 70]], [None, ["é"]]]
    values = [{"a": n, "b": one, "$row_kind": "+I"} for n, one in enumerate(lists)] * 40
    data, positions = written(TEXTS_ROW, values)
    assert bulk(TEXTS_ROW, data, list(pairwise(positions))).to_pylist() == values


def test_a_damaged_raw_value_names_its_record() -> None:
    values = [{"a": n, "b": [["text"]], "$row_kind": "+I"} for n in range(90)]
    data, positions = written(TEXTS_ROW, values)
    place = data.index(b"text", positions[70])
    damaged = data[:place] + b"\xff" + data[place + 1 :]
    with pytest.raises(FormatError, match="in record 70") as raised:
        bulk(TEXTS_ROW, damaged, list(pairwise(positions)))
    assert raised.value.record == 70


def test_raw_values_that_share_bytes_are_damaged() -> None:
    """A thousand elements of the same piece would be a thousand times as large."""
    values = [{"a": 1, "b": [["long" * 25_000], *[[]] * 999], "$row_kind": "+I"}]
    data, positions = written(TEXTS_ROW, values)
    slots = data.index(struct.pack("<i", 1000)) + 4 + 128
    shared = data[:slots] + data[slots : slots + 8] * 1000 + data[slots + 8000 :]
    with pytest.raises(FormatError, match="share bytes"):
        bulk(TEXTS_ROW, shared, list(pairwise(positions)))


def test_every_cut_of_a_record_is_noticed() -> None:
    data, _ = written(SQL_ROW, SQL_VALUES[:1])
    for cut in range(len(data)):
        with pytest.raises(SavepointError):
            bulk(SQL_ROW, data, [(0, cut)])


def test_rare_records_lie_among_plain_ones() -> None:
    values = [str(number) for number in range(50)]
    values[::7] = [str(10**40 + number) for number in range(len(values[::7]))]
    data, positions = written(layouts.BigInteger(), values)
    assert bulk(layouts.BigInteger(), data, list(pairwise(positions))).to_pylist() == values
    chunk = Chunk(np.frombuffer(data, np.uint8))
    array, end = decode_sequence(program(layouts.BigInteger()), chunk, 0, len(values))
    assert (array.to_pylist(), end) == (values, len(data))


def test_records_may_lie_in_any_order_and_overlap() -> None:
    data, positions = written(layouts.Text(), ["one", "two", "three"])
    spans = list(pairwise(positions))
    array = bulk(layouts.Text(), data, [spans[2], spans[0], spans[2]])
    assert array.to_pylist() == ["three", "one", "three"]


TEXT = st.none() | st.text() | st.sampled_from([0, 1, 125, 126, 127, 200]).map("x".__mul__)


@OFTEN
@given(st.lists(TEXT, max_size=8), st.data())
def test_texts_alone_are_what_was_written_or_damaged(
    values: list[str | None], data: st.DataObject
) -> None:
    content, positions = written(layouts.Text(), values)
    spans = list(pairwise(positions))
    assert bulk(layouts.Text(), content, spans).to_pylist() == values
    damaged = bytearray(content or b"\0")
    for place in data.draw(st.lists(st.integers(0, len(damaged) - 1), max_size=3)):
        damaged[place] = data.draw(st.integers(0, 255))
    same_on_both(layouts.Text(), bytes(damaged), spans)


def test_no_records_are_an_empty_array() -> None:
    assert bulk(SQL_ROW, b"", []).equals(pa.array([], entry_type(SQL_ROW)))


@pytest.mark.parametrize("memory", [1, 200, 5_000])
def test_little_memory_makes_several_walks(memory: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("savepoint_formats.program.decode.MAX_MEMORY", memory)
    texts: list[Any] = ["x" * number for number in range(40)]
    data, positions = written(layouts.Text(), texts)
    assert bulk(layouts.Text(), data, list(pairwise(positions))).to_pylist() == texts
    layout = Struct(("a", "b"), (layouts.Text(), Repeated(layouts.Long())))
    values = [{"a": "x" * number, "b": list(range(number))} for number in range(40)]
    data, positions = written(layout, values)
    assert bulk(layout, data, list(pairwise(positions))).to_pylist() == values
    chunk = Chunk(np.frombuffer(data, np.uint8))
    array, end = decode_sequence(program(layout), chunk, 0, len(values))
    assert (array.to_pylist(), end) == (values, len(data))


@pytest.mark.usefixtures("slow")
def test_the_kernel_takes_a_text_whose_size_needs_five_bytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    size = 1 << 28
    view = DataOutputView()
    view.write_varint(size + 1)
    head = view.to_bytes()
    data = head + b"x" * size
    monkeypatch.setattr("savepoint_formats.program.decode.EntryReader", None)
    array = bulk(layouts.Text(), data, [(0, len(data))])
    assert len(head) == 5
    assert pc.binary_length(array).to_pylist() == [size]


def test_values_that_share_their_bytes_are_repeated() -> None:
    text = b"a text that many elements share"
    count = 500
    slot = struct.pack("<II", len(text), 4 + 64 + 8 * count)
    array = struct.pack("<i", count) + bytes(64) + slot * count + text
    layout = BinaryArray(LogicalType("VARCHAR"))
    same_on_both(layout, array, [(0, len(array))])
    assert bulk(layout, array, [(0, len(array))]).to_pylist() == [[text.decode()] * count]
