"""Changes of fields of SQL rows by the names that a query's plan gives them.

Rows are stored without names; a serializer may be shown with names from elsewhere. A change is made by
the stored names, ``f0``, ``f1``..., and its result gets the shown ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from savepoint_formats.errors import FieldNotFoundError, SchemaChangeError
from savepoint_formats.layout import (
    BinaryRow,
    Framed,
    Layout,
    MapOf,
    Nullable,
    Repeated,
    Struct,
    Ttl,
    nodes_of,
)
from savepoint_formats.printable import alternatives
from savepoint_formats.snapshots.shown import ShownAs

if TYPE_CHECKING:
    from savepoint_formats.snapshots.snapshot import TypeSerializerSnapshot
    from savepoint_formats.snapshots.struct_edit import StructEdit

_INNER = {Framed: "inner", Nullable: "inner", Repeated: "element", Ttl: "value"}

Edit = Callable[["TypeSerializerSnapshot", str], "StructEdit"]
"""A change of a serializer at the path of a field."""


@dataclass(frozen=True, slots=True)
class _Place:
    """A row that a path leads to.

    ``structs`` are the structs on the way, by their stored and their shown names. ``around`` gives the
    shown layout with another row.
    """

    shown: BinaryRow
    stored: BinaryRow
    structs: tuple[tuple[str, str], ...]
    around: Callable[[Layout], Layout]


def edited_by_names(
    snapshot: TypeSerializerSnapshot, path: str, edit: Edit, *, adds: bool = False
) -> StructEdit:
    """The change; if a row in the serializer is shown with names, by these names.

    Raises ``FieldNotFoundError`` if the row doesn't have the name, or ``SchemaChangeError`` if it has
    the one that the change ``adds``.
    """
    plain = replace(snapshot, shown=None)
    *outer, name = path.split(".")
    place = None
    if snapshot.shown is not None:
        place = _place(snapshot.layout(), plain.layout(), outer)
    if place is None:
        return edit(snapshot, path)
    names = place.shown.names
    if adds and name in names:
        raise SchemaChangeError(f"the row has a field {name!r} already")
    if not adds and name not in names:
        raise FieldNotFoundError(f"the row has no field {name!r}; {alternatives(name, names)}")
    number = names.index(name) if name in names else len(names)
    stored_path = [stored for stored, _ in place.structs]
    made = edit(plain, ".".join([*stored_path, f"f{number}"]))
    old = dict(zip(place.stored.names, names, strict=True))
    origins = tuple((name if it is None else old[it], it and old[it]) for _, it in made.origins)
    layout = made.snapshot.layout()
    new = _place(layout, layout, stored_path)
    assert new is not None  # a change of a row leaves a row
    row = replace(new.shown, names=tuple(name for name, _ in origins))
    shown = dict(place.structs)
    return replace(
        made,
        snapshot=replace(made.snapshot, shown=ShownAs(place.around(row))),
        steps=tuple(shown.get(step, step) for step in made.steps),
        origins=origins,
    )


def shown_names(snapshot: TypeSerializerSnapshot, path: str) -> tuple[str, ...]:
    """The names of the row that has, or gets, the field of a path; empty if it isn't shown with names."""
    if snapshot.shown is None:
        return ()
    plain = replace(snapshot, shown=None)
    place = _place(snapshot.layout(), plain.layout(), path.split(".")[:-1])
    return () if place is None else place.shown.names


def _place(shown: Layout, stored: Layout, path: Sequence[str]) -> _Place | None:
    match shown, stored:
        case BinaryRow(), BinaryRow():
            return None if path else _Place(shown, stored, (), lambda row: row)
        case Struct(), Struct():
            if not path or path[0] not in shown.names:
                return None
            number = shown.names.index(path[0])
            inner = _place(shown.fields[number], stored.fields[number], path[1:])
            if inner is None:
                return None

            def around(row: Layout, inner: _Place = inner) -> Layout:
                fields = list(shown.fields)
                fields[number] = inner.around(row)
                return replace(shown, fields=tuple(fields))

            structs = ((stored.names[number], shown.names[number]), *inner.structs)
            return replace(inner, structs=structs, around=around)
    part = _part(shown)
    if part is None or type(shown) is not type(stored):
        return None
    within = _place(getattr(shown, part), getattr(stored, part), path)
    if within is None:
        return None

    def around_part(row: Layout, within: _Place = within) -> Layout:
        return replace(shown, **{part: within.around(row)})  # type: ignore[type-var]  # a dataclass

    return replace(within, around=around_part)


def _part(layout: Layout) -> str | None:
    """The part of a container that has the rows: the values of a map, or its keys."""
    if isinstance(layout, MapOf):
        return "value" if any(nodes_of(layout.value, BinaryRow)) else "key"
    return _INNER.get(type(layout))
