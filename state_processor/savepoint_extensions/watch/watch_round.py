"""The answer of ``watch`` about a checkpoint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from savepoint_database.types import record_table
from savepoint_formats.printable import html_records

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class WatchedState:
    """A state in a checkpoint.

    Attributes:
        operator: Operator of the state.
        state: Name of the state; ``operator_state.<name>`` for operator state if keyed state has the
            same name.
        entries: Values, lists, entries of maps, timers, elements of operator state.
        size: Bytes of all entries, with their keys, as ``stats`` counts them; of operator state, bytes in
            its files.
        error: What the size may be off by, as a fraction of it; 0 is exact, and 1 if the sample has
            nothing of it.
        growth_per_day: Bytes per day, by a line through the last checkpoints; None if there are too few.
        steady_growth_per_day: What the state grows at least by per day if it grows steadily, 0 if it
            doesn't; None if that can't be judged yet.
        missing: What a judgement of the growth still needs; empty if nothing.
        expired_share: Share of the values past their time to live, 0 if there are no values; None if the
            state has no times of access, or no time to live is given.
        expired_error: What this share may be off by.
        overdue: Timers of processing time that should have fired by the checkpoint; None if these are no
            such timers.
    """

    operator: str
    state: str
    entries: int
    size: int
    error: float
    growth_per_day: float | None = None
    steady_growth_per_day: float | None = None
    missing: str = ""
    expired_share: float | None = None
    expired_error: float = 0.0
    overdue: int | None = None


@dataclass(frozen=True, slots=True)
class WatchedOperator:
    """An operator in a checkpoint.

    Attributes:
        operator: The operator.
        parallelism: Number of subtasks.
        size: Bytes of its files.
        subtask_skew: Keyed state of the fullest subtask, as a multiple of the mean; None without any.
        key_group_skew: The same of key groups.
        seen_share: Share of the keyed bytes whose key groups are in the sample.
    """

    operator: str
    parallelism: int
    size: int
    subtask_skew: float | None
    key_group_skew: float | None
    seen_share: float


@dataclass(frozen=True, slots=True)
class WatchedKey:
    """A key with the most entries that were seen.

    Attributes:
        operator: The operator.
        key: A text for ``savepoint key``.
        key_group: Its key group.
        entries: Entries of the key in all states, estimated.
        size: Their bytes, estimated.
        error: What the number of entries may be off by, as a fraction of it.
    """

    operator: str
    key: str
    key_group: int
    entries: int
    size: int
    error: float


@dataclass(frozen=True)
class WatchRound:
    """A round of a watch: the newest checkpoint, or why none could be measured.

    Attributes:
        path: The checkpoint; empty if none was ever measured.
        id: Its number.
        time: When its ``_metadata`` was written, in UTC; when it was first seen, or the next one was
            written, if that was in the future.
        age_seconds: Seconds since then.
        job: Its job's directory.
        size: Bytes of all files that it refers to, each once, and of state in ``_metadata``.
        new_size: Bytes of its files that the checkpoint before did not have.
        metadata_size: Bytes of ``_metadata``.
        in_flight_size: Bytes of records in flight; 0 for an aligned checkpoint.
        intact_id: Number of the newest checkpoint whose files are all there, of the right size and
            readable as far as they were read; None if there is none.
        intact_time: When that one was written.
        states: The states, the largest first.
        operators: The operators, the largest first.
        keys: The keys with the most entries, per operator.
        measured: Checkpoints that were measured in this round.
        read_size: Bytes that this round read.
        seconds: Seconds that it took.
        problems: What could not be read in the newest checkpoint or in this round, and why.
    """

    path: str
    id: int | None
    time: str | None
    age_seconds: float | None
    job: str
    size: int
    new_size: int
    metadata_size: int
    in_flight_size: int
    intact_id: int | None
    intact_time: str | None
    states: tuple[WatchedState, ...]
    operators: tuple[WatchedOperator, ...]
    keys: tuple[WatchedKey, ...]
    measured: tuple[int, ...]
    read_size: int
    seconds: float
    problems: tuple[str, ...]

    def to_arrow(self) -> pa.Table:
        """``states`` as a table.

        Example:
            >>> watch("s3://jobs/checkpoints/1a2b").round().to_arrow().to_pandas()
        """
        return record_table(WatchedState, self.states)

    def _repr_html_(self) -> str:
        names = ("operator", "state", "entries", "size", "growth_per_day", "steady_growth_per_day")
        return html_records(f"States of {self.path}", self.states, names)
