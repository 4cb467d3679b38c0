"""Which state grows over the retained checkpoints and savepoints of a job."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import state_processor
from savepoint_database.snapshot import opening_of, snapshots
from savepoint_database.types import record_table
from savepoint_formats.errors import OperatorNotFoundError, SavepointError, StateNotFoundError
from savepoint_formats.printable import html_records
from savepoint_formats.quantities import ByteCount
from savepoint_formats.savepoint_warnings import UnknownUidWarning

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pyarrow as pa

    from savepoint_database.snapshot import GivenType, StateTypes
    from savepoint_database.types import DescribedClasses
    from savepoint_formats.locations import PathText


@dataclass(frozen=True, slots=True)
class StateMoment:
    """A state in one snapshot.

    Attributes:
        snapshot: Path of the snapshot.
        checkpoint_id: Its number.
        time: When its ``_metadata`` was written.
        operator: Operator of the state.
        state: Name of the state.
        entries: Values, lists, entries of maps, timers, elements of operator state.
        size: Bytes of all entries, with their keys.
    """

    snapshot: str
    checkpoint_id: int | None
    time: str | None
    operator: str
    state: str
    entries: int
    size: int


@dataclass(frozen=True, slots=True)
class StateGrowth:
    """A state from the first snapshot that has it to the last.

    Attributes:
        operator: Operator of the state.
        state: Name of the state.
        snapshots: Number of snapshots with the state.
        first_size: Bytes in the first of them.
        last_size: Bytes in the last.
        growth: The difference; negative if it has shrunk.
        first_entries: Entries in the first.
        last_entries: Entries in the last.
        always: Whether it has grown from each snapshot to the next.
    """

    operator: str
    state: str
    snapshots: int
    first_size: int
    last_size: int
    growth: int
    first_entries: int
    last_entries: int
    always: bool


@dataclass(frozen=True, slots=True)
class SizeHistory:
    """Sizes of states, snapshot by snapshot.

    Attributes:
        directory: The directory of the snapshots.
        growth: A record per state, the one that has grown most first.
        moments: A record per state and snapshot, the oldest snapshot first.
        problems: Snapshots, or state in them, that could not be read.
    """

    directory: str
    growth: tuple[StateGrowth, ...]
    moments: tuple[StateMoment, ...]
    problems: tuple[str, ...]

    def to_arrow(self) -> pa.Table:
        """``moments`` as a table.

        Example:
            >>> size_history("s3://jobs/checkpoints").to_arrow().to_pandas().plot(x="time", y="size")
        """
        return record_table(StateMoment, self.moments)

    def _repr_html_(self) -> str:
        title = f"Growth of state below {self.directory}"
        return html_records(title, self.growth, StateGrowth.__match_args__)


def size_history(  # noqa: PLR0913  # as Savepoint.open
    directory: PathText,
    table: str | None = None,
    *,
    uids: Iterable[str] = (),
    kryo_classes: DescribedClasses = (),
    allow_paths: Iterable[PathText] = (),
    strict_paths: bool = False,
    key_types: Mapping[str, GivenType] | None = None,
    plan: PathText | None = None,
    types: StateTypes | None = None,
) -> SizeHistory:
    """The sizes of states in all complete snapshots below a directory.

    All state of each snapshot is read, some key groups at a time; values are not decoded.

    Args:
        directory: Directory with the snapshots.
        table: ``<operator>.<table>`` or ``<operator>.<state>``; all by default.
        uids: As for ``Savepoint.open``; a snapshot may lack some operators.
        kryo_classes: As for ``Savepoint.open``.
        allow_paths: As for ``Savepoint.open``.
        strict_paths: As for ``Savepoint.open``.
        key_types: As for ``Savepoint.open``.
        plan: As for ``Savepoint.open``.
        types: As for ``Savepoint.open``.

    Raises:
        SavepointNotFoundError: There is no such directory.
        OperatorNotFoundError, StateNotFoundError: No snapshot has the table.

    Example:
        >>> size_history("s3://jobs/checkpoints").growth[0]
    """
    opening = opening_of(
        uids=uids,
        kryo_classes=kryo_classes,
        allow_paths=allow_paths,
        strict_paths=strict_paths,
        key_types=key_types,
        plan=plan,
        types=types,
    )
    allowed = opening["allow_paths"]
    moments, problems = list[StateMoment](), list[str]()
    missing: OperatorNotFoundError | StateNotFoundError | None = None
    for retained in reversed(snapshots(directory, allow_paths=allowed, strict_paths=strict_paths)):
        if not retained.is_complete:
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UnknownUidWarning)
                opened = state_processor.Savepoint.open(retained.path, **opening)
            report = opened.stats(table, top=0)
        except (OperatorNotFoundError, StateNotFoundError) as error:
            missing = error
            continue
        except SavepointError as error:
            problems.append(f"{retained.path}: {error}")
            continue
        problems += [f"{retained.path}: {problem}" for problem in report.problems]
        place = (retained.path, retained.id, retained.time)
        moments += [
            StateMoment(*place, it.operator, it.state, it.entries, ByteCount(it.size))
            for it in report.states
        ]
    if missing is not None and not moments and not problems:
        raise missing
    return SizeHistory(os.fspath(directory), _growth(moments), tuple(moments), tuple(problems))


def _growth(moments: Iterable[StateMoment]) -> tuple[StateGrowth, ...]:
    by_state: dict[tuple[str, str], list[StateMoment]] = {}
    for moment in moments:
        by_state.setdefault((moment.operator, moment.state), []).append(moment)
    records = []
    for names, own in by_state.items():
        first, last = own[0], own[-1]
        sizes = [moment.size for moment in own]
        grows = all(size < after for size, after in pairwise(sizes))
        records.append(
            StateGrowth(
                *names,
                len(own),
                first.size,
                last.size,
                ByteCount(last.size - first.size),
                first.entries,
                last.entries,
                always=grows and len(own) > 1,
            )
        )
    return tuple(sorted(records, key=lambda record: -record.growth))
