"""Values of POJOs: flags, the fields, and the values of subclasses.

| flag | then                                                                            |
|------|---------------------------------------------------------------------------------|
| 1    | nothing: null                                                                   |
| 2    | the fields                                                                      |
| 4    | UTF name of a subclass, then the value by its own layout, with its own flags    |
| 8    | u8 index of a registered subclass, then as above                                |

A value of a subclass that the snapshot does not describe is an error. In an open POJO its bytes and
the reason are ``$undecoded``, and its fields are null.

Flink: ``PojoSerializer``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.errors import UndecodableError, UndescribedSubclassError
from savepoint_formats.layout import Pojo
from savepoint_formats.values.kryo.structs import UNDECODED
from savepoint_formats.values.pojo_fields import CLASS, class_fields, has_subclasses, pojo_columns

if TYPE_CHECKING:
    from savepoint_formats.bytes.data_view import DataInputView
    from savepoint_formats.layout import Layout
    from savepoint_formats.values.kinds.codec import Value
    from savepoint_formats.values.value_writer import ValueWriter
    from savepoint_formats.values.values import ValueReader


_ADVICE = ": describe the class and what it extends, as kryo_class(…) or by --classes"

IS_NULL = 1
NO_SUBCLASS = 2
IS_SUBCLASS = 4
IS_TAGGED_SUBCLASS = 8


def read_pojo(layout: Pojo, reader: ValueReader) -> dict[str, Value] | None:
    """The next POJO; if it is open and cannot be decoded, its bytes and the reason."""
    if not layout.is_open:
        return _read_pojo(layout, reader)
    view, start, described = reader.view, reader.view.position, reader.described
    hides = reader.hides, reader.hides_elements
    try:
        value = _read_pojo(layout, reader)
        undecoded = None
    except UndecodableError as error:
        # A value deep inside may have had a view of its own.
        reader.view, reader.described = view, described
        reader.is_lost, (reader.hides, reader.hides_elements) = False, hides
        view.position = start
        names = [CLASS, *pojo_columns(layout).layouts] if has_subclasses(layout) else layout.names
        value = dict.fromkeys(names)
        undecoded = reader.undecoded(error.message.removesuffix(_ADVICE))
    return None if value is None else value | {UNDECODED: undecoded}


def _read_pojo(layout: Pojo, reader: ValueReader) -> dict[str, Value] | None:
    view = reader.view
    flags = view.read_unsigned_byte()
    match flags:
        case 1:
            return None
        case 2 if not has_subclasses(layout):
            return reader.fields(layout.names, layout.fields)
        case 2:
            values = reader.fields(layout.names, layout.fields)
            return _with_class(layout, (layout.class_name, layout), list(values.values()))
        case 4 | 8:
            subclass = subclass_of(layout, flags, view)
            return _with_class(layout, subclass, _read_class(subclass[1], reader))
        case _:
            view.position -= 1
            raise view.error(f"a POJO with flags {flags}, expected 1, 2, 4 or 8")


def write_pojo(layout: Pojo, value: dict[str, Value] | None, writer: ValueWriter) -> None:
    """The mirror of ``read_pojo``."""
    if value is None:
        writer.view.write_byte(IS_NULL)
        return
    undecoded = value.get(UNDECODED) if layout.is_open else None
    if undecoded is not None:
        writer.copy(undecoded)
        return
    if not has_subclasses(layout):
        writer.view.write_byte(NO_SUBCLASS)
        writer.fields(layout.names, layout.fields, value)
        return
    class_name = value[CLASS]
    class_layout = _write_subclass(layout, class_name, writer)
    columns = pojo_columns(layout).of_class[class_name, class_layout]
    values = [value[column] for column in columns]
    _write_class(class_layout, values, writer)


def _with_class(
    layout: Pojo, subclass: tuple[str, Layout], values: list[Value]
) -> dict[str, Value]:
    columns = pojo_columns(layout)
    row: dict[str, Value] = dict.fromkeys([CLASS, *columns.layouts])
    row |= zip(columns.of_class[subclass], values, strict=True)
    return row | {CLASS: subclass[0]}


def subclass_of(layout: Pojo, flags: int, view: DataInputView) -> tuple[str, Layout]:
    """The name and the layout of the subclass of a value with these flags."""
    start = view.position
    if flags == IS_TAGGED_SUBCLASS:
        index = view.read_unsigned_byte()
        if index < len(layout.registered):
            return layout.registered[index]
        view.position = start
        raise view.error(f"registered subclass {index} of {len(layout.registered)}")
    class_name = view.read_utf()
    for subclass in layout.unregistered:
        if subclass[0] == class_name:
            return subclass
    view.position = start
    raise view.error(
        f"a value of {class_name}, a subclass of {layout.class_name} that its serializer's"
        f" snapshot does not describe{_ADVICE}",
        UndescribedSubclassError,
    )


def _write_subclass(layout: Pojo, class_name: str, writer: ValueWriter) -> Layout:
    view = writer.view
    if class_name == layout.class_name:
        return layout
    registered, unregistered = dict(layout.registered), dict(layout.unregistered)
    if class_name in registered:
        view.write_byte(IS_TAGGED_SUBCLASS)
        view.write_byte(list(registered).index(class_name))
        return registered[class_name]
    if class_name not in unregistered:
        raise ValueError(f"{class_name} is no known subclass of {layout.class_name}")
    view.write_byte(IS_SUBCLASS)
    view.write_utf(class_name)
    return unregistered[class_name]


def _read_class(layout: Layout, reader: ValueReader) -> list[Value]:
    if not isinstance(layout, Pojo):
        return [reader.read(layout)]
    flags = reader.view.read_unsigned_byte()
    if flags != NO_SUBCLASS:
        reader.view.position -= 1
        raise reader.view.error(f"a subclass with flags {flags}, expected 2")
    return list(reader.fields(layout.names, layout.fields).values())


def _write_class(layout: Layout, values: list[Value], writer: ValueWriter) -> None:
    if isinstance(layout, Pojo):
        writer.view.write_byte(NO_SUBCLASS)
    fields = class_fields(layout)
    names = [name for name, _ in fields]
    row = dict(zip(names, values, strict=True))
    writer.fields(names, [field for _, field in fields], row)
