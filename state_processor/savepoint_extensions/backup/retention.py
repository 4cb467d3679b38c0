"""Which backups are kept: ``7d,4w`` keeps the newest of each of the last 7 days and 4 weeks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from savepoint_extensions.backup.backup_store import StoredBackup


class _Unit(NamedTuple):
    """A unit of time: its word, its number since the beginning of time, and how it is shown."""

    word: str
    number: Callable[[datetime], int]
    shown: str


_UNITS = {
    "h": _Unit("hour", lambda time: time.toordinal() * 24 + time.hour, "%Y-%m-%d %H:00"),
    "d": _Unit("day", lambda time: time.toordinal(), "%Y-%m-%d"),
    # The first day of the calendar was a Monday.
    "w": _Unit("week", lambda time: (time.toordinal() - 1) // 7, "%G-W%V"),
    "m": _Unit("month", lambda time: time.year * 12 + time.month, "%Y-%m"),
    "y": _Unit("year", lambda time: time.year, "%Y"),
}
_PART = re.compile(r"(\d{1,5})([hdwmy])")


@dataclass(frozen=True, slots=True)
class Retention:
    """A rule: numbers of hours, days, weeks, months or years, each with its unit."""

    parts: tuple[tuple[int, str], ...]

    @classmethod
    def of(cls, text: str) -> Self:
        """Reads such as ``24h,7d,4w,12m,3y``. Raises ``ValueError`` for another text."""
        parts = []
        for part in text.split(","):
            match = _PART.fullmatch(part.strip())
            if match is None or not int(match[1]):
                raise ValueError(
                    f"{text!r} is no rule of backups to keep, expected such as 7d,4w: numbers above 0,"
                    " each with h, d, w, m or y for hours, days, weeks, months or years"
                )
            parts.append((int(match[1]), match[2]))
        return cls(tuple(parts))

    def kept(self, backups: Iterable[StoredBackup], now: datetime) -> dict[str, str]:
        """Names of the backups of one job that are kept, and why. Times are in UTC.

        The newest one always stays, however old it is. One from the future stays, too, and takes no
        other one's place: if a clock was wrong once, it may be older than all others. It still may
        when its time has come, so the one with the highest checkpoint id always stays, too.
        """
        all_newest_first = sorted(backups, key=lambda it: (it.time, it.name), reverse=True)
        now = now.astimezone(UTC)
        newest_first = [backup for backup in all_newest_first if backup.time <= now]
        reasons = {newest_first[0].name: "the newest"} if newest_first else {}
        if newest_first:
            last = max(newest_first, key=lambda it: it.checkpoint_id)
            reasons.setdefault(last.name, "the highest checkpoint id")
        for count, unit in self.parts:
            word, number, shown = _UNITS[unit]
            newest: dict[int, StoredBackup] = {}
            for backup in newest_first:
                newest.setdefault(number(backup.time), backup)
            for period, backup in newest.items():
                if period > number(now) - count:
                    reason = f"the newest of the {word} {backup.time.strftime(shown)}"
                    reasons.setdefault(backup.name, reason)
        for backup in all_newest_first:
            if backup.time > now:
                reasons[backup.name] = "its time is yet to come: the clock was changed"
        return reasons
