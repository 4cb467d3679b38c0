"""Any layout, with any of its values."""

from __future__ import annotations

import string
from typing import Any

from hypothesis import strategies as st

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.counts import can_be_empty
from savepoint_formats.layout import (
    BinaryArray,
    BinaryMap,
    BinaryRow,
    Framed,
    IndexedUnion,
    Layout,
    LogicalType,
    MapOf,
    MaskedRepeated,
    MaskedStruct,
    Nullable,
    Pojo,
    Repeated,
    Struct,
    Tagged,
    Ttl,
)
from savepoint_formats.values.pojo_fields import pojo_classes, pojo_columns
from support.scalar_layouts import (
    LONGS,
    SCALARS,
    SQL_SCALARS,
    TEXTS,
    Strategy,
    ints,
    or_null,
    pairs,
    timestamps,
)

KINDS = st.sampled_from(["+I", "-U", "+U", "-D"])


def names_of(parts: list[Any]) -> tuple[str, ...]:
    return tuple(string.ascii_lowercase[: len(parts)])


def structs(parts: list[tuple[Any, Strategy]]) -> Strategy:
    names = names_of(parts)
    return st.fixed_dictionaries({name: part[1] for name, part in zip(names, parts, strict=True)})


def sql_composites(parts: Strategy) -> Strategy:
    @st.composite
    def drawn(draw: st.DrawFn) -> tuple[LogicalType, Strategy]:
        fields = draw(st.lists(parts, min_size=1, max_size=3))
        (first, values), (last, others) = fields[0], fields[-1]
        match draw(st.sampled_from(["ARRAY", "MAP", "ROW"])):
            case "ARRAY":
                elements = st.lists(or_null(values), max_size=4)
                return LogicalType("ARRAY", children=(first,)), elements
            case "MAP":
                entries = pairs(values, or_null(others))
                return LogicalType("MAP", children=(first, last)), entries
            case _:
                nullable = [(field, or_null(strategy)) for field, strategy in fields]
                types = tuple(field for field, _ in fields)
                return LogicalType("ROW", names=names_of(fields), children=types), structs(nullable)

    return drawn()


SQL = st.recursive(st.sampled_from(SQL_SCALARS), sql_composites, max_leaves=6)


@st.composite
def binary_content(draw: st.DrawFn) -> tuple[Layout, Strategy]:
    fields = draw(st.lists(SQL, min_size=1, max_size=9))
    (first, values), (last, others) = fields[0], fields[-1]
    match draw(st.sampled_from(["row", "array", "map"])):
        case "row":
            types = tuple(field for field, _ in fields)
            rows = structs([(field, or_null(strategy)) for field, strategy in fields])
            layout = Framed(BinaryRow(names_of(fields), types))
            return layout, with_kind(rows)
        case "array":
            return Framed(BinaryArray(first)), st.lists(or_null(values), max_size=40)
        case _:
            return Framed(BinaryMap(first, last)), pairs(values, or_null(others))


def with_kind(rows: Strategy) -> Strategy:
    return st.builds(lambda row, kind: row | {"$row_kind": kind}, rows, KINDS)


def composites(parts: Strategy) -> Strategy:
    @st.composite
    def drawn(draw: st.DrawFn) -> tuple[Layout, Strategy]:
        fields = draw(st.lists(parts, min_size=1, max_size=4))
        composite: Any = draw(st.sampled_from(COMPOSITES))
        pair: tuple[Layout, Strategy] = composite(fields)
        return pair

    return drawn()


def nullable(fields: list[Any]) -> tuple[Layout, Strategy]:
    layout, values = fields[0]
    return Nullable(layout, len(fields) % 2 == 0, len(fields)), or_null(values)


def repeated(fields: list[Any]) -> tuple[Layout, Strategy]:
    return Repeated(fields[0][0]), st.lists(fields[0][1], max_size=3)


def blocks(fields: list[Any]) -> tuple[Layout, Strategy]:
    return layouts.BlockRepeated(fields[0][0]), st.lists(fields[0][1], max_size=3)


def masked_repeated(fields: list[Any]) -> tuple[Layout, Strategy]:
    return MaskedRepeated(fields[0][0]), st.lists(or_null(fields[0][1]), max_size=20)


def is_always_null(layout: Layout) -> bool:
    return isinstance(layout, layouts.VoidNamespace) or (
        isinstance(layout, layouts.Marker) and layout.text is None
    )


def map_of(fields: list[Any]) -> tuple[Layout, Strategy]:
    (key, keys), (value, values) = fields[0], fields[-1]
    if isinstance(key, Nullable) or is_always_null(key):
        entry = st.fixed_dictionaries({"key": keys, "value": values})
        return MapOf(key, value), st.lists(entry, max_size=3)
    return MapOf(key, value), pairs(keys, values)


def struct(fields: list[Any]) -> tuple[Layout, Strategy]:
    return Struct(names_of(fields), tuple(layout for layout, _ in fields)), structs(fields)


def masked_struct(fields: list[Any]) -> tuple[Layout, Strategy]:
    has_kind = len(fields) % 2 == 0
    rows = structs([(layout, or_null(values)) for layout, values in fields])
    layout = MaskedStruct(names_of(fields), tuple(layout for layout, _ in fields), has_kind)
    return layout, with_kind(rows) if has_kind else rows


def tagged(fields: list[Any]) -> tuple[Layout, Strategy]:
    names = names_of(fields)
    empty = dict.fromkeys(names)
    alternatives = [
        values.filter(lambda value: value is not None).map(
            lambda value, name=name: empty | {name: value}
        )
        for name, (layout, values) in zip(names, fields, strict=True)
        if not is_always_null(layout)
    ]
    layout = Tagged(tuple(range(len(fields))), names, tuple(layout for layout, _ in fields))
    return (layout, st.one_of(alternatives)) if alternatives else struct(fields)


def union(fields: list[Any]) -> tuple[Layout, Strategy]:
    layout, values = fields[0]
    if is_always_null(layout):
        return struct(fields)
    if len(fields) == 1:
        return IndexedUnion(("null", "value"), (layouts.Marker(None), layout)), or_null(values)
    names, empty = names_of(fields), dict.fromkeys(names_of(fields))
    given = [
        values.filter(lambda value: value is not None).map(lambda value, n=name: empty | {n: value})
        for name, (branch, values) in zip(names, fields, strict=True)
        if not is_always_null(branch)
    ]
    if len(given) < len(fields):
        return struct(fields)
    branches = tuple(branch for branch, _ in fields)
    if len(fields) == 2:
        return IndexedUnion(names, branches), st.one_of(given)
    with_null = IndexedUnion((*names, "null"), (*branches, layouts.Marker(None)))
    return with_null, st.none() | st.one_of(given)


def pojo(fields: list[Any]) -> tuple[Layout, Strategy]:
    names = names_of(fields)
    own = tuple(Nullable(layout) for layout, _ in fields)
    rows = structs([(layout, or_null(values)) for layout, values in fields])
    layout = Pojo("a.B", names, own, is_open=len(fields) == 2)
    if layout.is_open:
        return layout, or_null(rows.map(lambda row: row | {"$undecoded": None}))
    if len(fields) < 3:
        return layout, or_null(rows)
    subclass = Pojo("a.Sub", (*names, "z"), (*own[1:], own[0], Nullable(layouts.Long())))
    others = (("a.Son", Pojo("a.Son", names[:1], own[:1])), ("a.Sorrow", layouts.Text()))
    with_subclass = Pojo("a.B", names, own, registered=(("a.Sub", subclass),), unregistered=others)
    of_pojo = pojo_columns(with_subclass)
    columns = dict.fromkeys(of_pojo.layouts)

    def of_class(name: str, layout: Layout, given: list[Strategy]) -> Strategy:
        filled = st.tuples(*given).map(
            lambda row: dict(zip(of_pojo.of_class[name, layout], row, strict=True))
        )
        return filled.map(lambda row: {"$class": name} | columns | row)

    values = [or_null(given) for _, given in fields]
    of_classes = [values, [*values[1:], values[0], or_null(LONGS)], values[:1], [or_null(TEXTS)]]
    classes = zip(pojo_classes(with_subclass), of_classes, strict=True)
    return with_subclass, st.one_of([of_class(*one, given) for one, given in classes])


def case_class(fields: list[Any]) -> tuple[Layout, Strategy]:
    names = names_of(fields)
    parts = tuple(layout for layout, _ in fields)
    return layouts.CaseClass("a.C", names, parts, len(fields)), or_null(structs(fields))


def coproduct(fields: list[Any]) -> tuple[Layout, Strategy]:
    """A case object, a case class, and a value of another kind."""
    layout, values = fields[-1]
    if isinstance(layout, layouts.Pojo | layouts.CaseClass):
        layout, values = layouts.Int(), ints(32)
    record, records = struct(fields)
    assert isinstance(record, Struct)
    parts = (layouts.Marker(None), layouts.CaseClass("a.C", record.names, record.fields), layout)
    sealed = layouts.Coproduct(("a.N$", "a.C", "a.V"), parts)
    columns = {"$class": None} | dict.fromkeys(pojo_columns(sealed).layouts)
    of_value = values.map(lambda value: {"$class": "a.V"} | own_value(sealed, value))
    return sealed, st.one_of(
        st.just(columns | {"$class": "a.N$"}),
        records.map(lambda row: columns | {"$class": "a.C"} | row),
        of_value.map(lambda row: columns | row),
    )


def own_value(sealed: layouts.Coproduct, value: Any) -> dict[str, Any]:
    own = pojo_columns(sealed).of_class["a.V", sealed.fields[2]]
    return dict(zip(own, [value] if own else [], strict=True))


def of_scala(fields: list[Any]) -> tuple[Layout, Strategy]:
    layout, values = repeated(fields)
    is_nullable = len(fields) % 2 == 0
    return layouts.OfScala(layout, is_nullable), or_null(values) if is_nullable else values


def time_to_live(fields: list[Any]) -> tuple[Layout, Strategy]:
    layout, values = fields[0]
    parts = {"timestamp": timestamps("ms", is_utc=True), "value": values}
    return Ttl(layout), st.fixed_dictionaries(parts)


def framed(fields: list[Any]) -> tuple[Layout, Strategy]:
    return Framed(fields[0][0]), fields[0][1]


def packed(fields: list[Any]) -> tuple[Layout, Strategy]:
    layout, values = fields[0]
    if can_be_empty(layout):
        return struct(fields)
    if len(fields) > 1:
        return Framed(layouts.Packed(layout, is_single=True)), values
    return Framed(layouts.Packed(layout)), st.lists(values, max_size=3)


def varying(fields: list[Any]) -> tuple[Layout, Strategy]:
    layout, values = fields[0]
    if isinstance(layout, layouts.Marker | layouts.VoidNamespace):
        return struct(fields)
    return layouts.Varying(layout), values


COMPOSITES = [
    nullable,
    repeated,
    blocks,
    masked_repeated,
    map_of,
    struct,
    masked_struct,
    tagged,
    union,
    pojo,
    case_class,
    coproduct,
    of_scala,
    time_to_live,
    framed,
    packed,
    varying,
]

ANY = st.recursive(st.sampled_from(SCALARS) | binary_content(), composites, max_leaves=8)
