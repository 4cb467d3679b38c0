"""Values written anew in bulk are those that are written one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.any_kryo import PARTS, ROOT, graphs, written_graph
from support.decoding import OFTEN
from support.kryo_vectors import NEW, OLD, VECTORS, layout_of

from savepoint_formats import layout as layouts
from savepoint_formats.errors import SavepointError
from savepoint_formats.layout import Kryo, Layout, Long, Pojo, Struct, Text
from savepoint_formats.pass_through.recoded_entries import recoded
from savepoint_formats.program.recoded_columns import BulkRecoding
from savepoint_formats.values.kryo.descriptions import kryo_class
from savepoint_formats.values.kryo.dialect import KryoDialect, KryoVersion
from savepoint_formats.values.kryo.objects import KryoNode, KryoObject
from savepoint_formats.values.recoding import Recoding
from savepoint_formats.values.state_entries import NullableRest

if TYPE_CHECKING:
    from collections.abc import Callable

VERSIONS = st.sampled_from(KryoVersion)


def result(recode: Callable[[], Any]) -> Any:
    """The written bytes, or the error."""
    try:
        return recode()
    except SavepointError as error:
        return type(error), str(error)


def same_as_one_by_one(
    layout: Layout, records: list[bytes], reads: KryoDialect, writes: KryoDialect
) -> None:
    one_by_one = Recoding(layout, layout, reads, writes)
    expected = result(lambda: list(map(one_by_one.of, records)))
    data = pa.array(records, pa.large_binary())
    assert result(lambda: recoded(data, layout, layout, reads, writes).to_pylist()) == expected


@OFTEN
@given(graphs(), VERSIONS, VERSIONS, st.integers(0, 3))
def test_any_graph_is_the_same_as_one_by_one(
    drawn: tuple[Kryo, list[KryoNode | None]],
    version: KryoVersion,
    target: KryoVersion,
    around: int,
) -> None:
    graph, nodes = drawn
    reads, writes = (KryoDialect(one, graph.classes) for one in (version, target))
    records = [written_graph(graph, one, reads) for one in nodes]
    bare = Kryo(graph.class_name, graph.registrations)
    layout: Layout = bare
    if around == 1:
        layout = Struct(("a", "graph", "b"), (Text(), bare, Long()))
        records = [b"\3hi" + record + bytes(8) for record in records]
    elif around == 2:
        layout = Pojo("P", ("a", "b"), (layouts.Nullable(bare), layouts.Nullable(Text())))
        records = [b"\2\0" + record + b"\0\2a" for record in records]
    elif around == 3:
        layout = NullableRest(bare)
        records = [b"\0" + record for record in records] + [b"\1", b"\1behind"]
    same_as_one_by_one(layout, records, reads, writes)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda one: f"{one['name']} {one['flink']}")
def test_what_the_jars_wrote_is_the_same_as_one_by_one(vector: dict[str, Any]) -> None:
    reads = OLD if vector["flink"].startswith("1") else NEW
    data = bytes.fromhex(vector["data"])
    for writes in (OLD, NEW):
        same_as_one_by_one(layout_of(vector["snapshot"]), [data, data], reads, writes)


def test_a_shared_object_stays_one() -> None:
    described = kryo_class(ROOT, {"a": "java.lang.String", "b": "java.lang.String"})
    layout = Kryo(ROOT)
    reads, writes = (KryoDialect(one, (described, *PARTS)) for one in KryoVersion)
    text, other = (KryoNode("java.lang.String", "same") for _ in range(2))
    nodes = [KryoNode(ROOT, KryoObject(ROOT, {"a": text, "b": b})) for b in (text, other)]
    records = [written_graph(layout, one, reads) for one in nodes]
    assert BulkRecoding.of(layout, layout, reads, writes) is not None
    same_as_one_by_one(layout, records, reads, writes)
    data = pa.array(records, pa.large_binary())
    shared, twice = recoded(data, layout, layout, reads, writes).to_pylist()
    assert len(shared) < len(twice)
