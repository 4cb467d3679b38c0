"""Any object graph of Kryo whose classes are described, and of some that are not."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import UUID

from hypothesis import strategies as st

from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.layout import Kryo, KryoRegistration, TypeArgument
from savepoint_formats.values.kryo.collections import LIST_FORMS, MAP_FORMS
from savepoint_formats.values.kryo.descriptions import kryo_class
from savepoint_formats.values.kryo.objects import Detailed, KryoNode, KryoObject
from savepoint_formats.values.kryo.writer import write_nodes
from support.scalar_layouts import LONGS, ints

if TYPE_CHECKING:
    from savepoint_formats.layout import KryoClass
    from savepoint_formats.values.kryo.dialect import KryoDialect

Strategy = st.SearchStrategy[Any]

COLOR = kryo_class("a.Color", constants=["RED", "GREEN", "BLUE"], is_final=True)
SHAPE = kryo_class("a.Shape", constants=["ROUND", "SQUARE"])
POINT = kryo_class("a.Point", {"x": "int", "y": "long", "name": "java.lang.String"})
SIZE = kryo_class("a.Size", {"w": "double", "of": "a.Color"}, is_final=True)
PARTS = (COLOR, SHAPE, POINT, SIZE)
ROOT = "a.Root"

PRIMITIVES: dict[str, Strategy] = {
    "boolean": st.booleans(),
    "byte": ints(8),
    "short": ints(16),
    "int": ints(32),
    "long": ints(64),
    "float": st.floats(width=32, allow_nan=False),
    "double": st.floats(allow_nan=False),
    "char": st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"]),
}
BOXED = {
    "java.lang.Boolean": "boolean",
    "java.lang.Byte": "byte",
    "java.lang.Short": "short",
    "java.lang.Integer": "int",
    "java.lang.Long": "long",
    "java.lang.Float": "float",
    "java.lang.Double": "double",
    "java.lang.Character": "char",
}
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.text(
    st.characters(min_codepoint=32, max_codepoint=126), min_size=0, max_size=70
)
NANOS = st.integers(0, 999_999_999)


def time_object(name: str, **fields: Strategy) -> Strategy:
    class_name = f"java.time.{name}"
    return st.fixed_dictionaries(fields).map(lambda drawn: KryoObject(class_name, drawn))


DATES = st.dates(date(1, 1, 1)).map(
    lambda day: KryoObject(
        "java.time.LocalDate", {"year": day.year, "month": day.month, "day": day.day}
    )
)
CLOCKS = time_object(
    "LocalTime",
    hour=st.integers(0, 23),
    minute=st.integers(0, 59),
    second=st.integers(0, 59),
    nano=st.just(0) | NANOS,
)
DATE_TIMES = time_object("LocalDateTime", date=DATES, time=CLOCKS)
OFFSETS = time_object(
    "ZoneOffset",
    totalSeconds=st.integers(-72, 72).map(lambda quarters: quarters * 900)
    | st.integers(-64_800, 64_800),
)
NUMBERS = st.just(0) | ints(32)
MOMENTS: dict[str, Strategy] = {
    "java.time.ZoneOffset": OFFSETS,
    "java.time.OffsetDateTime": time_object("OffsetDateTime", dateTime=DATE_TIMES, offset=OFFSETS),
    "java.time.OffsetTime": time_object("OffsetTime", time=CLOCKS, offset=OFFSETS),
    "java.time.YearMonth": time_object("YearMonth", year=ints(32), month=st.integers(1, 12)),
    "java.time.MonthDay": time_object("MonthDay", month=st.integers(1, 12), day=st.integers(1, 29)),
    "java.time.Period": time_object("Period", years=NUMBERS, months=NUMBERS, days=NUMBERS),
}
SECONDS = st.integers(-(10**10), 10**10)
SINGLES: dict[str, Strategy] = {
    **{name: PRIMITIVES[primitive] for name, primitive in BOXED.items()},
    "java.lang.String": TEXTS,
    "java.util.UUID": st.uuids(),
    "java.math.BigInteger": st.integers(),
    "java.math.BigDecimal": st.decimals(allow_nan=False, allow_infinity=False, places=2),
    "java.util.Date": LONGS.map(lambda millis: KryoObject("java.util.Date", {"millis": millis})),
    "java.sql.Timestamp": st.builds(
        lambda seconds, nanos: KryoObject(
            "java.sql.Timestamp", {"millis": seconds * 1000 + nanos // 1_000_000, "nanos": nanos}
        ),
        SECONDS,
        NANOS,
    ),
    "java.time.Instant": time_object("Instant", seconds=SECONDS, nanos=NANOS),
    "java.time.Duration": time_object("Duration", seconds=SECONDS, nanos=NANOS),
    "java.time.LocalDate": DATES,
    "java.time.LocalTime": CLOCKS,
    "java.time.LocalDateTime": time_object("LocalDateTime", date=DATES, time=CLOCKS),
    "java.time.Year": time_object("Year", year=ints(32)),
    **MOMENTS,
    "java.util.OptionalLong": st.builds(
        lambda value: KryoObject(
            "java.util.OptionalLong", {"isPresent": value is not None, "value": value or 0}
        ),
        st.none() | ints(64),
    ),
}
TYPES = [
    *PRIMITIVES,
    *SINGLES,
    "a.Color",
    "a.Shape",
    "a.Point",
    "a.Size",
    "java.lang.Object",
    "byte[]",
    "long[]",
    "double[]",
    "java.lang.String[]",
    "a.Point[]",
    "java.util.List<java.lang.Long>",
    "java.util.List<java.lang.String>",
    "java.util.Set<a.Color>",
    "java.util.Collection<a.Shape>",
    "java.util.List<a.Point>",
    "java.util.List<a.Size>",
    "java.util.List<? extends a.Size>",
    "java.util.List<java.util.List<java.lang.String>>",
    "java.util.List<java.lang.Object>",
    "java.util.Map<java.lang.String, java.lang.Long>",
    "java.util.Map<java.lang.String, a.Point>",
    "java.util.Map<a.Point, java.util.List<java.lang.Integer>>",
    "java.util.Set<long[]>",
    "java.util.ArrayList<a.Point[]>",
    "java.util.Optional<java.lang.String>",
    "java.util.List<java.util.Optional<a.Point>>",
    "java.util.List",
    "java.util.Map",
    "java.util.Optional",
    "java.util.BitSet",
    "java.util.regex.Pattern",
    "java.lang.Object[]",
    "java.util.Map<java.lang.String, java.lang.Object>",
    ROOT,
]
_ANY = (
    *("java.lang.Object", "java.lang.String", "java.lang.Long", "java.util.UUID", "a.Point"),
    *("java.lang.Double", "java.lang.Float", "java.lang.Character", "java.lang.Boolean"),
    *("java.math.BigInteger", "java.math.BigDecimal", "java.util.Date", "java.time.LocalTime"),
    *("java.time.LocalDateTime", "java.util.OptionalLong", "a.Shape", "a.Size"),
)
ANYTHING: Strategy = st.deferred(
    lambda: (
        st.none()
        | st.sampled_from(_ANY).flatmap(lambda name: _objects(TypeArgument(name)))
        | _collections(st.none() | ANYTHING)
    )
)
"""Objects of any known class; collections may be in each other."""


def _collections(elements: Strategy) -> Strategy:
    lists = st.sampled_from(sorted(LIST_FORMS))
    maps = st.sampled_from(sorted(MAP_FORMS))
    pairs = st.lists(st.tuples(elements, elements), max_size=3)
    arrays = st.sampled_from(["[J", "[D", "[F", "[C", "[Z", "[B"]).flatmap(
        lambda name: _arrays(name, TypeArgument(name))
    )
    return (
        st.builds(_collection, lists, st.lists(elements, max_size=3))
        | st.builds(_collection, maps, pairs)
        | arrays
    )


def objects(declared: TypeArgument) -> Strategy:
    """Objects of a declared type, and some others where any may be."""
    name = declared.type
    if name in PRIMITIVES:
        return PRIMITIVES[name]
    return st.none() | _objects(declared)


def _objects(declared: TypeArgument) -> Strategy:
    name = declared.type
    if name.startswith("["):
        return _arrays(name, declared)
    match declared.arguments:
        case (value,) if name == "java.util.Optional":
            fields = time_object("Optional", value=objects(value))
            return fields.map(lambda drawn: KryoNode(name, KryoObject(name, drawn.fields)))
        case (element,):
            names = st.just("java.util.ArrayList") | st.sampled_from(sorted(LIST_FORMS))
            return st.builds(_collection, names, st.lists(objects(element), max_size=4))
        case (key, value):
            names = st.just("java.util.HashMap") | st.sampled_from(sorted(MAP_FORMS))
            keys = _objects(key) | objects(key)
            pairs = st.lists(st.tuples(keys, objects(value)), max_size=3)
            return st.builds(_collection, names, pairs)
    if name in SINGLES:
        return SINGLES[name].map(lambda content: KryoNode(name, content))
    if name == "java.lang.Object":
        return ANYTHING.filter(lambda value: value is not None)
    if name in {"java.util.List", "java.util.Map"}:
        return _collections(ANYTHING)
    if name == "java.util.Optional":
        return ANYTHING.map(lambda value: KryoNode(name, KryoObject(name, {"value": value})))
    if name == ROOT:
        return st.nothing()
    if name == "java.util.BitSet":
        words = st.lists(ints(64), max_size=3)
        return words.map(lambda drawn: KryoNode(name, KryoObject(name, {"words": drawn})))
    if name == "java.util.regex.Pattern":
        fields = st.fixed_dictionaries({"pattern": TEXTS, "flags": ints(32)})
        return fields.map(lambda drawn: KryoNode(name, KryoObject(name, drawn)))
    (described,) = (part for part in PARTS if part.class_name == name)
    if described.constants:
        bodies = [name] if described.is_final else [name, f"{name}$1"]
        constants = st.sampled_from(described.constants)
        return st.builds(KryoNode, st.sampled_from(bodies), constants)
    return described_objects(described)


def _collection(name: str, values: list[Any]) -> KryoNode:
    if "ImmutableCollections" in name:
        values = [one for one in values if one is not None and (None not in _pair(one))]
    form = LIST_FORMS.get(name) or MAP_FORMS[name]
    is_sorted = any(getattr(form, f"is_sorted{of}", False) for of in ("", "_in_2", "_in_5"))
    return KryoNode(name, Detailed(None, values) if is_sorted else values)


def _pair(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else ()


def _arrays(name: str, declared: TypeArgument) -> Strategy:
    code = name[1:]
    if code == "B":
        return st.binary(max_size=4).map(lambda data: KryoNode(name, data))
    primitives = {"J": "long", "D": "double", "F": "float", "C": "char", "Z": "boolean"}
    if code in primitives:
        elements = PRIMITIVES[primitives[code]]
    else:
        elements = objects(TypeArgument(code[1:-1], declared.arguments))
    return st.lists(elements, max_size=4).map(lambda values: KryoNode(name, values))


def described_objects(described: KryoClass) -> Strategy:
    """Objects of a class that is described."""
    fields = {
        field.name: objects(TypeArgument(field.type, field.arguments)) for field in described.fields
    }
    return st.fixed_dictionaries(fields).map(
        lambda drawn: KryoNode(described.class_name, KryoObject(described.class_name, drawn))
    )


@st.composite
def described_classes(draw: st.DrawFn) -> KryoClass:
    types = draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=6))
    return kryo_class(ROOT, {f"f{index}": one for index, one in enumerate(types)})


@st.composite
def graphs(draw: st.DrawFn) -> tuple[Kryo, list[KryoNode | None]]:
    """A layout of a described class, and objects of it."""
    root = draw(described_classes())
    registered = draw(st.sampled_from([(), (ROOT,), (ROOT, "a.Point", "a.Color")]))
    layout = Kryo(ROOT, tuple(map(KryoRegistration, registered)), (root, *PARTS))
    nodes = draw(st.lists(st.none() | described_objects(root), min_size=1, max_size=4))
    if draw(st.booleans()):
        nodes = [shared(node, {}) for node in nodes]
    return layout, nodes


def shared(value: Any, seen: dict[Any, KryoNode]) -> Any:
    """The graph, in which equal single values are one object."""
    match value:
        case KryoNode(class_name, content):
            value.content = shared(content, seen)
            if isinstance(content, str | int | UUID | Decimal | list):
                return seen.setdefault((class_name, _key(content)), value)
            return value
        case KryoObject(class_name, fields):
            again = {name: shared(one, seen) for name, one in fields.items()}
            return KryoObject(class_name, again)
        case Detailed(detail, values):
            return Detailed(detail, shared(values, seen))
        case list() | tuple():
            return type(value)(shared(one, seen) for one in value)
        case _:
            return value


def _key(value: Any) -> str:
    """Equal for equal graphs."""
    match value:
        case KryoNode(class_name, content):
            return f"{class_name}({_key(content)})"
        case KryoObject(class_name, fields):
            return f"{class_name}{[_key(one) for one in fields.values()]}"
        case Detailed(_, values):
            return _key(values)
        case list() | tuple():
            return f"[{', '.join(map(_key, value))}]"
        case _:
            return repr(value)


def written_graph(layout: Kryo, node: KryoNode | None, dialect: KryoDialect) -> bytes:
    view = DataOutputView()
    write_nodes(layout, node, view, dialect)
    return view.to_bytes()
