"""History of a key over the retained checkpoints and savepoints."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from savepoint_database.audit.key_state import html_rows, key_rows
from savepoint_database.snapshot import RetainedSnapshot, Snapshot, opening_of, snapshots
from savepoint_formats.errors import (
    OperatorNotFoundError,
    SavepointError,
    StateNotFoundError,
    StateTypeError,
)
from savepoint_formats.printable import html_printable
from savepoint_formats.savepoint_warnings import UnknownUidWarning

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from savepoint_database.audit.key_state import KeyRows
    from savepoint_database.snapshot import GivenType, StateTypes
    from savepoint_database.types import DescribedClasses, Times
    from savepoint_formats.locations import PathText
    from savepoint_formats.scan import UndescribedSubclasses


@dataclass(frozen=True, slots=True, eq=False)
class KeyMoment:
    """State of a key in one snapshot.

    Attributes:
        snapshot: The snapshot.
        key_rows: Rows of the key in the table; None if it has none.
        is_changed: Whether the rows differ from those in the previous snapshot.
        problem: Why the rows could not be read.
    """

    snapshot: RetainedSnapshot
    key_rows: KeyRows | None
    is_changed: bool
    problem: str

    @property
    def rows(self) -> pa.Table | None:
        """Rows of the key as a table; None if it has none."""
        return None if self.key_rows is None else self.key_rows.rows

    def printable(self, times: Times = "dates") -> list[dict[str, Any]]:
        return [] if self.key_rows is None else self.key_rows.printable(times)


@dataclass(frozen=True, slots=True, eq=False)
class KeyHistory:
    """State of a key in a table, snapshot by snapshot, the oldest first."""

    directory: str
    table: str
    moments: tuple[KeyMoment, ...]

    def _repr_html_(self) -> str:
        parts = (
            html_rows(
                f"{moment.snapshot.path}, {moment.snapshot.time or 'no time'}"
                f"{': ' + moment.problem if moment.problem else ''}",
                moment.printable(),
            )
            for moment in self.moments
        )
        return f"<p>{html_printable(self.table)}</p>{''.join(parts)}"

    @property
    def is_found(self) -> bool:
        """Whether any snapshot has the key."""
        return any(moment.rows is not None for moment in self.moments)

    def to_arrow(self) -> pa.Table:
        """All rows, with the columns ``snapshot``, ``checkpoint_id`` and ``time`` in front.

        Raises:
            StateTypeError: A column has another type in a later snapshot, and no type holds both.
        """
        parts = [_placed(moment) for moment in self.moments if moment.rows is not None]
        if not parts:
            return _PLACE.empty_table()
        try:
            return pa.concat_tables(parts, promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise StateTypeError(f"the types of {self.table} change over time: {error}") from error


_PLACE = pa.schema({"snapshot": pa.string(), "checkpoint_id": pa.int64(), "time": pa.string()})


def _placed(moment: KeyMoment) -> pa.Table:
    assert moment.rows is not None
    rows, retained = moment.rows, moment.snapshot
    values = (retained.path, retained.id, retained.time)
    for place, field in enumerate(_PLACE):
        column = pa.repeat(pa.scalar(values[place], field.type), len(rows))
        rows = rows.add_column(place, field.name, column)
    return rows


def history(  # noqa: PLR0913  # as Snapshot.open
    directory: PathText,
    table: str,
    key: Any,
    *,
    undescribed_subclasses: UndescribedSubclasses = "refuse",
    uids: Iterable[str] = (),
    kryo_classes: DescribedClasses = (),
    allow_paths: Iterable[PathText] = (),
    strict_paths: bool = False,
    key_types: Mapping[str, GivenType] | None = None,
    plan: PathText | None = None,
    types: StateTypes | None = None,
) -> KeyHistory:
    """State of a key in a table, in all complete snapshots below a directory.

    Only the key group of the key is read from each snapshot.

    Args:
        directory: Directory with the snapshots.
        table: ``<operator>.<table>``.
        key: The key, as for ``Savepoint.key``.
        undescribed_subclasses: The form of POJOs of subclasses that no snapshot describes: ``refuse`` raises an
            error, ``bytes`` and ``rest`` show their bytes and the reason.
        uids: Uids of operators, because Flink 1.x stores only their hashes; a snapshot may lack some operators.
        kryo_classes: Classes that Kryo wrote, or a file of YAML or JSON that describes them; see ``kryo_class``.
        allow_paths: Local directories and URIs. Files on another store are followed only below these.
        strict_paths: Follow no other path out of the directories of a savepoint and of its checkpoint.
        key_types: Uid or hash of an operator -> type of its keys, for operators whose files don't tell it.
        plan: File with the compiled plan of a SQL job.
        types: Types of states of a PyFlink job, see ``Savepoint.open``.

    Returns:
        The rows of each snapshot, the oldest first.

    Raises:
        SavepointNotFoundError: There is no such directory.
        OperatorNotFoundError: No snapshot has the operator; the message comes from the last one.
        StateNotFoundError: No snapshot has the table; the message comes from the last one.

    Example:
        >>> history("s3://jobs/checkpoints", "summarize.keyed_state", 42).to_arrow().to_pandas()
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
    moments: list[KeyMoment] = []
    missing: OperatorNotFoundError | StateNotFoundError | None = None
    is_missing = True
    allowed = opening["allow_paths"]
    snapshots_below = snapshots(directory, allow_paths=allowed, strict_paths=strict_paths)
    for retained in reversed(snapshots_below):
        if not retained.is_complete:
            continue
        in_table, problem = None, ""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UnknownUidWarning)
                opened = Snapshot.open(retained.path, **opening)
            in_table = key_rows(opened, table, key, undescribed_subclasses)
            is_missing = False
        except (OperatorNotFoundError, StateNotFoundError) as error:
            missing = error
        except SavepointError as error:
            is_missing, problem = False, str(error)
        before = moments[-1].rows if moments else None
        is_changed = not _equal(before, None if in_table is None else in_table.rows)
        moments.append(KeyMoment(retained, in_table, is_changed, problem))
    if missing is not None and is_missing:
        raise missing
    return KeyHistory(os.fspath(directory), table, tuple(moments))


def _equal(rows: pa.Table | None, other: pa.Table | None) -> bool:
    if rows is None or other is None:
        return rows is other
    return bool(rows.schema == other.schema) and rows.to_pylist() == other.to_pylist()
