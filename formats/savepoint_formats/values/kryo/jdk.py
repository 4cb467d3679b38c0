"""The classes of the JDK whose objects Kryo writes as single values: all that is known of each, in a row.

Who adds a class adds a row. Columns, programs and what is passed over in looking for classes follow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from savepoint_formats.layout import KryoClass, KryoField
from savepoint_formats.values.kryo import bodies, times, types
from savepoint_formats.values.kryo.body import MILLIS, NOTHING, TEXT, VARINT, object_of, primitive
from savepoint_formats.values.kryo.parts import Part, Parts, SingleValue

if TYPE_CHECKING:
    from collections.abc import Mapping

    from savepoint_formats.values.kryo.body import Body
    from savepoint_formats.values.kryo.types import KryoType


@dataclass(frozen=True, slots=True)
class JdkClass:
    """What is known of a class.

    Attributes:
        body: How objects are read and written: in 2.24, and in 5.6; None if that has no such form.
        fields: The fields that 2.24 writes in place of a body, by their names.
        is_final: Whether it has no subclasses: a field of such a type needs no class in the bytes.
        column: The Arrow type, and the values of objects, both ways; None if it is JSON.
        parts: What lies in an object: in 2.24, and in 5.6; None if only the body knows.
        value: How programs make a value of the parts; None if only the general path does.
    """

    body: tuple[Body | None, Body | None] = (None, None)
    fields: Mapping[str, str] | None = None
    is_final: bool = False
    column: KryoType | None = None
    parts: tuple[Parts | None, Parts | None] = (None, None)
    value: SingleValue | None = None


def _both(body: Body, *parts: Part, **more: Any) -> JdkClass:
    """A class that both versions write alike."""
    return JdkClass((body, body), parts=(parts, parts), **more)


def _wrapper(name: str, part: Part, column: KryoType, instruction: str = "NUMBER") -> JdkClass:
    value = SingleValue(instruction)
    return _both(primitive(name), part, is_final=True, column=column, value=value)


def _text(column: KryoType | None = None, *, is_final: bool = True) -> JdkClass:
    value = None if column is None else SingleValue("ASCII_TEXT")
    return _both(TEXT, Part.TEXT, is_final=is_final, column=column, value=value)


def _builder() -> JdkClass:
    body = (bodies.BUILDER_OF_2, TEXT)
    return JdkClass(body, is_final=True, parts=((Part.TEXT,), (Part.TEXT,)))


def _date(name: str, column: KryoType | None = None) -> JdkClass:
    value = None if column is None else SingleValue("NUMBER")
    return _both(object_of(name, millis=MILLIS), Part.VARLONG, column=column, value=value)


def _optional(
    name: str, part: Part, part_of_5: Part, passed: Part, body: Body, declared: str
) -> JdkClass:
    return JdkClass(
        (None, body),
        fields={"isPresent": "boolean", "value": declared},
        is_final=True,
        column=types.OPTIONALS[name],
        parts=((Part.FLAG, part), (passed,)),
        value=SingleValue("OPTIONAL", kinds=(part, part_of_5)),
    )


def _time(
    body: Body,
    fields: dict[str, str],
    column: KryoType | None,
    parts: tuple[Parts | None, Parts],
    value: SingleValue | None = None,
) -> JdkClass:
    """A class of ``java.time``, of which 2.24 writes the fields."""
    return JdkClass((None, body), fields, True, column, parts, value)


_DATE_OF_2 = (Part.SHORT, Part.SHORT, Part.ZIGZAG)
_DATE_OF_5 = (Part.VARINT, Part.BYTE, Part.BYTE)
_CLOCK_OF_2 = (Part.BYTE, Part.BYTE, Part.ZIGZAG, Part.BYTE)
_DATE_PLACES = ((2, 1, 0), (0, 1, 2))
_CLOCK_PLACES = ((3, 4, 6, 5), (3,))
_SECONDS_OF_2 = (Part.ZIGZAG, Part.LONG_ZIGZAG)
_SECONDS_PLACES = ((1, 0), (0, 1))
_TIME = "java.time."

JDK_CLASSES: dict[str, JdkClass] = {
    # --- numbers
    "java.lang.Boolean": _wrapper("boolean", Part.FLAG, types.BOOLEAN, "STRICT_BOOLEAN"),
    "java.lang.Byte": _wrapper("byte", Part.BYTE, types.BYTE),
    "java.lang.Short": _wrapper("short", Part.SHORT, types.SHORT),
    "java.lang.Character": _wrapper("char", Part.SHORT, types.CHARACTER, "UNIT"),
    "java.lang.Integer": _wrapper("int", Part.ZIGZAG, types.INTEGER),
    "java.lang.Long": _wrapper("long", Part.LONG_ZIGZAG, types.LONG),
    "java.lang.Float": _wrapper("float", Part.INT, types.FLOAT),
    "java.lang.Double": _wrapper("double", Part.LONG, types.DOUBLE),
    "java.math.BigInteger": _both(
        bodies.BIG_INTEGER,
        Part.COUNTED,
        column=types.BIG_INTEGER,
        value=SingleValue("WHOLE_NUMBER"),
    ),
    "java.math.BigDecimal": _both(
        bodies.BIG_DECIMAL,
        Part.SCALED,
        column=types.BIG_DECIMAL,
        value=SingleValue("EXACT_NUMBER"),
    ),
    "java.util.OptionalInt": _optional(
        "Int", Part.ZIGZAG, Part.INT, Part.OPTIONAL_INT, times.OPTIONAL_INT, "int"
    ),
    "java.util.OptionalLong": _optional(
        "Long", Part.LONG_ZIGZAG, Part.LONG, Part.OPTIONAL_LONG, times.OPTIONAL_LONG, "long"
    ),
    "java.util.OptionalDouble": _optional(
        "Double", Part.LONG, Part.LONG, Part.OPTIONAL_LONG, times.OPTIONAL_DOUBLE, "double"
    ),
    # --- texts
    "java.lang.String": _text(types.STRING),
    "java.net.URI": _text(types.text_like("java.net.URI")),
    "java.net.URL": _text(types.text_like("java.net.URL")),
    "java.util.Currency": _text(types.text_like("java.util.Currency")),
    "java.lang.StringBuilder": _builder(),
    "java.lang.StringBuffer": _builder(),
    "sun.util.calendar.ZoneInfo": _text(is_final=False),
    "java.util.UUID": JdkClass(
        (bodies.UUID_OF_2, bodies.UUID_OF_5),
        is_final=True,
        column=types.UUID_TEXT,
        parts=((Part.LONG_ZIGZAG, Part.LONG_ZIGZAG), (Part.LONG, Part.LONG)),
        value=SingleValue("UUID", ((0, 1), (0, 1))),
    ),
    # --- dates and times
    "java.util.Date": _date("java.util.Date", types.DATE),
    "java.sql.Date": _date("java.sql.Date"),
    "java.sql.Time": _date("java.sql.Time"),
    "java.sql.Timestamp": JdkClass(
        (bodies.TIMESTAMP_OF_2, bodies.TIMESTAMP_OF_5),
        column=types.SQL_TIMESTAMP,
        parts=((Part.VARLONG, Part.VARINT),) * 2,
        value=SingleValue("MILLIS_AND_NANOS", ((0, 1), (0, 1))),
    ),
    f"{_TIME}Instant": _time(
        times.INSTANT,
        {"nanos": "int", "seconds": "long"},
        types.INSTANT,
        (_SECONDS_OF_2, (Part.VARLONG, Part.VARINT)),
        SingleValue("SECONDS_AND_NANOS", _SECONDS_PLACES),
    ),
    f"{_TIME}Duration": _time(
        times.DURATION,
        {"nanos": "int", "seconds": "long"},
        types.DURATION,
        (_SECONDS_OF_2, (Part.LONG, Part.VARINT)),
        SingleValue("DURATION", _SECONDS_PLACES),
    ),
    f"{_TIME}LocalDate": _time(
        times.DATE,
        {"day": "short", "month": "short", "year": "int"},
        types.LOCAL_DATE,
        (_DATE_OF_2, _DATE_OF_5),
        SingleValue("DATE", _DATE_PLACES),
    ),
    f"{_TIME}LocalTime": _time(
        times.TIME,
        {"hour": "byte", "minute": "byte", "nano": "int", "second": "byte"},
        types.LOCAL_TIME,
        (_CLOCK_OF_2, (Part.CLOCK,)),
        SingleValue("CLOCK", _CLOCK_PLACES),
    ),
    f"{_TIME}LocalDateTime": _time(
        times.DATE_TIME,
        {"date": f"{_TIME}LocalDate", "time": f"{_TIME}LocalTime"},
        types.LOCAL_DATE_TIME,
        ((Part.NEW, *_DATE_OF_2, Part.NEW, *_CLOCK_OF_2), (*_DATE_OF_5, Part.CLOCK)),
        SingleValue("DATE_AND_CLOCK", ((0, 2, 1, 0, 0, 3, 4, 6, 5), (0, 1, 2, 3))),
    ),
    f"{_TIME}ZoneOffset": _time(
        times.OFFSET, {"totalSeconds": "int"}, types.ZONE_OFFSET, (None, (Part.OFFSET,))
    ),
    f"{_TIME}ZoneRegion": _time(
        times.REGION, {"id": "java.lang.String"}, None, (None, (Part.TEXT,))
    ),
    f"{_TIME}OffsetDateTime": _time(
        times.OFFSET_DATE_TIME,
        {"dateTime": f"{_TIME}LocalDateTime", "offset": f"{_TIME}ZoneOffset"},
        types.OFFSET_DATE_TIME,
        (None, (*_DATE_OF_5, Part.CLOCK, Part.OFFSET)),
    ),
    f"{_TIME}OffsetTime": _time(
        times.OFFSET_TIME,
        {"offset": f"{_TIME}ZoneOffset", "time": f"{_TIME}LocalTime"},
        types.OFFSET_TIME,
        (None, (Part.CLOCK, Part.OFFSET)),
    ),
    f"{_TIME}ZonedDateTime": _time(
        times.ZONED,
        {
            "dateTime": f"{_TIME}LocalDateTime",
            "offset": f"{_TIME}ZoneOffset",
            "zone": f"{_TIME}ZoneId",
        },
        types.ZONED_DATE_TIME,
        (None, (*_DATE_OF_5, Part.CLOCK, Part.TEXT)),
    ),
    f"{_TIME}Year": _time(
        times.YEAR,
        {"year": "int"},
        types.YEAR,
        ((Part.ZIGZAG,), (Part.VARINT,)),
        SingleValue("NUMBER"),
    ),
    f"{_TIME}YearMonth": _time(
        times.YEAR_MONTH,
        {"month": "int", "year": "int"},
        types.YEAR_MONTH,
        (None, (Part.VARINT, Part.BYTE)),
    ),
    f"{_TIME}MonthDay": _time(
        times.MONTH_DAY,
        {"day": "int", "month": "int"},
        types.MONTH_DAY,
        (None, (Part.BYTE, Part.BYTE)),
    ),
    f"{_TIME}Period": _time(
        times.PERIOD,
        {"days": "int", "months": "int", "years": "int"},
        types.PERIOD,
        (None, (Part.VARINT,) * 3),
    ),
    # --- others
    "java.util.Optional": JdkClass(
        (None, times.OPTIONAL), {"value": "java.lang.Object"}, is_final=True
    ),
    "java.lang.Void": _both(NOTHING, is_final=True),
    "java.lang.Class": JdkClass((bodies.CLASS, bodies.CLASS), is_final=True),
    "java.util.BitSet": _both(bodies.BIT_SET, Part.WORDS),
    "java.net.InetSocketAddress": _both(
        object_of("java.net.InetSocketAddress", host=TEXT, port=VARINT), Part.TEXT, Part.VARINT
    ),
    "java.util.GregorianCalendar": _both(
        bodies.CALENDAR,
        *(Part.TEXT, Part.VARLONG, Part.FLAG, Part.VARINT, Part.VARINT, Part.LONG_ZIGZAG),
    ),
    "java.util.regex.Pattern": JdkClass(
        (bodies.PATTERN_OF_2, bodies.PATTERN_OF_5),
        is_final=True,
        parts=((Part.TEXT,), (Part.TEXT, Part.VARINT)),
    ),
    "java.util.Locale": JdkClass(
        (None, bodies.LOCALE_OF_5), is_final=True, parts=(None, (Part.TEXT,) * 3)
    ),
    # --- those of Scala, which are known to 2.24 alone
    "scala.runtime.BoxedUnit": JdkClass((NOTHING, None), parts=((), None)),
    "scala.Symbol": JdkClass((TEXT, None), parts=((Part.TEXT,), None)),
    "scala.util.matching.Regex": JdkClass((TEXT, None), parts=((Part.TEXT,), None)),
}


def body_of(class_name: str, *, is_5: bool) -> Body | None:
    """The body of a class, if it is one of this module."""
    row = JDK_CLASSES.get(class_name)
    return row.body[is_5] if row else None


FINAL_CLASSES = frozenset(name for name, row in JDK_CLASSES.items() if row.is_final)
"""Classes of the JDK without subclasses: a field of such a type needs no class in the bytes."""

FIELDS_OF_2 = tuple(
    KryoClass(name, tuple(KryoField(*field) for field in row.fields.items()), is_final=True)
    for name, row in JDK_CLASSES.items()
    if row.fields is not None
)
"""Classes that Kryo 5 has serializers for, and 2.24 writes by their fields."""

DECLARED_TYPES: dict[str, KryoType] = {
    name: row.column for name, row in JDK_CLASSES.items() if row.column is not None
}
"""The columns of classes; of those that are not final, a field may hold a subclass."""

KRYO_TYPES = {name: column for name, column in DECLARED_TYPES.items() if name in FINAL_CLASSES}
"""Those of final classes: a value declared as one of them is nothing else, and can always be read."""
