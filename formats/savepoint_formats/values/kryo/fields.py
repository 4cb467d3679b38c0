"""Objects that Kryo writes field by field, sorted by name, without names, count or lengths.

| declared type                    | bytes                                               |
|----------------------------------|-----------------------------------------------------|
| primitive                        | the value                                           |
| final class                      | the object or null, without class                   |
| List of a final class            | class of the collection, then elements without class|
| Map of final keys or values      | class of the map, then these without class          |
| any other                        | class and object                                    |

Kryo: ``FieldSerializer``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.values.kryo.bodies import read_primitive
from savepoint_formats.values.kryo.classes import WRAPPERS
from savepoint_formats.values.kryo.collections import read_generic_list, read_generic_map
from savepoint_formats.values.kryo.objects import KryoObject

if TYPE_CHECKING:
    from savepoint_formats.values.kinds.codec import Value
    from savepoint_formats.values.kryo.dialect import KryoClass, KryoField
    from savepoint_formats.values.kryo.graph import KryoGraph

_PRIMITIVES = frozenset(WRAPPERS.values())


def read_fields(kryo_class: KryoClass, graph: KryoGraph) -> KryoObject:
    """The fields of an object."""
    fields = sorted(kryo_class.fields, key=lambda field: field.name)
    values = {field.name: _read_field(field, graph) for field in fields}
    return KryoObject(kryo_class.class_name, values)


def _read_field(field: KryoField, graph: KryoGraph) -> Value:
    if field.type in _PRIMITIVES:
        return read_primitive(field.type, graph)
    if graph.is_final(field.type):
        return graph.read_object_or_null(field.type)
    match field.arguments:
        case (element,) if graph.is_final(element):
            return graph.read_collection(lambda: read_generic_list(element, graph))
        case (key, value) if graph.is_final(key) or graph.is_final(value):
            return graph.read_collection(lambda: read_generic_map(key, value, graph))
        case _:
            return graph.read_class_and_object()
