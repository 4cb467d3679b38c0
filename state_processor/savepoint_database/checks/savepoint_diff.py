"""Differences between two savepoints: operators, states, types, settings, and rows of tables."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa

from savepoint_database.checks.table_diff import (
    BUCKET_SIZE,
    CHANGE_TYPE,
    POSTIMAGE,
    ChangeCounts,
    Side,
    TableDiff,
    compared_columns,
    has_same_keys,
)
from savepoint_database.snapshot.description import StateDescription
from savepoint_formats.errors import TableNotFoundError
from savepoint_formats.lazy_names import named
from savepoint_formats.printable import html_records
from savepoint_formats.scan import ReadOptions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from savepoint_database.snapshot.operator import Operator
    from savepoint_database.snapshot.snapshot import Snapshot
    from savepoint_formats.key_groups import KeyGroupRange
    from savepoint_formats.tables import Table

_NARROWED = "savepoint_extensions.narrowed_diff.narrowing:narrowed"
"""Finds the rows that may differ before any is decoded."""


class DifferenceKind(StrEnum):
    """Kind of a difference.

    | value    | meaning                                                                    |
    |----------|----------------------------------------------------------------------------|
    | operator | an operator with state is in one savepoint only                            |
    | state    | a state is in one savepoint only                                           |
    | type     | a state has another kind, or another type of keys, namespaces or values    |
    | setting  | the same state is stored in another way; the savepoints still count as equal |
    """

    OPERATOR = "operator"
    STATE = "state"
    TYPE = "type"
    SETTING = "setting"


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference other than in rows.

    Attributes:
        kind: Kind of the difference.
        name: The operator, or ``<operator>.<state>``; empty for the savepoint as a whole.
        what: The property that differs.
        before: Its value in the first savepoint; empty if there is none.
        after: Its value in the second savepoint.
    """

    kind: DifferenceKind
    name: str
    what: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class TableChanges:
    """Numbers of rows of a table that differ.

    Attributes:
        table: Full name of the table.
        inserted: Rows in the second savepoint only.
        deleted: Rows in the first savepoint only.
        updated: Rows with the same key and other values.
        unchanged: Rows that are the same; None if they were not counted, because files that
            both savepoints have were not read.
        not_compared: Columns that one savepoint lacks, or has with another type.
    """

    table: str
    inserted: int
    deleted: int
    updated: int
    unchanged: int | None
    not_compared: tuple[str, ...] = ()

    @property
    def is_equal(self) -> bool:
        """Whether all rows are the same."""
        return not (self.inserted or self.deleted or self.updated)


@dataclass(frozen=True)
class SavepointDiff:
    """Differences between two savepoints. Rows are read when they are asked for.

    Attributes:
        before: The first savepoint.
        after: The second savepoint.
        table_name: The only table to compare; None for all.
        with_times: Whether the times of last access of state with TTL count.
        bucket_size: Bytes of state that are compared at once.
        full: Whether to decode all rows, and count those that are unchanged.

    Raises:
        OperatorNotFoundError, StateNotFoundError: The first savepoint has no such table.
    """

    before: Snapshot
    after: Snapshot
    table_name: str | None = None
    with_times: bool = False
    bucket_size: int = BUCKET_SIZE
    full: bool = False

    @property
    def is_equal(self) -> bool:
        """Whether the state is the same. Settings do not count. Reads all tables, once."""
        structure = all(
            difference.kind is DifferenceKind.SETTING for difference in self.differences
        )
        return structure and all(table.is_equal for table in self.tables)

    @cached_property
    def differences(self) -> tuple[Difference, ...]:
        """Differences other than in rows."""
        return (*self._settings(), *self._structure())

    @cached_property
    def tables(self) -> tuple[TableChanges, ...]:
        """Numbers of changed rows per table. Reads all tables, once.

        Raises:
            SavepointError: A file is missing or damaged.
        """
        return tuple(self._counted(name) for name in self._pairs)

    @property
    def table_names(self) -> tuple[str, ...]:
        """Full names of the tables whose rows can be compared."""
        return tuple(self._pairs)

    def _repr_html_(self) -> str:
        answer = "equal" if self.is_equal else "different"
        title = f"{self.before.path} and {self.after.path}: {answer}"
        parts = [html_records(title, self.tables, TableChanges.__match_args__)]
        if self.differences:
            names = Difference.__match_args__
            parts.append(html_records("Besides rows:", self.differences, names))
        return "".join(parts)

    def parts(self, table: str | None = None) -> list[KeyGroupRange | None]:
        """Parts of a table that any process can compare on its own; see ``changes``."""
        return self._pair(table)[0].parts()

    def changes(
        self, table: str | None = None, parts: Iterable[KeyGroupRange | None] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The rows that differ, batch by batch.

        Args:
            table: Full name of the table; not needed if only one is compared.
            parts: Some of ``parts``; all by default.

        Returns:
            Batches of ``change_type`` (``insert``, ``delete``, ``update_preimage`` followed by
            ``update_postimage``) and the columns of the table.

        Raises:
            TableNotFoundError: The savepoints share no such table.
            SavepointError: A file is missing or damaged.

        Example:
            >>> for batch in savepoint.diff(other).changes("summarize.keyed_state"):
            ...     print(batch.to_pylist())
        """
        return self._pair(table)[0].changes(parts=parts)

    def to_arrow(self, table: str | None = None) -> pa.Table:
        """All rows that differ as one table in memory; see ``changes``."""
        return pa.Table.from_batches(self.changes(table), self._pair(table)[0].schema)

    def samples(self, table: str | None = None, rows: int = 10) -> pa.Table:
        """The first rows that differ; see ``changes``. A last update has both of its rows."""
        sample = self._first(table, rows + 1)
        is_cut = len(sample) > rows and sample[CHANGE_TYPE][rows].as_py() != POSTIMAGE
        return sample.slice(0, rows) if is_cut or not rows else sample

    def key_columns(self, table: str | None = None) -> tuple[str, ...]:
        """The columns that identify the rows of a table; raises ``TableNotFoundError``."""
        return self._pair(table)[0].keys

    def _first(self, table: str | None, rows: int) -> pa.Table:
        batches, left = [], rows
        for batch in self.changes(table):
            batches.append(batch.slice(0, left))
            left -= len(batches[-1])
            if not left:
                break
        return pa.Table.from_batches(batches, self._pair(table)[0].schema)

    def _pair(self, table: str | None) -> tuple[TableDiff, tuple[str, ...]]:
        if table is None and len(self._pairs) == 1:
            return next(iter(self._pairs.values()))
        if table in self._pairs:
            return self._pairs[table]
        known = ", ".join(self._pairs) or "none"
        raise TableNotFoundError(f"no table {table!r} can be compared; these can: {known}")

    def _counted(self, name: str) -> TableChanges:
        pair, left_out = self._pairs[name]
        counts = self._counts(pair)
        return TableChanges(
            name, counts.inserted, counts.deleted, counts.updated, counts.unchanged, left_out
        )

    def _counts(self, pair: TableDiff) -> ChangeCounts:
        counts = ChangeCounts()
        for _ in pair.changes(counts):
            pass
        return counts

    @cached_property
    def _pairs(self) -> dict[str, tuple[TableDiff, tuple[str, ...]]]:
        """Tables that can be compared, and the columns of each that cannot."""
        pairs = {}
        wanted = None if self.table_name is None else self.before.table(self.table_name)
        for operator, other in self._operators():
            if wanted is not None and operator is not wanted[0]:
                continue
            others = {table.name: table for table in other.tables}
            for table in operator.readable_tables:
                is_wanted = wanted is None or table.name == wanted[1].name
                if is_wanted and table.name in others:
                    sides = self._side(operator, table), self._side(other, others[table.name])
                    if (pair := self._paired(*sides)) is not None:
                        pairs[pair[0].name] = pair
        return pairs

    def _side(self, operator: Operator, table: Table) -> Side:
        options = ReadOptions(with_times=self.with_times, undescribed_subclasses="bytes")
        return Side(operator, table, options)

    def _paired(self, before: Side, after: Side) -> tuple[TableDiff, tuple[str, ...]] | None:
        keys, values = compared_columns(before, after)
        if not has_same_keys(before, after, keys):
            return None
        names = dict.fromkeys((*before.schema.names, *after.schema.names))
        left_out = tuple(name for name in names if name not in (*keys, *values))
        narrow = None if self.full else named(_NARROWED)
        return TableDiff(before, after, keys, values, self.bucket_size, narrow), left_out

    def _operators(self) -> Iterator[tuple[Operator, Operator]]:
        others = {operator.id: operator for operator in self.after.operators()}
        for operator in self.before.operators():
            if operator.id in others:
                yield operator, others[operator.id]

    def _settings(self) -> Iterator[Difference]:
        descriptions = self.before.describe(), self.after.describe()
        for what in ("kind", "keyed_formats", "flink"):
            before, after = (_text(getattr(description, what)) for description in descriptions)
            if before != after:
                yield Difference(DifferenceKind.SETTING, "", what.replace("_", " "), before, after)
        for operator, other in self._operators():
            for what in ("parallelism", "max_parallelism"):
                before, after = (_text(getattr(side.record, what)) for side in (operator, other))
                if before != after:
                    yield Difference(
                        DifferenceKind.SETTING, operator.name, what.replace("_", " "), before, after
                    )

    def _structure(self) -> Iterator[Difference]:
        wanted = None if self.table_name is None else self.before.table(self.table_name)
        if wanted is None:
            yield from self._lone_operators()
        for operator, other in self._operators():
            if wanted is None:
                yield from _state_differences(operator, other, None)
            elif operator is wanted[0]:
                names = frozenset(state.name for state in wanted[1].states)
                yield from _state_differences(operator, other, names)

    def _lone_operators(self) -> Iterator[Difference]:
        first = {operator.id: operator for operator in self.before.operators()}
        second = {operator.id: operator for operator in self.after.operators()}
        for operator in (*self.before.operators(), *self.after.operators()):
            if operator.id in first and operator.id in second:
                continue
            count = len(operator.catalog.states) + len(operator.catalog.problems)
            kind = DifferenceKind.OPERATOR if count else DifferenceKind.SETTING
            there = f"{count} states"
            before, after = (there, "") if operator.id in first else ("", there)
            yield Difference(kind, operator.name, "operator", before, after)


def _state_differences(
    operator: Operator, other: Operator, names: frozenset[str] | None
) -> Iterator[Difference]:
    before, after = (_described(side, operator.name, names) for side in (operator, other))
    for key in dict.fromkeys((*before, *after)):
        first, second = before.get(key), after.get(key)
        full = f"{operator.name}.{key[0]}"
        if first is None or second is None:
            there = first or second
            assert there is not None
            text = f"{there.kind} of {there.value}"
            sides = (text, "") if second is None else ("", text)
            yield Difference(DifferenceKind.STATE, full, "state", *sides)
            continue
        for field in fields(StateDescription):
            pair = _text(getattr(first, field.name)), _text(getattr(second, field.name))
            if pair[0] != pair[1]:
                kind = DifferenceKind.TYPE if field.name in _TYPES else DifferenceKind.SETTING
                yield Difference(kind, full, field.name.replace("_", " "), *pair)


_TYPES = ("kind", "key", "namespace", "value")


def _described(
    operator: Operator, name: str, names: frozenset[str] | None
) -> dict[tuple[str, bool], StateDescription]:
    """States of an operator; keyed and operator states may have the same names."""
    return {
        (state.name, state.kind.is_keyed): StateDescription.of(name, state)
        for state in operator.catalog.states
        if names is None or state.name in names
    }


def _text(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case tuple():
            return ", ".join(map(str, value))
        case _:
            return str(value)
