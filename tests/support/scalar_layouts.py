"""Layouts of single values, also those of SQL, with any of their values."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from savepoint_formats import layout as layouts
from savepoint_formats.layout import (
    Layout,
    LogicalType,
)
from savepoint_formats.values.kinds import times

Strategy = st.SearchStrategy[Any]


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)


LONGS = st.integers(-(1 << 63) + 1, (1 << 63) - 1)


def ints(bits: int) -> Strategy:
    return st.integers(-(1 << bits - 1), (1 << bits - 1) - 1)


def timestamps(unit: str, *, is_utc: bool = False) -> Strategy:
    return LONGS.map(lambda count: times.to_timestamp(count, unit, is_utc=is_utc))


def precise(*, is_utc: bool = False) -> Strategy:
    """Nanoseconds of 285 million years around 1970, which all layouts have."""
    counts = LONGS | st.integers(-9 * 10**24, 9 * 10**24)
    return counts.map(lambda count: times.to_precise(count, is_utc=is_utc))


def decimals(precision: int, scale: int) -> Strategy:
    bound = 10**precision - 1
    sized = st.integers(-bound, bound)
    return sized.map(
        lambda unscaled: Decimal((unscaled < 0, tuple(map(int, str(abs(unscaled)))), -scale))
    )


def or_null(values: Strategy) -> Strategy:
    return st.none() | values


VARIANTS: list[dict[str, Any]] = [
    {"json": shown, "metadata": bytes.fromhex(metadata), "value": bytes.fromhex(value)}
    for shown, metadata, value in [
        ('"hello"', "010000", "1568656c6c6f"),
        ('{"a":{"b":"x"}}', "01020001026261", "020101000702010000020578"),
        ("null", "010000", "00"),
    ]
]
"""Values of SQL's VARIANT, with what is shown of them."""


DURATIONS = st.sampled_from(["1 day", "-8 minutes", "0 seconds", f"{(1 << 63) - 1} nanoseconds"])


ZONED = st.datetimes().map(
    lambda moment: (
        moment.replace(microsecond=0).isoformat()
        + (f".{moment.microsecond:06}000" if moment.microsecond else "")
    )
)
"""Local times, as texts of times with an offset or a zone begin."""


def pairs(key: Strategy, value: Strategy) -> Strategy:
    return st.lists(st.tuples(key.filter(lambda drawn: drawn is not None), value), max_size=3)


SCALARS: list[tuple[Layout, Strategy]] = [
    (layouts.Boolean(), st.booleans()),
    (layouts.Byte(), ints(8)),
    (layouts.Short(), ints(16)),
    (layouts.Int(), ints(32)),
    (layouts.Long(), ints(64)),
    (layouts.Float(), st.floats(width=32, allow_nan=False)),
    (layouts.Double(), st.floats(allow_nan=False)),
    (layouts.Char(), st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"])),
    (layouts.Enum("E", ("A", "B")), st.sampled_from("AB")),
    (layouts.JavaDate(), or_null(timestamps("ms", is_utc=True))),
    (layouts.SqlTimestamp(), or_null(precise(is_utc=True))),
    (layouts.Instant(), or_null(precise(is_utc=True))),
    (layouts.LocalDate(), or_null(st.integers(-(1 << 31) + 1, (1 << 31) - 1).map(times.to_date))),
    (layouts.SqlDate(), ints(32).map(times.to_date)),
    (layouts.SqlTime(), st.integers(0, 86_399_999).map(times.to_time)),
    (layouts.LocalTime(), or_null(st.integers(0, times.NANOS_PER_DAY - 1))),
    (layouts.LocalDateTime(), or_null(precise())),
    (layouts.TimerTimestamp(), ints(64)),
    (layouts.TimestampData(3), timestamps("ms")),
    (layouts.TimestampData(6), timestamps("us")),
    (layouts.TimestampData(9), precise()),
    (layouts.FixedBytes(3), st.binary(min_size=3, max_size=3)),
    (layouts.Marker(), st.none()),
    (layouts.Marker(None), st.none()),
    (layouts.Marker(9, "()"), st.just("()")),
    (layouts.Marker(None, "a.N$"), st.just("a.N$")),
    (layouts.VoidNamespace(), st.none()),
    (layouts.Text(), or_null(TEXTS)),
    (layouts.MutableText(), TEXTS),
    (layouts.JavaUtf(), TEXTS),
    (layouts.Utf8(), TEXTS),
    (layouts.Bytes(), st.binary(max_size=5)),
    (layouts.BigInteger(), or_null(st.integers().map(str))),
    (layouts.BigDecimal(), or_null(st.decimals(allow_nan=False, allow_infinity=False).map(str))),
    (layouts.DecimalData(10, 2), decimals(10, 2)),
    (layouts.DecimalData(38, 10), decimals(38, 10)),
    (layouts.Variant(), st.sampled_from(VARIANTS)),
    (layouts.PackedTexts(), st.lists(TEXTS, max_size=3)),
    (layouts.NullCount(), st.integers(0, (1 << 31) - 1)),
    (layouts.ScalaValue("Uuid"), st.uuids().map(str)),
    (layouts.ScalaValue("Duration"), or_null(DURATIONS | st.just("Duration.Inf"))),
    (layouts.ScalaValue("FiniteDuration"), DURATIONS),
    (layouts.ScalaValue("ZoneOffset"), or_null(st.sampled_from(["Z", "+01:00", "-17:59:59"]))),
    (layouts.ScalaValue("OffsetDateTime"), or_null(ZONED.map(lambda text: f"{text}+01:30"))),
    (layouts.ScalaValue("ZonedDateTime"), or_null(ZONED.map(lambda text: f"{text}[Asia/Tokyo]"))),
]


SQL_SCALARS: list[tuple[LogicalType, Strategy]] = [
    (LogicalType("BOOLEAN"), st.booleans()),
    (LogicalType("TINYINT"), ints(8)),
    (LogicalType("SMALLINT"), ints(16)),
    (LogicalType("INTEGER"), ints(32)),
    (LogicalType("BIGINT"), ints(64)),
    (LogicalType("FLOAT"), st.floats(width=32, allow_nan=False)),
    (LogicalType("DOUBLE"), st.floats(allow_nan=False)),
    (LogicalType("VARCHAR"), TEXTS),
    (LogicalType("VARBINARY"), st.binary(max_size=12)),
    (LogicalType("DECIMAL", precision=18, scale=3), decimals(18, 3)),
    (LogicalType("DECIMAL", precision=38, scale=18), decimals(38, 18)),
    (LogicalType("DATE"), st.integers(-(1 << 31) + 1, (1 << 31) - 1).map(times.to_date)),
    (LogicalType("TIME_WITHOUT_TIME_ZONE"), st.integers(0, 86_399_999).map(times.to_time)),
    (LogicalType("TIMESTAMP_WITHOUT_TIME_ZONE", precision=3), timestamps("ms")),
    (LogicalType("TIMESTAMP_WITHOUT_TIME_ZONE", precision=9), precise()),
    (
        LogicalType("TIMESTAMP_WITH_LOCAL_TIME_ZONE", precision=6),
        timestamps("us", is_utc=True),
    ),
    (LogicalType("INTERVAL_DAY_TIME"), LONGS.map(times.to_duration)),
    (
        LogicalType("RAW"),
        st.binary(max_size=12).map(lambda data: {"bytes": data, "reason": "a RAW value of SQL"}),
    ),
    (
        LogicalType("RAW", raw=layouts.MaskedRepeated(layouts.Utf8())),
        st.lists(or_null(TEXTS), max_size=3),
    ),
    (LogicalType("RAW", raw=layouts.MapOf(layouts.Utf8(), layouts.Long())), pairs(TEXTS, LONGS)),
    (LogicalType("VARIANT"), st.sampled_from(VARIANTS)),
]
