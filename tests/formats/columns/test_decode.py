"""Bulk decoding equals the general path, for any layout, any values and any damage."""

from __future__ import annotations

import importlib.util
import struct
from datetime import datetime
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from savepoint_formats import layout as layouts
from savepoint_formats.columns import state_entries as entries
from savepoint_formats.columns.assembly import program
from savepoint_formats.columns.chunk import Chunk
from savepoint_formats.columns.decode import decode, decode_sequence
from savepoint_formats.columns.state_entries import EntryReader, EntryWriter, entry_type
from savepoint_formats.data_view import DataInputView, DataOutputView
from savepoint_formats.errors import FormatError, SavepointError, UndecodableError
from savepoint_formats.layout import (
    BinaryArray,
    BinaryRow,
    Framed,
    Layout,
    LogicalType,
    MapOf,
    Nullable,
    Pojo,
    Repeated,
    Struct,
)


def _neighbour(name: str) -> Any:
    """Another module of this folder, which is no package."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


round_trip = _neighbour("test_round_trip")

OFTEN = settings(max_examples=200, suppress_health_check=list(HealthCheck), deadline=None)


def has_type(layout: Layout) -> bool:
    """Not so a map whose keys are always null."""
    try:
        entry_type(layout)
    except ValueError:
        return False
    return True


LAYOUTS = round_trip.ANY.filter(lambda one: has_type(one[0]))


@st.composite
def records(draw: st.DrawFn) -> tuple[Layout, list[Any]]:
    """A layout, and some of its values."""
    layout, values = draw(LAYOUTS)
    return layout, draw(st.lists(values, max_size=5))


@st.composite
def entry_records(draw: st.DrawFn) -> tuple[Layout, list[Any]]:
    """The same of the nodes of entries."""
    layout, values = draw(LAYOUTS)
    match draw(st.sampled_from(["suffixed", "delimited", "nullable"])):
        case "suffixed":
            key = Struct(("p", "k", "n"), (entries.KeyPrefix(2), entries.Suffixed(layout), layout))
            rows = st.fixed_dictionaries({"p": st.none(), "k": values, "n": values})
            return key, draw(st.lists(rows, max_size=5))
        case "delimited":
            return entries.Delimited(layout), draw(st.lists(st.lists(values), max_size=4))
        case _:
            return entries.NullableRest(layout), draw(st.lists(st.none() | values, max_size=5))


def written(layout: Layout, values: list[Any]) -> tuple[bytes, list[int]]:
    """The bytes of all values, and where each begins, and the end."""
    view = DataOutputView()
    positions = [0]
    for value in values:
        EntryWriter(view).write(layout, value)
        positions.append(view.position)
    return view.to_bytes(), positions


def general(layout: Layout, data: bytes, spans: list[tuple[int, int]]) -> pa.Array:
    values = []
    for start, end in spans:
        view = DataInputView(data[start:end], base=start)
        values.append(EntryReader(view).read(layout))
        view.expect_end()
    return pa.array(values, entry_type(layout))


def bulk(layout: Layout, data: bytes, spans: list[tuple[int, int]]) -> pa.Array:
    starts = np.array([start for start, _ in spans], np.int64)
    ends = np.array([end for _, end in spans], np.int64)
    return decode(program(layout), Chunk(np.frombuffer(data, np.uint8)), starts, ends)


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


def same_on_both(layout: Layout, data: bytes, spans: list[tuple[int, int]]) -> None:
    """Both give the same values; or the bulk path gives one of the errors of the general path."""
    errors: list[tuple[type[Exception], int]] = []
    for span in spans:
        try:
            general(layout, data, [span])
        except FormatError as error:
            errors.append((type(error), error.offset))
    if not errors:
        found, expected = bulk(layout, data, spans), general(layout, data, spans)
        assert found.equals(expected) or printed(found) == printed(expected)
        return
    with pytest.raises(FormatError) as raised:
        bulk(layout, data, spans)
    assert (raised.type, raised.value.offset) in errors


def printed(array: pa.Array) -> str:
    """All values, NaN too, which equals nothing."""
    text: str = array.to_string(window=1_000, container_window=1_000)
    return text


# --- one by one ---------------------------------------------------------------------------------

PLAIN: list[tuple[Layout, list[Any]]] = [
    (layouts.Text(), ["", None, "ascii, more than eight", "äöü", "日本語", "a😀b", "\x00\x7f"]),
    (layouts.MutableText(), ["", "xyz", "Übergrößenträger"]),
    (layouts.JavaUtf(), ["", "plain", "nul \x00", "é😀", "日本"]),
    (layouts.Utf8(), ["", "plain and rather long", "é😀", "日本"]),
    (layouts.BigInteger(), ["0", "1", "10", None, "-1", "-128", "9223372036854775807"]),
    (layouts.BigDecimal(), ["0", "0.000", "-1.50", None, "0.000001", "123456789.000000001"]),
    (layouts.Enum("E", ("A", "B", "C"), (7, -1, 3)), ["A", "C", "B", "A"]),
    (Nullable(layouts.Enum("E", ("A", "B"))), ["A", None, "B"]),
    (layouts.DecimalData(38, 0), [10**37, -(10**37), 0, 10**38 - 1, 1 - 10**38]),
    (Nullable(layouts.DecimalData(5, 0)), [99999, None, -99999]),
    (Pojo("P", ("a",), (Nullable(layouts.Long()),)), [{"a": 1}, None, {"a": None}]),
    (MapOf(layouts.Text(), Repeated(layouts.Int())), [[("a", [1, 2])], [], [("b", [])]]),
]


@pytest.mark.parametrize(("layout", "values"), PLAIN, ids=lambda one: type(one).__name__)
def test_the_kernel_takes_what_is_plain(
    layout: Layout, values: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    data, positions = written(layout, values)
    monkeypatch.setattr("savepoint_formats.columns.decode.EntryReader", None)
    array = bulk(layout, data, list(pairwise(positions)))
    array.validate(full=True)
    assert array.equals(pa.array(values, entry_type(layout)))


SQL_TYPES = (
    LogicalType("BIGINT"),
    LogicalType("VARCHAR"),
    LogicalType("DECIMAL", precision=30, scale=2),
    LogicalType("ROW", names=("x", "y"), children=(LogicalType("INTEGER"), LogicalType("CHAR"))),
    LogicalType("ARRAY", children=(LogicalType("SMALLINT"),)),
    LogicalType("MULTISET", children=(LogicalType("VARCHAR"),)),
    LogicalType("DISTINCT_TYPE", children=(LogicalType("DOUBLE"),)),
    LogicalType("NULL"),
    LogicalType("TIMESTAMP_WITHOUT_TIME_ZONE", precision=6),
    LogicalType("BOOLEAN"),
)
SQL_ROW = Framed(BinaryRow(tuple("abcdefghij"), SQL_TYPES))
SQL_VALUES: list[dict[str, Any]] = [
    {
        "a": 1,
        "b": "short",
        "c": Decimal("-12345678901234567890.25"),
        "d": {"x": 5, "y": "much longer than a slot"},
        "e": [1, None, -3],
        "f": [("k", 2)],
        "g": 0.5,
        "h": None,
        "i": datetime(2024, 2, 29, 1, 2, 3, 456789),
        "j": True,
        "$row_kind": "-D",
    },
    dict.fromkeys("abcdefghij") | {"$row_kind": "+I"},
]


def test_the_kernel_takes_rows_of_sql(monkeypatch: pytest.MonkeyPatch) -> None:
    data, positions = written(SQL_ROW, SQL_VALUES)
    monkeypatch.setattr("savepoint_formats.columns.decode.EntryReader", None)
    array = bulk(SQL_ROW, data, list(pairwise(positions)))
    array.validate(full=True)
    assert array.equals(pa.array(SQL_VALUES, entry_type(SQL_ROW)))


def test_a_row_of_more_fields_than_a_word_of_null_bits() -> None:
    names = tuple(f"f{number}" for number in range(60))
    row = Framed(BinaryRow(names, (LogicalType("INTEGER"),) * 60))
    value: dict[str, Any] = {name: number for number, name in enumerate(names)}
    values = [value | {"f56": None, "$row_kind": "+U"}]
    data, positions = written(row, values)
    assert bulk(row, data, list(pairwise(positions))).to_pylist() == values


def test_a_variant_in_a_row_takes_the_general_path() -> None:
    row = Framed(BinaryRow(("a", "b"), (LogicalType("BIGINT"), LogicalType("VARIANT"))))
    variants = [None, {"metadata": b"m", "value": b"v"}, None]
    values = [{"a": number, "b": one, "$row_kind": "+I"} for number, one in enumerate(variants)]
    data, positions = written(row, values)
    assert bulk(row, data, list(pairwise(positions))).to_pylist() == values


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


def test_no_records_are_an_empty_array() -> None:
    assert bulk(SQL_ROW, b"", []).equals(pa.array([], entry_type(SQL_ROW)))


@pytest.mark.parametrize("memory", [1, 200, 5_000])
def test_little_memory_makes_several_walks(memory: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("savepoint_formats.columns.decode.MAX_MEMORY", memory)
    layout = Struct(("a", "b"), (layouts.Text(), Repeated(layouts.Long())))
    values = [{"a": "x" * number, "b": list(range(number))} for number in range(40)]
    data, positions = written(layout, values)
    assert bulk(layout, data, list(pairwise(positions))).to_pylist() == values
    chunk = Chunk(np.frombuffer(data, np.uint8))
    array, end = decode_sequence(program(layout), chunk, 0, len(values))
    assert (array.to_pylist(), end) == (values, len(data))


def test_values_that_share_their_bytes_are_repeated() -> None:
    text = b"a text that many elements share"
    count = 500
    slot = struct.pack("<II", len(text), 4 + 64 + 8 * count)
    array = struct.pack("<i", count) + bytes(64) + slot * count + text
    layout = BinaryArray(LogicalType("VARCHAR"))
    same_on_both(layout, array, [(0, len(array))])
    assert bulk(layout, array, [(0, len(array))]).to_pylist() == [[text.decode()] * count]


@pytest.mark.parametrize("claim", [b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\0\0\0\x09"])
@pytest.mark.parametrize(
    "layout",
    [
        Repeated(layouts.Long()),
        Repeated(Struct((), ())),
        layouts.MaskedRepeated(layouts.Text()),
        MapOf(layouts.Text(), layouts.Marker(None)),
        layouts.Bytes(),
        layouts.Utf8(),
        Framed(layouts.Long()),
        layouts.PackedTexts(),
    ],
    ids=lambda one: type(one).__name__,
)
def test_a_count_is_believed_only_if_its_bytes_are_there(layout: Layout, claim: bytes) -> None:
    same_on_both(layout, claim + b"\0" * 4, [(0, 8)])


def test_a_sequence_is_no_longer_than_its_bytes() -> None:
    chunk = Chunk(np.zeros(10, np.uint8), "f", 100)
    with pytest.raises(FormatError, match="f at byte 102: a count of 9 records, with 8 bytes left"):
        decode_sequence(program(layouts.Byte()), chunk, 2, 9)
    with pytest.raises(FormatError, match="a count of 2147483647 records"):
        decode_sequence(program(layouts.Marker(None)), chunk, 0, (1 << 31) - 1)


def test_an_error_names_file_byte_and_record() -> None:
    data, positions = written(layouts.Text(), ["one", "two"])
    chunk = Chunk(np.frombuffer(data[:-1], np.uint8), "s3://jobs/sp-1/f", 1_000)
    starts, ends = np.array(positions[:2]), np.array([positions[1], len(data) - 1])
    with pytest.raises(FormatError) as raised:
        decode(program(layouts.Text()), chunk, starts, ends)
    assert (raised.value.path, raised.value.offset) == ("s3://jobs/sp-1/f", 1_005)
    assert raised.value.message.endswith(", in record 1")


def test_bytes_behind_a_record_are_an_error() -> None:
    with pytest.raises(FormatError, match="1 bytes too many, expected the end, in record 0"):
        bulk(layouts.Int(), b"\0\0\0\0\1", [(0, 5)])


def test_half_a_surrogate_pair_is_an_error() -> None:
    with pytest.raises(UndecodableError, match="surrogate"):
        bulk(layouts.Text(), b"\x02\x80\xb0\x03", [(0, 4)])


def test_a_record_outside_of_the_chunk_is_a_wrong_call() -> None:
    for span in [(-1, 2), (0, 9), (3, 2)]:
        with pytest.raises(ValueError, match="outside of the chunk of 8 bytes"):
            bulk(layouts.Long(), bytes(8), [span])


def test_a_position_outside_of_the_chunk_is_a_wrong_call() -> None:
    for position in (-1, 9):
        with pytest.raises(ValueError, match="outside of the chunk of 8 bytes"):
            decode_sequence(program(layouts.Long()), Chunk(np.zeros(8, np.uint8)), position, 0)


def test_every_record_has_a_start_and_an_end() -> None:
    with pytest.raises(ValueError, match="2 starts and 1 ends"):
        decode(program(layouts.Byte()), Chunk(np.zeros(8, np.uint8)), np.arange(2), np.arange(1))


def test_a_chunk_is_bytes_one_behind_the_other() -> None:
    wrong: list[Any] = [np.zeros(8, np.int64), np.zeros(8, np.uint8)[::2]]
    for data in wrong:
        with pytest.raises(TypeError, match="expected bytes one behind the other"):
            Chunk(data)


# --- what takes the general path ----------------------------------------------------------------

OPAQUE = layouts.Opaque("a.B", "nobody knows")


def test_only_the_column_that_needs_it_takes_the_general_path() -> None:
    layout = Struct(("a", "b"), (layouts.Long(), Nullable(OPAQUE)))
    data = struct.pack(">q?3s", 5, False, b"abc") + struct.pack(">q?", 6, True)
    array = bulk(layout, data, [(0, 12), (12, 21)])
    assert array.to_pylist() == [{"a": 5, "b": b"abc"}, {"a": 6, "b": None}]
    assert [one.path for one in program(layout).general_columns] == ["$.b"]


def test_a_frame_ends_what_nobody_can_decode() -> None:
    layout = Repeated(Struct(("a", "b"), (Framed(OPAQUE), layouts.Byte())))
    data = struct.pack(">ii2sbi0sb", 2, 2, b"xy", 1, 0, b"", 2)
    expected = [{"a": b"xy", "b": 1}, {"a": b"", "b": 2}]
    assert bulk(layout, data, [(0, len(data))]).to_pylist() == [expected]
    array, end = decode_sequence(program(layout), Chunk(np.frombuffer(data, np.uint8)), 0, 1)
    assert (array.to_pylist(), end) == ([expected], len(data))


def test_an_error_of_the_general_path_names_the_record() -> None:
    layout = Struct(("a", "b"), (layouts.Byte(), layouts.PackedTexts()))
    data, positions = written(layout, [{"a": 1, "b": ["x"]}, {"a": 2, "b": ["y"]}])
    damaged = data[:-2] + b"\x7fy"
    with pytest.raises(FormatError, match="in record 1"):
        bulk(layout, damaged, list(pairwise(positions)))


def test_a_sequence_of_what_needs_its_end_takes_the_general_path() -> None:
    data, _ = written(layouts.PackedTexts(), [["a"], [], ["b", "c"]])
    chunk = Chunk(np.frombuffer(data, np.uint8))
    array, end = decode_sequence(program(layouts.PackedTexts()), chunk, 0, 3)
    assert (array.to_pylist(), end) == ([["a"], [], ["b", "c"]], len(data))


def test_subclasses_lie_among_their_superclass() -> None:
    own = (Nullable(layouts.Long()),)
    subclass = Pojo("S", ("a", "z"), (*own, Nullable(layouts.Text())))
    layout = Pojo("P", ("a",), own, registered=(("S", subclass),))
    values = [
        {"$class": "P", "a": 1, "z": None},
        {"$class": "S", "a": 2, "z": "only here"},
        None,
        {"$class": "P", "a": None, "z": None},
    ]
    data, positions = written(layout, values)
    assert bulk(layout, data, list(pairwise(positions))).to_pylist() == values
