"""The answer of ``stats`` as flat rows for people, without fields that do not apply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from savepoint_formats.quantities import ByteCount, Share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from savepoint_database.audit.statistics import SavepointStatistics, StateStatistics
    from savepoint_formats.statistics.distribution import Distribution


@dataclass(frozen=True, slots=True)
class StateSizes:
    """Numbers of keys and entries of a state, and the bytes of its rows."""

    operator: str
    state: str
    kind: str
    total_size: int
    share: float
    keys: int | None
    rows: int | None
    entries: int
    min_size: int | None
    mean_size: int | None
    p50_size: int | None
    p99_size: int | None
    max_size: int | None

    @classmethod
    def of(cls, state: StateStatistics, total: int) -> Self:
        counts = (state.keys, state.rows, state.entries)
        sizes = (None if size is None else ByteCount(size) for size in _five(state.sizes))
        share = Share(state.size / total if total else 0)
        named = (state.operator, state.state, state.kind)
        return cls(*named, ByteCount(state.size), share, *counts, *sizes)


@dataclass(frozen=True, slots=True)
class StateContents:
    """Values of a state; shares are in percent."""

    operator: str
    state: str
    null: str
    empty: str
    min_items: int | None
    mean_items: float | None
    p50_items: int | None
    p99_items: int | None
    max_items: int | None
    first_access: str | None
    last_access: str | None
    expired: str
    problem: str

    @classmethod
    def of(cls, state: StateStatistics) -> Self:
        least, mean, p50, p99, most = _five(state.items)
        return cls(
            state.operator,
            state.state,
            _share(state.nulls, state.null_share),
            _share(state.empties, state.empty_share),
            least,
            mean,
            p50,
            p99,
            most,
            state.first_access,
            state.last_access,
            _share(state.expired, state.expired_share),
            state.problem,
        )

    def tells_something(self) -> bool:
        return any((self.null, self.empty, self.min_items, self.first_access, self.problem))


def statistics_tables(
    report: SavepointStatistics, *, with_key_groups: bool = False
) -> list[tuple[str, Sequence[Any]]]:
    """Titles and rows of the tables for people."""
    contents = [StateContents.of(state) for state in report.states]
    states, largest_keys = _largest_tables(report)
    tables: list[tuple[str, Sequence[Any]]] = [
        states,
        ("Values: nulls, empties, items", [state for state in contents if state.tells_something()]),
        ("Timers", report.timers),
        ("Skew", report.skew),
        ("Subtasks", report.subtasks),
        largest_keys,
    ]
    if with_key_groups:
        tables.insert(5, ("Key groups", report.key_groups))
    return [(title, rows) for title, rows in tables if rows]


def largest_tables(report: SavepointStatistics) -> list[tuple[str, Sequence[Any]]]:
    """Tables of the largest states and keys, for a small screen."""
    return [(title, rows) for title, rows in _largest_tables(report) if rows]


def _largest_tables(report: SavepointStatistics) -> list[tuple[str, Sequence[Any]]]:
    states = [StateSizes.of(state, report.size) for state in report.states]
    return [
        ("States: bytes, keys, entries, bytes of a row", states),
        ("Largest keys", report.largest_keys),
    ]


def _five(distribution: Distribution | None) -> tuple[Any, ...]:
    if distribution is None:
        return (None,) * 5
    return (
        distribution.min,
        round(distribution.mean),
        distribution.p50,
        distribution.p99,
        distribution.max,
    )


def _share(count: int | None, share: float | None) -> str:
    """A number with its share; empty for 0, the usual case."""
    return f"{count:,} ({share:.1%})" if count and share is not None else ""
