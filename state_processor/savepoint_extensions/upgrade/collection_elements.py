"""Types of the elements of collections, which serializers of Flink 2 name and those of Flink 1 do not.

A description of the class around a collection tells them, or else its first element.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.errors import MigrationError
from savepoint_formats.snapshots import elements_of, has_own_serializer
from savepoint_formats.values import FINAL_CLASSES, collection_places, element_classes, is_generic

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from savepoint_formats.layout import KryoField, Layout, TypeArgument
    from savepoint_formats.snapshots import Elements
    from savepoint_formats.values import CollectionPlace, KryoDialect

    Places = tuple[CollectionPlace, ...]


class UnknownElementsError(MigrationError):
    """Neither a description nor an element tells the element types of ``collections``."""

    def __init__(self, message: str, collections: Places) -> None:
        super().__init__(message)
        self.collections = collections


def described_elements(places: Places, kryo: KryoDialect) -> dict[int, Elements]:
    """The described elements of collections, by their numbers; None stays with Kryo."""
    fields = {
        (described.class_name, field.name): field
        for described in kryo.classes
        for field in described.fields
    }
    known: dict[int, Elements] = {}
    for number, place in enumerate(places):
        field = _part(fields.get((place.pojo, place.field)), place.path)
        if field is None:
            continue
        if _component(field.type) != place.class_name:
            raise MigrationError(
                f"{place} is described as {field.type}, but is a {place.class_name}"
            )
        known[number] = elements_of(field)
    return known


def observed_elements(
    places: Places,
    known: Mapping[int, Elements],
    values: Iterable[tuple[Layout, bytes]],
    kryo: KryoDialect,
) -> dict[int, Elements]:
    """Element types of collections that are not ``known`` yet, from the first elements in values.

    The collections of ``values`` are the last of ``places``.

    Raises:
        MigrationError: A first element may be of a subclass of the declared class.
        UndecodableError: An object has an unknown class.
    """
    seen: dict[int, list[str | None]] = {}
    for layout, value in values:
        first = len(places) - len(collection_places(layout))
        for number, classes in element_classes(layout, value, kryo):
            of_it = seen.setdefault(first + number, [None] * len(classes))
            of_it[:] = [known or name for known, name in zip(of_it, classes, strict=True)]
        if len(seen) == len(places) and all(None not in of_it for of_it in seen.values()):
            break
    return {
        number: _as_declared(places[number], [name for name in of_it if name is not None], kryo)
        for number, of_it in seen.items()
        if None not in of_it and number not in known
    }


def _as_declared(place: CollectionPlace, seen: list[str], kryo: KryoDialect) -> Elements:
    """How elements of these classes are declared; Kryo keeps those with type arguments."""
    if any(map(is_generic, seen)):
        return None
    return tuple(_declared(place, name, kryo) for name in seen)


def _declared(place: CollectionPlace, name: str, kryo: KryoDialect) -> str:
    described = {known.class_name: known for known in kryo.classes}
    own = described.get(name)
    around = described.get(name.rpartition("$")[0])
    if own is None and around is not None and around.constants:
        return around.class_name  # the body of a constant
    if has_own_serializer(name) or name in FINAL_CLASSES or name.startswith("["):
        return name
    if own is not None and (own.is_final or own.constants or (own.is_pojo and not own.superclass)):
        return name
    raise UnknownElementsError(
        f"{place} has objects of {name}, which may be declared as another class:"
        " describe the class around it, with the types of its fields, and whether its elements"
        " are POJOs (is_pojo), as kryo_class(…) or by --classes; savepoint classes prints both",
        (place,),
    )


def _part(
    declared: KryoField | TypeArgument | None, path: tuple[int, ...]
) -> KryoField | TypeArgument | None:
    """The type argument at a path; None if it is not described."""
    for number in path:
        if declared is None or number >= len(declared.arguments):
            return None
        declared = declared.arguments[number]
    return declared


def _component(type_name: str) -> str:
    element = type_name.lstrip("[")
    return type_name if element == type_name else element[1:-1]
