"""Values written anew in bulk are those that are written one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.any_kryo import PARTS, ROOT, graphs, written_graph
from support.decoding import OFTEN
from support.each import each
from support.kryo_vectors import NEW, OLD, VECTORS, layout_of, named

from savepoint_formats import layout as layouts
from savepoint_formats.errors import SavepointError, UnencodableError
from savepoint_formats.layout import Kryo, Layout, Long, MapOf, Pojo, Repeated, Struct, Text
from savepoint_formats.pass_through.recoded_entries import recoded, renamed
from savepoint_formats.program.recoded_columns import BulkRecoding
from savepoint_formats.snapshots.renamed_classes import ClassRename
from savepoint_formats.values.kryo.descriptions import kryo_class
from savepoint_formats.values.kryo.dialect import KryoDialect, KryoVersion
from savepoint_formats.values.kryo.objects import KryoNode, KryoObject
from savepoint_formats.values.named_values import Renaming
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


@each("vector", VECTORS, ids=lambda one: f"{one['name']} {one['flink']}")
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


OPTIONALS = {
    ("Int", 5): ("010a", "0105000000"),
    ("Int", None): ("0000", "00"),
    ("Long", 5): ("010a", "010500000000000000"),
    ("Long", None): ("0000", "00"),
    ("Double", 5.0): ("014014000000000000", "010000000000001440"),
    ("Double", None): ("007ff8000000000000", "00"),
}
"""Fields of an optional number in 2.24, and its bytes in 5.6."""


@pytest.mark.parametrize("declared", ["an optional", "java.lang.Object"])
@pytest.mark.parametrize("case", OPTIONALS, ids=str)
def test_optional_numbers_go_to_both_versions(
    case: tuple[str, float | None], declared: str
) -> None:
    name = f"java.util.Optional{case[0]}"
    layout = Kryo(ROOT)
    described = kryo_class(ROOT, {"a": name if declared == "an optional" else declared})
    kinds = [KryoDialect(one, (described,)) for one in KryoVersion]
    front = written_graph(layout, KryoNode(ROOT, KryoObject(ROOT, {"a": None})), kinds[0])[:-1]
    front += (
        b"\1" if declared == "an optional" else b"\1\1" + bytes.fromhex(named(name))[2:] + b"\1"
    )
    stored = [front + bytes.fromhex(data) for data in OPTIONALS[case]]
    for at, to in ((0, 1), (1, 0)):
        assert Recoding(layout, layout, kinds[at], kinds[to]).of(stored[at]) == stored[to]
        same_as_one_by_one(layout, [stored[at]] * 2, kinds[at], kinds[to])


RENAMES = (
    ClassRename("a.Point", "b.Place"),
    ClassRename(ROOT, "a.longer.Name"),
    ClassRename("a.Color", "a.Point"),
)


@OFTEN
@given(graphs(), VERSIONS)
def test_classes_are_renamed_as_one_by_one(
    drawn: tuple[Kryo, list[KryoNode | None]], version: KryoVersion
) -> None:
    graph, nodes = drawn
    kryo = KryoDialect(version, graph.classes)
    records = [written_graph(graph, one, kryo) for one in nodes]
    layout = Kryo(graph.class_name, graph.registrations)
    one_by_one = Renaming(layout, kryo, RENAMES)
    expected = result(lambda: list(map(one_by_one.of, records)))
    data = pa.array(records, pa.large_binary())
    assert result(lambda: renamed(data, layout, kryo, RENAMES).to_pylist()) == expected


@pytest.mark.parametrize("version", KryoVersion)
def test_renaming_a_plain_object_takes_no_walk(
    version: KryoVersion, monkeypatch: pytest.MonkeyPatch
) -> None:
    described = kryo_class(ROOT, {"a": "a.Point", "b": "java.util.List<a.Point>"})
    layout, kryo = Kryo(ROOT), KryoDialect(version, (described, *PARTS))
    points = [
        KryoNode("a.Point", KryoObject("a.Point", {"x": x, "y": -x, "name": None})) for x in (1, 2)
    ]
    content = KryoObject(ROOT, {"a": points[0], "b": KryoNode("java.util.ArrayList", points[1:])})
    data = pa.array([written_graph(layout, KryoNode(ROOT, content), kryo)], pa.large_binary())
    expected = Renaming(layout, kryo, RENAMES).of(data[0].as_py())
    monkeypatch.setattr(Renaming, "of", None)
    assert renamed(data, layout, kryo, RENAMES).to_pylist() == [expected]


COLLECTIONS = [
    ("java.util.List", Repeated(Long()), st.integers(-3, 3)),
    ("java.util.List", Repeated(Text()), st.none() | st.text(max_size=3)),
    ("java.util.Set", Repeated(layouts.Nullable(Text())), st.none() | st.text(max_size=3)),
    ("java.util.List", Repeated(Repeated(Long())), st.lists(st.integers(-3, 3), max_size=3)),
    ("java.util.Map", MapOf(Text(), layouts.Nullable(Long())), st.integers(-3, 3)),
]
USUAL = {"List": "ArrayList", "Set": "HashSet", "Map": "HashMap"}


def boxed(value: Any) -> Any:
    match value:
        case int():
            return KryoNode("java.lang.Long", value)
        case str():
            return KryoNode("java.lang.String", value)
        case list():
            return KryoNode("java.util.ArrayList", list(map(boxed, value)))
        case _:
            return None


@OFTEN
@given(st.sampled_from(COLLECTIONS), VERSIONS, st.booleans(), st.data())
def test_collections_that_flink_2_writes_itself_are_the_same_as_one_by_one(
    case: tuple[str, Layout, Any], version: KryoVersion, is_field: bool, data: st.DataObject
) -> None:
    name, new, elements = case
    reads, writes = KryoDialect(version), KryoDialect(KryoVersion.V5_6)
    old: Layout = Kryo(name)
    usual = f"java.util.{USUAL[name.removeprefix('java.util.')]}"
    classes = st.sampled_from([usual, usual, "java.util.LinkedList"])
    records = []
    for values in data.draw(st.lists(st.lists(elements, max_size=4), max_size=4)):
        content: Any = list(map(boxed, values))
        class_name = data.draw(classes)
        if name == "java.util.Map":
            content, class_name = [(boxed(str(at)), one) for at, one in enumerate(content)], usual
        records.append(written_graph(Kryo(name), KryoNode(class_name, content), reads))
    if is_field:
        fields = (layouts.Nullable(Kryo(name)), layouts.Nullable(Long()))
        old = Pojo("P", ("a", "b"), fields)
        new = Pojo("P", ("a", "b"), (layouts.Nullable(new), fields[1]))
        records = [b"\2\0" + record + b"\0" + bytes(8) for record in records]
    one_by_one = Recoding(old, new, reads, writes)
    expected = result(lambda: list(map(one_by_one.of, records)))
    given_data = pa.array(records, pa.large_binary())
    assert result(lambda: recoded(given_data, old, new, reads, writes).to_pylist()) == expected
    assert BulkRecoding.of(old, new, reads, writes) is not None


def test_usual_collections_take_no_walk(monkeypatch: pytest.MonkeyPatch) -> None:
    reads, writes = (KryoDialect(one) for one in KryoVersion)
    node = KryoNode("java.util.ArrayList", [boxed(1), boxed(2)])
    data = pa.array([written_graph(Kryo("java.util.List"), node, reads)], pa.large_binary())
    monkeypatch.setattr(Recoding, "of", None)
    (written,) = recoded(data, Kryo("java.util.List"), Repeated(Long()), reads, writes).to_pylist()
    assert written.hex() == "00000002" + "0000000000000001" + "0000000000000002"


def test_constants_of_enums_get_the_places_of_their_names() -> None:
    old, new = (
        Repeated(layouts.Enum("Grade", constants)) for constants in (("A", "B", "C"), ("B", "C"))
    )
    kryo = KryoDialect(KryoVersion.V5_6)
    records = [_places(), _places(1), _places(2, 1)]
    data = pa.array(records, pa.large_binary())
    moved = [_places(), _places(0), _places(1, 0)]
    assert recoded(data, old, new, kryo, kryo).to_pylist() == moved
    assert [Recoding(old, new, kryo, kryo).of(record) for record in records] == moved
    with pytest.raises(UnencodableError, match="constant 'A' of Grade, which new values lack"):
        recoded(pa.array([_places(1, 0)], pa.large_binary()), old, new, kryo, kryo)


def _places(*places: int) -> bytes:
    return b"".join(number.to_bytes(4, "big") for number in (len(places), *places))
