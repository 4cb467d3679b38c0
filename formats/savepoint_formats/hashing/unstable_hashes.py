"""Reasons why a hash code does not follow from a key's value.

Hash codes of enums and arrays differ in each JVM, and user classes compute their own. Some layouts
belong to several classes with different hash codes, such as lists and arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats import layout as layouts
from savepoint_formats.errors import UnstableHashError

if TYPE_CHECKING:
    from savepoint_formats.layout import Layout, LogicalType

_PRIMITIVES = (
    layouts.Boolean,
    layouts.Byte,
    layouts.Short,
    layouts.Int,
    layouts.Long,
    layouts.Float,
    layouts.Double,
    layouts.Char,
)


def unstable(layout: Layout) -> UnstableHashError:
    """The error for keys of this layout."""
    return UnstableHashError(_reason(layout))


def _reason(layout: Layout) -> str:
    match layout:
        case layouts.Marker(_, str(class_name)):
            return f"{class_name} is an object of Scala, whose class computes its hash code"
        case layouts.Enum(class_name):
            return f"{class_name} is an enum: its hash codes differ in each JVM"
        case layouts.Bytes() | layouts.FixedBytes() | layouts.Repeated(_, True):
            return "an array: its hash codes differ in each JVM"
        case layouts.Repeated(layouts.Nullable()):
            return "a list, a set or an array; their hash codes differ"
        case layouts.Struct(names):
            return f"a structure of {', '.join(names)} computes its own hash code"
        case layouts.CaseClass(class_name, ()):
            return f"{class_name} is a case class without fields"
        case layouts.OfScala() | layouts.Coproduct():
            return (
                "a collection, a sealed trait or a mapped class of Scala, whose hash codes differ"
            )
        case layouts.Opaque("", reason):
            return f"the type of the keys is not known: {reason}"
        case layouts.OfClass(_, class_name) | layouts.Coded(_, class_name):
            return f"the class behind {class_name} computes its own hash code"
        case layouts.Pojo(class_name) | layouts.Kryo(class_name) | layouts.Opaque(class_name):
            return f"{class_name} computes its own hash code"
        case _:
            return f"the hash code of {type(layout).__name__} is not known"


def half_a_pair() -> UnstableHashError:
    """The error for texts with half a surrogate pair, which a column shows as other characters."""
    return UnstableHashError(
        "a key with half a surrogate pair, whose text in a column differs from Java's"
    )


def check_field_of_row(layout: Layout) -> None:
    """Raises ``UnstableHashError`` if a Row with this field has no stable hash code."""
    match layout:
        case layouts.Repeated(element) if isinstance(element, _PRIMITIVES):
            raise UnstableHashError("a list or an array inside a row; their hash codes differ")
        case layouts.Repeated(layouts.Nullable(_, True)):
            raise UnstableHashError("a list or a set inside a row; their hash codes differ")


def check_field_of_case_class(layout: Layout) -> None:
    """Raises ``UnstableHashError`` if a case class with this field has no stable hash code."""
    if isinstance(layout, layouts.Float | layouts.Double):
        raise UnstableHashError("a case class with a float or a double")


def check_null(sql: LogicalType) -> None:
    """Raises ``UnstableHashError`` if a row of SQL with this null has no stable hash code."""
    is_decimal = sql.root == "DECIMAL" and sql.precision > 18
    is_timestamp = sql.root.startswith("TIMESTAMP") and sql.precision > 3
    if is_decimal or is_timestamp:
        raise UnstableHashError(f"a null {sql.root}: its bytes depend on the code that wrote it")
