"""The row of a class that Kryo writes: all that is known of the class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from savepoint_formats.values.kryo.body import PRIMITIVES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from savepoint_formats.values.kryo.body import Body
    from savepoint_formats.values.kryo.parts import Parts, SingleValue
    from savepoint_formats.values.kryo.types import KryoType


@dataclass(frozen=True, slots=True)
class ClassRow:
    """A class that Kryo writes.

    Attributes:
        body: How objects lie in 2.24, and in 5.6; None if that version has no serializer for them.
        fields: Field -> type, written by versions that have no serializer for the class.
        is_final: Whether it has no subclasses: a field of such a type needs no class in the bytes.
        column: The Arrow type, and the values of objects both ways; None if it is JSON.
        value: How programs make a value of the parts; None if only the general path does.
        is_java: Whether Java serializes the object where there is no body.
        parts_of_2: Parts of 2.24, where the fields are not all primitive.
    """

    body: tuple[Body | None, Body | None] = (None, None)
    fields: Mapping[str, str] | None = None
    is_final: bool = False
    column: KryoType | None = None
    value: SingleValue | None = None
    is_java: bool = False
    parts_of_2: Parts | None = None

    @property
    def parts(self) -> tuple[Parts | None, Parts | None]:
        """The parts of an object in 2.24, and in 5.6; None if they depend on the object."""
        of_2, of_5 = (body.parts if body else self._parts_of_fields() for body in self.body)
        return self.parts_of_2 or of_2, of_5

    def _parts_of_fields(self) -> Parts | None:
        if self.fields is None or not PRIMITIVES.keys() >= set(self.fields.values()):
            return None
        bodies = (PRIMITIVES[kind] for _, kind in sorted(self.fields.items()))
        return tuple(part for body in bodies for part in body.parts or ())
