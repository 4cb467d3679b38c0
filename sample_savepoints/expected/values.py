"""How ``expected.json`` writes values that JSON does not have."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def decimal(cents: int) -> str:
    """A decimal of scale 2."""
    return f"{'-' if cents < 0 else ''}{abs(cents) // 100}.{abs(cents) % 100:02}"


def instant(time_ms: int, microseconds: int = 0) -> str:
    """A point in time, in UTC."""
    time = _EPOCH + timedelta(milliseconds=time_ms, microseconds=microseconds)
    return time.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
