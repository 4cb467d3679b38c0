"""Structs as user functions see them: rows, tuples of Flink and POJOs are tuples with names."""

from __future__ import annotations

from collections import namedtuple
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


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
