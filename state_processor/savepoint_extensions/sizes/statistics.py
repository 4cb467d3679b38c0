"""Sizes of a savepoint's state: the answer of ``stats``.

Bytes are those of keys and values in canonical form, without the key group of each key. They come
from the borders of stored entries; only the largest keys are decoded. Numbers are exact. Keys are
distinguished by a hash of 128 bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from savepoint_database.types import record_table, record_type
from savepoint_extensions.sizes.distribution import Distribution
from savepoint_extensions.sizes.statistics_views import fragment, statistics_tables

if TYPE_CHECKING:
    from collections.abc import Sequence

    Part = Literal["states", "timers", "skew", "subtasks", "key_groups", "largest_keys", "ttl"]


@dataclass(frozen=True, slots=True)
class StateStatistics:
    """Sizes of a state. A value is None if it does not apply, or if ``problem`` says why it is unknown.

    Attributes:
        operator: Operator of the state.
        table: Table of the state.
        state: Name of the state.
        kind: Kind of the state as the job sees it.
        keys: Distinct keys.
        rows: Distinct keys and namespaces: values, lists, or maps.
        entries: Values, lists, entries of maps, timers, elements of operator state.
        size: Bytes of all entries, with their keys.
        sizes: Bytes per row; for timers and operator state, per entry.
        nulls: Entries whose value is null.
        null_share: Nulls as a fraction of the entries.
        empties: Entries whose value is an empty text, array, list or map.
        empty_share: Empties as a fraction of the entries.
        items: Numbers of elements of lists, of entries of maps.
        first_access: Oldest time of last access among the values with TTL.
        last_access: Newest time of last access.
        expired: Values whose time to live has ended, if it was given.
        expired_share: Expired values as a fraction of the values with TTL.
        problem: Why something is unknown.
        different: Different elements of a list or union list of an operator, by their bytes.
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
    different: int | None = None


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """Number of timers from ``start`` to the next start."""

    start: str
    timers: int


@dataclass(frozen=True, slots=True)
class TimerStatistics:
    """The timers of a service in one time domain.

    Attributes:
        operator: Operator of the timers.
        table: Table of the timers.
        service: Name of the timer service.
        time_domain: ``EVENT_TIME`` or ``PROCESSING_TIME``.
        timers: Number of timers.
        keys: Number of keys with a timer.
        overdue: Timers of processing time that should have fired by the time of the report. None for
            event time, whose timers fire by the job's watermark and not by a clock.
        overdue_share: Overdue timers as a fraction; None for event time.
        earliest: Time of the first timer.
        median: Time up to which half of the timers fire, exact to ``resolution_ms``.
        latest: Time of the last timer.
        resolution_ms: Precision of times in ms; 1 is exact.
        spans: Numbers of timers in equal intervals of time.
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
    """Imbalance of an operator's keyed state between key groups, or between subtasks.

    Attributes:
        operator: The operator.
        over: ``key groups`` or ``subtasks``.
        count: Number of key groups or subtasks.
        keys_max_over_mean: Keys of the fullest one, as a multiple of the mean.
        keys_gini: Gini coefficient of the keys: 0 is even, close to 1 is all in one.
        size_max_over_mean: Bytes of the largest one, as a multiple of the mean.
        size_gini: Gini coefficient of the bytes.
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
    """Keys, entries and bytes in the key groups of a subtask."""

    operator: str
    subtask: int
    key_groups: int
    keys: int
    entries: int
    size: int


@dataclass(frozen=True, slots=True)
class KeyGroupStatistics:
    """Keys, entries and bytes of a key group."""

    operator: str
    key_group: int
    subtask: int
    keys: int
    entries: int
    size: int


@dataclass(frozen=True, slots=True)
class KeyStatistics:
    """A key with much state; ``key`` is a text for ``savepoint key``."""

    operator: str
    key: str
    key_group: int
    subtask: int
    entries: int
    size: int
    share: float


@dataclass(frozen=True, slots=True)
class TtlStatistics:
    """What a time to live takes from a keyed state; ``expire`` would remove the same.

    Without times of last access nothing is known, and the numbers are None.

    Attributes:
        operator: Operator of the state.
        state: Name of the state.
        values: Values, elements of lists, or entries of maps that have expired.
        rows: Distinct keys and namespaces of which nothing is left; None if keys are unknown.
        size: Bytes that go, with the keys of entries that go.
        share: These bytes as a fraction of the state's bytes.
        note: Why the numbers are not known.
    """

    operator: str
    state: str
    values: int | None
    rows: int | None
    size: int | None
    share: float | None
    note: str


@dataclass(frozen=True)
class SavepointStatistics:
    """Sizes of a savepoint's state.

    Attributes:
        path: The savepoint.
        at: Time at which timers of processing time are overdue and values have expired.
        size: Bytes of all counted entries, with their keys.
        verdict: The largest state, and other conspicuous facts.
        states: Sizes of each state, the largest first.
        timers: Times of timers, most timers first.
        skew: Imbalance of keyed state, the largest operator first.
        subtasks: Keyed state of each subtask.
        key_groups: Keyed state of each key group that has any.
        largest_keys: Keys with the most bytes in all keyed state of their operator, the largest first.
        problems: State that could not be counted, and why.
        ttl: What a time to live would save, the most bytes first; empty unless ``ttl_of`` asks for it.
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
    ttl: tuple[TtlStatistics, ...] = ()

    def to_arrow(self, part: Part = "states") -> pa.Table:
        """A table with a row per record; distributions are structs.

        Args:
            part: Name of an attribute that consists of records.

        Example:
            >>> savepoint.stats().to_arrow("key_groups").to_pandas()
        """
        return record_table(_RECORDS[part], getattr(self, part), _INNER)

    def tables(self, *, with_key_groups: bool = False) -> list[tuple[str, Sequence[Any]]]:
        """Titles and rows of the tables for people."""
        return statistics_tables(self, with_key_groups=with_key_groups)

    def _repr_html_(self) -> str:
        return fragment(self)


_RECORDS = {
    "states": StateStatistics,
    "timers": TimerStatistics,
    "skew": SkewStatistics,
    "subtasks": SubtaskStatistics,
    "key_groups": KeyGroupStatistics,
    "largest_keys": KeyStatistics,
    "ttl": TtlStatistics,
}
_INNER = {
    "Distribution": record_type(Distribution, {}),
    "tuple[TimeSpan, ...]": pa.list_(record_type(TimeSpan, {})),
}
