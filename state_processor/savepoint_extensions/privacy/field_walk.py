"""Fields inside of columns: their names, and columns with other values in them.

| in a column                     | name of the field                                            |
|---------------------------------|--------------------------------------------------------------|
| field of a struct               | its name after that of the struct: ``value.address``         |
| elements of a list              | the name of the list                                         |
| entries of a map                | ``key`` and ``value`` after the name of the map              |
| value with the time of its TTL  | the name of the value; the time is no field                  |
| key of PyFlink, a row around it | the name of the key                                          |
| bytes that nobody can decode    | the name of the undecoded value: a leaf of an unknown type   |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from savepoint_database.types import bounds
from savepoint_extensions.privacy.mask_methods import FieldType, field_type
from savepoint_formats import layout as layouts
from savepoint_formats.errors import MaskError
from savepoint_formats.layout import parts
from savepoint_formats.python_state.stored_forms import KEY_FIELD
from savepoint_formats.values import (
    CLASS,
    CONSTANT,
    OBJECT_TYPE,
    ROW_KIND,
    UNDECODED_TYPE,
    has_subclasses,
    is_precise,
    plain_values,
    pojo_columns,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from savepoint_formats.layout import Layout

    Leaf = Callable[[str, pa.Array], pa.Array]

_OPAQUE = (OBJECT_TYPE, UNDECODED_TYPE)
_NO_FIELDS = (ROW_KIND, CLASS)
_TIMED = ("timestamp", "value")


def field_types(
    layout: Layout, data_type: pa.DataType, path: str, *, is_timed: bool = False
) -> dict[str, FieldType]:
    """The types of the fields of a column by their names."""
    special = dict(_special_types(layout, path))
    types: dict[str, FieldType] = {}

    def note(name: str, values: pa.Array) -> pa.Array:
        known = FieldType.ENUM if name.endswith(f".{CONSTANT}") else field_type(values.type)
        if not pa.types.is_null(values.type):
            types[name] = special.get(name, known)
        return values

    FieldWalk(note).values(pa.array([], data_type), path, is_timed=is_timed)
    return types


def _special_types(layout: Layout, path: str) -> Iterator[tuple[str, FieldType]]:
    """Fields that are texts in Arrow, and something else in Java."""
    match layout:
        case layouts.Enum() | layouts.Char() | layouts.Marker(_, str()):
            yield path, FieldType.ENUM
        case layouts.BigInteger() | layouts.BigDecimal():
            yield path, FieldType.DECIMAL
        case layouts.MapOf(key, value):
            yield from _special_types(key, f"{path}.key")
            yield from _special_types(value, f"{path}.value")
        case layouts.Coproduct():
            yield from _special_columns(layout, path)
        case layouts.Pojo() if has_subclasses(layout):
            yield from _special_columns(layout, path)
        case _:
            names = getattr(layout, "names", ())
            for place, inner in enumerate(parts(layout)):
                named = len(names) == len(tuple(parts(layout)))
                is_part = named and names[place] != KEY_FIELD
                yield from _special_types(inner, f"{path}.{names[place]}" if is_part else path)


def _special_columns(
    layout: layouts.Pojo | layouts.Coproduct, path: str
) -> Iterator[tuple[str, FieldType]]:
    for name, inner in pojo_columns(layout).layouts.items():
        yield from _special_types(inner, f"{path}.{name}")


@dataclass(frozen=True)
class FieldWalk:
    """Gives each leaf of a column to ``leaf``, which returns its new values.

    ``wanted`` has the names of the leaves; all by default.
    """

    leaf: Leaf
    wanted: frozenset[str] | None = None

    def values(self, array: pa.Array, path: str, *, is_timed: bool = False) -> pa.Array:
        """The column with the new values of its leaves; ``MaskError`` if keys of a map become equal.

        With ``is_timed`` the values, or the elements of a list of them, have times of TTL.
        """
        data_type = array.type
        if not self._leads_to_wanted(path):
            return array
        if is_precise(data_type) or data_type in _OPAQUE or not pa.types.is_nested(data_type):
            return self.leaf(path, array)
        if pa.types.is_map(data_type):
            return self.entries(array, f"{path}.key", f"{path}.value")
        if pa.types.is_list(data_type):
            elements = self.values(array.values, path, is_timed=is_timed)
            return pa.ListArray.from_arrays(bounds(array), elements, type=data_type)
        return self._struct(array, path, is_timed=is_timed)

    def entries(self, array: pa.MapArray, key: str, value: str) -> pa.MapArray:
        old = array.keys
        keys, items = self.values(old, key), self.values(array.items, value)
        if keys is not old:
            _expect_distinct(array, keys, key)
        return pa.MapArray.from_arrays(bounds(array), keys, items, type=array.type)

    def _leads_to_wanted(self, path: str) -> bool:
        inside = f"{path}."
        return self.wanted is None or any(
            name == path or name.startswith(inside) for name in self.wanted
        )

    def _struct(self, array: pa.StructArray, path: str, *, is_timed: bool) -> pa.StructArray:
        fields = list(array.type)
        names = [field.name for field in fields]
        is_value = is_timed and tuple(names) == _TIMED
        columns = []
        for name, column in zip(names, array.flatten(), strict=True):
            if name in _NO_FIELDS or (is_value and name == _TIMED[0]):
                columns.append(column)
            else:
                is_whole = is_value or name == KEY_FIELD
                columns.append(self.values(column, path if is_whole else f"{path}.{name}"))
        if not columns:
            return array
        return pa.StructArray.from_arrays(columns, fields=fields, mask=array.is_null())


def _expect_distinct(array: pa.MapArray, keys: pa.Array, path: str) -> None:
    """Raises ``MaskError`` if a map has fewer keys than before."""
    sizes = np.diff(array.offsets.to_numpy())
    rows = np.repeat(np.arange(len(array)), sizes)
    first = array.offsets[0].as_py()
    used = keys.slice(first, len(rows))
    pairs = set(zip(rows.tolist(), map(repr, plain_values(used)), strict=True))
    if len(pairs) < len(rows):
        raise MaskError(
            f"{path}: {len(rows) - len(pairs)} keys of a map would be equal to others, which would"
            " hide their values: take a method that keeps values different, such as hash"
        )
