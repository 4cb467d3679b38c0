"""Columns that become object graphs of Kryo, by the kernel and by the general path: the same bytes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.any_kryo import PARTS, ROOT, graphs, written_graph
from support.decoding import OFTEN

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.errors import UnencodableError
from savepoint_formats.layout import Kryo, Layout, Struct, Text
from savepoint_formats.program.assembly import program, written_program
from savepoint_formats.program.decode import decode
from savepoint_formats.program.encode import Encoder, _Encoding
from savepoint_formats.values.kryo.descriptions import kryo_class
from savepoint_formats.values.kryo.dialect import KryoDialect, KryoVersion
from savepoint_formats.values.plain_columns import plain_values
from savepoint_formats.values.state_entries import EntryWriter

if TYPE_CHECKING:
    from savepoint_formats.values.kryo.objects import KryoNode

BOTH = pytest.mark.parametrize("version", KryoVersion)


def general(layout: Layout, column: pa.Array) -> list[bytes | None]:
    """The bytes of each value by the general path; None if it can't be written."""
    written: list[bytes | None] = []
    for value in plain_values(column):
        view = DataOutputView()
        try:
            EntryWriter(view).write(layout, value)
        except ValueError:
            written.append(None)
        else:
            written.append(view.to_bytes())
    return written


def same_on_both_paths(layout: Layout, column: pa.Array) -> None:
    expected = general(layout, column)
    good = np.flatnonzero([one is not None for one in expected])
    kept = column.take(pa.array(good))
    assert Encoder(layout).encode(kept).to_pylist() == [expected[row] for row in good]
    if len(good) < len(column):
        with pytest.raises(UnencodableError) as raised:
            Encoder(layout).encode(column)
        assert raised.value.row == expected.index(None)


@OFTEN
@given(graphs(), st.sampled_from(KryoVersion), st.sampled_from(KryoVersion), st.booleans())
def test_any_column_is_the_same_on_both_paths(
    drawn: tuple[Kryo, list[KryoNode | None]],
    version: KryoVersion,
    target: KryoVersion,
    is_within: bool,
) -> None:
    layout, nodes = drawn
    dialect = KryoDialect(version, layout.classes)
    written: Layout = replace(layout, version=target.value)
    records = [written_graph(layout, one, dialect) for one in nodes]
    read: Layout = layout
    if is_within:
        read, written = (
            Struct(("a", "graph", "b"), (Text(), one, Text())) for one in (read, written)
        )
        records = [b"\3hi" + record + b"\2x" for record in records]
    ends = np.cumsum([len(one) for one in records])
    chunk = Chunk(np.frombuffer(b"".join(records), np.uint8))
    starts = ends - [len(one) for one in records]
    column = decode(program(read, dialect, hides="all"), chunk, starts, ends)
    objects = column.field("graph") if is_within else column
    is_whole = ~objects.field("$undecoded").is_valid().to_numpy(zero_copy_only=False)
    same_on_both_paths(written, column.filter(pa.array(is_whole)))


def column_of(layout: Kryo, rows: list[dict[str, Any] | None]) -> pa.Array:
    whole = [None if row is None else {**row, "$undecoded": None} for row in rows]
    return pa.array(whole, Encoder(layout).type)


def layout_of(version: KryoVersion, **types: str) -> Kryo:
    return Kryo(ROOT, (), (kryo_class(ROOT, types), *PARTS), version.value)


def refused(layout: Kryo, column: pa.Array) -> list[int]:
    """The rows that take the general path."""
    encoding = _Encoding(written_program(layout), column)
    encoding.run()
    return sorted(encoding.refused)


@BOTH
def test_only_a_row_with_something_rare_in_it_takes_the_general_path(version: KryoVersion) -> None:
    layout = layout_of(
        version,
        n="long",
        name="java.lang.String",
        kind="a.Color",
        at="a.Point",
        big="java.math.BigDecimal",
        by="java.util.Map<java.lang.String, java.lang.Integer>",
        ids="java.util.Set<java.lang.Long>",
    )
    row = {"n": -1, "name": "Zoë", "kind": "RED", "at": {"x": 1, "y": 2, "name": None}}
    row |= {"big": "1.50", "by": [("a", 1), ("b", None)], "ids": [1, 2]}
    rows = [row, row | {"big": str(10**80)}, None, dict.fromkeys(row) | {"n": 0}]
    column = column_of(layout, rows)
    same_on_both_paths(layout, column)
    assert refused(layout, column) == [1]


@BOTH
@pytest.mark.parametrize(
    ("declared", "value"),
    [
        ("long", None),
        ("java.util.Set<java.lang.String>", ["a", "b", "a"]),
        ("java.util.Map<java.lang.Long, java.lang.Long>", [(1, 2), (1, 3)]),
        ("java.util.ArrayDeque<java.lang.String>", ["a", None]),
        ("java.util.concurrent.ConcurrentMap<java.lang.String, java.lang.Long>", [("a", None)]),
        ("java.util.TreeSet<java.lang.String>", []),
        ("java.util.Optional<java.lang.String>", None),
        ("java.util.Optional", None),
        ("java.util.OptionalInt", None),
        ("java.lang.Object", "1"),
        ("java.util.List<java.lang.Object>", ["1"]),
        ("java.util.UUID", "12345678-1234-5678-9234-12345678901g"),
        ("java.util.UUID", "12345678-1234-5678-9234:123456789012"),
        ("java.util.Currency", "euro"),
        ("a.Color", "PINK"),
        ("java.lang.Character", "ab"),
        ("java.math.BigDecimal", "1.5.0"),
        ("java.time.LocalTime", -1),
        ("long[]", [1, None]),
    ],
)
def test_what_no_object_has_is_refused_with_its_row(
    version: KryoVersion, declared: str, value: Any
) -> None:
    layout = layout_of(version, a="int", v=declared)
    with pytest.raises(UnencodableError) as raised:
        Encoder(layout).encode(column_of(layout, [None, {"a": 1, "v": value}]))
    assert raised.value.row == 1


@BOTH
@pytest.mark.parametrize(
    ("declared", "values"),
    [
        ("java.util.List<a.Point>", [[], [None], [None, None], [{"x": 1, "y": 2, "name": "n"}]]),
        ("java.util.List<java.lang.Long>", [[], [None], [None, None], [1, None]]),
        ("java.util.List<java.lang.Object>", [[], [None]]),
        ("java.util.List<java.util.List<java.lang.String>>", [[["a"], None, []], [[None]]]),
        ("java.util.Optional<java.lang.String>", ["a"]),
        ("java.util.List<java.util.Optional<a.Point>>", [[{"x": 1, "y": 2, "name": "n"}]]),
        ("java.util.OptionalDouble", [0.5]),
        ("java.util.UUID", ["12345678-1234-5678-9234-1234567890aB", None]),
        ("java.util.Currency", ["EUR", None]),
        (
            "java.lang.String",
            ["", "a", "ab", "a" * 32, "a" * 33, "a" * 63, "a" * 64, "𝄞", "ß" * 70],
        ),
        ("java.util.Set<java.util.List<java.lang.String>>", [[["a"], ["b"]], [["a"]]]),
        ("a.Point[]", [[], [None], [{"x": 1, "y": 2, "name": "n"}]]),
        ("byte[]", [b"", b"ab"]),
        ("char[]", [["ß"], []]),
        ("java.lang.String[][]", [[["a", None], None], []]),
    ],
)
def test_all_forms_are_the_same_on_both_paths(
    version: KryoVersion, declared: str, values: list[Any]
) -> None:
    layout = layout_of(version, a="int", v=declared, z="a.Point")
    point = {"x": 3, "y": 4, "name": "z"}
    rows: list[dict[str, Any] | None] = [{"a": 1, "v": value, "z": point} for value in values]
    same_on_both_paths(layout, column_of(layout, rows))


@BOTH
@pytest.mark.parametrize("name", ["java.util.UUID", "java.lang.Long", "java.util.OptionalInt"])
def test_single_values_are_the_same_on_both_paths(version: KryoVersion, name: str) -> None:
    values: dict[str, list[Any]] = {
        "java.util.UUID": ["12345678-1234-5678-9234-1234567890ab", None],
        "java.lang.Long": [1, None, -(1 << 63), (1 << 63) - 1],
        "java.util.OptionalInt": [-5, None],
    }
    layout = Kryo(name, (), (), version.value)
    same_on_both_paths(layout, pa.array(values[name], Encoder(layout).type))
