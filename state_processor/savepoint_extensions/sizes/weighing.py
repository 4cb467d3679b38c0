"""Collects the sizes of a savepoint's state."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from savepoint_database.audit.key_state import stored_key_texts
from savepoint_database.types import printable_rows
from savepoint_extensions.sizes.distribution import Skew
from savepoint_extensions.sizes.operator_statistics import WeighedOperator
from savepoint_extensions.sizes.statistics import (
    KeyGroupStatistics,
    KeyStatistics,
    SavepointStatistics,
    SkewStatistics,
    StateStatistics,
    SubtaskStatistics,
    TimerStatistics,
    TimeSpan,
    TtlStatistics,
)
from savepoint_extensions.sizes.verdict import verdict
from savepoint_formats.errors import SavepointError, StateNotFoundError
from savepoint_formats.key_groups import subtasks_of
from savepoint_formats.printable import alternatives
from savepoint_formats.quantities import ByteCount, Share
from savepoint_formats.state_files import TIMER_STATE_PREFIX, StateKind
from savepoint_formats.tables import PROCESSING_TIME, TIME_DOMAINS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from savepoint_database.snapshot import Operator, Snapshot
    from savepoint_extensions.sizes.keyed_statistics import KeyedCounts, StateCounts
    from savepoint_formats.state_files import State
    from savepoint_formats.tables import Table

    Count = Callable[[WeighedOperator, Sequence[State]], KeyedCounts]

TOP = 10
"""Number of largest keys to list."""

SPANS = 60
"""Number of intervals in which the timers of a service are counted."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def statistics_of(
    snapshot: Snapshot,
    table: str | None = None,
    *,
    at: datetime | None = None,
    ttl: Mapping[str, timedelta] | None = None,
    ttl_of: timedelta | None = None,
    top: int = TOP,
    count: Count = WeighedOperator.keyed,
) -> SavepointStatistics:
    """Sizes of the state of a savepoint; see ``Savepoint.stats``.

    ``count`` counts the keyed states of an operator, in this process or elsewhere.
    """
    moment = datetime.now(UTC) if at is None else at
    if moment.tzinfo is None:
        raise ValueError(f"at is {moment}, expected a time with a zone: datetime.now(UTC)")
    at_ms = (moment - _EPOCH) // _MILLISECOND
    ttl_ms = {name: life // _MILLISECOND for name, life in (ttl or {}).items()}
    if top < 0:
        raise ValueError(f"top is {top}, expected 0 or more")
    if ttl_of is not None and ttl_of < timedelta():
        raise ValueError(f"ttl_of is {ttl_of}, expected a time to live")
    life_ms = None if ttl_of is None else ttl_of // _MILLISECOND
    report = _Report(at_ms, ttl_ms, top, count, life_ms)
    if table is not None:
        operator, shown = _table_or_state(snapshot, table)
        _check_ttl(ttl_ms, shown.states, table)
        report.add(operator, (shown,))
    else:
        operators = snapshot.operators()
        states = (state for operator in operators for state in operator.catalog.states)
        _check_ttl(ttl_ms, states, snapshot.path)
        for operator in operators:
            report.add(operator, operator.readable_tables)
            report.problems.extend(
                f"operator {operator.name}: {problem}" for problem in operator.catalog.problems
            )
    return report.finished(snapshot.path)


def _table_or_state(snapshot: Snapshot, name: str) -> tuple[Operator, Table]:
    """The table of a full name; of ``<operator>.<state>`` its table with only this state.

    Raises ``OperatorNotFoundError`` or ``StateNotFoundError``, whose message lists the tables.
    """
    for operator in snapshot.operators():
        if name.startswith(f"{operator.name}."):
            state_name = name.removeprefix(f"{operator.name}.")
            for table in operator.readable_tables:
                states = tuple(state for state in table.states if state.name == state_name)
                if states and table.name != state_name:
                    return operator, replace(table, states=states)
    return snapshot.table(name)


def _check_ttl(ttl_ms: Mapping[str, int], states: Iterable[State], where: str) -> None:
    """Raises ``StateNotFoundError`` for a state that has no TTL."""
    known = sorted({state.name for state in states if state.has_ttl})
    for name in ttl_ms:
        if name not in known:
            there = alternatives(name, known)
            raise StateNotFoundError(f"{where} has no state {name!r} with TTL; {there}")


@dataclass(slots=True)
class _Report:
    at_ms: int
    ttl_ms: dict[str, int]
    top: int
    count: Count
    life_ms: int | None
    ttl: list[TtlStatistics] = field(default_factory=list)
    states: list[StateStatistics] = field(default_factory=list)
    timers: list[TimerStatistics] = field(default_factory=list)
    skew: list[SkewStatistics] = field(default_factory=list)
    subtasks: list[SubtaskStatistics] = field(default_factory=list)
    key_groups: list[KeyGroupStatistics] = field(default_factory=list)
    largest_keys: list[KeyStatistics] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def finished(self, path: str) -> SavepointStatistics:
        sizes: Counter[str] = Counter()
        for state in self.states:
            sizes[state.operator] += state.size

        def by_operator(record: SkewStatistics | SubtaskStatistics | KeyGroupStatistics) -> int:
            return -sizes[record.operator]

        states = sorted(self.states, key=lambda state: -state.size)
        timers = sorted(self.timers, key=lambda service: -service.timers)
        skew = sorted(self.skew, key=by_operator)
        largest_keys = sorted(self.largest_keys, key=lambda key: -key.size)
        return SavepointStatistics(
            path,
            times([self.at_ms])[0],
            ByteCount(sum(state.size for state in states)),
            verdict(states, timers, skew, largest_keys, self.problems),
            tuple(states),
            tuple(timers),
            tuple(skew),
            tuple(sorted(self.subtasks, key=by_operator)),
            tuple(sorted(self.key_groups, key=by_operator)),
            tuple(largest_keys),
            tuple(self.problems),
            tuple(sorted(self.ttl, key=lambda state: -(state.size or 0))),
        )

    def add(self, operator: Operator, tables: Iterable[Table]) -> None:
        """Counts these tables of an operator; tables that can't be read become problems."""
        keyed = {
            state.name: (table.name, state)
            for table in tables
            for state in table.states
            if state.kind.is_keyed
        }
        ttl_ms = self.ttl_ms
        if self.life_ms is not None:
            timed = (name for name, (_, state) in keyed.items() if state.has_ttl)
            ttl_ms = {**dict.fromkeys(timed, self.life_ms), **ttl_ms}
        weighed = WeighedOperator(
            operator.directory, operator.record, operator.kryo, self.at_ms, ttl_ms, self.top
        )
        try:
            if keyed:
                counts = self.count(weighed, [state for _, state in keyed.values()])
                self._add_keyed(
                    operator, counts, {name: table for name, (table, _) in keyed.items()}
                )
        except SavepointError as error:
            self._add_problem(operator, error)
        for table in tables:
            if not table.states[0].kind.is_keyed:
                try:
                    counted = weighed.other(table)
                    self.states.append(_state_statistics(operator.name, table.name, counted, ""))
                except SavepointError as error:
                    self._add_problem(operator, error)

    def _add_problem(self, operator: Operator, error: SavepointError) -> None:
        self.problems.append(str(error.within(f"operator {operator.name}")))

    def _add_keyed(self, operator: Operator, counts: KeyedCounts, tables: dict[str, str]) -> None:
        for name, state in counts.states.items():
            problem = counts.problems.get(name, "")
            self.states.append(_state_statistics(operator.name, tables[name], state, problem))
            if state.state.kind is StateKind.TIMERS:
                self.timers.append(_timer_statistics(operator.name, tables[name], state))
            elif self.life_ms is not None:
                self.ttl.append(_ttl_statistics(operator.name, state))
        self._add_places(operator, counts)
        self._add_largest(operator, counts)

    def _add_places(self, operator: Operator, counts: KeyedCounts) -> None:
        record, name = operator.record, operator.name
        groups = np.arange(record.max_parallelism, dtype=np.uint16)
        owners = subtasks_of(groups, record.parallelism, record.max_parallelism)
        keys, entries, sizes = (
            np.bincount(owners, weights, record.parallelism).astype(np.int64)
            for weights in (counts.keys, counts.entries, counts.sizes)
        )
        self.skew.append(_skew(name, "key groups", counts.keys, counts.sizes))
        self.skew.append(_skew(name, "subtasks", keys, sizes))
        owned = np.bincount(owners, minlength=record.parallelism)
        columns = [owned.tolist(), keys.tolist(), entries.tolist(), map(ByteCount, sizes.tolist())]
        self.subtasks += [
            SubtaskStatistics(name, index, *row)
            for index, row in enumerate(zip(*columns, strict=True))
        ]
        (there,) = np.nonzero(counts.entries)
        places = (there, owners[there], counts.keys[there], counts.entries[there])
        in_bytes = map(ByteCount, counts.sizes[there].tolist())
        rows = zip(*(column.tolist() for column in places), in_bytes, strict=True)
        self.key_groups += [KeyGroupStatistics(name, *row) for row in rows]

    def _add_largest(self, operator: Operator, counts: KeyedCounts) -> None:
        key = next(iter(counts.states.values())).state.key
        if key is None or not counts.largest:
            return
        record, total = operator.record, int(counts.sizes.sum())
        texts = stored_key_texts([largest.data for largest in counts.largest], key, operator.kryo)
        groups = np.array([largest.key_group for largest in counts.largest], np.uint16)
        owners = subtasks_of(groups, record.parallelism, record.max_parallelism)
        self.largest_keys += [
            KeyStatistics(
                operator.name,
                text,
                largest.key_group,
                owner,
                largest.entries,
                ByteCount(largest.size),
                Share(largest.size / total),
            )
            for largest, text, owner in zip(counts.largest, texts, owners.tolist(), strict=True)
        ]


def _skew(
    operator: str, over: str, keys: NDArray[np.int64], sizes: NDArray[np.int64]
) -> SkewStatistics:
    of_keys, of_sizes = Skew.of(keys), Skew.of(sizes)
    return SkewStatistics(
        operator,
        over,
        len(keys),
        of_keys.max_over_mean,
        of_keys.gini,
        of_sizes.max_over_mean,
        of_sizes.gini,
    )


def _state_statistics(
    operator: str, table: str, counts: StateCounts, problem: str
) -> StateStatistics:
    state, contents = counts.state, counts.contents
    is_known = not contents.problem and not state.kind.is_raw and state.kind is not StateKind.TIMERS
    first, last = times([contents.accesses.earliest, contents.accesses.latest])
    return StateStatistics(
        operator=operator,
        table=table,
        state=state.name,
        kind=state.job_kind.value,
        keys=counts.keys,
        rows=counts.rows,
        entries=counts.entries,
        size=counts.sizes.total,
        sizes=counts.sizes.distribution(),
        nulls=contents.nulls if is_known else None,
        null_share=_share(contents.nulls, counts.entries) if is_known else None,
        empties=contents.empties if is_known else None,
        empty_share=_share(contents.empties, counts.entries) if is_known else None,
        items=contents.items.distribution(),
        first_access=first,
        last_access=last,
        expired=contents.expired,
        expired_share=None
        if contents.expired is None
        else _share(contents.expired, contents.accessed),
        problem="; ".join(filter(None, (problem, contents.problem))),
        different=counts.different,
    )


_NO_TIMES = "can't be known: the state has no times of last access"


def _ttl_statistics(operator: str, counts: StateCounts) -> TtlStatistics:
    name, size = counts.state.name, counts.sizes.total
    if not counts.state.has_ttl:
        return TtlStatistics(operator, name, None, None, None, None, _NO_TIMES)
    saved = counts.expired_size
    note = "" if counts.expired_rows is not None else "rows can't be known: where keys end is not"
    return TtlStatistics(
        operator,
        name,
        counts.contents.expired or 0,
        counts.expired_rows,
        ByteCount(saved),
        Share(saved / size if size else 0),
        note,
    )


def _timer_statistics(operator: str, table: str, counts: StateCounts) -> TimerStatistics:
    spread = counts.times
    domain, _, service = counts.state.name.removeprefix(TIMER_STATE_PREFIX).partition("_")
    earliest, median, latest = times([spread.earliest, spread.median(), spread.latest])
    spans = spread.histogram(SPANS)
    starts = times([start for start, _ in spans])
    time_domain = TIME_DOMAINS.get(domain, domain)
    has_clock = time_domain == PROCESSING_TIME
    return TimerStatistics(
        operator=operator,
        table=table,
        service=service,
        time_domain=time_domain,
        timers=counts.entries,
        keys=counts.keys,
        overdue=counts.overdue if has_clock else None,
        overdue_share=Share(_share(counts.overdue, counts.entries) or 0) if has_clock else None,
        earliest=earliest,
        median=median,
        latest=latest,
        resolution_ms=1 << spread.shift,
        spans=tuple(
            TimeSpan(start or "", count) for start, (_, count) in zip(starts, spans, strict=True)
        ),
    )


def _share(count: int, total: int) -> float | None:
    return count / total if total else None


def times(milliseconds: Sequence[int | None]) -> list[Any]:
    """Milliseconds since the epoch as texts, of any year."""
    column = pa.array(milliseconds, pa.timestamp("ms", "UTC"))
    rows = printable_rows(pa.RecordBatch.from_arrays([column], names=["time"]))
    return [row["time"] for row in rows]
