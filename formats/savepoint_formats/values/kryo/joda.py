"""Bodies of Joda's times, by the serializer that a job registered for their class.

| serializer                                    | bytes                                                   |
|-----------------------------------------------|---------------------------------------------------------|
| ``JodaDateTimeSerializer``                    | varlong milliseconds, text chronology, text zone        |
| ``JodaIntervalSerializer``                    | two varlongs of milliseconds, text chronology           |
| ``JodaLocalDateSerializer``                   | varint of year * 416 + month * 32 + day, text chronology |
| ``JodaLocalDateTimeSerializer``               | varlong of such a number * 86,400,000 + milliseconds of |
|                                               | the day, text chronology                                |
| ``AvroKryoSerializerUtils$…LocalDate…``       | fixed i32 year, month, day                              |
| ``AvroKryoSerializerUtils$…LocalTime…``       | varint milliseconds of the day                          |

The first four are of ``kryo-serializers`` (``de.javakaffee``), whose chronology is empty for ISO;
the others are of Flink's Avro, 1.7 and 1.8. Kryo's own fields of these classes are of no use: Java
itself cannot read them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.values.kinds.times import PER_SECOND, SECONDS_PER_DAY
from savepoint_formats.values.kryo.body import MILLIS, TEXT, VARINT, Body, Part, fixed, object_of
from savepoint_formats.values.kryo.objects import KryoObject, plain

if TYPE_CHECKING:
    from savepoint_formats.values.kinds.codec import Value
    from savepoint_formats.values.kryo.graph import KryoGraph
    from savepoint_formats.values.kryo.writer import KryoWriter

_JAVAKAFFEE = "de.javakaffee.kryoserializers.jodatime.Joda"
_FLINK = "org.apache.flink.formats.avro.utils.AvroKryoSerializerUtils$Joda"
_DATE, _DATE_TIME = "org.joda.time.LocalDate", "org.joda.time.LocalDateTime"
_PER_MONTH, _MONTHS = 32, 13
_MILLIS_PER_DAY = SECONDS_PER_DAY * PER_SECOND["ms"]


def _packed(class_name: str, number: Body, part: Part, *, has_time: bool) -> Body:
    """A date in one number, before a chronology."""

    def read(graph: KryoGraph) -> KryoObject:
        days, millis = divmod(number.read(graph), _MILLIS_PER_DAY if has_time else 1)
        months, day = divmod(days, _PER_MONTH)
        year, month = divmod(months, _MONTHS)
        if year < 0 or not 0 < month < _MONTHS or day == 0:
            raise graph.view.error(f"{year}-{month}-{day} as a {class_name}")
        time = {"millisOfDay": millis} if has_time else {}
        date = {"year": year, "month": month, "day": day}
        return KryoObject(class_name, date | time | {"chronology": TEXT.read(graph)})

    def write(value: Value, writer: KryoWriter) -> None:
        fields = plain(value).fields
        days = (fields["year"] * _MONTHS + fields["month"]) * _PER_MONTH + fields["day"]
        count = days * _MILLIS_PER_DAY + fields["millisOfDay"] if has_time else days
        number.write(count, writer)
        TEXT.write(fields["chronology"], writer)

    return Body(read, write, (part, Part.TEXT))


JODA_SERIALIZERS: dict[str, Body] = {
    f"{_JAVAKAFFEE}DateTimeSerializer": object_of(
        "org.joda.time.DateTime", millis=MILLIS, chronology=TEXT, zone=TEXT
    ),
    f"{_JAVAKAFFEE}IntervalSerializer": object_of(
        "org.joda.time.Interval", startMillis=MILLIS, endMillis=MILLIS, chronology=TEXT
    ),
    f"{_JAVAKAFFEE}LocalDateSerializer": _packed(_DATE, VARINT, Part.VARINT, has_time=False),
    f"{_JAVAKAFFEE}LocalDateTimeSerializer": _packed(
        _DATE_TIME, MILLIS, Part.VARLONG, has_time=True
    ),
    f"{_FLINK}LocalDateSerializer": object_of(
        _DATE, year=fixed("i"), month=fixed("i"), day=fixed("i")
    ),
    f"{_FLINK}LocalTimeSerializer": object_of("org.joda.time.LocalTime", millisOfDay=VARINT),
}
