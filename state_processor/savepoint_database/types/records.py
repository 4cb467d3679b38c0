"""Structs as user functions see them, tuples with names; and records of one class as a table of Arrow."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import asdict, fields
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

_TYPES = {"int": pa.int64(), "str": pa.string(), "bool": pa.bool_(), "float": pa.float64()}


class Record(tuple[Any, ...]):
    """A struct: ``value[0]``, ``value.f0`` and ``value["f0"]`` are the same field.

    It is equal to a tuple of its fields, and ``_replace(f0=1)`` makes a changed one. If the name of
    a field is not a Python name, or begins with ``_``, its attribute is ``_0`` and so on.
    """

    __slots__ = ()
    _names: ClassVar[tuple[str, ...]] = ()
    _places: ClassVar[dict[str, int]] = {}

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, str):
            if place not in self._places:
                raise KeyError(f"no field {place!r}; there are: {', '.join(self._names)}")
            place = self._places[place]
        return tuple.__getitem__(self, place)

    def __reduce__(self) -> Any:
        return _restored, (self._names, tuple(self))


@lru_cache(maxsize=1024)
def record_class(names: tuple[str, ...]) -> type[Record]:
    """The class of records with these fields."""
    fields: Any = namedtuple("Row", names, rename=True)  # type: ignore[misc]  # names are data
    places = {name: place for place, name in enumerate(names)}
    return type("Row", (Record, fields), {"__slots__": (), "_names": names, "_places": places})


def record_maker(names: tuple[str, ...]) -> Callable[[Iterable[Any]], Any]:
    """Makes records from values, one per name."""
    # Like ``_make``, without its slow check of the number of values.
    return partial(tuple.__new__, record_class(names))


def _restored(names: tuple[str, ...], values: tuple[Any, ...]) -> Record:
    return record_class(names)(*values)


def record_table(
    kind: type, records: Sequence[Any], others: Mapping[str, pa.DataType] | None = None
) -> pa.Table:
    """A row per record, a column per field of the dataclass ``kind``: a number, a text, a boolean or None.

    ``others`` has the types of other fields, by their type in Python.
    """
    schema = pa.schema(list(record_type(kind, others or {})))
    return pa.Table.from_pylist([asdict(record) for record in records], schema)


def record_type(kind: type, others: Mapping[str, pa.DataType]) -> pa.StructType:
    """Records of a dataclass as a struct."""
    types = _TYPES | dict(others)
    names = {field.name: str(field.type).removesuffix(" | None") for field in fields(kind)}
    return pa.struct({name: types[type_] for name, type_ in names.items()})
