"""Which body a class has: the user's description of it, the JDK's, or that of its fields."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from savepoint_formats.values.kryo.arrays import array_body
from savepoint_formats.values.kryo.bodies import read_enum, write_enum
from savepoint_formats.values.kryo.body import Body
from savepoint_formats.values.kryo.collections import COLLECTIONS
from savepoint_formats.values.kryo.fields import read_fields, write_fields
from savepoint_formats.values.kryo.jdk import body_of
from savepoint_formats.values.kryo.scala import scala_body

if TYPE_CHECKING:
    from savepoint_formats.layout import KryoClass
    from savepoint_formats.values.kryo.known_classes import KnownClasses


def described_body(class_name: str, classes: KnownClasses) -> Body | None:
    """The body of a class that the user described."""
    if enum_class := classes.enum_class(class_name):
        return Body(partial(read_enum, enum_class), partial(write_enum, enum_class))
    user_class = classes.user.get(class_name)
    return _of_fields(user_class) if user_class else None


def known_body(class_name: str, classes: KnownClasses) -> Body | None:
    """The body of a class of the JDK, of Scala, or of another library that is known."""
    if class_name.startswith("["):
        return array_body(class_name)
    if class_name.startswith("scala."):
        return None if classes.is_5 else body_of(class_name, is_5=False) or scala_body(class_name)
    known = body_of(class_name, is_5=classes.is_5) or COLLECTIONS.get(class_name)
    if known:
        return known
    fixed = classes.fixed.get(class_name)
    return _of_fields(fixed) if fixed else None


def _of_fields(described: KryoClass) -> Body:
    return Body(partial(read_fields, described), partial(write_fields, described))
