"""Arrow's integers and the dates and times that they mean."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, timezone

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from savepoint_formats.values.kinds import times

INTS = st.integers(-(1 << 63) + 1, (1 << 63) - 1)
DAYS = st.integers(-(1 << 31), (1 << 31) - 1)


@given(DAYS)
def test_days_and_dates_are_mirrors(days: int) -> None:
    assert times.days_from_date(*times.date_from_days(days)) == days


@given(st.dates())
def test_days_are_counted_as_python_counts_them(day: date) -> None:
    days = (day - date(1970, 1, 1)).days
    assert times.days_from_date(day.year, day.month, day.day) == days
    assert times.to_date(days) == day
    assert times.from_date(day) == days


@pytest.mark.parametrize(
    ("day", "days"),
    [((0, 3, 1), -719_468), ((-1, 12, 31), -719_529), ((10_000, 1, 1), 2_932_897)],
)
def test_days_go_beyond_the_years_of_python(day: tuple[int, int, int], days: int) -> None:
    assert times.days_from_date(*day) == days
    assert times.date_from_days(days) == day
    assert times.to_date(days) == days


@pytest.mark.parametrize("day", [(2023, 2, 29), (2100, 2, 29), (2000, 13, 1), (2000, 4, 31)])
def test_there_is_no_such_day(day: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="no date"):
        times.days_from_date(*day)


@given(INTS, st.sampled_from(["s", "ms", "us"]), st.booleans())
def test_timestamps_come_back(count: int, unit: str, is_utc: bool) -> None:
    value = times.to_timestamp(count, unit, is_utc=is_utc)
    assert times.from_timestamp(value, unit) == count


@given(st.datetimes(), st.booleans())
def test_timestamps_are_those_of_arrow(moment: datetime, is_utc: bool) -> None:
    column = pa.array([moment], pa.timestamp("us", "UTC" if is_utc else None))
    (count,) = column.cast(pa.int64()).to_pylist()
    assert times.to_timestamp(count, "us", is_utc=is_utc) == column.to_pylist()[0]


def test_a_timestamp_of_another_zone_is_the_same_moment() -> None:
    moment = datetime(1970, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))
    assert times.from_timestamp(moment, "ms") == 0


def test_nanoseconds_of_pandas_are_kept() -> None:
    class Timestamp(datetime):
        nanosecond = 7

    assert times.from_timestamp(Timestamp(1970, 1, 1, 0, 0, 1, tzinfo=UTC), "ns") == 10**9 + 7


@given(st.integers(0, 86_399_999))
def test_times_come_back(millis: int) -> None:
    assert times.from_time(times.to_time(millis), "ms") == millis


@pytest.mark.parametrize(
    ("text", "nanos"),
    [
        ("00:00:01", 10**9),
        ("00:00:00.5", 5 * 10**8),
        ("23:59:59.999999999", times.NANOS_PER_DAY - 1),
    ],
)
def test_a_time_may_be_a_text(text: str, nanos: int) -> None:
    assert times.from_time(text, "ns") == nanos


@given(INTS)
def test_durations_come_back(millis: int) -> None:
    assert times.from_duration(times.to_duration(millis), "ms") == millis


@pytest.mark.parametrize("value", [time(0, 0, 0, 1), "00:00:00.0001", "0:0:0.1234567891", "noon"])
def test_no_digit_is_dropped(value: time | str) -> None:
    with pytest.raises(ValueError, match=r"digits|Invalid"):
        times.from_time(value, "ms")
