"""What the changes of a file touch, and which of them can't be made: the answer of a dry run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from savepoint_extensions.change_files.applied_changes import with_entry
from savepoint_extensions.change_files.change_kinds import present_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from collections.abc import Set as AbstractSet

    from savepoint_database.snapshot import Operator
    from savepoint_extensions.change_files.change_file import ChangeEntry
    from state_processor import PlannedOperator, SavepointStatistics, SavepointWriter


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """What a change of a file touches.

    Attributes:
        line: Its line in the file.
        change: Its name.
        operators: The operators that it touches, by their names before the change.
        states: The states of these operators that it touches, by their names before the change.
        keys: The number of keys in the savepoint with something in these states; None if nobody
            asked, or if several states may share keys.
        entries: The number of values, elements of lists, entries of maps, and timers in these states;
            None if nobody asked, or if the savepoint does not have a state by a name that is known.
        problem: Why it can't be made; empty if it can.
    """

    line: int
    change: str
    operators: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    keys: int | None = None
    entries: int | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class PlannedChanges:
    """The changes of a file, tried one after the other.

    Attributes:
        writer: A writer with the changes that can be made.
        changes: A row for each change.
        errors: The errors of changes that can't be made.
    """

    writer: SavepointWriter
    changes: tuple[PlannedChange, ...]
    errors: tuple[Exception, ...]


def planned_changes(
    writer: SavepointWriter, entries: Iterable[ChangeEntry], *, has_counts: bool = False
) -> PlannedChanges:
    """Tries changes in their order, and leaves out those that can't be made.

    With ``has_counts``, the tables of states that change are read, each once.
    """
    counts = _Counts(writer) if has_counts else None
    rows: list[PlannedChange] = []
    errors: list[Exception] = []
    for entry in entries:
        try:
            after = with_entry(writer, entry)
        except Exception as error:  # the caller raises the first one again
            errors.append(error)
            rows.append(PlannedChange(entry.line, entry.kind.name, problem=str(error)))
            continue
        rows.append(_row(entry, writer, after, counts))
        writer = after
    return PlannedChanges(writer, tuple(rows), tuple(errors))


def _row(
    entry: ChangeEntry, before: SavepointWriter, after: SavepointWriter, counts: _Counts | None
) -> PlannedChange:
    touched = list(_touched(before, after))
    states = {
        planned.name: tuple(entry.kind.states(planned, entry.words))
        for planned in touched
        if planned.source is not None
    }
    row = PlannedChange(
        entry.line,
        entry.kind.name,
        tuple(planned.name for planned in touched),
        tuple(dict.fromkeys(name for names in states.values() for name in names)),
    )
    if counts is None:
        return row
    counted: list[tuple[int | None, int]] = []
    for planned in touched:
        stored = _stored_names(planned, states.get(planned.name, ()))
        if stored is None:
            return row
        counted += counts.of(planned, stored)
    keys = counted[0][0] if len(counted) == 1 else None
    return replace(row, keys=keys, entries=sum(entries for _, entries in counted))


def _touched(before: SavepointWriter, after: SavepointWriter) -> Iterator[PlannedOperator]:
    """The operators that a change removes or changes, then those that it adds."""
    yield from (planned for planned in before.operators if planned not in after.operators)
    known = {planned.name for planned in before.operators}
    changed = (planned for planned in after.operators if planned not in before.operators)
    sources = [planned.source.id for planned in before.operators if planned.source is not None]
    for planned in changed:
        is_new = planned.source is None or planned.source.id not in sources
        if is_new and planned.name not in known:
            yield planned


class _Counts:
    """Sizes of the states of a savepoint before it is changed; tables are read when they are asked for."""

    def __init__(self, writer: SavepointWriter) -> None:
        self._savepoint = writer.source
        self._tables: dict[str, SavepointStatistics] = {}

    def of(
        self, planned: PlannedOperator, stored: AbstractSet[str]
    ) -> Iterator[tuple[int | None, int]]:
        """The numbers of keys and entries of states, by their names in the savepoint."""
        if planned.source is None:
            return
        for table in planned.source.readable_tables:
            if stored.isdisjoint(state.name for state in table.states):
                continue
            sizes = self._of_table(planned.source, table.name)
            yield from ((it.keys, it.entries) for it in sizes.states if it.state in stored)

    def _of_table(self, operator: Operator, table: str) -> SavepointStatistics:
        name = f"{operator.name}.{table}"
        if name not in self._tables:
            assert self._savepoint is not None  # its operator has a source
            self._tables[name] = self._savepoint.stats(name, top=0)
        return self._tables[name]


def _stored_names(planned: PlannedOperator, names: Iterable[str]) -> set[str] | None:
    """The names of states in the savepoint; None if it does not have one of them."""
    if planned.source is None:
        return set()
    by_present = {name: stored for stored, name in present_names(planned).items()}
    stored = {by_present.get(name, name) for name in names}
    known = {state.name for state in planned.source.catalog.states}
    return stored if stored <= known else None
