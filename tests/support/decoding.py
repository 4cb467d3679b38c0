"""Records of any layout, decoded in bulk and by the general path."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
from savepoint_formats.errors import FormatError
from savepoint_formats.layout import (
    BinaryRow,
    Framed,
    IndexedUnion,
    Layout,
    LogicalType,
    MapOf,
    Nullable,
    Pojo,
    Repeated,
    Struct,
)
from savepoint_formats.program.assembly import program
from savepoint_formats.program.decode import decode
from savepoint_formats.program.program import Storage
from savepoint_formats.values import state_entries as entries
from savepoint_formats.values.state_entries import EntryReader, EntryWriter, entry_type
from support.any_layout import ANY
from support.nightly import examples

OFTEN = settings(max_examples=examples(80), suppress_health_check=list(HealthCheck))


def has_type(layout: Layout) -> bool:
    """Not so a map whose keys are always null."""
    try:
        entry_type(layout)
    except ValueError:
        return False
    return True


def general_paths(layout: Layout) -> list[str]:
    """The columns that take the general path; the root is one if all of them do."""
    return [column.path for column in program(layout).columns if column.storage == Storage.RANGES]


LAYOUTS = ANY.filter(lambda drawn: has_type(drawn[0]))


@st.composite
def records(draw: st.DrawFn) -> tuple[Layout, list[Any]]:
    """A layout, and some of its values."""
    layout, values = draw(LAYOUTS)
    return layout, draw(st.lists(values, max_size=5))


@st.composite
def entry_records(draw: st.DrawFn) -> tuple[Layout, list[Any]]:
    """Asserts it for the nodes of entries."""
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


def same_on_both(layout: Layout, data: bytes, spans: list[tuple[int, int]]) -> None:
    """Both give the same values; or the bulk path gives one of the errors of the general path."""
    errors: list[tuple[type[Exception], int]] = []
    for span in spans:
        try:
            general(layout, data, [span])
        except FormatError as error:
            errors.append((type(error), error.offset))
    if not errors:
        actual, expected = bulk(layout, data, spans), general(layout, data, spans)
        assert actual.equals(expected) or printed(actual) == printed(expected)
        return
    with pytest.raises(FormatError) as raised:
        bulk(layout, data, spans)
    assert (raised.type, raised.value.offset) in errors


def printed(array: pa.Array) -> str:
    """All values, NaN too, which equals nothing."""
    text: str = array.to_string(window=1_000, container_window=1_000)
    return text


LARGE = [str(sign * 2**bits - sign) for bits in (63, 64, 65, 127, 200, 255) for sign in (1, -1)]
NOTHING = layouts.Marker(None)
NUMBERS = layouts.BlockRepeated(layouts.Long())
TAGS = Repeated(Struct(("x",), (layouts.Text(),)))

PLAIN: list[tuple[Layout, list[Any]]] = [
    (layouts.Text(), ["", None, "ascii, more than eight", "äöü", "日本語", "a😀b", "\x00\x7f"]),
    (layouts.MutableText(), ["", "xyz", "Übergrößenträger"]),
    (layouts.JavaUtf(), ["", "plain", "nul \x00", "é😀", "日本"]),
    (layouts.Utf8(), ["", "plain and rather long", "é😀", "日本"]),
    (layouts.BigInteger(), ["0", "1", "10", None, "-1", "-128", *LARGE]),
    (layouts.BigDecimal(), ["0", "0.000", "-1.50", None, "0.000001", "123456789.000000001"]),
    (layouts.BigDecimal(), [*LARGE, *(f"{text[:-18]}.{text[-18:]}" for text in LARGE)]),
    (layouts.BigDecimal(), ["0.000000", f"0.00000{LARGE[-1].removeprefix('-')}"]),
    (layouts.Enum("E", ("A", "B", "C"), (7, -1, 3)), ["A", "C", "B", "A"]),
    (Nullable(layouts.Enum("E", ("A", "B"))), ["A", None, "B"]),
    (layouts.DecimalData(38, 0), [10**37, -(10**37), 0, 10**38 - 1, 1 - 10**38]),
    (Nullable(layouts.DecimalData(5, 0)), [99999, None, -99999]),
    (Pojo("P", ("a",), (Nullable(layouts.Long()),)), [{"a": 1}, None, {"a": None}]),
    (MapOf(layouts.Text(), Repeated(layouts.Int())), [[("a", [1, 2])], [], [("b", [])]]),
    (layouts.BlockRepeated(layouts.Utf8()), [["a", "b"], [], ["c"]]),
    (layouts.BlockMap(layouts.Long()), [[("a", 1), ("b", 2)], [], [("c", 3)]]),
    (IndexedUnion(("null", "a"), (NOTHING, layouts.Utf8())), ["x", None, ""]),
    (IndexedUnion(("a", "null"), (layouts.Long(), NOTHING)), [1, None, 0]),
    (
        IndexedUnion(("a", "b"), (layouts.Long(), layouts.Utf8())),
        [{"a": 1, "b": None}, {"a": None, "b": "x"}],
    ),
    (layouts.BlockRepeated(IndexedUnion(("null", "a"), (NOTHING, NUMBERS))), [[[1], None], []]),
]

SUBCLASSES = Pojo(
    "a.B",
    ("id", "tags"),
    (Nullable(layouts.Long()), Nullable(TAGS)),
    (("a.Sub", Pojo("a.Sub", ("more", "tags"), (Nullable(layouts.Text()), Nullable(TAGS)))),),
    (
        ("a.Son", Pojo("a.Son", ("id",), (Nullable(layouts.Long()),))),
        ("a.Sorrow", layouts.Text()),
        ("ä.Sorrow", layouts.Long()),
    ),
)
_ABSENT = {"id": None, "tags": None, "more": None, "$value": None, "$value@Sorrow": None}
OF_SUBCLASSES: list[dict[str, Any] | None] = [
    {"$class": "a.B", **_ABSENT, "id": 1, "tags": [{"x": "a"}, {"x": None}]},
    None,
    {"$class": "a.Sub", **_ABSENT, "more": "m", "tags": [{"x": "b"}]},
    {"$class": "a.Son", **_ABSENT, "id": 2},
    {"$class": "a.Sorrow", **_ABSENT, "$value": "text"},
    {"$class": "ä.Sorrow", **_ABSENT, "$value@Sorrow": 7},
    {"$class": "a.B", **_ABSENT},
]
"""Values of all classes of ``SUBCLASSES``."""

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
