"""What becomes of times with nanoseconds in a column of Spark, whose times end at microseconds."""

from __future__ import annotations

from typing import Literal, get_args

Nanoseconds = Literal["refuse", "struct", "text", "truncate"]
"""What becomes of times with nanoseconds.

| value    | column in Spark, and what becomes of nanoseconds                            |
|----------|-----------------------------------------------------------------------------|
| refuse   | TIMESTAMP or TIMESTAMP_NTZ; a value that has any is an error                |
| struct   | STRUCT<seconds: BIGINT, nanos: INT>, since the epoch: all of them           |
| text     | STRING, ``2026-01-31 12:00:00.000000001``, with ``Z`` if of UTC: all of them|
| truncate | as refuse; they are cut off, and a time beyond Spark's range is its limit   |
"""


def checked_nanoseconds(value: object) -> Nanoseconds:
    """The value, if it is one of ``Nanoseconds``.

    Raises:
        ValueError: It is none.
    """
    for known in get_args(Nanoseconds):
        if value == known:
            checked: Nanoseconds = known
            return checked
    raise ValueError(
        f"nanoseconds is {value!r}, expected one of {', '.join(get_args(Nanoseconds))}"
    )
