"""Any graph of objects that Kryo knows is, written and read again, the same graph."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.kryo_vectors import ANYTHING, NEW, OLD, TEXT
from support.nightly import examples

from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
from savepoint_formats.values.kryo.classes import WRAPPERS
from savepoint_formats.values.kryo.graph import NodeGraph
from savepoint_formats.values.kryo.objects import Detailed, KryoNode, KryoObject
from savepoint_formats.values.kryo.writer import write_nodes

if TYPE_CHECKING:
    from savepoint_formats.values.kryo.dialect import KryoDialect

LONGS = st.integers(-(1 << 63), (1 << 63) - 1)
INTS = st.integers(-(1 << 31), (1 << 31) - 1)


def node(class_name: str, content: st.SearchStrategy[Any]) -> st.SearchStrategy[KryoNode]:
    return content.map(lambda one: KryoNode(class_name, one))


def millis(class_name: str) -> st.SearchStrategy[KryoNode]:
    return node(class_name, LONGS.map(lambda one: KryoObject(class_name, {"millis": one})))


SINGLES = st.one_of(
    node("java.lang.Integer", INTS),
    node("java.lang.Long", LONGS),
    node("java.lang.Boolean", st.booleans()),
    node("java.lang.Double", st.floats(allow_nan=False)),
    node("java.lang.Character", st.characters(max_codepoint=0xFFFF)),
    node(TEXT, st.text(st.characters(), max_size=70)),
    node("java.math.BigInteger", st.integers()),
    node("java.math.BigDecimal", st.decimals(allow_nan=False, allow_infinity=False)),
    node("java.util.UUID", st.uuids()),
    node("[B", st.binary()),
    node("[J", st.lists(LONGS)),
    millis("java.util.Date"),
    millis("java.sql.Time"),
)


def around(parts: st.SearchStrategy[Any]) -> st.SearchStrategy[KryoNode]:
    elements = st.lists(st.none() | parts, max_size=4)
    pairs = st.lists(st.tuples(parts, st.none() | parts), max_size=3)
    shared = parts.map(lambda one: [one, one])
    return st.one_of(
        node("java.util.ArrayList", elements | shared),
        node("java.util.HashSet", elements),
        node("java.util.Collections$SingletonList", parts.map(lambda one: [one])),
        node("java.util.TreeSet", elements.map(lambda one: Detailed(None, one))),
        node("java.util.LinkedHashMap", pairs),
        node("java.util.TreeMap", pairs.map(lambda one: Detailed(None, one))),
        node("[Ljava.lang.Object;", elements),
        node(
            "java.util.Optional",
            parts.map(lambda one: KryoObject("java.util.Optional", {"value": one})),
        ),
    )


GRAPHS = st.recursive(SINGLES, around, max_leaves=12)


def shape(value: Any, seen: dict[int, int]) -> Any:
    """A graph in plain values, where an object that came before is its number."""
    match value:
        case KryoNode(class_name) if class_name in WRAPPERS:
            return (class_name, value.content)
        case KryoNode():
            if id(value) in seen:
                return ("again", seen[id(value)])
            seen[id(value)] = len(seen)
            return (value.class_name, shape(value.content, seen))
        case Detailed():
            return (shape(value.detail, seen), shape(value.values, seen))
        case KryoObject():
            return {name: shape(field, seen) for name, field in value.fields.items()}
        case list() | tuple():
            return [shape(part, seen) for part in value]
        case Decimal():
            return value.as_tuple()
        case _:
            return value


def written(graph: KryoNode, dialect: KryoDialect) -> bytes:
    view = DataOutputView()
    write_nodes(ANYTHING, graph, view, dialect)
    return view.to_bytes()


@pytest.mark.parametrize("dialect", [OLD, NEW], ids=["2.24", "5.6"])
@settings(max_examples=examples(60), deadline=None)
@given(graph=GRAPHS)
def test_a_graph_is_the_same_when_it_was_written_and_read(
    dialect: KryoDialect, graph: KryoNode
) -> None:
    data = written(graph, dialect)
    view = DataInputView(data)
    again = NodeGraph(ANYTHING, view, dialect).read_nodes()
    view.expect_end()
    assert again is not None
    assert shape(again, {}) == shape(graph, {})
    assert written(again, dialect) == data


@settings(max_examples=examples(60), deadline=None)
@given(graph=GRAPHS)
def test_a_graph_is_the_same_on_the_way_from_kryo_2_to_kryo_5(graph: KryoNode) -> None:
    old = NodeGraph(ANYTHING, DataInputView(written(graph, OLD)), OLD).read_nodes()
    assert old is not None
    new = NodeGraph(ANYTHING, DataInputView(written(old, NEW)), NEW).read_nodes()
    assert shape(new, {}) == shape(graph, {})
