"""A class of a job with fields of all kinds that Kryo is asked to write, and one object of it."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

from savepoint_formats.values.kryo.descriptions import kryo_class

LINE = kryo_class(
    "written.Voucher$Line",
    {"count": "int", "share": "java.lang.Double", "article": "java.lang.String"},
)
KIND = kryo_class("written.Voucher$Kind", constants=["GIFT", "PRIZE"], is_final=True)
VOUCHER = kryo_class(
    "written.Voucher",
    {
        "id": "long",
        "code": "java.util.UUID",
        "price": "java.math.BigDecimal",
        "number": "java.math.BigInteger",
        "printed": "java.util.Date",
        "sold": "java.sql.Timestamp",
        "since": "java.time.Instant",
        "until": "java.time.LocalDate",
        "pause": "java.time.Duration",
        "opens": "java.time.OffsetDateTime",
        "closes": "java.time.ZonedDateTime",
        "kind": "written.Voucher$Kind",
        "first": "written.Voucher$Line",
        "lines": "java.util.List<written.Voucher$Line>",
        "tags": "java.util.List<java.lang.String>",
        "shops": "java.util.Set<java.lang.Long>",
        "counts": "java.util.Map<java.lang.String, java.lang.Integer>",
        "numbers": "long[]",
        "raw": "byte[]",
        "words": "java.lang.String[]",
        "none": "java.lang.Integer",
        "letter": "char",
    },
    is_final=True,
)
CLASSES = (VOUCHER, LINE, KIND)

_MOMENT = datetime(2024, 3, 1, 10, 0, 0, 123456, UTC)


def voucher(number: int) -> dict[str, Any]:
    """An object, as a row of Spark has it."""
    line = {"count": number, "share": 0.25, "article": "𝄞 Zoë"}
    return {
        "id": number,
        "code": f"12345678-1234-5678-9234-{number:012}",
        "price": f"-{number}.50",
        "number": str(-(2**70) - number),
        "printed": _MOMENT.replace(microsecond=123000),
        "sold": _MOMENT,
        "since": _MOMENT + timedelta(days=number),
        "until": date(2024, 2, 29),
        "pause": timedelta(seconds=number, microseconds=5),
        "opens": "2024-03-01T10:00:00.000000001+05:30",
        "closes": "2024-07-01T10:00:00+02:00[Europe/Berlin]",
        "kind": ("GIFT", "PRIZE")[number % 2],
        "first": line,
        "lines": [line, None, {**line, "share": None}],
        "tags": ["a", None, "b" * number],
        "shops": [number, 2**40],
        "counts": {"x": number, "y": None},
        "numbers": [1, -(2**63)],
        "raw": bytes([0, 255]),
        "words": ["ß", None],
        "none": None,
        "letter": "ß",
    }
