"""Nodes of values that the serializers of flink-scala-api write."""

from __future__ import annotations

from savepoint_formats.layout.node import Layout, node


@node
class CaseClass(Layout):
    """i32 arity, then that many fields; a negative arity is null.

    Data from before a field was added has a lower arity: missing fields are null. Null is the
    smallest i32 and ``padding`` zero bytes; in older releases it was -1.
    """

    class_name: str
    names: tuple[str, ...]
    fields: tuple[Layout, ...]
    padding: int = 0


@node
class Coproduct(Layout):
    """i8 index of the subtype, then its value; the smallest i8 is null.

    ``classes`` has the name of each subtype, which is a case class, a case object or any other.
    """

    classes: tuple[str, ...]
    fields: tuple[Layout, ...]


@node
class OfScala(Layout):
    """A value of a Scala class, whose hash codes differ from Java's.

    With ``is_nullable``, the smallest i32 in the place of a count is null.
    """

    inner: Layout
    is_nullable: bool = False


@node
class ScalaValue(Layout):
    """A single value that is shown as its text; ``form`` is a row of ``scala_values``."""

    form: str
