"""An operator of a snapshot: its states, their tables, and how users name it.

A user names it by its uid, its hash, or the first digits of the hash.
"""

from __future__ import annotations

import re
import warnings
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from savepoint_formats.errors import (
    AmbiguousOperatorError,
    NotFoundError,
    OperatorNotFoundError,
    StateNotFoundError,
)
from savepoint_formats.key_groups import OperatorId
from savepoint_formats.layout import holds_kryo
from savepoint_formats.printable import did_you_mean, html_table
from savepoint_formats.savepoint_warnings import UnknownUidWarning
from savepoint_formats.snapshots import WrittenKryo, with_described_subclasses
from savepoint_formats.tables import (
    KEYED_STATE,
    OperatorCatalog,
    Table,
    column_type,
    problems_by_table,
    tables_of,
)
from savepoint_formats.values import spark_type_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from savepoint_formats.errors import SavepointError
    from savepoint_formats.locations import SnapshotDirectory
    from savepoint_formats.metadata import CheckpointMetadata, OperatorState
    from savepoint_formats.scan import ReadOptions, TableScan
    from savepoint_formats.snapshots import TypeSerializerSnapshot
    from savepoint_formats.state_files import StateNames
    from savepoint_formats.tables import CatalogProblem
    from savepoint_formats.values import KryoDialect

    Uids = Mapping[str, str | None]

FEWEST_DIGITS = 4
"""Fewest digits of a hash that name an operator, as in git."""

_SHOWN_DIGITS = 8
_DIGITS = re.compile(rf"[0-9a-f]{{{FEWEST_DIGITS},32}}")


@dataclass(frozen=True, repr=False)
class Operator:
    """An operator of a savepoint: a namespace of tables.

    Attributes:
        record: Record of the operator in ``_metadata``.
        uid: Its uid, if the savepoint or the user gave it.
        directory: Directory of its files.
        kryo: Dialect of Kryo's bytes.
        key_type: Serializer of its keys that the user gave; used where no file tells it.
        names: Names of fields that no file has, such as those of a SQL query.
    """

    record: OperatorState
    uid: str | None
    directory: SnapshotDirectory = field(repr=False)
    kryo: KryoDialect | None = field(default=None, repr=False)
    key_type: TypeSerializerSnapshot | None = field(default=None, repr=False)
    names: StateNames | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        facts = f"parallelism {self.record.parallelism}"
        return f"Operator({self.name!r}, {facts}, max parallelism {self.record.max_parallelism})"

    def _repr_html_(self) -> str:
        rows = [
            (table.name, column.name, spark_type_name(column_type(table, column)))
            for table in self.readable_tables
            for column in table.columns
        ]
        rows += [(name, "", str(problems[0])) for name, problems in self.unread_tables.items()]
        return html_table(repr(self), ("table", "column", "type"), rows)

    @property
    def id(self) -> str:
        """Hash of its uid, 32 hexadecimal digits."""
        return str(self.record.operator_id)

    @property
    def name(self) -> str:
        """Name in front of its tables: the uid, or the hash where the uid is unknown."""
        return self.uid or self.id

    @cached_property
    def catalog(self) -> OperatorCatalog:
        """Its states. Reads the headers of its state files, once."""
        key = None if self.key_type is None else self.key_type.layout()
        return OperatorCatalog.of(self.directory, self.record, self.kryo, key, self.names)

    def written(self, snapshot: TypeSerializerSnapshot) -> TypeSerializerSnapshot:
        """The serializer that writes new values of a stored one, for the same Flink."""
        if self.kryo is None:
            return snapshot
        snapshot = with_described_subclasses(
            snapshot, self.kryo.classes, is_of_flink_1=not self.kryo.is_5
        )
        if not holds_kryo(snapshot.layout()):
            return snapshot
        return replace(
            snapshot, shown=WrittenKryo(tuple(self.kryo.classes), self.kryo.version.value)
        )

    @property
    def tables(self) -> tuple[Table, ...]:
        """Tables of its states.

        Raises:
            SavepointError: All files of a table are missing or damaged, so that its columns are
                unknown. ``readable_tables`` has the others, and ``unread_tables`` the reasons.
        """
        for problems in self.unread_tables.values():
            raise _error_of(problems[0], self.name)
        return self.readable_tables

    @property
    def readable_tables(self) -> tuple[Table, ...]:
        """Tables of its states, except those without a readable file."""
        return tables_of(self.catalog.states)

    @property
    def state_columns(self) -> dict[str, str]:
        """Keyed state -> the column of its values; timers have several."""
        keyed = (table for table in self.readable_tables if table.states[0].kind.is_keyed)
        columns = (pair for table in keyed for pair in table.state_columns())
        return {state.name: column.name for column, state in columns}

    @property
    def problems(self) -> dict[str, tuple[CatalogProblem, ...]]:
        """Table -> why files of it can't be read; includes tables of which nothing else is known."""
        return problems_by_table(self.catalog.problems, self.readable_tables)

    @property
    def unread_tables(self) -> dict[str, tuple[CatalogProblem, ...]]:
        """Tables without a readable file, and why."""
        known = {table.name for table in self.readable_tables}
        return {name: problems for name, problems in self.problems.items() if name not in known}

    @property
    def has_keyed_state(self) -> bool:
        """Whether it has state or timers by key."""
        return any(state.kind.is_keyed for state in self.catalog.states)

    def expect_read(self, *, is_keyed: bool = False) -> None:
        """Raises if a file is missing or damaged, because a new savepoint would lack its state.

        Args:
            is_keyed: Whether only files of keyed state matter.

        Raises:
            SavepointError: A file is missing or damaged.
        """
        for problem in self.catalog.problems:
            if problem.is_keyed or not is_keyed:
                raise _error_of(problem, self.name)

    def table(self, name: str) -> Table:
        """The table of this name.

        Raises:
            StateNotFoundError: There is no such table; the message lists all tables.
            SavepointError: Its files are missing or damaged.
        """
        for table in self.readable_tables:
            if table.name == name:
                return table
        if name in (unread := self.unread_tables):
            problem = unread[name][0]
            places = (f"subtask {problem.subtask}", f"table {name}", f"operator {self.name}")
            # A copy: the catalog raises its own error again.
            raise copy(problem.error).within(*places)
        names = [table.name for table in self.readable_tables]
        known = ", ".join(names) or "none"
        unread_files = "".join(
            f"; could not be read: {problem}" for problem in self.catalog.problems
        )
        message = f"operator {self.name} has no table {name!r}; it has: {known}{unread_files}"
        message += did_you_mean(name, names)
        raise StateNotFoundError(message)

    def without_table(self) -> StateNotFoundError:
        """The error for a table named by the operator alone; lists its tables."""
        own = (*(table.name for table in self.readable_tables), *self.unread_tables)
        names = [f"{self.name}.{name}" for name in own]
        return StateNotFoundError(
            f"{self.name} is an operator, not a table; its tables: {', '.join(names) or 'none'}"
        )

    def look_up(self, table: str, options: ReadOptions) -> TableScan:
        """Scan that looks up keys of a table; reads few headers from a store.

        Raises:
            SavepointError: As ``table`` and ``scan`` do.
        """
        is_whole = self.directory.is_local or "catalog" in vars(self) or self.names is not None
        if table == KEYED_STATE and options.keys is not None and not is_whole:
            from savepoint_formats.scan import asked_subtasks  # noqa: PLC0415  # as in scan

            few = asked_subtasks(self.directory, self.record, options, self.kryo)
            # Other subtasks may have states and columns that those of the keys lack.
            with suppress(NotFoundError):
                if few is not None:
                    scan = self.scan(replace(self, record=few).table(table), options)
                    scan.check()
                    return scan
        return self.scan(self.table(table), options)

    def scan(self, table: Table, options: ReadOptions) -> TableScan:
        """Scan of a table.

        Raises:
            SavepointError: As ``TableScan.check_options`` does.
        """
        from savepoint_formats.scan import TableScan  # noqa: PLC0415  # descriptions scan nothing

        scan = TableScan(self.directory, self.record, table, options, self.kryo, self.name)
        scan.check_options()
        return scan


def id_called(name: str, uids: Uids, job_names: Mapping[str, str], path: str) -> str:
    """Hash of an operator by its uid, its hash, the first digits of it, or its name in the job.

    They are tried in this order. Only Flink 2 stores the names of ``job_names``, by the hash.
    Raises ``OperatorNotFoundError`` or ``AmbiguousOperatorError``, which name the savepoint at ``path``.
    """
    for operator_id, uid in uids.items():
        if uid == name:
            return operator_id
    for operator_id in (str(OperatorId.from_uid(name)), name.lower()):
        if operator_id in uids:
            return operator_id
    if len(meant := ids_beginning(name, uids)) > 1:
        raise ambiguous(path, name, (_described(uids, candidate) for candidate in meant))
    if not meant:
        meant = [candidate for candidate, in_job in job_names.items() if in_job == name]
        if len(meant) > 1:
            listed = ", ".join(_described(uids, candidate) for candidate in meant)
            raise AmbiguousOperatorError(
                f"{path} has several operators of the name {name!r}: {listed}"
            )
    if not meant:
        names = (uid or operator_id for operator_id, uid in uids.items())
        raise OperatorNotFoundError.among(path, name, names)
    return meant[0]


def ambiguous(path: str, digits: str, candidates: Iterable[str]) -> AmbiguousOperatorError:
    """The error that lists the operators whose hashes begin with these digits."""
    listed = ", ".join(candidates)
    message = f"{path} has several operators whose hash begins with {digits}: {listed}"
    return AmbiguousOperatorError(message)


def ids_beginning(digits: str, uids: Uids) -> list[str]:
    """Hashes that begin with these digits; none if the digits are too few."""
    if not _DIGITS.fullmatch(digits.lower()):
        return []
    return sorted(operator_id for operator_id in uids if operator_id.startswith(digits.lower()))


def short_ids(uids: Uids) -> dict[str, str]:
    """Hash -> its shortest unique beginning, of 8 digits or more."""
    ordered, shortened = sorted(uids), {}
    names = set(uids.values())
    neighbours = zip(ordered, ["", *ordered[:-1]], [*ordered[1:], ""], strict=True)
    for operator_id, before, after in neighbours:
        count = _SHOWN_DIGITS
        while count < len(operator_id) and (
            operator_id[:count] in (before[:count], after[:count], *names)
        ):
            count += 1
        shortened[operator_id] = operator_id[:count]
    return shortened


def _described(uids: Uids, operator_id: str) -> str:
    uid = uids[operator_id]
    return operator_id if uid is None else f"{operator_id} ({uid})"


def names_by_id(metadata: CheckpointMetadata, uids: Iterable[str], path: str) -> dict[bytes, str]:
    """Operator id -> uid; warns of uids that fit no operator."""
    if isinstance(uids, str | bytes):
        raise TypeError(f"uids is {uids!r}, expected a list: uids=[{uids!r}]")
    given = {OperatorId.from_uid(uid): uid for uid in uids}
    known = {record.operator_id for record in metadata.operators}
    if unknown := [uid for operator_id, uid in given.items() if operator_id not in known]:
        names = sorted(
            record.uid or given.get(record.operator_id) or str(record.operator_id)
            for record in metadata.operators
        )
        message = (
            f"{path} has no operator {', '.join(map(repr, unknown))}; it has: {', '.join(names)}"
            f"{''.join(did_you_mean(uid, names) for uid in unknown)}"
        )
        warnings.warn(message, UnknownUidWarning, stacklevel=4)
    return {operator_id: uid for operator_id, uid in given.items() if operator_id in known}


def _error_of(problem: CatalogProblem, operator: str) -> SavepointError:
    # A copy: the catalog raises its own error again.
    return copy(problem.error).within(f"subtask {problem.subtask}", f"operator {operator}")
