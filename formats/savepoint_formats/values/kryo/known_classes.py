"""What is known of the classes of a graph: their numbers, which are enums, final, or described."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from savepoint_formats.values.kryo.classes import FIELDS_OF_BOTH, WRAPPERS, registered_classes
from savepoint_formats.values.kryo.jdk import FIELDS_OF_2, FINAL_CLASSES

if TYPE_CHECKING:
    from savepoint_formats.layout import Kryo, KryoClass
    from savepoint_formats.values.kryo.dialect import KryoDialect


@lru_cache(maxsize=100)
def known_classes(layout: Kryo, dialect: KryoDialect) -> KnownClasses:
    """What is known of the classes in graphs of a layout; made once for all of them."""
    return KnownClasses(layout, dialect)


def _by_name(classes: tuple[KryoClass, ...]) -> dict[str, KryoClass]:
    return {described.class_name: described for described in classes}


class KnownClasses:
    """The classes of the graphs of a layout, as a Kryo has them.

    Attributes:
        is_5: Whether it is Kryo 5.
        registered: Number -> class.
        custom: Class -> the serializer that the user registered for it.
        numbers: Class -> number.
        user: Class -> what the user described.
        fixed: Class -> the fields of a class that Kryo has no serializer for.
    """

    def __init__(self, layout: Kryo, dialect: KryoDialect) -> None:
        self.is_5 = dialect.is_5
        self.registered = registered_classes(dialect, layout.registrations)
        self.numbers = {name: number for number, name in self.registered.items()}
        self.custom = {
            registration.class_name: registration.serializer
            for registration in layout.registrations
        }
        fixed = FIELDS_OF_BOTH if dialect.is_5 else FIELDS_OF_BOTH + FIELDS_OF_2
        self.fixed = _by_name(fixed)
        self.user = _by_name((*dialect.classes, *layout.classes))

    def has_references(self, class_name: str) -> bool:
        """Whether objects of the class are numbered, to be referred to."""
        if class_name in WRAPPERS:
            return False
        return not (self.is_5 and self.is_enum(class_name))

    def is_enum(self, class_name: str) -> bool:
        """Whether a user's class is an enum, or the body of one of its constants."""
        return self.enum_class(class_name) is not None

    def enum_class(self, class_name: str) -> KryoClass | None:
        """The enum that a class is, or belongs to: ``E`` for ``E`` and ``E$1``."""
        for name in (class_name, class_name.rpartition("$")[0]):
            known = self.user.get(name)
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
