"""Durations and sizes of memory, as Flink's configuration writes them: ``10 s``, ``128mb``; and times.

Only whole numbers with one unit are accepted. Flink: ``TimeUtils``, ``MemorySize``.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_QUANTITY = re.compile(r"(\d+)\s*(\S*)")
_MAX_LONG = 2**63 - 1

_NANOSECONDS = {
    unit: factor
    for factor, units in {
        1: "ns nano nanosecond nanoseconds",
        1_000: "µs micro microsecond microseconds",
        1_000_000: "ms milli millisecond milliseconds",
        1_000_000_000: "s sec second seconds",
        60_000_000_000: "m min minute minutes",
        3_600_000_000_000: "h hour hours",
        86_400_000_000_000: "d day days",
    }.items()
    for unit in units.split()
}
_BYTES = {
    unit: factor
    for factor, units in {
        1: "b bytes",
        1 << 10: "k kb kibibytes",
        1 << 20: "m mb mebibytes",
        1 << 30: "g gb gibibytes",
        1 << 40: "t tb tebibytes",
    }.items()
    for unit in units.split()
}


def milliseconds(text: int | str) -> int:
    """A duration such as ``10 s``, ``500ms`` or ``1 min`` in ms; a plain number is in ms. Rounds down.

    Raises ``ValueError`` for other texts, and for negative or too long durations.
    """
    return _quantity(text, "a duration such as 10 s", _NANOSECONDS, "ms") // _NANOSECONDS["ms"]


def size_in_bytes(text: int | str) -> int:
    """A size such as ``128mb`` or ``1 g`` in bytes; a plain number is in bytes, units are powers of 1024.

    Raises ``ValueError`` for other texts, and for negative or too large sizes.
    """
    return _quantity(text, "a size such as 128mb", _BYTES, "b")


def _quantity(text: int | str, what: str, units: Mapping[str, int], plain_unit: str) -> int:
    """Number of the smallest units."""
    match = None if isinstance(text, bool) else _QUANTITY.fullmatch(str(text).strip().lower())
    if match is None or (match[2] or plain_unit) not in units:
        raise ValueError(f"{text!r}, expected {what}; units are {', '.join(units)}")
    number = int(match[1]) * units[match[2] or plain_unit]
    if number // units[plain_unit] > _MAX_LONG:
        raise ValueError(f"{text!r}, expected {what}, of less than 2**63 {plain_unit}")
    return number


def moment(text: str | None) -> datetime | None:
    """A time in ISO 8601, in UTC unless it has a zone; raises ``ValueError`` for another text."""
    if text is None:
        return None
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"{text!r} is no time such as 2026-01-31T12:00:00Z") from error
    return parsed if parsed.tzinfo is not None else parsed.replace(tzinfo=UTC)
