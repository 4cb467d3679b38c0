"""The options for nanoseconds in columns of Spark, whose times end at microseconds."""

from __future__ import annotations

from typing import Literal, cast, get_args

Nanoseconds = Literal["refuse", "struct", "text", "truncate"]
"""Form of times with nanoseconds.

| value    | column in Spark, and its nanoseconds                                        |
|----------|-----------------------------------------------------------------------------|
| refuse   | TIMESTAMP or TIMESTAMP_NTZ; a value that has any is an error                |
| struct   | STRUCT<seconds: BIGINT, nanos: INT>, since the epoch: all of them           |
| text     | STRING, ``2026-01-31 12:00:00.000000001``, with ``Z`` if of UTC: all of them|
| truncate | as refuse; nanoseconds are cut off, a time beyond Spark's range is its limit|
"""


def checked_nanoseconds(value: object) -> Nanoseconds:
    """The value; ``ValueError`` if it is none of ``Nanoseconds``."""
    if value in get_args(Nanoseconds):
        return cast("Nanoseconds", value)
    raise ValueError(
        f"nanoseconds is {value!r}, expected one of {', '.join(get_args(Nanoseconds))}"
    )
