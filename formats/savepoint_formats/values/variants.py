"""VARIANT: values that carry their types; any of JSON, and some more.

The metadata has the names of all fields; the value refers to them by number. All numbers are little
endian. An offset has ``o`` bytes, 1 to 4.

| bytes   | metadata                                                                     |
|---------|------------------------------------------------------------------------------|
| u8      | version, 1, in bits 0-3; whether names are sorted in bit 4; o - 1 in bits 6-7 |
| o       | n, number of names                                                           |
| o n+1   | start of each name, and end of the last one                                  |
|         | the names, UTF-8                                                             |

| bits 0-1 | bits 2-7                            | value behind that byte                      |
|----------|-------------------------------------|---------------------------------------------|
| 0        | type                                | of ``_PRIMITIVES``                          |
| 1        | size                                | a text                                      |
| 2        | o - 1, size of names' numbers - 1,  | n in 1 byte or, if it is large, 4; n names' |
|          | is large: 2, 2 and 1 bits           | numbers, n + 1 offsets, the values          |
| 3        | o - 1, is large: 2 and 1 bits       | n likewise, n + 1 offsets, the values       |

A value that refers to another one twice is damaged. So the JSON never has more values than the bytes.

Flink: ``BinaryVariant``. Format: the VARIANT encoding of Parquet and Spark, version 1.
"""

from __future__ import annotations

import base64
import itertools
import json
import math
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from savepoint_formats.bytes.data_view import DataInputView
from savepoint_formats.errors import UndecodableError
from savepoint_formats.values.kinds import times, unbounded
from savepoint_formats.values.kinds.codec import MAX_DEPTH, NullError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from savepoint_formats.bytes.data_view import DataOutputView
    from savepoint_formats.layout import Variant
    from savepoint_formats.values.kinds.codec import Value

MAX_JSON_SIZE = 64 << 20
"""Limit of the characters of a value; each object repeats its names."""

_NOT_FINITE = {"nan": '"NaN"', "inf": '"Infinity"', "-inf": '"-Infinity"'}
_VERSION = 1
_PRIMITIVE, _SHORT_TEXT, _OBJECT, _ARRAY = range(4)
_LARGE_COUNT = 4


def read_variant(layout: Variant, view: DataInputView) -> dict[str, Value]:
    """The value as JSON, and the bytes that it is written from.

    Raises:
        FormatError: The bytes are no VARIANT.
        UndecodableError: Its JSON would be too long, or nest too deep.
    """
    if layout.in_row:
        metadata, value = view.read_bytes(view.read_count()), view.read_rest()
    else:
        value_size, metadata_size = view.read_int(), view.read_int()
        value, metadata = view.read_bytes(value_size), view.read_bytes(metadata_size)
    shown = variant_json(metadata, value, f"{view.path}, a VARIANT")
    return {"json": shown, "metadata": metadata, "value": value}


def write_variant(layout: Variant, given: dict[str, Value], view: DataOutputView) -> None:
    """The mirror of ``read_variant``: writes the bytes; ``json`` must agree with them."""
    metadata, value = given["metadata"], given["value"]
    if metadata is None or value is None:
        raise NullError("null, which metadata and value of a VARIANT cannot be")
    if given["json"] is not None and given["json"] != variant_json(metadata, value, "a VARIANT"):
        raise ValueError("a VARIANT whose json is not its value: it is written from the bytes")
    if not layout.in_row:
        view.write_int(len(value))
    view.write_int(len(metadata))
    for data in (metadata, value) if layout.in_row else (value, metadata):
        view.write_bytes(data)


def variant_json(metadata: bytes, value: bytes, path: str) -> str:
    """A VARIANT as JSON: times, NaN and infinity as texts, bytes in base64.

    Errors name the ``path``.
    """
    names = tuple(_names(DataInputView(metadata, path)))
    texts: list[str] = []
    size = 0
    for text in _Value(DataInputView(value, path), names, _Left(len(value), len(value))).json(0):
        texts.append(text)
        size += len(text)
        if size > MAX_JSON_SIZE:
            message = f"a VARIANT whose JSON has more than {MAX_JSON_SIZE:,} characters"
            raise UndecodableError(message, path, 0)
    return "".join(texts)


def _names(view: DataInputView) -> Iterator[str]:
    header = view.read_unsigned_byte()
    if header & 0x0F != _VERSION:
        raise view.error(f"a VARIANT of version {header & 0x0F}, expected {_VERSION}")
    size = (header >> 6) + 1
    offsets = _offsets(view, _number(view, size), size)
    start = view.position
    for begin, end in itertools.pairwise(offsets):
        yield _text(_range(view, start, begin, end))


def _number(view: DataInputView, size: int) -> int:
    return int.from_bytes(view.read_bytes(size), "little")


def _offsets(view: DataInputView, count: int, size: int) -> list[int]:
    """Offsets of all elements, and of the end."""
    if (count + 1) * size > view.remaining:
        raise view.error(f"a VARIANT with {count} elements, with {view.remaining} bytes left")
    return [_number(view, size) for _ in range(count + 1)]


def _range(view: DataInputView, start: int, begin: int, end: int) -> DataInputView:
    if not 0 <= begin <= end <= view.end - start:
        raise view.error(f"a part of a VARIANT from {begin} to {end} of {view.end - start} bytes")
    view.position = start + begin
    return view.read_view(end - begin)


def _text(view: DataInputView) -> str:
    try:
        return view.read_rest().decode()
    except UnicodeDecodeError as error:
        raise view.error("a text of a VARIANT that is not UTF-8") from error


@dataclass(slots=True)
class _Left:
    """The values and bytes that are not used yet."""

    values: int
    size: int


@dataclass(frozen=True, slots=True)
class _Value:
    """A value at the position of its view; the view may end behind it."""

    view: DataInputView
    names: tuple[str, ...]
    left: _Left

    def json(self, depth: int) -> Iterator[str]:
        """Its JSON, bit by bit."""
        if depth >= MAX_DEPTH:
            message = f"a VARIANT nested deeper than {MAX_DEPTH} levels"
            raise self.view.error(message, UndecodableError)
        self.left.values -= 1
        start = self.view.position
        header = self.view.read_unsigned_byte()
        kind, detail = header & 3, header >> 2
        if kind == _OBJECT:
            yield from self._object(detail, depth)
            return
        if kind == _ARRAY:
            yield from self._array(detail, depth)
            return
        text = self._short_text(detail) if kind == _SHORT_TEXT else self._primitive(detail)
        self._take(self.view.position - start)
        yield text

    def _take(self, size: int) -> None:
        self.left.size -= size
        if self.left.values < 0 or self.left.size < 0:
            raise self.view.error("a VARIANT whose values share bytes")

    def _short_text(self, size: int) -> str:
        return _quoted(_text(self.view.read_view(size)))

    def _primitive(self, number: int) -> str:
        if number not in _PRIMITIVES:
            raise self.view.error(f"a VARIANT of type {number}, which is not known")
        return _PRIMITIVES[number](self.view)

    def _object(self, detail: int, depth: int) -> Iterator[str]:
        count = _number(self.view, _LARGE_COUNT if detail & 16 else 1)
        size = (detail >> 2 & 3) + 1
        if count * size > self.view.remaining:
            raise self.view.error(f"an object of {count} fields, which its bytes do not hold")
        numbers = [_number(self.view, size) for _ in range(count)]
        if any(number >= len(self.names) for number in numbers):
            raise self.view.error(f"a field without a name: there are {len(self.names)} names")
        yield "{"
        elements = self._elements(count, (detail & 3) + 1)
        for index, (number, element) in enumerate(zip(numbers, elements, strict=True)):
            yield f"{',' if index else ''}{_quoted(self.names[number])}:"
            yield from element.json(depth + 1)
        yield "}"

    def _array(self, detail: int, depth: int) -> Iterator[str]:
        count = _number(self.view, _LARGE_COUNT if detail & 4 else 1)
        yield "["
        for index, element in enumerate(self._elements(count, (detail & 3) + 1)):
            if index:
                yield ","
            yield from element.json(depth + 1)
        yield "]"

    def _elements(self, count: int, size: int) -> Iterator[_Value]:
        """The values behind a list of offsets, which may be unordered in objects."""
        *offsets, end = _offsets(self.view, count, size)
        self._take((count + 1) * size)
        start = self.view.position
        for offset in offsets:
            yield _Value(_range(self.view, start, offset, end), self.names, self.left)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _signed(view: DataInputView, size: int) -> int:
    return int.from_bytes(view.read_bytes(size), "little", signed=True)


def _double(view: DataInputView) -> str:
    (number,) = struct.unpack("<d", view.read_bytes(8))
    return repr(number) if math.isfinite(number) else _NOT_FINITE[str(number)]


def _single(view: DataInputView) -> str:
    """A float with the fewest digits that tell it from other floats."""
    (number,) = struct.unpack("<f", view.read_bytes(4))
    if not math.isfinite(number):
        return _NOT_FINITE[str(number)]
    digits = (f"{number:.{count}g}" for count in range(1, 10))
    return next(
        text for text in digits if struct.pack("<f", float(text)) == struct.pack("<f", number)
    )


def _decimal(size: int) -> Callable[[DataInputView], str]:
    def read(view: DataInputView) -> str:
        scale = view.read_unsigned_byte()
        if scale > 38:  # digits
            raise view.error(f"a decimal of scale {scale}, expected 38 at most")
        return f"{unbounded.decimal(_signed(view, size), scale):f}"

    return read


def _moment(per_second: int, zone: str) -> Callable[[DataInputView], str]:
    digits = len(str(per_second)) - 1

    def read(view: DataInputView) -> str:
        seconds, rest = divmod(_signed(view, 8), per_second)
        days, second = divmod(seconds, times.SECONDS_PER_DAY)
        clock = f"{times.clock_text(second)}.{rest:0{digits}}"
        return _quoted(f"{_day(days)}T{clock}{zone}")

    return read


def _clock(view: DataInputView) -> str:
    micros = _signed(view, 8)
    if not 0 <= micros < 86_400_000_000:
        raise view.error(f"{micros} microseconds are no time of a day")
    second, rest = divmod(micros, 1_000_000)
    return _quoted(f"{times.clock_text(second)}.{rest:06}")


def _day(days: int) -> str:
    return times.date_text(*times.date_from_days(days))


def _sized(view: DataInputView) -> DataInputView:
    return view.read_view(_number(view, 4))


_PRIMITIVES: dict[int, Callable[[DataInputView], str]] = {
    0: lambda _view: "null",
    1: lambda _view: "true",
    2: lambda _view: "false",
    3: lambda view: str(_signed(view, 1)),
    4: lambda view: str(_signed(view, 2)),
    5: lambda view: str(_signed(view, 4)),
    6: lambda view: str(_signed(view, 8)),
    7: _double,
    8: _decimal(4),
    9: _decimal(8),
    10: _decimal(16),
    11: lambda view: _quoted(_day(_signed(view, 4))),
    12: _moment(1_000_000, "+00:00"),
    13: _moment(1_000_000, ""),
    14: _single,
    15: lambda view: _quoted(base64.b64encode(_sized(view).read_rest()).decode()),
    16: lambda view: _quoted(_text(_sized(view))),
    17: _clock,
    18: _moment(1_000_000_000, "+00:00"),
    19: _moment(1_000_000_000, ""),
    20: lambda view: _quoted(str(UUID(bytes=view.read_bytes(16)))),
}
