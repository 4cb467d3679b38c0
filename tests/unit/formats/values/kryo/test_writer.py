"""Graphs written again: the bytes that the jars wrote, in their own version and in the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.each import each
from support.kryo_vectors import ANYTHING, DIALECTS, NEW, OLD, VECTORS, layout_of, named, read

from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
from savepoint_formats.values.kryo.graph import NodeGraph
from savepoint_formats.values.kryo.objects import KryoNode, KryoObject
from savepoint_formats.values.kryo.writer import write_nodes

if TYPE_CHECKING:
    from savepoint_formats.layout import Kryo
    from savepoint_formats.values.kryo.dialect import KryoDialect

BY_VERSION = {(one["name"], one["flink"][0]): one for one in VECTORS}
NAMES = sorted({one["name"] for one in VECTORS})

JAVA_SERIALIZED = {"kryo:ex": "12", "kryo:locale": "1", "kryo:sdf": "12"}
"""Vectors with objects that Java itself serialized, and the versions where they are so."""

FORGOTTEN = {"kryo:pattern": "4e01612eaa00"}
"""A pattern whose flags (CASE_INSENSITIVE) 2.24 doesn't keep."""


@each("vector", VECTORS, ids=[f"{one['name']} {one['flink']}" for one in VECTORS])
def test_what_was_read_is_written_byte_by_byte(vector: dict[str, Any]) -> None:
    layout, dialect = layout_of(vector["snapshot"]), DIALECTS[vector["flink"][0]]
    nodes = nodes_of(vector["data"], layout, dialect)
    if vector["flink"][0] in JAVA_SERIALIZED.get(vector["name"], ""):
        with pytest.raises(ValueError, match="whose form in Kryo"):
            written(nodes, layout, dialect)
    else:
        assert written(nodes, layout, dialect) == vector["data"]


@each("name", NAMES)
def test_what_kryo_2_wrote_is_written_as_kryo_5_writes_it(name: str) -> None:
    old, new = BY_VERSION[name, "1"], BY_VERSION[name, "2"]
    nodes = nodes_of(old["data"], layout_of(old["snapshot"]), OLD)
    layout = layout_of(new["snapshot"])
    if "2" in JAVA_SERIALIZED.get(name, ""):
        with pytest.raises(ValueError, match="whose form in Kryo"):
            written(nodes, layout, NEW)
        return
    expected = FORGOTTEN.get(name, new["data"])
    assert written(nodes, layout, NEW) == expected


ZONED = "java.time.ZonedDateTime"
NEW_YORK = "America/New_York"


def zoned(hour: int, offset: int) -> KryoNode:
    """A time of the day of 2020 when clocks in New York were set back at two."""
    date = KryoObject("java.time.LocalDate", {"year": 2020, "month": 11, "day": 1})
    time = KryoObject("java.time.LocalTime", {"hour": hour, "minute": 30, "second": 0, "nano": 0})
    fields = {
        "dateTime": KryoObject("java.time.LocalDateTime", {"date": date, "time": time}),
        "offset": KryoObject("java.time.ZoneOffset", {"totalSeconds": offset}),
        "zone": KryoNode(
            "java.time.ZoneRegion", KryoObject("java.time.ZoneRegion", {"id": NEW_YORK})
        ),
    }
    return KryoNode(ZONED, KryoObject(ZONED, fields))


@pytest.mark.parametrize(("hour", "offset"), [(0, -4), (1, -4), (2, -5)])
def test_a_time_in_a_zone_has_the_offset_that_java_gives_it(hour: int, offset: int) -> None:
    data = written(zoned(hour, offset * 3600), ANYTHING, NEW)
    assert read(data, NEW).fields["zone"] == NEW_YORK


def test_the_second_of_two_offsets_is_refused_where_it_is_forgotten() -> None:
    with pytest.raises(ValueError, match="the second of its two offsets"):
        written(zoned(1, -5 * 3600), ANYTHING, NEW)


def test_an_object_that_is_shared_is_written_once() -> None:
    text = KryoNode("java.lang.String", "shared")
    node = KryoNode("java.util.ArrayList", [text, text])
    for dialect in (OLD, NEW):
        data = written(node, ANYTHING, dialect)
        assert data.count(b"shared"[:-1].hex()) == 1
        again = nodes_of(data, ANYTHING, dialect)
        assert again is not None
        first, second = again.content
        assert first is second


def test_a_skip_list_has_a_comparator_in_kryo_5_alone() -> None:
    name = "java.util.concurrent.ConcurrentSkipListMap"
    pair = (KryoNode("java.lang.Integer", 1), KryoNode("java.lang.Integer", 2))
    old = written(KryoNode(name, [pair]), ANYTHING, OLD)
    assert old == named(name) + "01" + "01" + "0202" + "0204"
    new = written(nodes_of(old, ANYTHING, OLD), ANYTHING, NEW)
    assert new == named(name) + "01" + "02" + "00" + "0202" + "0204"


def nodes_of(data: str, layout: Kryo, dialect: KryoDialect) -> KryoNode | None:
    view = DataInputView(bytes.fromhex(data))
    nodes = NodeGraph(layout, view, dialect).read_nodes()
    view.expect_end()
    return nodes


def written(nodes: KryoNode | None, layout: Kryo, dialect: KryoDialect) -> str:
    view = DataOutputView()
    write_nodes(layout, nodes, view, dialect)
    return view.to_bytes().hex()
