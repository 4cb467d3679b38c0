"""Values that consist of one thing: numbers, texts, bytes. Times are in ``moments``.

A value is what ``to_pylist`` gives for the layout's Arrow type. A pair of functions reads and
writes it; ``SCALARS`` has the pair of each layout that needs no parameters.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.data_view import DataInputView, DataOutputView, utf16_units
from savepoint_formats.errors import ValueOutOfRangeError
from savepoint_formats.values.kinds import moments, unbounded
from savepoint_formats.values.kinds.codec import NullError, ScalarCodec, fitting
from savepoint_formats.values.kinds.texts import column_text, utf8_text, written_text

if TYPE_CHECKING:
    from collections.abc import Callable
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
    def write_checked(value: Value, view: DataOutputView) -> None:
        write(view, fitting(value, bits))

    return ScalarCodec(read, write_checked)


def canonical(value: float) -> float:
    """The number; Java knows a single NaN when it writes."""
    return _NAN if math.isnan(value) else value


def _write_bool(value: bool, view: DataOutputView) -> None:
    view.write_bool(value)


def _write_float(value: float, view: DataOutputView) -> None:
    try:
        view.write_float(canonical(value))
    except OverflowError as error:
        raise ValueError(f"{value} does not fit into a float") from error


def _write_double(value: float, view: DataOutputView) -> None:
    view.write_double(canonical(value))


def read_big_integer(view: DataInputView) -> int | None:
    """A ``BigInteger`` as a number."""
    code = view.read_int()
    if code == 0:
        return None
    if code in _BIG_CONSTANTS:
        return _BIG_CONSTANTS[code]
    if code <= _BIG_SIZE_OFFSET:
        view.position -= 4
        raise view.error(f"a number with the size code {code}")
    return unbounded.from_twos_complement(view.read_bytes(code - _BIG_SIZE_OFFSET))


def write_big_integer(number: int, view: DataOutputView) -> None:
    """The mirror of ``read_big_integer``, with the constants as ``BigInteger.valueOf`` has them."""
    if number in _BIG_CONSTANT_CODES:
        view.write_int(_BIG_CONSTANT_CODES[number])
        return
    data = unbounded.twos_complement(number)
    view.write_int(len(data) + _BIG_SIZE_OFFSET)
    view.write_bytes(data)


def _read_big_integer_text(view: DataInputView) -> str | None:
    number = read_big_integer(view)
    return None if number is None else unbounded.integer_text(number)


def _write_big_integer_text(value: str | int | None, view: DataOutputView) -> None:
    if value is None:
        view.write_int(0)
    else:
        write_big_integer(unbounded.from_integer_text(value), view)


def _read_big_decimal(view: DataInputView) -> str | None:
    unscaled = read_big_integer(view)
    return None if unscaled is None else unbounded.decimal_text(unscaled, view.read_int())


def _write_big_decimal(value: Decimal | str | int | None, view: DataOutputView) -> None:
    if value is None:
        view.write_int(0)
        return
    unscaled, scale = unbounded.unscaled_and_scale(value)
    write_big_integer(unscaled, view)
    view.write_int(fitting(scale, 32))


def read_decimal_data(layout: layouts.DecimalData, view: DataInputView) -> Decimal:
    """A decimal of SQL."""
    start = view.position
    if layout.precision <= _MAX_LONG_DIGITS:
        unscaled = view.read_long()
    else:
        unscaled = unbounded.from_twos_complement(view.read_bytes(view.read_count()))
    if abs(unscaled) >= 10**layout.precision:
        view.position = start
        raise view.error(f"a decimal of more than {layout.precision} digits", ValueOutOfRangeError)
    return unbounded.decimal(unscaled, layout.scale)


def write_decimal_data(layout: layouts.DecimalData, value: Value, view: DataOutputView) -> None:
    """The mirror of ``read_decimal_data``."""
    unscaled = unscaled_at(value, layout.precision, layout.scale)
    if layout.precision <= _MAX_LONG_DIGITS:
        view.write_long(unscaled)
    else:
        _write_bytes(unbounded.twos_complement(unscaled), view)


def unscaled_at(value: Decimal | str | int, precision: int, scale: int) -> int:
    """The digits of a decimal, as a number, at the scale of its type.

    Raises:
        ValueError: It has more digits than the type, before or after the point.
    """
    unscaled, own_scale = unbounded.unscaled_and_scale(value)
    shift = scale - own_scale if unscaled else 0
    if -_MAX_DIGITS_TO_DROP <= shift <= precision:
        digits, rest = divmod(unscaled * _power_of_ten(shift), _power_of_ten(-shift))
        if not rest and abs(digits) < 10**precision:
            return digits
    raise ValueError(f"{value} does not fit into DECIMAL({precision}, {scale})")


def _power_of_ten(exponent: int) -> int:
    return int(10**exponent) if exponent > 0 else 1


# --- texts ------------------------------------------------------------------------------------


def _read_char(view: DataInputView) -> str:
    return column_text(chr(view.read_unsigned_short()))


def _write_char(value: str, view: DataOutputView) -> None:
    units = utf16_units(written_text(value))
    if len(units) != 1:
        raise ValueError(f"{value!r} is no single UTF-16 unit")
    view.write_unsigned_short(units[0])


def _read_text(view: DataInputView) -> str | None:
    text = view.read_string_value()
    return None if text is None else column_text(text)


def _write_text(value: str | None, view: DataOutputView) -> None:
    view.write_string_value(None if value is None else written_text(value))


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


def _read_java_utf(view: DataInputView) -> str:
    return column_text(view.read_utf())


def _write_java_utf(value: str, view: DataOutputView) -> None:
    view.write_utf(written_text(value))


def _read_utf8(view: DataInputView) -> str:
    return utf8_text(view.read_view(view.read_count()))


def _write_utf8(value: str, view: DataOutputView) -> None:
    _write_bytes(value.encode("utf-8"), view)


# --- bytes ------------------------------------------------------------------------------------


def _read_bytes(view: DataInputView) -> bytes:
    return view.read_bytes(view.read_count())


def _write_bytes(value: bytes, view: DataOutputView) -> None:
    view.write_int(len(value))
    view.write_bytes(value)


def read_fixed_bytes(layout: layouts.FixedBytes, view: DataInputView) -> bytes:
    """As many bytes as the layout says."""
    return view.read_bytes(layout.size)


def write_fixed_bytes(layout: layouts.FixedBytes, value: bytes, view: DataOutputView) -> None:
    """The mirror of ``read_fixed_bytes``."""
    if len(value) != layout.size:
        raise ValueError(f"{len(value)} bytes, expected {layout.size}")
    view.write_bytes(value)


def read_marker(layout: layouts.Marker, view: DataInputView) -> None:
    """A value without content."""
    if layout.value is not None and view.read_unsigned_byte() != layout.value:
        view.position -= 1
        byte = view.buffer[view.position]
        raise view.error(f"a byte of {byte}, expected {layout.value}")


def write_marker(layout: layouts.Marker, value: None, view: DataOutputView) -> None:
    """The mirror of ``read_marker``."""
    if value is not None:
        raise ValueError(f"{value!r} where nothing but null can be")
    if layout.value is not None:
        view.write_byte(layout.value)


def _read_void_namespace(view: DataInputView) -> None:
    read_marker(layouts.Marker(0), view)


def _write_void_namespace(value: None, view: DataOutputView) -> None:
    write_marker(layouts.Marker(0), value, view)


def _read_null_count(view: DataInputView) -> int:
    count = view.read_int()
    if count < 0:
        view.position -= 4
        raise view.error(f"a count of {count} nulls")
    return count


def read_enum(layout: layouts.Enum, view: DataInputView) -> str:
    """The name of a constant."""
    number = view.read_int()
    try:
        position = layout.numbers.index(number) if layout.numbers else number
        if position >= 0:
            return layout.constants[position]
    except (ValueError, IndexError):
        pass
    view.position -= 4
    raise view.error(f"constant {number} of {layout.class_name}, which has no such")


def write_enum(layout: layouts.Enum, value: str, view: DataOutputView) -> None:
    """The mirror of ``read_enum``."""
    if value not in layout.constants:
        raise ValueError(f"{layout.class_name} has no {value!r}, but {', '.join(layout.constants)}")
    position = layout.constants.index(value)
    view.write_int(layout.numbers[position] if layout.numbers else position)


SCALARS: dict[type[layouts.Layout], ScalarCodec] = {
    **moments.SCALARS,
    layouts.Boolean: ScalarCodec(DataInputView.read_bool, _write_bool),
    layouts.Byte: _integer(DataInputView.read_byte, DataOutputView.write_byte, 8),
    layouts.Short: _integer(DataInputView.read_short, DataOutputView.write_short, 16),
    layouts.Int: _integer(DataInputView.read_int, DataOutputView.write_int, 32),
    layouts.Long: _integer(DataInputView.read_long, DataOutputView.write_long, 64),
    layouts.Float: ScalarCodec(DataInputView.read_float, _write_float),
    layouts.Double: ScalarCodec(DataInputView.read_double, _write_double),
    layouts.Char: ScalarCodec(_read_char, _write_char),
    layouts.BigInteger: ScalarCodec(_read_big_integer_text, _write_big_integer_text, True),
    layouts.BigDecimal: ScalarCodec(_read_big_decimal, _write_big_decimal, True),
    layouts.Text: ScalarCodec(_read_text, _write_text, True),
    layouts.MutableText: ScalarCodec(_read_mutable_text, _write_mutable_text),
    layouts.PackedTexts: ScalarCodec(_read_packed_texts, _write_packed_texts),
    layouts.JavaUtf: ScalarCodec(_read_java_utf, _write_java_utf),
    layouts.Utf8: ScalarCodec(_read_utf8, _write_utf8),
    layouts.Bytes: ScalarCodec(_read_bytes, _write_bytes),
    layouts.VoidNamespace: ScalarCodec(_read_void_namespace, _write_void_namespace, True),
    layouts.NullCount: _integer(_read_null_count, DataOutputView.write_int, 32),
}
