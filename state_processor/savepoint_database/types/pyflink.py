"""Keys and states of new operators of PyFlink, by the texts of its types.

PyFlink's process mode stores bytes, see ``python_state.stored_forms``:

| of the job                          | serializer                                            |
|-------------------------------------|-------------------------------------------------------|
| key                                 | a row of one field, whose serializer is Java's        |
| value, list, reducing, aggregating  | a list of ``byte[]``                                  |
| map, broadcast                      | a map of wrapped ``byte[]`` to ``byte[]``             |
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from savepoint_database.types.descriptors import ListStateDescriptor, MapStateDescriptor
from savepoint_database.types.types import TypeInformation, Types
from savepoint_formats.layout import MapOf, Nullable, Repeated
from savepoint_formats.python_state.stored_forms import PREFIX, as_python_key
from savepoint_formats.python_state.type_texts import parsed, state_layout, type_layout
from savepoint_formats.snapshots import ShownAs, constructed

if TYPE_CHECKING:
    from savepoint_formats.layout import Layout
    from savepoint_formats.snapshots import TypeSerializerSnapshot


class PyFlink:
    """Types of a job in PyFlink, in its own words, for an operator that is written from rows.

    Example:
        >>> keyed = OperatorTransformation.bootstrap_with(rows).key_by(
        ...     "account", key_type=PyFlink.key("Types.STRING()")
        ... )
        >>> keyed.with_state(PyFlink.state("total", "Types.LONG()"))
    """

    @staticmethod
    def key(type_text: str) -> TypeInformation:
        """The type of the keys in the job's ``key_by``.

        Args:
            type_text: Such as ``Types.LONG()``. For ``Types.PICKLED_BYTE_ARRAY()``, which a job without
                types has, the column has the pickles as bytes.

        Raises:
            ValueError: The text is not a type of PyFlink, or one that no key has.
        """
        told = type_layout(type_text)
        row = constructed.row_of([_java_type(parsed(type_text)).snapshot])
        key = replace(row, shown=ShownAs(as_python_key(row.layout(), told)))
        return TypeInformation(key, f"PyFlink.key({type_text!r})")

    @staticmethod
    def state(name: str, type_text: str) -> ListStateDescriptor | MapStateDescriptor:
        """The descriptor of a state of process mode, for ``with_state`` and ``broadcast_state``.

        Args:
            name: The job's name for the state, and by default that of the column.
            type_text: As in the file of ``--types``: ``Types.LONG()`` for a value,
                ``ListState(Types.LONG())``, ``MapState(Types.STRING(), Types.LONG())``.

        Raises:
            ValueError: The text is not a type of PyFlink.
        """
        array = constructed.primitive_array(constructed.byte())
        match state_layout(type_text):
            case Repeated(element):
                return ListStateDescriptor(f"{PREFIX}{name}", _shown(array, element, type_text))
            case MapOf(key, Nullable(value)):
                wrapper = constructed.byte_array_wrapper()
                of_keys, of_values = (
                    _shown(wrapper, key, type_text),
                    _shown(array, value, type_text),
                )
                return MapStateDescriptor(f"{PREFIX}{name}", of_keys, of_values)
            case other:
                raise TypeError(f"{other!r} is not a state of PyFlink")


def _shown(snapshot: TypeSerializerSnapshot, layout: Layout, text: str) -> TypeInformation:
    return TypeInformation(replace(snapshot, shown=ShownAs(layout)), f"<bytes of {text}>")


def _java_type(node: ast.expr) -> Any:
    """The Java type of a PyFlink type; the text was parsed before."""
    match node:
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
            arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
            if name == "PICKLED_BYTE_ARRAY":
                return Types.PRIMITIVE_ARRAY(Types.BYTE())
            if name == "OBJECT_ARRAY":
                raise ValueError("an array of objects, which can't be a key in PyFlink")
            return getattr(Types, name)(*map(_java_type, arguments))
        case ast.List(elts) | ast.Tuple(elts):
            return [_java_type(element) for element in elts]
        case ast.Constant(value):
            return value
        case _:
            raise ValueError(f"{ast.unparse(node)[:80]!r} is not the type of a key")
