"""Numbers, texts and bytes: single values, each read and written by a pair of functions.

``SCALARS`` has the pair of each layout without parameters, ``SIZED`` that of layouts with parameters.
Times are in ``moments``.
"""

from __future__ import annotations

import math
from collections.abc import Callable  # noqa: TC003
from typing import TYPE_CHECKING, Any

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.data_view import DataInputView, DataOutputView, utf16_units
from savepoint_formats.errors import ValueOutOfRangeError
from savepoint_formats.values.kinds import moments, unbounded
from savepoint_formats.values.kinds.codec import NullError, ScalarCodec, fitting
from savepoint_formats.values.kinds.texts import column_text, utf8_text, written_text

if TYPE_CHECKING:
    from decimal import Decimal

    from savepoint_formats.values.kinds.codec import Value

# What BigIntSerializer writes for the constants of BigInteger; the size of others follows.
_BIG_CONSTANTS = {1: 0, 2: 1, 3: 10}
_BIG_CONSTANT_CODES = {value: code for code, value in _BIG_CONSTANTS.items()}
_BIG_SIZE_OFFSET = 4

_NAN = float("nan")
_MAX_LONG_DIGITS = 18
_MAX_DIGITS_TO_DROP = 1_000


# --- numbers ----------------------------------------------------------------------------------


def _integer(
    read: Callable[[DataInputView], int], write: Callable[[DataOutputView, int], None], bits: int
) -> ScalarCodec:
    return ScalarCodec(read, lambda value, view: write(view, fitting(value, bits)))


def canonical(value: float) -> float:
    """The number; Java writes a single NaN."""
    return _NAN if math.isnan(value) else value


def _write_float(value: float, view: DataOutputView) -> None:
    try:
        view.write_float(canonical(value))
    except OverflowError as error:
        raise ValueError(f"{value} does not fit into a float") from error


def _read_big_integer(view: DataInputView) -> int | None:
    code = view.read_int()
    if code == 0:
        return None
    if code in _BIG_CONSTANTS:
        return _BIG_CONSTANTS[code]
    if code <= _BIG_SIZE_OFFSET:
        view.position -= 4
        raise view.error(f"a number with the size code {code}")
    return unbounded.from_twos_complement(view.read_bytes(code - _BIG_SIZE_OFFSET))


def _write_big_integer(number: int | None, view: DataOutputView) -> None:
    """Writes the constants as ``BigInteger.valueOf`` has them."""
    if number is None:
        view.write_int(0)
    elif number in _BIG_CONSTANT_CODES:
        view.write_int(_BIG_CONSTANT_CODES[number])
    else:
        data = unbounded.twos_complement(number)
        view.write_int(len(data) + _BIG_SIZE_OFFSET)
        view.write_bytes(data)


def _read_big_integer_text(view: DataInputView) -> str | None:
    number = _read_big_integer(view)
    return None if number is None else unbounded.integer_text(number)


def _write_big_integer_text(value: str | int | None, view: DataOutputView) -> None:
    _write_big_integer(None if value is None else unbounded.from_integer_text(value), view)


def _read_big_decimal(view: DataInputView) -> str | None:
    unscaled = _read_big_integer(view)
    return None if unscaled is None else str(unbounded.decimal(unscaled, view.read_int()))


def _write_big_decimal(value: Decimal | str | int | None, view: DataOutputView) -> None:
    if value is None:
        view.write_int(0)
        return
    unscaled, scale = unbounded.unscaled_and_scale(value)
    _write_big_integer(unscaled, view)
    view.write_int(fitting(scale, 32))


def _read_decimal_data(layout: layouts.DecimalData, view: DataInputView) -> Decimal:
    start = view.position
    if layout.precision <= _MAX_LONG_DIGITS:
        unscaled = view.read_long()
    else:
        unscaled = unbounded.from_twos_complement(view.read_bytes(view.read_count()))
    if abs(unscaled) >= 10**layout.precision:
        view.position = start
        raise view.error(f"a decimal of more than {layout.precision} digits", ValueOutOfRangeError)
    return unbounded.decimal(unscaled, layout.scale)


def _write_decimal_data(layout: layouts.DecimalData, value: Value, view: DataOutputView) -> None:
    unscaled = unscaled_at(value, layout.precision, layout.scale)
    if layout.precision <= _MAX_LONG_DIGITS:
        view.write_long(unscaled)
    else:
        _write_bytes(unbounded.twos_complement(unscaled), view)


def unscaled_at(value: Decimal | str | int, precision: int, scale: int) -> int:
    """The digits of a decimal as a number; ``ValueError`` if the type has fewer digits."""
    unscaled, own_scale = unbounded.unscaled_and_scale(value)
    shift = scale - own_scale if unscaled else 0
    if -_MAX_DIGITS_TO_DROP <= shift <= precision:
        digits, rest = divmod(unscaled * 10 ** max(shift, 0), 10 ** max(-shift, 0))
        if not rest and abs(digits) < 10**precision:
            return int(digits)
    raise ValueError(f"{value} does not fit into DECIMAL({precision}, {scale})")


# --- texts ------------------------------------------------------------------------------------


def _write_char(value: str, view: DataOutputView) -> None:
    units = utf16_units(written_text(value))
    if len(units) != 1:
        raise ValueError(f"{value!r} is no single UTF-16 unit")
    view.write_unsigned_short(units[0])


def _read_text(view: DataInputView) -> str | None:
    text = view.read_string_value()
    return None if text is None else column_text(text)


def _read_mutable_text(view: DataInputView) -> str:
    return column_text(view.read_char_units(view.read_varint()))


def _write_mutable_text(value: str, view: DataOutputView) -> None:
    units = utf16_units(written_text(value))
    view.write_varint(len(units))
    for unit in units:
        view.write_varint(unit)


def _read_packed_texts(view: DataInputView) -> list[str]:
    count = view.read_int()
    content = view.read_view(view.read_int())
    if not 0 <= count <= content.remaining:
        raise content.error(f"a count of {count} texts in {content.remaining} bytes")
    texts = [_read_mutable_text(content) for _ in range(count)]
    content.expect_end()
    return texts


def _write_packed_texts(values: list[str | None], view: DataOutputView) -> None:
    content = DataOutputView()
    for value in values:
        if value is None:
            raise NullError("null, which an element of PackedTexts cannot be")
        _write_mutable_text(value, content)
    view.write_int(len(values))
    _write_bytes(content.to_bytes(), view)


# --- bytes ------------------------------------------------------------------------------------


def _write_bytes(value: bytes, view: DataOutputView) -> None:
    view.write_int(len(value))
    view.write_bytes(value)


def _write_fixed_bytes(layout: layouts.FixedBytes, value: bytes, view: DataOutputView) -> None:
    if len(value) != layout.size:
        raise ValueError(f"{len(value)} bytes, expected {layout.size}")
    view.write_bytes(value)


def _read_marker(layout: layouts.Marker, view: DataInputView) -> str | None:
    if layout.value is not None and view.read_unsigned_byte() != layout.value:
        view.position -= 1
        byte = view.buffer[view.position]
        raise view.error(f"a byte of {byte}, expected {layout.value}")
    return layout.text


def _write_marker(layout: layouts.Marker, value: str | None, view: DataOutputView) -> None:
    if value != layout.text:
        only = "null" if layout.text is None else repr(layout.text)
        raise ValueError(f"{value!r} where only {only} can be")
    if layout.value is not None:
        view.write_byte(layout.value)


def _read_null_count(view: DataInputView) -> int:
    count = view.read_int()
    if count < 0:
        view.position -= 4
        raise view.error(f"a count of {count} nulls")
    return count


def _read_enum(layout: layouts.Enum, view: DataInputView) -> str:
    number = view.read_int()
    try:
        position = layout.numbers.index(number) if layout.numbers else number
        if position >= 0:
            return layout.constants[position]
    except (ValueError, IndexError):
        pass
    view.position -= 4
    raise view.error(f"constant {number} of {layout.class_name}, which does not have it")


def _write_enum(layout: layouts.Enum, value: str, view: DataOutputView) -> None:
    if value not in layout.constants:
        raise ValueError(f"{layout.class_name} has no {value!r}, but {', '.join(layout.constants)}")
    position = layout.constants.index(value)
    view.write_int(layout.numbers[position] if layout.numbers else position)


_VOID = layouts.Marker(0)

SCALARS: dict[type[layouts.Layout], ScalarCodec] = {
    **moments.SCALARS,
    layouts.Boolean: ScalarCodec(
        DataInputView.read_bool, lambda value, view: view.write_bool(value)
    ),
    layouts.Byte: _integer(DataInputView.read_byte, DataOutputView.write_byte, 8),
    layouts.Short: _integer(DataInputView.read_short, DataOutputView.write_short, 16),
    layouts.Int: _integer(DataInputView.read_int, DataOutputView.write_int, 32),
    layouts.Long: _integer(DataInputView.read_long, DataOutputView.write_long, 64),
    layouts.Float: ScalarCodec(DataInputView.read_float, _write_float),
    layouts.Double: ScalarCodec(
        DataInputView.read_double, lambda value, view: view.write_double(canonical(value))
    ),
    layouts.Char: ScalarCodec(
        lambda view: column_text(chr(view.read_unsigned_short())), _write_char
    ),
    layouts.BigInteger: ScalarCodec(_read_big_integer_text, _write_big_integer_text, True),
    layouts.BigDecimal: ScalarCodec(_read_big_decimal, _write_big_decimal, True),
    layouts.Text: ScalarCodec(
        _read_text, lambda value, view: view.write_string_value(value and written_text(value)), True
    ),
    layouts.MutableText: ScalarCodec(_read_mutable_text, _write_mutable_text),
    layouts.PackedTexts: ScalarCodec(_read_packed_texts, _write_packed_texts),
    layouts.JavaUtf: ScalarCodec(
        lambda view: column_text(view.read_utf()),
        lambda value, view: view.write_utf(written_text(value)),
    ),
    layouts.Utf8: ScalarCodec(
        lambda view: utf8_text(view.read_view(view.read_count())),
        lambda value, view: _write_bytes(value.encode("utf-8"), view),
    ),
    layouts.Bytes: ScalarCodec(lambda view: view.read_bytes(view.read_count()), _write_bytes),
    layouts.VoidNamespace: ScalarCodec(
        lambda view: _read_marker(_VOID, view),
        lambda value, view: _write_marker(_VOID, value, view),
        True,
    ),
    layouts.NullCount: _integer(_read_null_count, DataOutputView.write_int, 32),
}

SIZED: dict[
    type[layouts.Layout],
    tuple[Callable[[Any, DataInputView], Value], Callable[[Any, Value, DataOutputView], None]],
] = {
    layouts.Enum: (_read_enum, _write_enum),
    layouts.Marker: (_read_marker, _write_marker),
    layouts.FixedBytes: (lambda layout, view: view.read_bytes(layout.size), _write_fixed_bytes),
    layouts.DecimalData: (_read_decimal_data, _write_decimal_data),
    layouts.TimestampData: (moments.read_timestamp_data, moments.write_timestamp_data),
}
