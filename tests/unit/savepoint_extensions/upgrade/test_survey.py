"""Looking for classes that nobody described: in bulk as one by one."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.any_kryo import PARTS, graphs, written_graph
from support.decoding import OFTEN
from support.each import each
from support.kryo_vectors import NEW, OLD, VECTORS, layout_of

from savepoint_extensions.upgrade import survey
from savepoint_extensions.upgrade.survey import survey_program, unknown_classes
from savepoint_formats import layout as layouts
from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.errors import FormatError
from savepoint_formats.layout import Kryo, Layout, Pojo
from savepoint_formats.program.byte_ranges import Ranges
from savepoint_formats.program.graph_tables import GraphTables
from savepoint_formats.program.kernel import PASSED
from savepoint_formats.values.kryo.dialect import KryoDialect, KryoVersion
from savepoint_formats.values.recoding import unknown_class

if TYPE_CHECKING:
    from savepoint_formats.values.kryo.objects import KryoNode

MANY = survey._FEW + 1


def one_by_one(layout: Layout, records: list[bytes], reads: KryoDialect) -> Counter[str] | str:
    counts: Counter[str] = Counter()
    try:
        for record in records:
            if name := unknown_class(layout, record, reads):
                counts[name] += 1
    except FormatError as error:
        return str(error)
    return counts


def same_as_one_by_one(layout: Layout, records: list[bytes], reads: KryoDialect) -> None:
    times = -(-MANY // len(records))
    many = records * times
    expected = one_by_one(layout, records, reads)
    if isinstance(expected, Counter):
        expected = Counter({name: count * times for name, count in expected.items()})
    try:
        found: Counter[str] | str = unknown_classes(
            layout, pa.array(many, pa.large_binary()), reads
        )
    except FormatError as error:
        found = str(error)
    assert found == expected


@OFTEN
@given(graphs(), st.sampled_from(KryoVersion), st.sets(st.sampled_from(range(5))), st.booleans())
@pytest.mark.usefixtures("slow")
def test_classes_that_are_not_described_are_found_as_one_by_one(
    drawn: tuple[Kryo, list[KryoNode | None]],
    version: KryoVersion,
    left_out: set[int],
    is_within: bool,
) -> None:
    graph, nodes = drawn
    writes = KryoDialect(version, graph.classes)
    records = [written_graph(graph, one, writes) for one in nodes]
    classes = (graph.classes[0], *PARTS)
    known = tuple(one for number, one in enumerate(classes) if number not in left_out)
    layout: Layout = replace(graph, classes=())
    if is_within:
        layout = Pojo("P", ("a", "b"), (layouts.Nullable(layout), layouts.Nullable(layouts.Text())))
        records = [b"\2\0" + record + b"\0\2a" for record in records]
    same_as_one_by_one(layout, records, KryoDialect(version, known))


@OFTEN
@given(graphs(), st.sampled_from(KryoVersion), st.data())
def test_damage_is_found_as_one_by_one(
    drawn: tuple[Kryo, list[KryoNode | None]], version: KryoVersion, data: st.DataObject
) -> None:
    graph, nodes = drawn
    reads = KryoDialect(version, graph.classes)
    record = bytearray(written_graph(graph, nodes[0], reads))
    record[data.draw(st.integers(0, len(record) - 1))] = data.draw(st.integers(0, 255))
    same_as_one_by_one(replace(graph, classes=()), [bytes(record)], reads)


@pytest.mark.usefixtures("slow")
@each("vector", VECTORS, ids=lambda one: f"{one['name']} {one['flink']}")
@pytest.mark.parametrize("knows", [True, False])
def test_what_the_jars_wrote_is_looked_at_as_one_by_one(
    vector: dict[str, Any], *, knows: bool
) -> None:
    reads = OLD if vector["flink"].startswith("1") else NEW
    reads = reads if knows else replace(reads, classes=())
    data = bytes.fromhex(vector["data"])
    same_as_one_by_one(layout_of(vector["snapshot"]), [data], reads)


@pytest.mark.usefixtures("slow")
def test_most_values_are_never_looked_at_one_by_one() -> None:
    passed = 0
    for vector in VECTORS:
        reads = OLD if vector["flink"].startswith("1") else NEW
        data = bytes.fromhex(vector["data"])
        tables = GraphTables()
        program = survey_program(layout_of(vector["snapshot"]), reads, tables)
        assert program is not None
        chunk = Chunk(np.frombuffer(data, np.uint8))
        ranges = Ranges(np.array([0]), np.array([len(data)]))
        passed += int(survey._ended(program, tables, chunk, ranges)[0, 0] == PASSED)
    assert passed >= 0.8 * len(VECTORS)
