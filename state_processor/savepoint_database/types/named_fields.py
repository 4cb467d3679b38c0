"""Fields of structs go by their names: where a struct that someone gives has each field of a type.

| given                                             | goes by                               |
|---------------------------------------------------|---------------------------------------|
| dict, ``Row``, ``Record``, named tuple, column    | names, in any order                   |
| the same, if fields of one side are ``f0``, ``f1`` | position, unless they share a name    |
| tuple, list                                       | position                              |

The kind of a row of SQL may be left out: the row is an insert. So may ``$undecoded``, which is null for
new values.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from savepoint_formats.values import ROW_KIND, ROW_KINDS, UNDECODED

if TYPE_CHECKING:
    from collections.abc import Sequence

    Places = tuple[int | None, ...]

_INSERT = ROW_KINDS[0]
_LEFT_OUT = (ROW_KIND, UNDECODED)


@lru_cache(maxsize=1024)
def field_places(given: tuple[str, ...], wanted: tuple[str, ...]) -> Places:
    """The place in ``given`` of each wanted field; None for one that is missing.

    Raises:
        ValueError: There are other fields; the message has only the difference.
    """
    named = {name: place for place, name in enumerate(given)}
    plain, others = _without_kind(wanted), _without_kind(given)
    is_numbered = _are_numbers(plain) or _are_numbers(others)
    if is_numbered and len(plain) == len(others) and not set(plain) & set(others):
        named |= {name: named[other] for name, other in zip(plain, others, strict=True)}
    elif not named.keys() <= set(wanted):
        raise ValueError(_difference(given, wanted))
    if len(set(given)) < len(given):
        raise ValueError(f"a field comes twice: {', '.join(map(repr, given))}")
    return tuple(named.get(name) for name in wanted)


def all_places(given: Sequence[str], wanted: Sequence[str]) -> Places:
    """Like ``field_places``, but a missing field is an error, too, unless it may be left out."""
    places = field_places(tuple(given), tuple(wanted))
    missing = {name for name, place in zip(wanted, places, strict=True) if place is None}
    if not missing <= {*_LEFT_OUT}:
        raise ValueError(_difference(given, wanted))
    return places


def fields_of(value: Any, names: tuple[str, ...]) -> Sequence[Any]:
    """The fields of a struct that a function gives; those that it lacks are None.

    Raises:
        TypeError: It is not a struct.
        ValueError: It has other fields.
    """
    given = None if type(value) is tuple else _names_of(value)
    if given is None:
        return _by_position(value, names)
    values = tuple(value.values()) if isinstance(value, dict) else value
    if given == names:
        fields: Sequence[Any] = values
        return fields
    return [
        (_INSERT if name == ROW_KIND else None) if place is None else values[place]
        for name, place in zip(names, field_places(given, names), strict=True)
    ]


def arranged(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    """A column, cast to a type that may have the fields of its structs in another order.

    Raises:
        ValueError: A struct has other fields, or a value does not fit.
        pa.ArrowNotImplementedError: There is no cast.
    """
    # Arrow casts structs by names, but takes fields of other names for missing ones.
    named = _named_like(column.type, wanted)
    return (column if named == column.type else column.view(named)).cast(wanted)


def _named_like(given: pa.DataType, wanted: pa.DataType) -> pa.DataType:
    """A given type, whose numbered fields have the names that are wanted."""
    if pa.types.is_struct(given) and pa.types.is_struct(wanted):
        fields = list(given)
        places = all_places([field.name for field in given], [field.name for field in wanted])
        for place, field in zip(places, wanted, strict=True):
            if place is not None:
                own = given[place]
                fields[place] = own.with_name(field.name).with_type(
                    _named_like(own.type, field.type)
                )
        return pa.struct(fields)
    if pa.types.is_list(given) and pa.types.is_list(wanted):
        element = _named_like(given.value_type, wanted.value_type)
        return pa.list_(given.value_field.with_type(element))
    if pa.types.is_map(given) and pa.types.is_map(wanted):
        key = _named_like(given.key_type, wanted.key_type)
        item = _named_like(given.item_type, wanted.item_type)
        return pa.map_(given.key_field.with_type(key), given.item_field.with_type(item))
    return given


def _names_of(value: Any) -> tuple[Any, ...] | None:
    """The names of a value's fields; None if it has none."""
    if isinstance(value, dict):
        return tuple(value)
    for attribute in ("_names", "__fields__", "_fields"):
        names = getattr(value, attribute, None) if isinstance(value, tuple) else None
        if names is not None:
            return tuple(names)
    return None


def _by_position(value: Any, names: tuple[str, ...]) -> Sequence[Any]:
    if not isinstance(value, tuple | list):
        raise TypeError(f"a {type(value).__name__} is not a tuple, dict or Row")
    if len(value) == len(names):
        return value
    plain = _without_kind(names)
    if len(value) == len(plain) and names[-1] == ROW_KIND:
        return [*value, _INSERT]
    raise ValueError(f"it has {len(value)} values, expected {len(plain)}: {', '.join(plain)}")


def _without_kind(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in names if name != ROW_KIND)


def _are_numbers(names: Sequence[str]) -> bool:
    """Whether fields have no names of their own, as in Flink's tuples; Scala's count from 1."""
    count = len(names)
    return names in (
        tuple(f"f{place}" for place in range(count)),
        tuple(f"_{place}" for place in range(1, count + 1)),
    )


def _difference(given: Sequence[str], wanted: Sequence[str]) -> str:
    unknown = [repr(name) for name in given if name not in wanted]
    missing = [repr(name) for name in _without_kind(wanted) if name not in given]
    parts = [f"no field{'s' * (len(unknown) > 1)} {', '.join(unknown)}"] if unknown else []
    return "; ".join([*parts, f"missing: {', '.join(missing)}"] if missing else parts)
