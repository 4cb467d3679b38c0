"""The table of all classes that Kryo writes, and the known classes of a graph."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from savepoint_formats.layout import KryoClass, KryoField
from savepoint_formats.values.kryo.body import Body, enum_body, fields_body
from savepoint_formats.values.kryo.classes import WRAPPERS, registered_classes
from savepoint_formats.values.kryo.collections import COLLECTIONS
from savepoint_formats.values.kryo.java_times import TIMES
from savepoint_formats.values.kryo.jdk import JDK_CLASSES
from savepoint_formats.values.kryo.joda import JODA_SERIALIZERS
from savepoint_formats.values.kryo.lists import array_body
from savepoint_formats.values.kryo.plain_classes import PLAIN_CLASSES
from savepoint_formats.values.kryo.scala import SCALA_CLASSES, scala_body
from savepoint_formats.values.kryo.urls import URL
from savepoint_formats.values.kryo.zoned_times import ZONED_TIMES

if TYPE_CHECKING:
    from savepoint_formats.layout import Kryo
    from savepoint_formats.values.kryo.dialect import KryoDialect
    from savepoint_formats.values.kryo.types import ClassRow, KryoType

CLASSES: dict[str, ClassRow] = {
    **JDK_CLASSES,
    **TIMES,
    **ZONED_TIMES,
    **SCALA_CLASSES,
    **COLLECTIONS,
    "java.net.URL": URL,
}
"""All classes that need no description; arrays and Scala's collections are known by their names."""

FINAL_CLASSES = frozenset(
    (
        *(name for name, row in CLASSES.items() if row.is_final),
        *(name for name, known in PLAIN_CLASSES.items() if known.is_final),
    )
)
JAVA_SERIALIZED = frozenset(name for name, row in CLASSES.items() if row.is_java)

DECLARED_TYPES: dict[str, KryoType] = {
    name: row.column for name, row in CLASSES.items() if row.column is not None
}
"""Class -> its column; a field of a class that is not final may have an object of a subclass."""

KRYO_TYPES = {name: column for name, column in DECLARED_TYPES.items() if name in FINAL_CLASSES}
"""Final class -> its column; objects that are declared as one of these can always be read."""


@lru_cache(maxsize=100)
def known_classes(layout: Kryo, dialect: KryoDialect) -> KnownClasses:
    """The known classes in graphs of a layout; made once for all of them."""
    return KnownClasses(layout, dialect)


def _fixed_classes(*, is_5: bool) -> dict[str, KryoClass]:
    return PLAIN_CLASSES | {
        name: KryoClass(name, tuple(KryoField(*field) for field in row.fields.items()))
        for name, row in CLASSES.items()
        if row.fields is not None and row.body[is_5] is None
    }


class KnownClasses:
    """The classes of the graphs of a layout, as one version of Kryo has them.

    Attributes:
        is_5: Whether it is Kryo 5.
        registered: Number -> class.
        custom: Class -> the serializer that the user registered for it.
        numbers: Class -> number.
        user: Class -> the user's description.
        fixed: Class that needs no description -> its fields or constants, if it has no body.
    """

    def __init__(self, layout: Kryo, dialect: KryoDialect) -> None:
        self.is_5 = dialect.is_5
        self.registered = registered_classes(dialect, layout.registrations)
        self.numbers = {name: number for number, name in self.registered.items()}
        self.custom = {
            registration.class_name: registration.serializer
            for registration in layout.registrations
        }
        self.fixed = _fixed_classes(is_5=dialect.is_5)
        self.user = {
            described.class_name: described for described in (*dialect.classes, *layout.classes)
        }

    def has_references(self, class_name: str) -> bool:
        """Whether objects of the class are numbered, to be referred to."""
        if class_name in WRAPPERS:
            return False
        return not (self.is_5 and self.is_enum(class_name))

    def is_enum(self, class_name: str) -> bool:
        """Whether a class is a known enum, or the body of one of its constants."""
        return self.enum_class(class_name) is not None

    def enum_class(self, class_name: str) -> KryoClass | None:
        """The enum that a class is, or belongs to: ``E`` for ``E`` and ``E$1``."""
        for name in (class_name, class_name.rpartition("$")[0]):
            known = self.user.get(name) or self.fixed.get(name)
            if known and known.constants:
                return known
        return None

    def is_final(self, class_name: str) -> bool:
        """Whether a field of this type has objects of exactly this class."""
        if class_name.startswith("["):
            element = class_name.lstrip("[")
            return not element.startswith("L") or self.is_final(element[1:-1])
        known = self.user.get(class_name)
        return known.is_final if known else class_name in FINAL_CLASSES


def described_body(class_name: str, classes: KnownClasses) -> Body | None:
    """The body of a class that the user described."""
    if enum_class := classes.enum_class(class_name):
        return enum_body(enum_class)
    user_class = classes.user.get(class_name)
    return fields_body(user_class) if user_class else None


def registered_body(class_name: str, classes: KnownClasses) -> Body | None:
    """The body of a class by the serializer that the job registered for it."""
    return JODA_SERIALIZERS.get(classes.custom.get(class_name, ""))


def known_body(class_name: str, classes: KnownClasses) -> Body | None:
    """The body of an array, or of a class of the table."""
    if class_name.startswith("["):
        return array_body(class_name)
    row = CLASSES.get(class_name)
    if row is not None and (body := row.body[classes.is_5]) is not None:
        return body
    if class_name in classes.fixed:
        return fields_body(classes.fixed[class_name])
    is_of_scala = class_name.startswith("scala.") and not classes.is_5
    return scala_body(class_name) if is_of_scala else None
