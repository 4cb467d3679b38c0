"""Values of Flink's API for Scala, written as ``upgrade.from_scala`` says.

| old                           | new                    | written                                 |
|-------------------------------|------------------------|-----------------------------------------|
| fields of a case class        | CaseClass              | the number of fields, then the fields   |
|                               | Pojo                   | a flag, the fields in the POJO's order  |
|                               | MaskedStruct           | a mask, the fields that are not null    |
| flag and value                | no flag                | the value; its own null, if it has one  |
| value                         | flag and value         | a flag of not null, the value           |
| list of flagged pairs         | MapOf                  | the pairs without flags                 |
| Unit                          | Marker                 | the byte of the new one, or nothing     |
| number of a constant          | Enum                   | the number of the constant of its name  |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats import layout as layouts
from savepoint_formats.values.kinds.scalars import SIZED
from savepoint_formats.values.masks import write_mask
from savepoint_formats.values.pojo_values import NO_SUBCLASS
from savepoint_formats.values.state_entries import NullableRest, Suffixed, length_suffix
from savepoint_formats.values.value_writer import has_null, write_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from savepoint_formats.layout import Layout
    from savepoint_formats.values.recoding import ValueWalk


def recode_scala(walk: ValueWalk, old: Layout, new: Layout) -> bool:  # noqa: PLR0912  # a table
    """Writes the next value if its form changes as the table says; returns whether it did."""
    match old, new:
        case _, layouts.OfScala(inner):
            walk.recode(old, inner)
        case Suffixed(inner), _ if not isinstance(new, Suffixed):
            start = walk.view.position
            walk.recode(inner, new)
            walk.view.read_bytes(len(length_suffix(walk.view.position - start)))
        case _, Suffixed(inner) if not isinstance(old, Suffixed):
            begin = walk.target.position
            walk.recode(old, inner)
            walk.target.write_bytes(length_suffix(walk.target.position - begin))
        case layouts.Struct(), layouts.CaseClass():
            walk.target.write_int(len(new.fields))
            _fields(walk, old.fields, new.fields)
        case layouts.Struct(), layouts.Pojo():
            _pojo(walk, old, new)
        case layouts.Struct(), layouts.MaskedStruct():
            _row(walk, old, new)
        case layouts.Repeated(layouts.Nullable(layouts.Struct(_, pair), False)), layouts.MapOf():
            count = walk.view.read_count()
            walk.target.write_int(count)
            for _ in range(count):
                if not walk.view.read_strict_bool():
                    raise walk.refusal("null in the place of an entry of a map")
                _fields(walk, pair, (new.key, new.value))
        case layouts.OfScala(layouts.Marker() as unit), layouts.Marker():
            walk.skip(unit)
            write_value(new, new.text, walk.target)
        case layouts.Enum(), layouts.Enum():
            read, _ = SIZED[layouts.Enum]
            name = read(old, walk.view)
            if name not in new.constants:
                raise walk.refusal(f"constant {name!r} of {old.class_name}, which new values lack")
            write_value(new, name, walk.target)
        case _:
            return _recode_null(walk, old, new)
    return True


def _recode_null(walk: ValueWalk, old: Layout, new: Layout) -> bool:
    """Writes a value whose flag of null comes, goes or is joined with another one."""
    match old, new:
        case (layouts.Nullable(layouts.Nullable(value, False)), layouts.Nullable(other)) | (
            NullableRest(layouts.Nullable(value, False)),
            NullableRest(other),
        ) if not _is_flagged(other):
            is_null = old.is_null if isinstance(old, layouts.Nullable) else True
            is_given = walk.view.read_strict_bool() != is_null and walk.view.read_strict_bool()
            walk.target.write_bool(not is_given)
            if is_given:
                walk.recode(value, other)
            elif isinstance(old, NullableRest):
                walk.view.read_rest()
        case layouts.Nullable(value), _ if not isinstance(new, _FLAGGED_OR_KRYO):
            if walk.view.read_strict_bool() != old.is_null:
                walk.recode(value, new)
            elif has_null(new):
                write_value(new, None, walk.target)
            else:
                raise walk.refusal(f"null, which a {type(new).__name__} cannot be")
        case _, layouts.Nullable(other) if not isinstance(old, _FLAGGED_OR_KRYO):
            walk.target.write_bool(not new.is_null)
            walk.recode(old, other)
        case _:
            return False
    return True


_FLAGGED_OR_KRYO = layouts.Nullable | NullableRest | layouts.Kryo


def _is_flagged(layout: Layout) -> bool:
    inner = layout.inner if isinstance(layout, layouts.OfScala) else layout
    return isinstance(inner, layouts.Nullable)


def _fields(walk: ValueWalk, old: Sequence[Layout], new: Sequence[Layout]) -> None:
    for field, other in zip(old, new, strict=True):
        walk.recode(field, other)


def _pojo(walk: ValueWalk, old: layouts.Struct, new: layouts.Pojo) -> None:
    """The fields of the constructor's order, sorted by name."""
    described = walk.described_fields(new.class_name)
    fields = dict(zip(new.names, new.fields, strict=True))
    written = {}
    for name, field in zip(described, old.fields, strict=True):
        written[name] = walk.recoded_apart(field, fields[name])
    walk.target.write_byte(NO_SUBCLASS)
    for name in new.names:
        walk.target.write_bytes(written[name])


def _row(walk: ValueWalk, old: layouts.Struct, new: layouts.MaskedStruct) -> None:
    nulls, written = [], []
    for field, other in zip(old.fields, new.fields, strict=True):
        is_null = isinstance(field, layouts.Nullable) and (
            walk.view.read_strict_bool() == field.is_null
        )
        nulls.append(is_null)
        inner = field.inner if isinstance(field, layouts.Nullable) else field
        written.append(b"" if is_null else walk.recoded_apart(inner, other))
    write_mask([False, False, *nulls], walk.target)
    walk.target.write_bytes(b"".join(written))
