"""Object graphs of Kryo, by the kernel and by the general path: the values are the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.any_kryo import ANYTHING, PARTS, ROOT, graphs, shared, written_graph
from support.decoding import OFTEN
from support.each import each
from support.kryo_vectors import DIALECTS, VECTORS, layout_of
from support.nightly import examples

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.errors import FormatError
from savepoint_formats.layout import Kryo, Struct, Text, with_kryo_classes
from savepoint_formats.program.assembly import program
from savepoint_formats.program.decode import _Decoding, decode
from savepoint_formats.values.kryo.descriptions import kryo_class
from savepoint_formats.values.kryo.dialect import KryoDialect, KryoVersion
from savepoint_formats.values.kryo.objects import KryoNode, KryoObject
from savepoint_formats.values.plain_columns import comparable

if TYPE_CHECKING:
    import pyarrow as pa

    from savepoint_formats.layout import Layout


def decoded(
    layout: Layout, records: list[bytes], dialect: KryoDialect, *, reads_graphs: bool
) -> pa.Array | str:
    """The values of the records, or what is wrong with them."""
    ends = np.cumsum([len(one) for one in records])
    starts = ends - [len(one) for one in records]
    chunk = Chunk(np.frombuffer(b"".join(records), np.uint8))
    try:
        return decode(program(layout, dialect, reads_graphs=reads_graphs), chunk, starts, ends)
    except FormatError as error:
        return f"{type(error)} {error}"


def same_on_both_paths(layout: Layout, records: list[bytes], dialect: KryoDialect) -> None:
    by_kernel = decoded(layout, records, dialect, reads_graphs=True)
    by_general_path = decoded(layout, records, dialect, reads_graphs=False)
    if isinstance(by_kernel, str) or isinstance(by_general_path, str):
        assert by_kernel == by_general_path
        return
    by_kernel.validate(full=True)
    assert comparable(by_kernel) == comparable(by_general_path)


VERSIONS = st.sampled_from(KryoVersion)


@settings(OFTEN, max_examples=examples(400))
@given(graphs(), VERSIONS)
@pytest.mark.usefixtures("slow")
def test_any_graph_is_the_same_on_both_paths(
    drawn: tuple[Kryo, list[KryoNode | None]], version: KryoVersion
) -> None:
    layout, nodes = drawn
    dialect = KryoDialect(version, layout.classes)
    same_on_both_paths(layout, [written_graph(layout, one, dialect) for one in nodes], dialect)


@pytest.mark.usefixtures("slow")
@settings(OFTEN, max_examples=examples(400))
@given(st.lists(ANYTHING, min_size=1, max_size=4), VERSIONS, st.booleans())
def test_any_object_that_nobody_described_is_the_same_on_both_paths(
    nodes: list[KryoNode | None], version: KryoVersion, is_shared: bool
) -> None:
    layout, dialect = Kryo("java.lang.Object"), KryoDialect(version, PARTS)
    nodes = [shared(node, {}) for node in nodes] if is_shared else nodes
    same_on_both_paths(layout, [written_graph(layout, one, dialect) for one in nodes], dialect)


@OFTEN
@given(ANYTHING, VERSIONS, st.data())
def test_damage_of_what_nobody_described_is_the_same_on_both_paths(
    node: KryoNode | None, version: KryoVersion, data: st.DataObject
) -> None:
    layout, dialect = Kryo("java.lang.Object"), KryoDialect(version, PARTS)
    record = bytearray(written_graph(layout, node, dialect))
    record[data.draw(st.integers(0, len(record) - 1))] = data.draw(st.integers(0, 255))
    same_on_both_paths(layout, [bytes(record)], dialect)


DOUBLES = st.floats() | st.builds(
    lambda sign, digits, exponent: float(f"{'-' * sign}{digits}e{exponent}"),
    st.booleans(),
    st.integers(0, 10**17),
    st.integers(-330, 300),
)


@pytest.mark.usefixtures("slow")
@settings(OFTEN, max_examples=examples(1000))
@given(st.lists(DOUBLES, min_size=1), st.lists(st.floats(width=32), min_size=1))
def test_doubles_have_the_digits_of_the_general_path(
    doubles: list[float], floats: list[float]
) -> None:
    layout, dialect = Kryo("java.lang.Object"), KryoDialect(KryoVersion.V5_6)
    nodes = [KryoNode("[D", doubles), KryoNode("[F", floats)]
    same_on_both_paths(layout, [written_graph(layout, one, dialect) for one in nodes], dialect)


@settings(OFTEN, max_examples=examples(200))
@given(graphs(), VERSIONS, st.data())
@pytest.mark.usefixtures("slow")
def test_any_damage_is_the_same_on_both_paths(
    drawn: tuple[Kryo, list[KryoNode | None]], version: KryoVersion, data: st.DataObject
) -> None:
    layout, nodes = drawn
    dialect = KryoDialect(version, layout.classes)
    records = [bytearray(written_graph(layout, one, dialect)) for one in nodes]
    for record in records:
        place = data.draw(st.integers(0, len(record) - 1))
        record[place] = data.draw(st.integers(0, 255))
    same_on_both_paths(layout, list(map(bytes, records)), dialect)


@pytest.mark.usefixtures("slow")
@settings(OFTEN)
@given(graphs(), VERSIONS)
def test_what_lies_behind_a_graph_is_the_same_on_both_paths(
    drawn: tuple[Kryo, list[KryoNode | None]], version: KryoVersion
) -> None:
    layout, nodes = drawn
    dialect = KryoDialect(version, layout.classes)
    around = Struct(("a", "graph", "b"), (Text(), layout, Text()))
    records = [b"\3hi" + written_graph(layout, one, dialect) + b"\2x" for one in nodes]
    same_on_both_paths(around, records, dialect)


@pytest.mark.usefixtures("slow")
@each("vector", VECTORS, ids=[f"{one['name']} {one['flink']}" for one in VECTORS])
def test_what_the_jars_wrote_is_the_same_on_both_paths(vector: dict[str, Any]) -> None:
    layout, dialect = layout_of(vector["snapshot"]), DIALECTS[vector["flink"][0]]
    data = bytes.fromhex(vector["data"])
    same_on_both_paths(layout, [data, data[:-1], data], dialect)
    described = with_kryo_classes(layout, dialect.classes)
    assert isinstance(described, Kryo)
    same_on_both_paths(described, [data, data[:-1], data], dialect)


def refused(layout: Kryo, records: list[bytes], dialect: KryoDialect) -> list[int]:
    """The records that take the general path."""
    ends = np.cumsum([len(one) for one in records])
    starts = ends - [len(one) for one in records]
    chunk = Chunk(np.frombuffer(b"".join(records), np.uint8))
    spans = np.asarray(starts, np.int64), np.asarray(ends, np.int64)
    decoding = _Decoding(program(layout, dialect), chunk, len(records), ranges=spans)
    decoding.run(len(chunk))
    return decoding.refused


FIELDS: dict[str, tuple[str, Any]] = {
    "count": ("long", 7),
    "name": ("java.lang.String", KryoNode("java.lang.String", "Zoë")),
    "kind": ("a.Shape", KryoNode("a.Shape", "ROUND")),
    "of": (
        "java.util.List<java.lang.Long>",
        KryoNode("java.util.ArrayList", [KryoNode("java.lang.Long", 5), None]),
    ),
    "by": (
        "java.util.Map<java.lang.String, java.lang.Integer>",
        KryoNode(
            "java.util.HashMap",
            [(KryoNode("java.lang.String", "k"), KryoNode("java.lang.Integer", 2))],
        ),
    ),
}


@pytest.mark.parametrize("version", KryoVersion)
def test_only_a_record_with_something_else_in_it_takes_the_general_path(
    version: KryoVersion,
) -> None:
    described = kryo_class(ROOT, {name: declared for name, (declared, _) in FIELDS.items()})
    layout = Kryo(ROOT, (), (described, *PARTS))
    dialect = KryoDialect(version, layout.classes)
    values = {name: value for name, (_, value) in FIELDS.items()}
    text = values["name"]
    other = KryoNode("java.lang.String", "other")
    rows = [
        values,
        values | {"of": None, "by": None},
        values | {"kind": text},  # another class than expected
        values | {"by": KryoNode("java.util.HashMap", [(text, None)])},  # one text, twice
        values | {"of": KryoNode("java.util.Collections$SingletonList", [None])},
        values | {"of": KryoNode("java.util.HashMap", [(other, other)])},
    ]
    records = [
        written_graph(layout, KryoNode(ROOT, KryoObject(ROOT, row)), dialect) for row in rows
    ]
    same_on_both_paths(layout, records, dialect)
    assert refused(layout, records, dialect) == [2, 5]
