"""Objects that Kryo writes field by field, sorted by name, without names, count or lengths.

| declared type                    | bytes                                               |
|----------------------------------|-----------------------------------------------------|
| primitive                        | the value                                           |
| final class                      | the object or null, without class                   |
| any other                        | class and object                                    |

A list whose elements are declared as of a final class has them without their class, and so has a map
such keys or values; see ``collections``.

Kryo: ``FieldSerializer``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.values.kryo.body import PRIMITIVES, Body
from savepoint_formats.values.kryo.objects import KryoObject, plain

if TYPE_CHECKING:
    from savepoint_formats.values.kinds.codec import Value
    from savepoint_formats.values.kryo.dialect import KryoClass, KryoField
    from savepoint_formats.values.kryo.graph import KryoGraph
    from savepoint_formats.values.kryo.writer import KryoWriter


def fields_body(kryo_class: KryoClass) -> Body:
    """The body of a class whose fields Kryo writes."""
    fields = sorted(kryo_class.fields, key=lambda field: field.name)

    def read(graph: KryoGraph) -> KryoObject:
        values = {field.name: read_field(field, graph) for field in fields}
        return KryoObject(kryo_class.class_name, values)

    def write(value: Value, writer: KryoWriter) -> None:
        values = plain(value).fields
        for field in fields:
            if field.name not in values:
                raise ValueError(f"a {kryo_class.class_name} without its {field.name}")
            _write_field(field, values[field.name], writer)

    return Body(read, write)


def read_field(field: KryoField, graph: KryoGraph) -> Value:
    """The value of a field."""
    if field.type in PRIMITIVES:
        return PRIMITIVES[field.type].read(graph)
    if graph.classes.is_final(field.type):
        return graph.read_object_or_null(field.type)
    return graph.read_class_and_object(field.arguments)


def _write_field(field: KryoField, value: Value, writer: KryoWriter) -> None:
    if field.type in PRIMITIVES:
        PRIMITIVES[field.type].write(value, writer)
    elif writer.classes.is_final(field.type):
        writer.write_object_or_null(field.type, value)
    else:
        writer.write_class_and_object(value, field.arguments)
