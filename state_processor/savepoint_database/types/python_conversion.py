"""Conversions between Arrow and the Python values that user functions take and give.

| Arrow                          | taken by a function     | given by a function          |
|--------------------------------|-------------------------|------------------------------|
| struct                         | ``Record``: a tuple     | dict, tuple or ``Row``; see  |
|                                | with names              | ``named_fields``             |
| map with plain keys            | dict                    | dict, or pairs               |
| map with other keys            | list of pairs           | the same                     |
| list                           | list                    | list, tuple or set           |
| map state                      | list of pairs           |                              |
| precise time                   | datetime; pandas'       | those, a number of           |
|                                | ``Timestamp`` if it has | nanoseconds, or the dict     |
|                                | nanoseconds; a dict of  |                              |
|                                | seconds and nanos       |                              |
|                                | beyond both             |                              |
| others                         | as in ``to_pylist``     | any value that pyarrow takes |
"""

from __future__ import annotations

import operator
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from savepoint_database.types.named_fields import fields_of
from savepoint_database.types.records import record_class, record_maker
from savepoint_formats.errors import FunctionResultError
from savepoint_formats.layout import MapOf
from savepoint_formats.state_files import StateKind
from savepoint_formats.values import (
    NANOS,
    NANOS_PER_SECOND,
    SECONDS,
    from_timestamp,
    is_precise,
    plain_values,
    to_precise,
    to_timestamp,
    values_with,
    zone_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from savepoint_database.types.records import Record
    from savepoint_formats.state_files import State
    from savepoint_formats.tables import Table

    Convert = Callable[[Any], Any]

BATCH_ROWS = 10_000

_ENTRY = ("key", "value")

_MAX_NANO_SECONDS = (1 << 63) // NANOS_PER_SECOND


class Place(NamedTuple):
    """Key and window of a call of a function."""

    key: Any
    window: Any = None

    def __str__(self) -> str:
        window = "" if self.window is None else f", {self.window}"
        return f"key {self.key!r}{window}"


def python_values(array: pa.Array) -> list[Any]:
    """Values for a function."""
    convert = taken(array.type)
    values = _plain(array)
    return values if convert is None else [_if_any(convert, value) for value in values]


def map_entries(array: pa.Array) -> list[Any]:
    """Values of a map state, each a list of pairs.

    A map that can have a null key is a list of structs in Arrow.
    """
    if pa.types.is_map(array.type):
        keys, items = taken(array.type.key_type), taken(array.type.item_type)
    else:
        keys, items = (taken(field.type) for field in array.type.value_type)
    lists = _plain(array)
    if not pa.types.is_map(array.type):
        lists = [entries and [tuple(entry.values()) for entry in entries] for entries in lists]
    if keys is None and items is None:
        return list(lists)
    return [entries and _pairs(entries, keys, items) for entries in lists]


def state_values(table: Table, batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    """State -> value, for each row of a batch; columns go by position."""
    first = len(table.columns) - len(table.states)
    columns = [
        map_entries(batch.column(index)) if is_map(state) else python_values(batch.column(index))
        for index, state in enumerate(table.states, start=first)
    ]
    names = [state.name for state in table.states]
    # One dict at a time: millions would keep the garbage collector busy.
    return (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))


def is_map(state: State) -> bool:
    """Whether the values of a state are maps, and not bytes without a known layout."""
    return state.kind is StateKind.MAP and isinstance(state.stored, MapOf)


def taken(data_type: pa.DataType) -> Convert | None:
    """Converts a value of ``to_pylist`` for a function; None if it stays the same."""
    if is_precise(data_type):
        return partial(_taken_time, zone=zone_of(data_type))
    if pa.types.is_map(data_type):
        keys, items = taken(data_type.key_type), taken(data_type.item_type)
        if pa.types.is_nested(data_type.key_type) and not is_precise(data_type.key_type):
            return lambda value: _pairs(value, keys, items)
        return lambda value: dict(_pairs(value, keys, items))
    if pa.types.is_list(data_type):
        element = taken(data_type.value_type)
        return element and (lambda value: [_if_any(element, item) for item in value])
    if pa.types.is_struct(data_type):
        make = record_maker(tuple(field.name for field in data_type))
        fields = [taken(field.type) for field in data_type]
        if not any(fields):
            return lambda value: make(value.values())
        return lambda value: make(map(_if_any, fields, value.values()))
    return None


def shaped(data_type: pa.DataType) -> Convert | None:
    """Converts a value that a function gives to the form that it takes; None if it stays the same.

    The conversion raises ``TypeError`` or ``ValueError`` if a struct has other fields.
    """
    if is_precise(data_type):
        return None
    if pa.types.is_map(data_type):
        keys, items = shaped(data_type.key_type), shaped(data_type.item_type)
        return (keys or items) and (lambda value: _shaped_map(value, keys, items))
    if pa.types.is_list(data_type):
        element = shaped(data_type.value_type)
        return element and (lambda value: [_if_any(element, item) for item in value])
    if pa.types.is_struct(data_type):
        names = tuple(field.name for field in data_type)
        fields, kind = [shaped(field.type) for field in data_type], record_class(names)
        if any(fields):
            return lambda value: _shaped_struct(value, kind, fields)
        # The most frequent form comes first: each update of a value that is a struct is a call.
        return lambda value: (
            tuple.__new__(kind, value)
            if type(value) is tuple and len(value) == len(names)
            else _shaped_struct(value, kind)
        )
    return None


def in_one_form(
    function: Callable[..., Any], data_type: pa.DataType, name: str
) -> Callable[..., Any]:
    """A function whose results have the form in which functions take values of this type.

    ``name`` names them in messages. A result that doesn't fit raises ``FunctionResultError``.
    """
    shape = shaped(data_type)
    if shape is None:
        return function

    def in_one_form(*values: Any) -> Any:
        result = function(*values)
        try:
            return None if result is None else shape(result)
        except (TypeError, ValueError) as error:
            raise FunctionResultError(f"a function gave {result!r} as {name}: {error}") from error

    return in_one_form


def _shaped_map(value: Any, keys: Convert | None, items: Convert | None) -> Any:
    if not isinstance(value, dict):
        return _pairs(value, keys, items)
    return dict(_pairs(value.items(), keys, items))


def _shaped_struct(value: Any, kind: type[Record], fields: Sequence[Convert | None] = ()) -> Any:
    if type(value) is not kind:
        value = kind(*fields_of(value, kind._names))
    return kind(*map(_if_any, fields, value)) if fields else value


def _plain(array: pa.Array) -> list[Any]:
    """Values of ``to_pylist``; precise times as dicts of integers, because Python can't hold all."""
    return values_with(array, _precise_parts) if _has_precise(array.type) else array.to_pylist()


def _precise_parts(array: pa.Array) -> list[Any] | None:
    return plain_values(array) if is_precise(array.type) else None


def _has_precise(data_type: pa.DataType) -> bool:
    if is_precise(data_type):
        return True
    inner = (data_type.field(index).type for index in range(data_type.num_fields))
    return any(map(_has_precise, inner))


def _taken_time(value: dict[str, Any], *, zone: str | None) -> Any:
    """The time in Python's plainest form that has all its digits."""
    seconds, nanos = from_timestamp(value[SECONDS], "s"), value[NANOS]
    micros, rest = divmod(nanos, 1_000)
    if not rest:
        moment = to_timestamp(seconds * 1_000_000 + micros, "us", is_utc=zone is not None)
        if isinstance(moment, datetime):
            return moment
    elif abs(seconds) < _MAX_NANO_SECONDS:
        count = seconds * NANOS_PER_SECOND + nanos
        return pa.scalar(count, pa.timestamp("ns", zone)).as_py()
    return {SECONDS: seconds, NANOS: nanos}


def _given_time(value: Any) -> Any:
    if value is None:
        return None
    return to_precise(from_timestamp(value, "ns"))


def _pairs(
    value: Iterable[tuple[Any, Any]], keys: Convert | None, items: Convert | None
) -> list[tuple[Any, Any]]:
    return [(_if_any(keys, key), _if_any(items, item)) for key, item in map(_pair, value)]


def _pair(entry: Any) -> Sequence[Any]:
    return entry if type(entry) is tuple else fields_of(entry, _ENTRY)


def _if_any(convert: Convert | None, value: Any) -> Any:
    return value if convert is None or value is None else convert(value)


class OutputRows:
    """Makes batches of a function's rows, or of its state.

    ``function`` names it in messages, and ``what`` says what each column is.
    """

    def __init__(self, schema: pa.Schema, function: str, what: str = "column") -> None:
        self._schema = schema
        self._names = tuple(schema.names)
        self._function = function
        self._what = what
        self._converts = [given(field.type) for field in schema]

    def batches(self, rows: Iterable[tuple[object, Any]]) -> Iterator[pa.RecordBatch]:
        """Batches of rows, each with its place, whose text names the key; ``FunctionResultError`` if one does not fit."""
        places: list[object] = []
        whole: list[Sequence[Any]] = []
        width = len(self._schema)
        for place, row in rows:
            if type(row) is tuple and len(row) == width:
                whole.append(row)
            else:
                whole.append(self._values(place, row))
            places.append(place)
            if len(places) == BATCH_ROWS:
                yield self.batch(places, zip(*whole, strict=True))
                places, whole = [], []
        if places:
            yield self.batch(places, zip(*whole, strict=True))

    def batch(self, places: Sequence[object], columns: Iterable[Sequence[Any]]) -> pa.RecordBatch:
        """A batch of columns; raises as ``batches`` does."""
        arrays = [
            self._column(field, convert, values, places)
            for field, convert, values in zip(self._schema, self._converts, columns, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _values(self, place: object, row: Any) -> Sequence[Any]:
        try:
            return fields_of(row, self._names)
        except (TypeError, ValueError) as error:
            raise FunctionResultError(
                f"{self._function} gave a row for {place} that does not fit: {error}"
            ) from error

    def _column(
        self, field: pa.Field, convert: Convert, values: Sequence[Any], places: Sequence[object]
    ) -> pa.Array:
        types = set(map(type, values))
        is_plain = (
            convert is _same or types <= _NOTHING or (convert is _integer and types <= _INTEGERS)
        )
        try:
            array = pa.array(values if is_plain else list(map(convert, values)), field.type)
        except (TypeError, ValueError, OverflowError, AttributeError):
            self._check_each(field, convert, values, places)
            raise
        if array.null_count and not field.nullable:
            place = places[array.is_null().to_pylist().index(True)]
            raise FunctionResultError(
                f"{self._function} gave null for {place} in {self._what} {field.name!r}, which is not"
                " nullable"
            )
        return array

    def _check_each(
        self, field: pa.Field, convert: Convert, values: Sequence[Any], places: Sequence[object]
    ) -> None:
        """Raises the error of the first value that does not fit, with its key."""
        for value, place in zip(values, places, strict=True):
            try:
                pa.array([convert(value)], field.type)
            except (TypeError, ValueError, OverflowError, AttributeError) as error:
                raise FunctionResultError(
                    f"{self._function} gave {value!r} for {place} in {self._what} {field.name!r}, which"
                    f" is {field.type}: {error}"
                ) from error


def given(data_type: pa.DataType) -> Convert:
    """Converts a function's value to one that pyarrow accepts for the type."""
    if pa.types.is_integer(data_type):
        return _integer
    if is_precise(data_type):
        return _given_time
    if pa.types.is_map(data_type):
        keys, items = given(data_type.key_type), given(data_type.item_type)
        return lambda value: _given_map(value, keys, items)
    if pa.types.is_list(data_type):
        element = given(data_type.value_type)
        return lambda value: _given_list(value, element)
    if pa.types.is_struct(data_type):
        fields = {field.name: given(field.type) for field in data_type}
        return partial(_given_struct, names=tuple(fields), converts=tuple(fields.values()))
    return _same


def _same(value: Any) -> Any:
    return value


_NOTHING = {type(None)}
_INTEGERS = {int, type(None)}


def _integer(value: Any) -> Any:
    """The value; pyarrow would cut off the fraction of a float."""
    return None if value is None else operator.index(value)


def _given_list(value: Any, element: Convert) -> Any:
    if isinstance(value, str | bytes | dict):
        raise TypeError(f"a {type(value).__name__} is not a list")
    return None if value is None else [element(item) for item in value]


def _given_map(value: Any, keys: Convert, items: Convert) -> Any:
    if value is None:
        return None
    pairs = value.items() if isinstance(value, dict) else value
    return [(keys(key), items(item)) for key, item in map(_pair, pairs)]


def _given_struct(value: Any, names: tuple[str, ...], converts: tuple[Convert, ...]) -> Any:
    if value is None:
        return None
    fields = fields_of(value, names)
    return {
        name: convert(field) for name, convert, field in zip(names, converts, fields, strict=True)
    }
