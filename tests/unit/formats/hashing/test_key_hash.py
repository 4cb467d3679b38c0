"""Hash codes of columns: equal to those of each value, and to where Flink put real keys."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.each import each
from support.java_hash import bytes_hash, java_hash
from support.nightly import examples
from support.sample_rows import Sample, samples
from support.scalar_layouts import precise
from support.slow_cases import fast_few

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.data_view import DataInputView
from savepoint_formats.errors import ColumnTypeError, UndecodableError, UnstableHashError
from savepoint_formats.hashing.key_hash import key_hashes
from savepoint_formats.hashing.scalar_hashes import framed_hashes
from savepoint_formats.key_groups.ranges import key_groups_of
from savepoint_formats.layout import (
    BinaryArray,
    BinaryMap,
    BinaryRow,
    Framed,
    Layout,
    LogicalType,
    MapOf,
    MaskedRepeated,
    MaskedStruct,
    Nullable,
    Repeated,
    Struct,
    Tagged,
)
from savepoint_formats.snapshots import SnapshotView, read_serializer
from savepoint_formats.values.arrow_types import arrow_type
from savepoint_formats.values.kinds import times
from savepoint_formats.values.kryo.dialect import KryoDialect, KryoVersion
from savepoint_formats.values.values import ValueReader
from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Callable

Strategy = st.SearchStrategy[Any]
Typed = tuple[Layout, Strategy]

ROOT = Path(__file__).parents[4]
CORPUS = Path(os.environ.get("SAVEPOINT_CORPUS", ROOT.parent / "shared" / "corpus"))
VECTORS = CORPUS.parent / "spec" / "serializer-vectors.json"
DIALECTS = {"1": KryoDialect(KryoVersion.V2_24), "2": KryoDialect(KryoVersion.V5_6)}

LONGS = st.integers(-(1 << 63) + 1, (1 << 63) - 1)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
KINDS = st.sampled_from(["+I", "-U", "+U", "-D"])


def ints(bits: int) -> Strategy:
    return st.integers(-(1 << bits - 1), (1 << bits - 1) - 1)


def or_null(values: Strategy) -> Strategy:
    return st.none() | values


def decimals(precision: int, scale: int) -> Strategy:
    bound = 10 ** (precision - scale) - 1
    return st.decimals(-bound, bound, places=scale)


SCALARS: list[Typed] = [
    (layouts.Boolean(), st.booleans()),
    (layouts.Byte(), ints(8)),
    (layouts.Short(), ints(16)),
    (layouts.Int(), ints(32)),
    (layouts.Long(), ints(64) | ints(33)),
    (layouts.Float(), st.floats(width=32)),
    (layouts.Double(), st.floats()),
    (layouts.Char(), st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"])),
    (layouts.Text(), or_null(TEXTS)),
    (layouts.MutableText(), TEXTS),
    (layouts.JavaUtf(), TEXTS),
    (layouts.Utf8(), TEXTS),
    (layouts.BigInteger(), or_null(st.integers().map(str))),
    (layouts.BigDecimal(), or_null(st.decimals(allow_nan=False, allow_infinity=False).map(str))),
    (layouts.DecimalData(10, 2), decimals(10, 2)),
    (layouts.DecimalData(38, 10), decimals(28, 10)),
    (layouts.JavaDate(), or_null(LONGS.map(lambda n: times.to_timestamp(n, "ms", is_utc=True)))),
    (layouts.SqlTimestamp(), or_null(precise(is_utc=True))),
    (layouts.Instant(), or_null(precise(is_utc=True))),
    (layouts.LocalDate(), or_null(ints(32).map(times.to_date))),
    (layouts.LocalTime(), or_null(st.integers(0, times.NANOS_PER_DAY - 1))),
    (layouts.LocalDateTime(), or_null(precise())),
    (layouts.TimestampData(3), LONGS.map(lambda n: times.to_timestamp(n, "ms", is_utc=False))),
    (layouts.TimestampData(6), LONGS.map(lambda n: times.to_timestamp(n, "us", is_utc=False))),
    (layouts.TimestampData(9), precise()),
    (layouts.Marker(), st.none()),
    (layouts.Marker(None), st.none()),
    (layouts.Marker(None, "a.N$"), st.just("a.N$")),
    (layouts.OfScala(layouts.Marker(text="()")), st.just("()")),
    (layouts.Kryo("java.util.UUID"), or_null(st.uuids().map(str))),
    (layouts.Kryo("java.lang.Long"), or_null(ints(64))),
    (layouts.Kryo("java.time.Duration"), or_null(LONGS)),
    (layouts.Enum("Color", ("RED",)), st.just("RED")),
    (layouts.Bytes(), st.binary(max_size=5)),
]


def structs(names: tuple[str, ...], fields: list[Typed], *, is_nullable: bool = False) -> Strategy:
    values = (or_null(values) if is_nullable else values for _, values in fields)
    return st.fixed_dictionaries(dict(zip(names, values, strict=True)))


def numbered(form: str, fields: list[Typed], first: int = 0) -> tuple[str, ...]:
    return tuple(form.format(first + index) for index in range(len(fields)))


def tuple_of(fields: list[Typed]) -> Typed:
    names = numbered("f{}", fields)
    return Struct(names, tuple(layout for layout, _ in fields)), structs(names, fields)


def case_class(fields: list[Typed]) -> Typed:
    names = numbered("_{}", fields, 1)
    return Struct(names, tuple(layout for layout, _ in fields)), structs(names, fields)


def row_of(fields: list[Typed]) -> Typed:
    names = numbered("f{}", fields)
    layout = MaskedStruct(names, tuple(layout for layout, _ in fields), len(fields) % 2 == 0)
    rows = structs(names, fields, is_nullable=True)
    if not layout.has_kind:
        return layout, rows
    return layout, st.builds(lambda row, kind: row | {"$row_kind": kind}, rows, KINDS)


def either(fields: list[Typed]) -> Typed:
    (left, lefts), (right, rights) = fields[0], fields[-1]
    alternatives = [
        st.fixed_dictionaries(
            {"left": st.none(), "right": st.none()}
            | {name: values.filter(lambda value: value is not None)}
        )
        for name, values, part in (("left", lefts, left), ("right", rights, right))
        if not isinstance(part, layouts.Marker) or part.text
    ]
    layout = Tagged((1, 0), ("left", "right"), (left, right))
    return (layout, st.one_of(alternatives)) if alternatives else tuple_of(fields)


def map_of(fields: list[Typed]) -> Typed:
    (key, keys), (value, values) = fields[0], fields[-1]
    if isinstance(key, Nullable | layouts.Marker) and not getattr(key, "text", None):
        entry = st.fixed_dictionaries({"key": keys, "value": values})
        return MapOf(key, value), st.lists(entry, max_size=3)
    pairs = st.tuples(keys.filter(lambda one: one is not None), values)
    return MapOf(key, value), st.lists(pairs, max_size=3)


def collection(make: Callable[[Layout], Layout]) -> Callable[[list[Typed]], Typed]:
    return lambda fields: (make(fields[0][0]), st.lists(fields[0][1], max_size=4))


COMPOSITES: list[Callable[[list[Typed]], Typed]] = [
    tuple_of,
    case_class,
    row_of,
    either,
    map_of,
    collection(Repeated),
    collection(MaskedRepeated),
    lambda fields: (Nullable(fields[0][0]), or_null(fields[0][1])),
    lambda fields: (Nullable(fields[0][0], is_null=False), or_null(fields[0][1])),
]


@st.composite
def composites(draw: st.DrawFn, parts: st.SearchStrategy[Typed]) -> Typed:
    fields = draw(st.lists(parts, min_size=1, max_size=4))
    return draw(st.sampled_from(COMPOSITES))(fields)


KEYS = st.recursive(st.sampled_from(SCALARS), composites, max_leaves=6)


def expected(layout: Layout, values: list[Any]) -> list[int] | None:
    """The hash codes one by one; None if one of them is not computable."""
    try:
        return [java_hash(layout, value) for value in values]
    except UnstableHashError:
        return None


@pytest.mark.usefixtures("both_ways")
@settings(max_examples=examples(40))
@given(KEYS, st.data())
def test_a_column_has_the_hash_codes_of_its_values(key: Typed, data: st.DataObject) -> None:
    layout, strategy = key
    values = data.draw(st.lists(strategy, max_size=5))
    column = pa.array(values, arrow_type(layout))
    check(layout, column, values)
    check(layout, column[1:-1], values[1:-1])


def check(layout: Layout, column: pa.Array, values: list[Any]) -> None:
    wanted = expected(layout, values)
    if wanted is None:
        with pytest.raises(UnstableHashError):
            key_hashes(layout, column)
    else:
        hashes = key_hashes(layout, column)
        assert hashes.dtype == np.int32
        assert hashes.tolist() == wanted


@pytest.mark.parametrize("key", SCALARS, ids=lambda key: repr(key[0]))
@settings(max_examples=examples(25))
@given(data=st.data())
def test_so_has_a_column_of_each_single_type(key: Typed, data: st.DataObject) -> None:
    layout, strategy = key
    values = data.draw(st.lists(or_null(strategy), max_size=5))
    check(layout, pa.array(values, arrow_type(layout)), values)


SQL_ROW = BinaryRow(
    ("id", "name", "at", "tags", "inner"),
    (
        LogicalType("BIGINT"),
        LogicalType("VARCHAR"),
        LogicalType("TIMESTAMP_WITHOUT_TIME_ZONE", precision=9),
        LogicalType("ARRAY", children=(LogicalType("INTEGER"),)),
        LogicalType("ROW", names=("a",), children=(LogicalType("DECIMAL", precision=20),)),
    ),
)
SQL_KEYS: list[Typed] = [
    (
        layout,
        st.fixed_dictionaries(
            {
                "id": or_null(ints(64)),
                "name": or_null(TEXTS),
                "at": or_null(precise()),
                "tags": or_null(st.lists(ints(32), max_size=3)),
                "inner": or_null(st.fixed_dictionaries({"a": or_null(decimals(20, 0))})),
                "$row_kind": KINDS,
            }
        ),
    )
    for layout in (SQL_ROW, Framed(SQL_ROW))
] + [
    (Framed(BinaryArray(LogicalType("VARCHAR"))), st.lists(or_null(TEXTS), max_size=3)),
    (
        Framed(BinaryMap(LogicalType("VARCHAR"), LogicalType("BIGINT"))),
        st.lists(st.tuples(TEXTS, ints(64)), max_size=3),
    ),
    (Framed(layouts.Text()), TEXTS),
]


@pytest.mark.parametrize("key", SQL_KEYS, ids=lambda key: type(key[0]).__name__)
@settings(max_examples=examples(40))
@given(data=st.data())
def test_a_column_of_sql_has_the_hash_codes_of_its_bytes(key: Typed, data: st.DataObject) -> None:
    layout, strategy = key
    values = data.draw(st.lists(or_null(strategy), max_size=4))
    check(layout, pa.array(values, arrow_type(layout)), values)


@given(st.lists(st.binary(max_size=20), max_size=5))
def test_serialized_rows_hash_by_what_is_behind_their_size(rows: list[bytes]) -> None:
    stored = [struct.pack(">i", len(row)) + row for row in rows]
    for kind in (pa.binary(), pa.large_binary()):
        found = framed_hashes(pa.array(stored, kind))
        assert found.tolist() == [bytes_hash(row) for row in rows]


def test_serialized_rows_without_a_size_are_refused() -> None:
    with pytest.raises(ValueError, match="item 1 is damaged"):
        framed_hashes(pa.array([b"\0\0\0\0", b"\0\0\0"], pa.large_binary()))
    with pytest.raises(ValueError, match="1 nulls"):
        framed_hashes(pa.array([None], pa.large_binary()))


def vectors() -> list[dict[str, Any]]:
    found = json.loads(VECTORS.read_text())["vectors"] if VECTORS.is_file() else []
    return [one for one in found if "javaHashCode" in one]


@each("vector", vectors(), ids=lambda one: f"{one['name']} {one['flink']}")
def test_a_column_hashes_what_the_jar_wrote_as_one_value_does(vector: dict[str, Any]) -> None:
    snapshot = read_serializer(SnapshotView(bytes.fromhex(vector["snapshot"])))
    layout, data = snapshot.layout(), bytes.fromhex(vector["data"])
    if isinstance(layout, Framed):
        assert framed_hashes(pa.array([data], pa.binary())).tolist() == [vector["javaHashCode"]]
    try:
        value = ValueReader(DataInputView(data), DIALECTS[vector["flink"][0]]).read(layout)
    except UndecodableError:
        return
    check(layout, pa.array([value] * 3, arrow_type(layout)), [value] * 3)


def check_keys(savepoint: Savepoint) -> int:
    """Compares the key groups of all keys that have some; returns how many those are."""
    count = 0
    for operator in savepoint.operators():
        for table in operator.tables:
            key = table.states[0].key
            if key is None or not table.states[0].kind.is_keyed:
                continue
            scan = savepoint.scan(f"{operator.name}.{table.name}", with_key_group=True)
            for split in scan.splits():
                for batch in scan.read(split):
                    hashes = key_hashes(key, batch.column("key"))
                    found = key_groups_of(hashes, operator.record.max_parallelism)
                    assert found.tolist() == batch.column("key_group").to_pylist()
                    count += len(found)
    return count


@pytest.mark.parametrize(
    "sample", fast_few(one for one in samples() if "2.2.1" in one.name), ids=str
)
def test_the_keys_of_real_savepoints_lie_in_their_key_groups(sample: Sample) -> None:
    assert check_keys(sample.open()) > 0


@pytest.mark.usefixtures("slow")
def test_so_do_those_of_other_releases(corpus: Path) -> None:
    folders = sorted((corpus / "savepoints").glob("new-stateful-udf*"))
    assert sum(check_keys(Savepoint.open(str(folder))) for folder in folders) > 100


def test_a_text_that_is_no_utf_8_is_refused() -> None:
    offsets = pa.array([0, 1, 2], pa.int32()).buffers()[1]
    for damaged in (b"a\xe2", b"a\x80", b"a\xff"):
        column = pa.Array.from_buffers(pa.utf8(), 2, [None, offsets, pa.py_buffer(damaged)])
        with pytest.raises(ValueError, match="item 1 is damaged"):
            key_hashes(layouts.Text(), column)


def test_a_column_of_another_type_is_refused() -> None:
    with pytest.raises(ColumnTypeError, match="keys of type int32, expected string"):
        key_hashes(layouts.Text(), pa.array([1], pa.int32()))


def test_large_texts_hash_as_others() -> None:
    column = pa.array(["a", None, "ж😀"], pa.large_utf8())
    wanted = [java_hash(layouts.Text(), one) for one in column.to_pylist()]
    assert key_hashes(layouts.Text(), column).tolist() == wanted


def test_the_error_says_what_to_give_instead() -> None:
    with pytest.raises(UnstableHashError, match=r"RED.* is an enum.*; give a function"):
        key_hashes(layouts.Enum("a.RED", ("X",)), pa.array(["X"]))
