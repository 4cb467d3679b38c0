"""Times as the answers of a watch show them."""

from __future__ import annotations

from datetime import UTC, datetime

_TIME = "%Y-%m-%d %H:%M:%SZ"


def time_text(seconds: float) -> str:
    """A time in UTC as it is shown; ``seconds`` are those since the epoch."""
    return datetime.fromtimestamp(seconds, UTC).strftime(_TIME)


def seconds_of(text: str) -> float:
    """Seconds since the epoch of a time that is shown."""
    return datetime.strptime(text, _TIME).replace(tzinfo=UTC).timestamp()
