"""Joda's times as the serializers that jobs register write them with Kryo 2.24, behind the mark of a new object."""

from __future__ import annotations

from typing import Any

_JAVAKAFFEE = "de.javakaffee.kryoserializers.jodatime.Joda"
_FLINK = "org.apache.flink.formats.avro.utils.AvroKryoSerializerUtils$Joda"

JODA_VECTORS: dict[str, tuple[str, str, str, dict[str, Any]]] = {
    "utc": (
        "DateTime",
        f"{_JAVAKAFFEE}DateTimeSerializer",
        "01fbaad3cbdf31815554c3",
        {"millis": 1709287200123, "chronology": "", "zone": "UTC"},
    ),
    "berlin": (
        "DateTime",
        f"{_JAVAKAFFEE}DateTimeSerializer",
        "01fbaad3cbdf31814575726f70652f4265726c69ee",
        {"millis": 1709287200123, "chronology": "", "zone": "Europe/Berlin"},
    ),
    "offset": (
        "DateTime",
        f"{_JAVAKAFFEE}DateTimeSerializer",
        "01fbffffffffffffffff812b30323a30b0",
        {"millis": -5, "chronology": "", "zone": "+02:00"},
    ),
    "buddhist": (
        "DateTime",
        f"{_JAVAKAFFEE}DateTimeSerializer",
        "01fbaad3cbdf3142554444484953d45554c3",
        {"millis": 1709287200123, "chronology": "BUDDHIST", "zone": "UTC"},
    ),
    "date": (
        "LocalDate",
        f"{_JAVAKAFFEE}LocalDateSerializer",
        "01ddb23381",
        {"year": 2024, "month": 2, "day": 29, "chronology": ""},
    ),
    "coptic": (
        "LocalDate",
        f"{_JAVAKAFFEE}LocalDateSerializer",
        "01c1982c434f505449c3",
        {"year": 1740, "month": 6, "day": 1, "chronology": "COPTIC"},
    ),
    "date_time": (
        "LocalDateTime",
        f"{_JAVAKAFFEE}LocalDateTimeSerializer",
        "01d9feeba8bbc51081",
        {"year": 2024, "month": 2, "day": 29, "millisOfDay": 36672345, "chronology": ""},
    ),
    "first": (
        "LocalDateTime",
        f"{_JAVAKAFFEE}LocalDateTimeSerializer",
        "0180b89dc2900181",
        {"year": 1, "month": 1, "day": 1, "millisOfDay": 0, "chronology": ""},
    ),
    "interval": (
        "Interval",
        f"{_JAVAKAFFEE}IntervalSerializer",
        "01050781",
        {"startMillis": 5, "endMillis": 7, "chronology": ""},
    ),
    "avro_date": (
        "LocalDate",
        f"{_FLINK}LocalDateSerializer",
        "01000007e8000000020000001d",
        {"year": 2024, "month": 2, "day": 29},
    ),
    "avro_time": (
        "LocalTime",
        f"{_FLINK}LocalTimeSerializer",
        "01d9a6be11",
        {"millisOfDay": 36672345},
    ),
}
"""Name -> class, serializer, bytes, fields."""
