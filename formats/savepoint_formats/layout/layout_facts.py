"""Properties of layouts: nodes inside, length, and changed forms."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, TypeVar

from savepoint_formats.layout import single_values
from savepoint_formats.layout.composites import (
    Framed,
    MapOf,
    Nullable,
    Packed,
    Pojo,
    Repeated,
    Struct,
    Tagged,
    Ttl,
    Varying,
)
from savepoint_formats.layout.general import Kryo, KryoClass, NamedClass
from savepoint_formats.layout.node import Layout
from savepoint_formats.layout.plug_in_nodes import Coded, OfClass
from savepoint_formats.layout.scala_nodes import CaseClass, Coproduct, OfScala, ScalaValue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


def parts(layout: Layout) -> Iterator[Layout]:
    """The layouts that a node holds, one level down."""
    for field in fields(layout):  # type: ignore[arg-type]  # every node is a dataclass
        yield from _layouts_in(getattr(layout, field.name))


def _layouts_in(value: object) -> Iterator[Layout]:
    if isinstance(value, Layout):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _layouts_in(item)


NodeT = TypeVar("NodeT", bound=Layout)


def nodes_of(value: object, *types: type[NodeT]) -> Iterator[NodeT]:
    """Every node of some types in a layout, or in a tuple of layouts, the outer ones first."""
    for layout in _layouts_in(value):
        if isinstance(layout, types):
            yield layout
        for part in parts(layout):
            yield from nodes_of(part, *types)


ValueT = TypeVar("ValueT")


def rebuilt(value: ValueT, change: Callable[[Layout], Layout]) -> ValueT:
    """The layout, or tuple of layouts, with each node changed, the inner ones first."""
    result: object = value
    if isinstance(value, tuple):
        result = tuple(rebuilt(item, change) for item in value)
    elif isinstance(value, Layout):
        names = [field.name for field in fields(value)]  # type: ignore[arg-type]  # as above
        changed = {name: rebuilt(getattr(value, name), change) for name in names}
        result = change(replace(value, **changed))  # type: ignore[type-var]
    return result  # type: ignore[return-value]  # each is rebuilt as what it was


def with_kryo(value: ValueT, change: Callable[[Kryo], Kryo]) -> ValueT:
    """The layout, or tuple of layouts, with each ``Kryo`` in it changed."""
    return rebuilt(value, lambda layout: change(layout) if isinstance(layout, Kryo) else layout)


def with_kryo_classes(value: ValueT, classes: tuple[KryoClass, ...]) -> ValueT:
    """The layout, or tuple of layouts, with these classes in each ``Kryo`` of one of them."""

    def change(kryo: Kryo) -> Kryo:
        is_known = any(described.class_name == kryo.class_name for described in classes)
        return replace(kryo, classes=classes if is_known else ())

    return with_kryo(value, change)


def with_named_classes(layouts: ValueT) -> ValueT:
    """Adds the classes that serializers of a file name to each ``Kryo`` in the file's layouts."""
    named = {
        named_class.class_name: named_class
        for layout in nodes_of(layouts, Pojo, single_values.Enum)
        if (named_class := _named(layout)) is not None
    }

    def change(kryo: Kryo) -> Kryo:
        is_of_jdk = kryo.class_name.startswith(("java.", "["))
        is_named = is_of_jdk or kryo.class_name in named
        return replace(kryo, named=tuple(named.values())) if is_named else kryo

    return with_kryo(layouts, change) if named else layouts


def _named(layout: Layout) -> NamedClass | None:
    if isinstance(layout, Pojo) and layout.declared:
        return NamedClass(layout.class_name, layout.declared)
    if isinstance(layout, single_values.Enum) and not layout.numbers:
        return NamedClass(layout.class_name, constants=layout.constants)
    return None


def holds_kryo(layout: Layout) -> bool:
    """Whether values of a layout may hold objects of Kryo."""
    return any(nodes_of(layout, Kryo))


def written_kryo(layout: Layout) -> Kryo | None:
    """The first ``Kryo`` in a layout that is written anew, if there is one."""
    return next((kryo for kryo in nodes_of(layout, Kryo) if kryo.version), None)


def with_open_objects(layout: Layout, *, is_open: bool) -> Layout:
    """The layout, with structs of described classes, and values of plug-ins, open or not."""

    def change(part: Layout) -> Layout:
        match part:
            case Kryo():
                return replace(part, is_open=is_open)
            case Coded():
                return replace(part, is_closed=not is_open)
            case _:
                return part

    return rebuilt(layout, change)


def with_open_pojos(layout: Layout) -> Layout:
    """The layout with its outermost POJOs open, except in keys of maps."""
    match layout:
        case Pojo():
            return replace(layout, is_open=True)
        case Nullable(inner) | Framed(inner) | Varying(inner) | OfScala(inner) | OfClass(inner):
            return replace(layout, inner=with_open_pojos(inner))
        case Repeated(element):
            return replace(layout, element=with_open_pojos(element))
        case Ttl(value) | MapOf(_, value):
            return replace(layout, value=with_open_pojos(value))
        case Struct() | Tagged() | CaseClass():
            return replace(layout, fields=tuple(map(with_open_pojos, layout.fields)))
        case _:
            return layout


def has_open_values(layout: Layout) -> bool:
    """Whether a POJO, a described ``Kryo`` or a value of a plug-in in a layout is open."""
    match layout:
        case Pojo(is_open=True):
            return True
        case Coded():
            return layout.is_open
        case Kryo():
            return layout.is_open and any(
                described.class_name == layout.class_name for described in layout.classes
            )
        case _:
            return any(map(has_open_values, parts(layout)))


def without_ttl(layout: Layout) -> Layout:
    """The layout as a reader sees it, without the times of the last access.

    A time is stored with a value, each element of a list, or each value of a map.
    """
    match layout:
        case Ttl(value):
            return value
        case Repeated(Ttl(element)):
            return Repeated(element)
        case MapOf(key, Ttl(value)):
            return MapOf(key, value)
        case MapOf(key, Nullable(Ttl(value), is_null, padding)):
            return MapOf(key, Nullable(value, is_null, padding))
        case _:
            return layout


def stream_record(layout: Layout) -> Layout | None:
    """The layout of the value in a stream element; None if the layout has no stream elements."""
    match layout:
        case Tagged(_, ("record", "record_without_timestamp", *_), (_, record, *_)):
            return record
        case _:
            return None


def as_records(layout: Layout) -> Layout:
    """The layout as a reader sees it: elements without their wrappers.

    A list of stream elements becomes a list of records, because a window with an evictor stores
    only records. A list of frames becomes the list of their contents, or the only value.
    """
    match layout:
        case Repeated(Framed(Packed(element, is_single))):
            return element if is_single else Repeated(element)
        case Repeated(Ttl(Framed(Packed(element, is_single)))):
            return Ttl(element) if is_single else Repeated(Ttl(element))
        case Repeated(element) if record := stream_record(element):
            return Repeated(Struct(("timestamp", "value"), (single_values.Long(), record)))
        case _:
            return layout


def timer_namespace(timer: Layout) -> Layout | None:
    """The layout of the namespace of timers; None if it is the void one."""
    match timer:
        case Struct(_, (_, _, namespace)) if not isinstance(namespace, single_values.VoidNamespace):
            return namespace
        case _:
            return None


VARIABLE = -1

_LENGTHS: dict[type[Layout], int] = {
    single_values.Boolean: 1,
    single_values.Byte: 1,
    single_values.Short: 2,
    single_values.Int: 4,
    single_values.Long: 8,
    single_values.Float: 4,
    single_values.Double: 8,
    single_values.Char: 2,
    single_values.Enum: 4,
    single_values.JavaDate: 8,
    single_values.SqlTimestamp: 12,
    single_values.Instant: 12,
    single_values.LocalDate: 6,
    single_values.LocalTime: 7,
    single_values.SqlDate: 4,
    single_values.SqlTime: 4,
    single_values.LocalDateTime: 13,
    single_values.TimerTimestamp: 8,
    single_values.VoidNamespace: 0,
}

_SCALA_LENGTHS = {"ZoneOffset": 4, "OffsetDateTime": 17, "FiniteDuration": 12}


def serializer_length(layout: Layout) -> int:
    """The result of ``TypeSerializer.getLength``: the bytes of each value, or -1 if they vary.

    By this length the backends decide whether keys and namespaces have a suffix. It is 0 for a
    ``VoidNamespace``, which has one byte.
    """
    match layout:
        case single_values.Marker(value):
            return 0 if value is None else 1
        case single_values.FixedBytes(size):
            return size
        case single_values.TimestampData(precision):
            return 8 if precision <= 3 else 12
        case Nullable(_, _, padding):
            return 1 + padding if padding else VARIABLE
        case Struct(_, fields):
            lengths = [serializer_length(part) for part in fields]
            return VARIABLE if VARIABLE in lengths else sum(lengths)
        case Tagged():
            return layout.length
        case OfScala(inner) | OfClass(inner):
            return serializer_length(inner)
        case Coded(codec):
            return codec.length
        case CaseClass():
            return 4 + layout.padding if layout.padding else VARIABLE
        case Coproduct(_, fields):
            return common_length(fields)
        case ScalaValue(form):
            return _SCALA_LENGTHS.get(form, VARIABLE)
        case _:
            return _LENGTHS.get(type(layout), VARIABLE)


def common_length(fields: Sequence[Layout]) -> int:
    """The ``serializer_length`` of all alternatives, without their tag; -1 if they differ."""
    lengths = set(map(serializer_length, fields))
    return lengths.pop() if len(lengths) == 1 else VARIABLE


def varying(layout: Layout) -> Layout:
    """The layout of a serializer that claims varying sizes."""
    return layout if serializer_length(layout) == VARIABLE else Varying(layout)
