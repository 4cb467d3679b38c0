"""Values of flink-scala-api that have their own node.

A case class is a dict of its fields, with null for fields that its bytes do not have. A value of a
sealed trait is a dict in the form of ``pojo_columns``. A single value is its text:

| form           | bytes                                          | null            | text                       |
|----------------|------------------------------------------------|-----------------|----------------------------|
| Uuid           | i32 16, 16 bytes                               | -               | as ``toString``            |
| FiniteDuration | i64 length, i32 unit, 0 = nanoseconds to days  | -               | ``-8 minutes``             |
| Duration       | i8: -1 null, 0 a FiniteDuration, 1 to 3 others | i8 -1           | the same; ``Duration.Inf`` |
| ZoneOffset     | i32 seconds                                    | smallest i32    | ``+01:00``                 |
| OffsetDateTime | LocalDateTime, ZoneOffset                      | both are null   | as ``toString``            |
| ZonedDateTime  | LocalDateTime, text zone; no offset            | both are null   | ``2020-01-30T11:16:00      |
|                |                                                |                 | [Europe/Berlin]``          |

flink-scala-api: ``CaseClassSerializer``, ``CoproductSerializer``, ``DurationSerializer``,
``ZonedDateTimeSerializer`` and the others of ``org.apache.flinkx.api.serializer``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias
from uuid import UUID

from savepoint_formats.layout import (
    CaseClass,
    Coproduct,
    LocalDateTime,
    Marker,
    OfScala,
    ScalaValue,
)
from savepoint_formats.values.kinds import moments
from savepoint_formats.values.kinds.codec import NullError, ScalarCodec, fitting
from savepoint_formats.values.kryo.java_times import PACKAGE, TIMES, time_object
from savepoint_formats.values.kryo.objects import plain
from savepoint_formats.values.kryo.zoned_times import ZONED_TIMES
from savepoint_formats.values.pojo_fields import CLASS, class_fields, pojo_columns

if TYPE_CHECKING:
    from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
    from savepoint_formats.values.kinds.codec import Value
    from savepoint_formats.values.kryo.types import KryoType
    from savepoint_formats.values.value_writer import ValueWriter
    from savepoint_formats.values.values import ValueReader

ScalaLayout: TypeAlias = CaseClass | Coproduct | OfScala | ScalaValue
SCALA_LAYOUTS = (CaseClass, Coproduct, OfScala, ScalaValue)

NULL_INT = -(1 << 31)
NULL_BYTE = -(1 << 7)
_WITHOUT_ARITY = (
    "; flink-scala-api up to 1.1.4, and later with DISABLE_CASE_CLASS_ARITY_USAGE, writes no number"
    " of fields, and such values can't be read"
)


def read_scala(layout: ScalaLayout, reader: ValueReader) -> Value:
    """The next value."""
    match layout:
        case CaseClass(_, names, fields):
            arity = read_arity(layout, reader.view)
            if arity < 0:
                return None
            return dict.fromkeys(names) | reader.fields(names[:arity], fields[:arity])
        case Coproduct():
            return _read_coproduct(layout, reader)
        case OfScala(inner):
            return None if reads_null(layout, reader.view) else reader.read(inner)
        case ScalaValue(form):
            return _FORMS[form].read(reader.view)


def write_scala(layout: ScalaLayout, value: Value, writer: ValueWriter) -> None:
    """The mirror of ``read_scala``."""
    match layout:
        case CaseClass(_, names, fields, padding):
            writer.view.write_int(NULL_INT if value is None else len(fields))
            if value is None:
                writer.view.write_bytes(bytes(padding))
            else:
                writer.fields(names, fields, value)
        case Coproduct():
            _write_coproduct(layout, value, writer)
        case OfScala(inner, is_nullable):
            if value is None and is_nullable:
                writer.view.write_int(NULL_INT)
            else:
                writer.write(inner, value)
        case ScalaValue(form):
            if value is None and not is_nullable_form(layout):
                raise NullError(f"null, which {form} cannot be")
            _FORMS[form].write(value, writer.view)


def is_nullable_form(layout: ScalaValue) -> bool:
    """Whether null has bytes."""
    return _FORMS[layout.form].is_nullable


def read_arity(layout: CaseClass, view: DataInputView) -> int:
    """The number of fields that follow; with a null, which is below 0, its padding is read too."""
    arity = view.read_int()
    if arity == NULL_INT:
        view.read_bytes(layout.padding)
    if arity > len(layout.fields):
        view.position -= 4
        raise view.error(
            f"{arity} fields of {layout.class_name}, which has {len(layout.fields)}{_WITHOUT_ARITY}"
        )
    return max(arity, -1)


def read_subtype(layout: Coproduct, view: DataInputView) -> int | None:
    """The index of a subtype; None for null."""
    index = view.read_byte()
    if index == NULL_BYTE:
        return None
    if not 0 <= index < len(layout.fields):
        view.position -= 1
        raise view.error(f"subtype {index} of {len(layout.fields)}")
    return index


def reads_null(layout: OfScala, view: DataInputView) -> bool:
    """Whether a null is in the place of the next count, which stays unread."""
    is_null = layout.is_nullable and view.peek_int() == NULL_INT
    if is_null:
        view.read_int()
    return is_null


def _read_coproduct(layout: Coproduct, reader: ValueReader) -> dict[str, Value] | None:
    index = read_subtype(layout, reader.view)
    if index is None:
        return None
    name, field = layout.classes[index], layout.fields[index]
    columns = pojo_columns(layout)
    row: dict[str, Value] = dict.fromkeys([CLASS, *columns.layouts])
    row[CLASS] = name
    start, value = reader.view.position, reader.read(field)
    if isinstance(field, CaseClass):
        if value is None:
            reader.view.position = start
            raise reader.view.error(f"a null in the place of a {name}")
        values = list(value.values())
    else:
        values = [value for _ in class_fields(field)]
    return row | dict(zip(columns.of_class[name, field], values, strict=True))


def _write_coproduct(
    layout: Coproduct, value: dict[str, Value] | None, writer: ValueWriter
) -> None:
    if value is None:
        writer.view.write_byte(NULL_BYTE)
        return
    name = value[CLASS]
    if name not in layout.classes:
        raise ValueError(f"{name} is none of {', '.join(layout.classes)}")
    index = layout.classes.index(name)
    field = layout.fields[index]
    values = [value[column] for column in pojo_columns(layout).of_class[name, field]]
    writer.view.write_byte(index)
    if isinstance(field, CaseClass):
        writer.write(field, dict(zip(field.names, values, strict=True)))
    else:
        only = field.text if isinstance(field, Marker) else None
        writer.write(field, values[0] if values else only)


# --- single values ----------------------------------------------------------------------------

_UNITS = ("nanosecond", "microsecond", "millisecond", "second", "minute", "hour", "day")
_NANOS = (1, 10**3, 10**6, 10**9, 60 * 10**9, 3_600 * 10**9, 86_400 * 10**9)
_LENGTH = re.compile(rf"(-?\d+) ({'|'.join(_UNITS)})s?")
_ENDLESS = {1: "Duration.Undefined", 2: "Duration.Inf", 3: "Duration.MinusInf"}
_UUID_SIZE = 16


def _read_uuid(view: DataInputView) -> str:
    size = view.read_int()
    if size != _UUID_SIZE:
        view.position -= 4
        raise view.error(f"a UUID of {size} bytes, expected {_UUID_SIZE}")
    return str(UUID(bytes=view.read_bytes(_UUID_SIZE)))


def _write_uuid(value: str, view: DataOutputView) -> None:
    view.write_int(_UUID_SIZE)
    view.write_bytes(UUID(value).bytes)


def _read_length(view: DataInputView) -> str:
    length, unit = view.read_long(), view.read_int()
    if not 0 <= unit < len(_UNITS):
        view.position -= 4
        raise view.error(f"unit {unit} of a duration, expected 0 to {len(_UNITS) - 1}")
    return f"{length} {_UNITS[unit]}{'' if length == 1 else 's'}"


def _write_length(value: str, view: DataOutputView) -> None:
    match = _LENGTH.fullmatch(value)
    if match is None:
        raise ValueError(f"{value!r} is no duration such as 8 minutes")
    length, unit = int(match[1]), _UNITS.index(match[2])
    if abs(length) * _NANOS[unit] >= 1 << 63:
        raise ValueError(f"{value} is more than 292 years, which Scala does not have")
    view.write_long(length)
    view.write_int(unit)


def _read_duration(view: DataInputView) -> str | None:
    kind = view.read_byte()
    if kind == 0:
        return _read_length(view)
    if kind != -1 and kind not in _ENDLESS:
        view.position -= 1
        raise view.error(f"a duration of kind {kind}, expected -1 to {len(_ENDLESS)}")
    return _ENDLESS.get(kind)


def _write_duration(value: str | None, view: DataOutputView) -> None:
    kind = next((kind for kind, text in _ENDLESS.items() if text == value), 0)
    view.write_byte(-1 if value is None else kind)
    if value is not None and kind == 0:
        _write_length(value, view)


_LOCAL = moments.SCALARS[LocalDateTime]


def _column(class_name: str) -> KryoType:
    column = (TIMES | ZONED_TIMES)[f"{PACKAGE}{class_name}"].column
    assert column is not None  # each of these classes has a text
    return column


def _read_offset(view: DataInputView) -> str | None:
    seconds = view.read_int()
    if seconds == NULL_INT:
        return None
    return str(_column("ZoneOffset").convert(time_object("ZoneOffset", totalSeconds=seconds)))


def _write_offset(value: str | None, view: DataOutputView) -> None:
    if value is None:
        view.write_int(NULL_INT)
    else:
        graph = _column("ZoneOffset").content(value)
        view.write_int(fitting(graph.fields["totalSeconds"], 32))


def _read_offset_date_time(view: DataInputView) -> str | None:
    start, local, offset = view.position, _LOCAL.read(view), _read_offset(view)
    return None if _are_null(local, offset, start, view) else _local_text(local) + (offset or "")


def _read_zoned_date_time(view: DataInputView) -> str | None:
    start, local, zone = view.position, _LOCAL.read(view), view.read_string_value()
    return None if _are_null(local, zone, start, view) else f"{_local_text(local)}[{zone}]"


def _are_null(local: Value, place: str | None, start: int, view: DataInputView) -> bool:
    if (local is None) != (place is None):
        view.position = start
        raise view.error("a time without an offset or a zone, or one of them without a time")
    return local is None


def _local_text(local: Value) -> str:
    """A local time as the texts of times with an offset have it."""
    graph = _column("LocalDateTime").content(local)
    offset = time_object("ZoneOffset", totalSeconds=0)
    text = _column("OffsetDateTime").convert(
        time_object("OffsetDateTime", dateTime=graph, offset=offset)
    )
    return str(text).removesuffix("Z")


def _write_offset_date_time(value: str | None, view: DataOutputView) -> None:
    if value is None:
        _LOCAL.write(None, view)
        view.write_int(NULL_INT)
        return
    fields = _column("OffsetDateTime").content(value).fields
    _LOCAL.write(_column("LocalDateTime").convert(fields["dateTime"]), view)
    view.write_int(fields["offset"].fields["totalSeconds"])


def _write_zoned_date_time(value: str | None, view: DataOutputView) -> None:
    local, zone = None, None
    if value is not None:
        fields = _column("ZonedDateTime").content(value).fields
        zone = value.rpartition("[")[2].removesuffix("]")
        local = _column("LocalDateTime").convert(plain(fields["dateTime"]))
        if f"{_local_text(local)}[{zone}]" != value:
            raise ValueError(f"{value} has an offset, which the serializer does not keep")
    _LOCAL.write(local, view)
    view.write_string_value(zone)


_FORMS: dict[str, ScalarCodec] = {
    "Uuid": ScalarCodec(_read_uuid, _write_uuid),
    "FiniteDuration": ScalarCodec(_read_length, _write_length),
    "Duration": ScalarCodec(_read_duration, _write_duration, True),
    "ZoneOffset": ScalarCodec(_read_offset, _write_offset, True),
    "OffsetDateTime": ScalarCodec(_read_offset_date_time, _write_offset_date_time, True),
    "ZonedDateTime": ScalarCodec(_read_zoned_date_time, _write_zoned_date_time, True),
}
