"""Changes of fields of POJOs and of rows of SQL, wherever they are in the values of a state.

Fields of a POJO are sorted by name, as in Flink's type extraction. Fields of a row have only their
positions as names: ``f0``, ``f1``... A path to a field has the names that the columns show, without
steps for elements of collections and values of maps: ``address.zip``, ``f1.zip`` in a tuple,
``left.zip`` in an ``Either``. A struct may be inside any of these, but not in the key of a map. Only
rows of SQL may be keys, if the values of their map have no rows: so a join keeps rows with their numbers.

| edit   | POJO                                     | row of SQL                               |
|--------|------------------------------------------|------------------------------------------|
| add    | a field anywhere                         | a field at the end, or at a place        |
| drop   | any field                                | any field; those behind it move up       |
| rename | a field, which may change the order      | —                                        |
| widen  | the field's serializer                   | the field's type and serializer          |
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from savepoint_formats.errors import FieldNotFoundError, SchemaChangeError
from savepoint_formats.layout import BinaryRow, MaskedStruct, Pojo, Struct, Tagged, nodes_of
from savepoint_formats.printable import alternatives
from savepoint_formats.snapshots.basic import BASE, RUNTIME, SCALA, inner
from savepoint_formats.snapshots.fields import OptionalEntry, utf_bytes
from savepoint_formats.snapshots.nested import framed_snapshot, snapshot_bytes

if TYPE_CHECKING:
    from savepoint_formats.snapshots.snapshot import TypeSerializerSnapshot

ELEMENT, MAP_KEY, MAP_VALUE = "[]", "{key}", "{}"
"""Steps into the elements of a list, and the keys and the values of a map."""

_STATE = "org.apache.flink.runtime.state."
_POJO = f"{RUNTIME}PojoSerializerSnapshot"
_ROW = inner("org.apache.flink.table.runtime.typeutils.RowDataSerializer")
_TTL_AWARE = f"{_STATE}ttl.TtlAwareSerializerSnapshot"
_OF_JOINS = "org.apache.flink.streaming.api."

# Index of the nested serializer that leads on, and the step into its values.
_WAYS: dict[str, tuple[int, tuple[str, ...]]] = {
    f"{BASE}ListSerializerSnapshot": (0, (ELEMENT,)),
    f"{BASE}SetSerializerSnapshot": (0, (ELEMENT,)),
    f"{BASE}GenericArraySerializerSnapshot": (0, (ELEMENT,)),
    f"{BASE}GenericArraySerializerConfigSnapshot": (0, (ELEMENT,)),
    f"{_STATE}ArrayListSerializerSnapshot": (0, (ELEMENT,)),
    f"{BASE}MapSerializerSnapshot": (1, (MAP_VALUE,)),
    inner(f"{RUNTIME}NullableSerializer"): (0, ()),
    f"{_STATE}ttl.TtlStateFactory$TtlSerializerSnapshot": (1, ("value",)),
    f"{_STATE}v2.ttl.TtlStateFactory$TtlSerializerSnapshot": (1, ("value",)),
    f"{_OF_JOINS}operators.co.IntervalJoinOperator$BufferEntrySerializerSnapshot": (
        0,
        ("element",),
    ),
    **{f"{prefix}TraversableSerializerSnapshot": (0, (ELEMENT,)) for prefix in SCALA},
    **{f"{prefix}ScalaOptionSerializerSnapshot": (0, ()) for prefix in SCALA},
}

# Serializers whose nested ones, in this order, have the names that their columns show.
_NAMED = frozenset(
    {
        f"{RUNTIME}TupleSerializerSnapshot",
        inner(f"{RUNTIME}RowSerializer"),
        f"{RUNTIME}JavaEitherSerializerSnapshot",
        f"{RUNTIME}EitherSerializerSnapshot",
        f"{_OF_JOINS}datastream.CoGroupedStreams$UnionSerializerSnapshot",
        *(
            f"{prefix}Scala{kind}SerializerSnapshot"
            for prefix in SCALA
            for kind in ("CaseClass", "Either", "Try")
        ),
        *(f"{prefix}Tuple2CaseClassSerializerSnapshot" for prefix in SCALA),
    }
)


_MAP = f"{BASE}MapSerializerSnapshot"
_OF_KEYS = (0, (MAP_KEY,))


@dataclass(frozen=True, slots=True)
class StructEdit:
    """The new serializer of a state, and how its values change.

    ``steps`` lead from the state's value to the edited struct. ``origins`` has the struct's fields
    in their new order, each with its old name or None. ``keeps_bytes``: no value changes.
    """

    snapshot: TypeSerializerSnapshot
    steps: tuple[str, ...]
    origins: tuple[tuple[str, str | None], ...]
    keeps_bytes: bool = False


Origins = tuple[tuple[str, str | None], ...]
StructChange = Callable[["TypeSerializerSnapshot", str], tuple["TypeSerializerSnapshot", Origins]]
"""From a struct and a field's name to the new struct and the origins of its fields."""


def edited(snapshot: TypeSerializerSnapshot, path: str, change: StructChange) -> StructEdit:
    """The serializer of a state after a change of the struct that has the field.

    Raises ``FieldNotFoundError``, or ``SchemaChangeError`` if the values have no fields that can be
    changed.
    """
    step = _step(snapshot, path)
    if step is not None:
        edit = edited(step.inside, step.rest, change)
        steps = (*step.names, *edit.steps)
        return replace(edit, steps=steps, snapshot=step.around(edit.snapshot))
    has_names = snapshot.class_name == _ROW and "fields" in snapshot.names
    if has_names and snapshot["fields"] is not None:
        raise SchemaChangeError(
            f"field {path!r} of a row of SQL that names its fields, as releases after Flink 2.3 do:"
            " such rows can be read and copied, but not changed"
        )
    made, origins = change(snapshot, path)
    return StructEdit(made, (), origins)


@dataclass(frozen=True, slots=True)
class _Step:
    """From a serializer to the one inside that the path leads to.

    ``names`` are the steps that its values take. ``around`` gives the outer serializer with another
    one inside.
    """

    inside: TypeSerializerSnapshot
    rest: str
    names: tuple[str, ...]
    around: Callable[[TypeSerializerSnapshot], TypeSerializerSnapshot]


def _step(snapshot: TypeSerializerSnapshot, path: str) -> _Step | None:
    """The next step to the field; None at the struct that has it."""
    way = _OF_KEYS if _has_rows_as_keys(snapshot) else _WAYS.get(snapshot.class_name)
    if way is not None:
        index, names = way
        return _nested(snapshot, index, names, path)
    if snapshot.class_name == _TTL_AWARE:
        around = partial(_with_inner, snapshot)
        return _Step(snapshot["inner"], path, (), around)
    field, _, rest = path.partition(".")
    if snapshot.class_name in _NAMED:
        return _named(snapshot, field, rest)
    if snapshot.class_name not in (_POJO, _ROW):
        raise SchemaChangeError(
            f"values of {snapshot.class_name} have no field {path!r} that could be changed: only"
            " POJOs and rows of SQL have"
        )
    return _field_of(snapshot, field, rest) if rest else None


def _has_rows_as_keys(snapshot: TypeSerializerSnapshot) -> bool:
    """Whether it is of maps from rows of SQL to numbers."""
    if snapshot.class_name != _MAP or snapshot.nested[0].class_name != _ROW:
        return False
    return not any(nodes_of(snapshot.nested[1].stored_layout(), BinaryRow, Pojo))


def _nested(
    snapshot: TypeSerializerSnapshot, index: int, names: tuple[str, ...], rest: str
) -> _Step:
    def around(inside: TypeSerializerSnapshot) -> TypeSerializerSnapshot:
        nested = (*snapshot.nested[:index], inside, *snapshot.nested[index + 1 :])
        return snapshot.with_fields(nested=nested)

    return _Step(snapshot.nested[index], rest, names, around)


def _with_inner(
    snapshot: TypeSerializerSnapshot, inside: TypeSerializerSnapshot
) -> TypeSerializerSnapshot:
    return snapshot.with_fields(inner=inside)


def _named(snapshot: TypeSerializerSnapshot, field: str, rest: str) -> _Step:
    layout = snapshot.layout()
    assert isinstance(layout, Struct | MaskedStruct | Tagged)  # as ``_NAMED`` says
    if field not in layout.names:
        raise FieldNotFoundError(
            f"{snapshot.class_name} has no field {field!r}; {alternatives(field, layout.names)}"
        )
    if not rest:
        raise SchemaChangeError(
            f"field {field!r} of {snapshot.class_name} can't be changed: only POJOs and rows of SQL"
            f" have fields that can. For those of a POJO in it, write {field}.name"
        )
    return _nested(snapshot, layout.names.index(field), (field,), rest)


def _field_of(snapshot: TypeSerializerSnapshot, field: str, rest: str) -> _Step:
    if snapshot.class_name == _ROW:
        raise SchemaChangeError(
            f"field {field}.{rest}: rows inside rows of SQL can't be changed, only rows as a whole"
        )
    entry = _field(snapshot, field)
    inside = framed_snapshot(entry)
    if inside is None:
        raise SchemaChangeError(f"field {field!r} has no serializer that can be read")

    def around(inside: TypeSerializerSnapshot) -> TypeSerializerSnapshot:
        new = replace(entry, value=snapshot_bytes(inside))
        return _pojo_of(snapshot, [new if kept is entry else kept for kept in snapshot["fields"]])

    return _Step(inside, rest, (field,), around)


def renamed_field(snapshot: TypeSerializerSnapshot, path: str, new_name: str) -> StructEdit:
    """Renames a field of a POJO; raises the errors of ``edited``."""
    order: list[str] = []

    def change(struct: TypeSerializerSnapshot, name: str) -> tuple[TypeSerializerSnapshot, Origins]:
        if struct.class_name == _ROW:
            raise SchemaChangeError(
                f"field {name!r} of a row of SQL has no name in the savepoint: rename the column"
                " in the query"
            )
        entry = _field(struct, name)
        order.extend(field.name for field in struct["fields"])
        _expect_free(struct, new_name)
        renamed = replace(entry, name=new_name, key=_key_of(entry, new_name))
        others = [field for field in struct["fields"] if field is not entry]
        made = _pojo_of(struct, [*others, renamed])
        before = {field.name: field.name for field in others} | {new_name: name}
        return made, tuple((field.name, before[field.name]) for field in made["fields"])

    edit = edited(snapshot, path, change)
    return replace(edit, keeps_bytes=[origin for _, origin in edit.origins] == order)


def added_field(
    snapshot: TypeSerializerSnapshot,
    path: str,
    added: TypeSerializerSnapshot,
    place: int | None = None,
) -> StructEdit:
    """Adds a field; for a row of SQL, ``added`` is a row with only that field, and ``place`` its number.

    Raises ``SchemaChangeError`` if there is a field of that name, and the errors of ``edited``.
    """

    def change(struct: TypeSerializerSnapshot, name: str) -> tuple[TypeSerializerSnapshot, Origins]:
        if struct.class_name == _ROW:
            return _longer_row(struct, name, added, place)
        _expect_free(struct, name)
        key = utf_bytes(struct["pojo_class"], name)
        entry = OptionalEntry(name, key, snapshot_bytes(added))
        made = _pojo_of(struct, [*struct["fields"], entry])
        origins = ((field.name, None if field is entry else field.name) for field in made["fields"])
        return made, tuple(origins)

    return edited(snapshot, path, change)


def dropped_field(snapshot: TypeSerializerSnapshot, path: str) -> StructEdit:
    """Removes a field; raises the errors of ``edited``."""

    def change(struct: TypeSerializerSnapshot, name: str) -> tuple[TypeSerializerSnapshot, Origins]:
        if struct.class_name == _ROW:
            if _OF_KEYS[1][0] in _steps(snapshot, path):
                raise SchemaChangeError(
                    f"field {name!r} of rows that are the keys of a map: rows may become equal, and"
                    " their numbers have to be added up, as sql-migrate does"
                )
            index = _index(struct, name)
            left = [position for position in range(len(struct.nested)) if position != index]
            return _row_of(struct, left), tuple((f"f{n}", f"f{m}") for n, m in enumerate(left))
        entry = _field(struct, name)
        made = _pojo_of(struct, [field for field in struct["fields"] if field is not entry])
        return made, tuple((field.name, field.name) for field in made["fields"])

    return edited(snapshot, path, change)


def retyped_field(
    snapshot: TypeSerializerSnapshot, path: str, wanted: TypeSerializerSnapshot
) -> StructEdit:
    """Changes the type of a field; arguments and errors are those of ``added_field``."""

    def change(struct: TypeSerializerSnapshot, name: str) -> tuple[TypeSerializerSnapshot, Origins]:
        if struct.class_name == _ROW:
            index, changed = _index(struct, name), {}
            for part in ("types", "nested"):
                values = list(struct[part])
                (values[index],) = wanted[part]
                changed[part] = tuple(values)
            made = struct.with_fields(**changed)
            return made, tuple((f"f{n}", f"f{n}") for n in range(len(made.nested)))
        entry = _field(struct, name)
        new = replace(entry, value=snapshot_bytes(wanted))
        made = _pojo_of(struct, [new if field is entry else field for field in struct["fields"]])
        return made, tuple((field.name, field.name) for field in made["fields"])

    return edited(snapshot, path, change)


def _steps(snapshot: TypeSerializerSnapshot, path: str) -> tuple[str, ...]:
    """The steps from a state's value to the struct that has the field."""
    steps: list[str] = []
    while (step := _step(snapshot, path)) is not None:
        steps += step.names
        snapshot, path = step.inside, step.rest
    return tuple(steps)


def is_row(snapshot: TypeSerializerSnapshot, path: str) -> bool:
    """Whether the struct that has the field is a row of SQL; raises the errors of ``edited``."""
    while (step := _step(snapshot, path)) is not None:
        snapshot, path = step.inside, step.rest
    return snapshot.class_name == _ROW


def _longer_row(
    row: TypeSerializerSnapshot, name: str, added: TypeSerializerSnapshot, place: int | None
) -> tuple[TypeSerializerSnapshot, Origins]:
    count = len(row.nested)
    if name != f"f{count}":
        raise SchemaChangeError(
            f"a new field {name!r} of a row of SQL that has {count}: fields have no names, and a"
            f" new one comes at the end: call it 'f{count}'"
        )
    if added.class_name != _ROW:
        raise SchemaChangeError(f"field {name!r} of a row of SQL needs a type of SQL: 'BIGINT'")
    at = count if place is None else place
    made = row.with_fields(
        types=(*row["types"][:at], *added["types"], *row["types"][at:]),
        nested=(*row.nested[:at], *added.nested, *row.nested[at:]),
    )
    before = [f"f{n}" for n in range(count)]
    old: list[str | None] = [*before[:at], None, *before[at:]]
    return made, tuple((f"f{n}", origin) for n, origin in enumerate(old))


def _row_of(row: TypeSerializerSnapshot, indexes: list[int]) -> TypeSerializerSnapshot:
    return row.with_fields(
        types=tuple(row["types"][index] for index in indexes),
        nested=tuple(row.nested[index] for index in indexes),
    )


def _index(row: TypeSerializerSnapshot, name: str) -> int:
    names = [f"f{n}" for n in range(len(row.nested))]
    if name not in names:
        raise FieldNotFoundError(f"the row has no field {name!r}; {alternatives(name, names)}")
    return names.index(name)


def _pojo_of(pojo: TypeSerializerSnapshot, fields: list[OptionalEntry]) -> TypeSerializerSnapshot:
    known = [str(subclass.name) for subclass in (*pojo["registered"], *pojo["unregistered"])]
    if known:
        raise SchemaChangeError(
            f"POJO {pojo['pojo_class']} has values of subclasses, which have its fields too: they"
            f" can't be changed here; its subclasses are {', '.join(known)}"
        )
    return pojo.with_fields(fields=tuple(sorted(fields, key=lambda field: _java_order(field.name))))


def _java_order(name: str | None) -> bytes:
    """Java compares the UTF-16 units of strings."""
    return (name or "").encode("utf-16-be", "surrogatepass")


def _field(pojo: TypeSerializerSnapshot, name: str) -> OptionalEntry:
    for entry in pojo["fields"]:
        if entry.name == name:
            optional: OptionalEntry = entry
            return optional
    known = [entry.name for entry in pojo["fields"]]
    raise FieldNotFoundError(
        f"POJO {pojo['pojo_class']} has no field {name!r}; {alternatives(name, known)}"
    )


def _expect_free(pojo: TypeSerializerSnapshot, name: str) -> None:
    if any(entry.name == name for entry in pojo["fields"]):
        raise SchemaChangeError(f"POJO {pojo['pojo_class']} has a field {name!r} already")


def _key_of(entry: OptionalEntry, name: str) -> bytes | None:
    if entry.key is None:
        return None
    size = int.from_bytes(entry.key[:2], "big") + 2
    return entry.key[:size] + utf_bytes(name)
