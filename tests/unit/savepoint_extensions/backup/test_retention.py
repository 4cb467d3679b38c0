"""Rules of backups to keep: which are kept, and that thinning day by day loses none too early."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from savepoint_extensions.backup.backup_store import StoredBackup
from savepoint_extensions.backup.retention import Retention

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)  # a Monday


def backup(time: datetime, checkpoint_id: int = 1) -> StoredBackup:
    return StoredBackup(f"{time:%Y%m%dT%H%M%SZ}", "", time, checkpoint_id, frozenset(), frozenset())


def kept(rule: str, *times: datetime) -> list[str]:
    names = Retention.of(rule).kept(map(backup, times), NOW)
    return sorted(names)


@pytest.mark.parametrize(
    "text", ["", "7", "d", "0d", "7d,", "7 days", "-1d", "7d;4w", "1e3d", "999999d"]
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected such as 7d,4w"):
        Retention.of(text)


def test_the_newest_of_each_period_is_kept() -> None:
    hourly = [NOW - timedelta(hours=hours) for hours in range(24 * 40)]
    names = kept("7d,4w", *hourly)
    days = [NOW - timedelta(days=days) for days in range(1, 7)]
    of_days = [f"{day:%Y%m%d}T230000Z" for day in days]
    # Weeks begin on Mondays: this one has only today, the last one ended yesterday.
    of_weeks = [f"{NOW - timedelta(days=1 + 7 * weeks):%Y%m%d}T230000Z" for weeks in range(3)]
    assert names == sorted({f"{NOW:%Y%m%dT%H%M%SZ}", *of_days, *of_weeks})


def test_units() -> None:
    times = [
        *(datetime(2026, 11, 30, hour, 30, tzinfo=UTC) for hour in (9, 10, 11)),
        *(datetime(2026, month, 15, tzinfo=UTC) for month in (8, 9, 10)),
        *(datetime(year, 12, 31, tzinfo=UTC) for year in (2023, 2024, 2025)),
    ]
    assert kept("2h", *times) == ["20261130T113000Z"]  # of 11 and 12 o'clock
    assert kept("3m", *times) == ["20260915T000000Z", "20261015T000000Z", "20261130T113000Z"]
    assert kept("2y", *times) == ["20251231T000000Z", "20261130T113000Z"]


def test_the_newest_stays_however_old_and_so_does_what_is_yet_to_come() -> None:
    old = [datetime(2001, 1, day, tzinfo=UTC) for day in (1, 2, 3)]
    assert kept("1h", *old) == ["20010103T000000Z"]
    assert kept("7d") == []


def test_a_backup_from_the_future_stays_and_takes_no_other_ones_place() -> None:
    """The clock was wrong when it was made, so it may be older than all others."""
    past = [NOW - timedelta(hours=hours) for hours in (1, 2, 30)]
    names = kept("1h,2d", *past)
    assert names == ["20261129T060000Z", "20261130T110000Z"]
    for future in (NOW + timedelta(seconds=1), NOW + timedelta(hours=5), NOW.replace(year=2099)):
        assert kept("1h,2d", *past, future) == sorted([*names, f"{future:%Y%m%dT%H%M%SZ}"])


def test_a_backup_from_the_future_does_not_take_the_last_ones_place_when_its_time_comes() -> None:
    """A clock was 55 minutes ahead when the first backup was made, and right for the second."""
    ahead, right = backup(NOW.replace(hour=10), 7), backup(NOW.replace(hour=9, minute=58), 8)
    for minutes in (-1, 0, 5, 60 * 24 * 400):
        names = Retention.of("1h").kept([ahead, right], ahead.time + timedelta(minutes=minutes))
        assert sorted(names) == [right.name, ahead.name]
    later = backup(NOW.replace(hour=11), 9)
    assert Retention.of("1h").kept([ahead, right, later], NOW) == {later.name: "the newest"}


@pytest.mark.parametrize("hours", [-12, -3.5, 0, 5.75, 14])
def test_periods_are_those_of_utc_whatever_the_zone_of_the_clock(hours: float) -> None:
    zone = timezone(timedelta(hours=hours))
    times = [NOW - timedelta(hours=hour) for hour in range(50)]
    names = Retention.of("3h,2d").kept(map(backup, times), NOW.astimezone(zone))
    assert sorted(names) == kept("3h,2d", *times)


def test_both_hours_that_summer_time_repeats_are_hours() -> None:
    """In Berlin, 2 o'clock comes twice on this day; in UTC, it is 0 and 1 o'clock."""
    berlin = ZoneInfo("Europe/Berlin")
    twice = [datetime(2026, 10, 25, 2, 30, fold=fold, tzinfo=berlin) for fold in (0, 1)]
    names = Retention.of("2h").kept([backup(it.astimezone(UTC)) for it in twice], twice[1])
    assert sorted(names) == ["20261025T003000Z", "20261025T013000Z"]


@given(
    st.lists(st.integers(0, 60 * 24), min_size=1, max_size=60, unique=True),
    st.sampled_from(["7d", "3d,2w", "24h,7d,4w", "1d", "2w,2m"]),
)
def test_a_backup_that_goes_later_was_kept_until_then(hours: list[int], rule: str) -> None:
    """Pruned each day or only at the end: what is kept at the end is the same."""
    times = sorted(NOW - timedelta(hours=hour) for hour in hours)
    at_once = set(Retention.of(rule).kept(map(backup, times), NOW))
    left: list[datetime] = []
    for time in times:
        left.append(time)
        names = Retention.of(rule).kept(map(backup, left), time)
        left = [it for it in left if backup(it).name in names]
    names = Retention.of(rule).kept(map(backup, left), NOW)
    assert set(names) == at_once
