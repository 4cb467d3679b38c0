"""What the state of a savepoint weighs: the answer of ``stats``.

Bytes are those of keys and values as a canonical savepoint has them, without the key group of each
key. They come from the borders of stored entries; of all keys only the largest are decoded.
Numbers are exact. Keys are distinguished by a hash of 128 bits.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from savepoint_database.audit.page import fragment

if TYPE_CHECKING:
    from savepoint_formats.statistics.distribution import Distribution

    Part = Literal["states", "timers", "skew", "subtasks", "key_groups", "largest_keys"]


@dataclass(frozen=True, slots=True)
class StateStatistics:
    """What a state has. None where it does not apply, or where ``problem`` says why not.

    Attributes:
        operator: Its operator.
        table: The table that it is in.
        state: Its name.
        kind: What it is to the job.
        keys: Distinct keys.
        rows: Distinct keys and namespaces: values, lists, or maps.
        entries: Values, lists, entries of maps, timers, elements of operator state.
        size: Bytes of all entries, with their keys.
        sizes: Bytes of each row; of timers and operator state, of each entry.
        nulls: Entries whose value is null.
        null_share: Their share of the entries.
        empties: Entries whose value is an empty text, array, list or map.
        empty_share: Their share.
        items: The numbers of elements of lists, of entries of maps.
        first_access: When the value with TTL that nobody accessed for longest was accessed.
        last_access: When one was accessed last.
        expired: Values whose time to live has ended, where that was given.
        expired_share: Their share of the values with TTL.
        problem: Why something of it is not known.
    """

    operator: str
    table: str
    state: str
    kind: str
    keys: int | None
    rows: int | None
    entries: int
    size: int
    sizes: Distribution | None
    nulls: int | None
    null_share: float | None
    empties: int | None
    empty_share: float | None
    items: Distribution | None
    first_access: str | None
    last_access: str | None
    expired: int | None
    expired_share: float | None
    problem: str


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """The timers whose times are in a span, from ``start`` to the start of the next one."""

    start: str
    timers: int


@dataclass(frozen=True, slots=True)
class TimerStatistics:
    """The timers of a service in one time domain.

    Attributes:
        operator: Its operator.
        table: The table that they are in.
        service: The name of the timer service.
        time_domain: ``EVENT_TIME`` or ``PROCESSING_TIME``.
        timers: How many there are.
        keys: How many keys have one.
        overdue: How many of processing time should have fired by the time of the report. None of
            event time: timers of it fire by the job's watermark, and not by a clock.
        overdue_share: Their share; None of event time.
        earliest: When the first fires.
        median: The time up to which half of them fire, to the width of ``resolution_ms``.
        latest: When the last one fires.
        resolution_ms: The precision of times, in ms; 1 is exact.
        spans: How many fire when.
    """

    operator: str
    table: str
    service: str
    time_domain: str
    timers: int
    keys: int | None
    overdue: int | None
    overdue_share: float | None
    earliest: str | None
    median: str | None
    latest: str | None
    resolution_ms: int
    spans: tuple[TimeSpan, ...]


@dataclass(frozen=True, slots=True)
class SkewStatistics:
    """How unevenly keyed state of an operator is spread over key groups, or over subtasks.

    Attributes:
        operator: The operator.
        over: ``key groups`` or ``subtasks``.
        count: How many of these there are.
        keys_max_over_mean: What the fullest has, as a multiple of what each would have.
        keys_gini: The Gini coefficient: 0 is even, close to 1 is all in one.
        size_max_over_mean: The same of the bytes.
        size_gini: The same of the bytes.
    """

    operator: str
    over: str
    count: int
    keys_max_over_mean: float | None
    keys_gini: float | None
    size_max_over_mean: float | None
    size_gini: float | None


@dataclass(frozen=True, slots=True)
class SubtaskStatistics:
    """What the key groups of a subtask have: keys, entries, bytes."""

    operator: str
    subtask: int
    key_groups: int
    keys: int
    entries: int
    size: int


@dataclass(frozen=True, slots=True)
class KeyGroupStatistics:
    """What a key group has: keys, entries, bytes."""

    operator: str
    key_group: int
    subtask: int
    keys: int
    entries: int
    size: int


@dataclass(frozen=True, slots=True)
class KeyStatistics:
    """A key with much state; ``key`` is as ``savepoint key`` takes it."""

    operator: str
    key: str
    key_group: int
    subtask: int
    entries: int
    size: int
    share: float


@dataclass(frozen=True)
class SavepointStatistics:
    """What the state of a savepoint weighs.

    Attributes:
        path: The savepoint.
        at: The time by which timers of processing time are overdue and values have expired.
        size: Bytes of all entries that were counted, with their keys.
        verdict: The largest state, and what else stands out.
        states: What each state has, the largest first.
        timers: When timers fire, of most timers first.
        skew: How unevenly keyed state is spread, of the largest operator first.
        subtasks: What each subtask has of keyed state.
        key_groups: The same of each key group that has any.
        largest_keys: The keys with the most bytes in all keyed state of their operator, the largest
            first.
        problems: What could not be counted, and why.
    """

    path: str
    at: str
    size: int
    verdict: str
    states: tuple[StateStatistics, ...]
    timers: tuple[TimerStatistics, ...]
    skew: tuple[SkewStatistics, ...]
    subtasks: tuple[SubtaskStatistics, ...]
    key_groups: tuple[KeyGroupStatistics, ...]
    largest_keys: tuple[KeyStatistics, ...]
    problems: tuple[str, ...]

    def to_arrow(self, part: Part = "states") -> pa.Table:
        """A part of the answer as a table, a row per record; distributions are structs.

        Args:
            part: The name of one of the attributes that are records.

        Example:
            >>> savepoint.stats().to_arrow("key_groups").to_pandas()
        """
        records = [asdict(record) for record in getattr(self, part)]
        return pa.Table.from_pylist(records, schema=_SCHEMAS[part])

    def _repr_html_(self) -> str:
        """Plots and tables, for notebooks."""
        return fragment(self)


_SIZES = pa.struct(
    {
        "total": pa.int64(),
        "min": pa.int64(),
        "mean": pa.float64(),
        "p50": pa.int64(),
        "p99": pa.int64(),
        "max": pa.int64(),
    }
)
_TEXT, _LONG, _REAL = pa.string(), pa.int64(), pa.float64()
_SCHEMAS = {
    "states": pa.schema(
        {
            **dict.fromkeys(("operator", "table", "state", "kind"), _TEXT),
            **dict.fromkeys(("keys", "rows", "entries", "size"), _LONG),
            "sizes": _SIZES,
            "nulls": _LONG,
            "null_share": _REAL,
            "empties": _LONG,
            "empty_share": _REAL,
            "items": _SIZES,
            "first_access": _TEXT,
            "last_access": _TEXT,
            "expired": _LONG,
            "expired_share": _REAL,
            "problem": _TEXT,
        }
    ),
    "timers": pa.schema(
        {
            **dict.fromkeys(("operator", "table", "service", "time_domain"), _TEXT),
            **dict.fromkeys(("timers", "keys", "overdue"), _LONG),
            "overdue_share": _REAL,
            **dict.fromkeys(("earliest", "median", "latest"), _TEXT),
            "resolution_ms": _LONG,
            "spans": pa.list_(pa.struct({"start": _TEXT, "timers": _LONG})),
        }
    ),
    "skew": pa.schema(
        {
            **dict.fromkeys(("operator", "over"), _TEXT),
            "count": _LONG,
            **dict.fromkeys(
                ("keys_max_over_mean", "keys_gini", "size_max_over_mean", "size_gini"), _REAL
            ),
        }
    ),
    "subtasks": pa.schema(
        {
            "operator": _TEXT,
            **dict.fromkeys(("subtask", "key_groups", "keys", "entries", "size"), _LONG),
        }
    ),
    "key_groups": pa.schema(
        {
            "operator": _TEXT,
            **dict.fromkeys(("key_group", "subtask", "keys", "entries", "size"), _LONG),
        }
    ),
    "largest_keys": pa.schema(
        {
            **dict.fromkeys(("operator", "key"), _TEXT),
            **dict.fromkeys(("key_group", "subtask", "entries", "size"), _LONG),
            "share": _REAL,
        }
    ),
}
