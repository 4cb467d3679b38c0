"""Tables of two snapshots, and the states whose changes they have.

A state that only one snapshot has is added, or removed, as a whole. So is a state of another type if the user
wants that; otherwise it is an error.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

import numpy as np
import pyarrow as pa

from savepoint_extensions.change_feed.changed_values import (
    ADDED,
    REMOVED,
    RowPairs,
    entry_changes,
    value_changes,
)
from savepoint_formats.errors import OperatorNotFoundError, StateNotFoundError, StateTypeError
from savepoint_formats.printable import encodable
from savepoint_formats.scan import ReadOptions
from savepoint_formats.state_files import StateKind
from savepoint_formats.tables import KEY, NAMESPACE, SUBTASK
from savepoint_formats.values import Collections

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from savepoint_database.checks import SavepointDiff
    from savepoint_database.snapshot import Operator, Snapshot
    from savepoint_formats.key_groups import KeyGroupRange
    from savepoint_formats.scan import Split, TableScan
    from savepoint_formats.state_files import State
    from savepoint_formats.tables import Table

NewTypes = Literal["refuse", "replace"]
"""What to do with a state that has another type: raise an error, or remove all of it and add all of it."""

MAP_KEY, BEFORE, AFTER, KIND = "map_key", "before", "after", "kind"


class Form(StrEnum):
    """What a change of a state is of: the value of a key, its list, an entry of its map, a row."""

    VALUE = "value"
    LIST = "list"
    MAP = "map"
    ROW = "row"


@dataclass(frozen=True)
class ChangedState:
    """A state of an operator, and the columns of its table.

    Attributes:
        operator: Uid or hash of the operator.
        state: Name of the state; the timers of a table have the name of the table.
        table: Name of the table in the operator.
        keys: Columns that identify rows: some of ``subtask``, ``key`` and ``namespace``.
        columns: Columns with the value.
        form: What a change is of.
        schema: Columns of its changes.
    """

    operator: str
    state: str
    table: str
    keys: tuple[str, ...]
    columns: tuple[str, ...]
    form: Form
    schema: pa.Schema

    @property
    def full_name(self) -> str:
        return f"{self.operator}.{self.state}"

    def changes(self, pairs: RowPairs) -> Iterator[pa.RecordBatch]:
        """The changes among pairs of rows of the table."""
        values = self._values(pairs.rows)
        if self.form is Form.MAP:
            return entry_changes(pairs, self.keys, values, self.schema)
        if self.form is Form.ROW:
            is_there = np.ones(len(values), bool)
        elif self.form is Form.LIST:
            is_there = Collections(values).lengths > 0
        else:
            is_there = values.is_valid().to_numpy(zero_copy_only=False)
        return value_changes(pairs, self.keys, values, self.schema, is_there)

    def _values(self, rows: pa.RecordBatch) -> pa.Array:
        if len(self.columns) == 1:
            return rows.column(self.columns[0])
        arrays = [rows.column(name) for name in self.columns]
        return pa.StructArray.from_arrays(arrays, list(self.columns))

    def is_like(self, other: ChangedState) -> bool:
        """Whether values of both can be compared."""
        return self.form is other.form and self.schema.equals(other.schema)

    def with_types(self, old: ChangedState, new: ChangedState) -> ChangedState:
        """The state, whose values have other types before and after."""
        schema = self.schema
        for name, side in ((BEFORE, old), (AFTER, new)):
            schema = schema.set(schema.get_field_index(name), side.schema.field(name))
        return replace(self, schema=schema)


@dataclass(frozen=True)
class LoneRows:
    """States whose rows only one of the snapshots has, or has with this type; None: all splits."""

    scan: TableScan
    kind: str
    states: tuple[ChangedState, ...]
    splits: tuple[Split, ...] | None = None


@dataclass(frozen=True)
class FeedTable:
    """A table of an operator: states that both snapshots have, and others; None: all parts."""

    name: str
    states: tuple[ChangedState, ...]
    lone: tuple[LoneRows, ...]
    parts: tuple[KeyGroupRange | None, ...] | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which states, and how their values are read."""

    operator: str | None = None
    state: str | None = None
    with_times: bool = False
    new_types: NewTypes = "refuse"

    def __post_init__(self) -> None:
        if self.new_types not in ("refuse", "replace"):
            raise ValueError(f"new_types is {self.new_types!r}, expected 'refuse' or 'replace'")

    @property
    def options(self) -> ReadOptions:
        """Values as ``diff`` reads them."""
        return ReadOptions(with_times=self.with_times, undescribed_subclasses="bytes")

    def has(self, state: ChangedState) -> bool:
        """Whether the state is wanted: by its name, its table or ``<table>.<column>``."""
        names = (state.state, state.table, f"{state.table}.{'.'.join(state.columns)}")
        return self.state is None or self.state in names


def feed_tables(diff: SavepointDiff, wanted: Wanted) -> Iterator[FeedTable]:
    """The tables that have wanted states; raises what ``ChangeFeed`` says."""
    pairs = list(_operators(diff.before, diff.after, wanted.operator))
    compared = frozenset(diff.table_names)
    is_there = False
    for before, after in pairs:
        for table in _tables(before, after, compared, wanted):
            is_there = True
            yield table
    if not is_there and wanted.state is not None:
        raise _no_state(pairs, wanted)


def _operators(
    before: Snapshot, after: Snapshot, name: str | None
) -> Iterator[tuple[Operator | None, Operator | None]]:
    """Operators of both snapshots, by their hashes."""
    sides = [{operator.id: operator for operator in side.operators()} for side in (before, after)]
    ids = dict.fromkeys((*sides[0], *sides[1]))
    if name is not None:
        ids = dict.fromkeys(_called(name, before, after))
    for operator_id in ids:
        yield sides[0].get(operator_id), sides[1].get(operator_id)


def _called(name: str, before: Snapshot, after: Snapshot) -> list[str]:
    try:
        return [before.operator(name).id]
    except OperatorNotFoundError:
        return [after.operator(name).id]


def _tables(
    before: Operator | None, after: Operator | None, compared: frozenset[str], wanted: Wanted
) -> Iterator[FeedTable]:
    operator = before or after
    assert operator is not None
    sides = [_side(one_side, operator.name, wanted) for one_side in (before, after)]
    counts = Counter(
        name for name, _ in {(it.state, it.table) for side in sides for it in _states(side)}
    )
    for name in dict.fromkeys((*sides[0], *sides[1])):
        full_name = f"{operator.name}.{name}"
        old, new = (_named(side.get(name, {}), counts, wanted) for side in sides)
        shared, lone = _divided(old, new, wanted, can_compare=full_name in compared)
        rows = tuple(
            LoneRows(_scan(owner, name, lone_states, wanted), kind, tuple(lone_states))
            for owner, kind, lone_states in zip(
                (before, after), (REMOVED, ADDED), lone, strict=True
            )
            if lone_states and owner is not None
        )
        if shared or rows:
            yield FeedTable(full_name, tuple(shared), rows)


def _states(side: Mapping[str, Mapping[tuple[str, ...], ChangedState]]) -> Iterator[ChangedState]:
    for states in side.values():
        yield from states.values()


def _side(
    operator: Operator | None, name: str, wanted: Wanted
) -> dict[str, dict[tuple[str, ...], ChangedState]]:
    """Table -> columns of a value -> the state."""
    if operator is None:
        return {}
    return {
        table.name: {
            state.columns: state
            for state in _states_of(name, table, operator.scan(table, wanted.options).schema)
        }
        for table in operator.tables
    }


def _named(
    states: Mapping[tuple[str, ...], ChangedState], counts: Counter[str], wanted: Wanted
) -> dict[tuple[str, ...], ChangedState]:
    """The wanted states; those of the same name get the name of their table in front."""
    named = {
        columns: it if counts[it.state] == 1 else replace(it, state=f"{it.table}.{it.state}")
        for columns, it in states.items()
    }
    return {columns: it for columns, it in named.items() if wanted.has(it)}


def _divided(
    before: Mapping[tuple[str, ...], ChangedState],
    after: Mapping[tuple[str, ...], ChangedState],
    wanted: Wanted,
    *,
    can_compare: bool,
) -> tuple[list[ChangedState], tuple[list[ChangedState], list[ChangedState]]]:
    """States that are compared; states of one side, removed and added."""
    shared: list[ChangedState] = []
    removed: list[ChangedState] = []
    added: list[ChangedState] = []
    for columns in dict.fromkeys((*before, *after)):
        old, new = before.get(columns), after.get(columns)
        if old is not None and new is not None and can_compare and old.is_like(new):
            shared.append(old)
            continue
        if old is not None and new is not None:
            if wanted.new_types == "refuse":
                raise _new_type(old, new)
            old, new = old.with_types(old, new), new.with_types(old, new)
        removed += [] if old is None else [old]
        added += [] if new is None else [new]
    return shared, (removed, added)


def _scan(
    operator: Operator, table: str, states: Iterable[ChangedState], wanted: Wanted
) -> TableScan:
    """The scan of the keys and values of states."""
    names = dict.fromkeys(name for it in states for name in (*it.keys, *it.columns))
    return operator.scan(operator.table(table), wanted.options.of_columns(tuple(names)))


def _states_of(operator: str, table: Table, schema: pa.Schema) -> Iterator[ChangedState]:
    names = [column.name for column in table.columns]
    kind = table.states[0].kind
    if kind.is_keyed and kind is not StateKind.TIMERS:
        keys = tuple(names[: -len(table.states)])
        for column, state in table.state_columns():
            form = _form(state, schema.field(column.name).type)
            yield _state(
                operator, encodable(state.job_name), table, keys, (column.name,), form, schema
            )
        return
    is_timers = kind is StateKind.TIMERS
    of_keys = (SUBTASK, KEY, NAMESPACE) if is_timers else (KEY,)
    keys = tuple(name for name in names if name in of_keys)
    columns = tuple(name for name in names if name not in of_keys)
    name = table.name if is_timers or kind.is_raw else encodable(table.states[0].job_name)
    yield _state(operator, name, table, keys, columns, Form.ROW, schema)


def _form(state: State, kind: pa.DataType) -> Form:
    is_list = pa.types.is_list(kind)
    if state.job_kind is StateKind.MAP and (is_list or pa.types.is_map(kind)):
        return Form.MAP
    return Form.LIST if state.job_kind is StateKind.LIST and is_list else Form.VALUE


def _state(
    operator: str,
    name: str,
    table: Table,
    keys: tuple[str, ...],
    columns: tuple[str, ...],
    form: Form,
    schema: pa.Schema,
) -> ChangedState:
    fields = [schema.field(name) for name in keys]
    values = [schema.field(name) for name in columns]
    kind = values[0].type if len(values) == 1 else pa.struct(values)
    if form is Form.MAP:
        key, kind = _entry(kind)
        fields.append(pa.field(MAP_KEY, key))
    fields += [pa.field(BEFORE, kind), pa.field(AFTER, kind), pa.field(KIND, pa.string())]
    return ChangedState(operator, name, table.name, keys, columns, form, pa.schema(fields))


def _entry(kind: pa.DataType) -> tuple[pa.DataType, pa.DataType]:
    """The types of keys and values of maps; maps with null keys are lists of entries."""
    if pa.types.is_map(kind):
        return kind.key_type, kind.item_type
    key, value = kind.value_type
    return key.type, value.type


def _new_type(old: ChangedState, new: ChangedState) -> StateTypeError:
    return StateTypeError(
        f"state {old.full_name} has another type in the second snapshot: {_types(old)} became {_types(new)},"
        " so its values can't be compared: name other states, or let all its old values be removed and all"
        " its new ones added, by new_types='replace' (--replace-types)"
    )


def _types(state: ChangedState) -> str:
    names = [*state.keys, MAP_KEY, AFTER]
    types = [str(field.type) for field in state.schema if field.name in names]
    return f"{state.form} ({', '.join(types)})"


def _no_state(
    pairs: Iterable[tuple[Operator | None, Operator | None]], wanted: Wanted
) -> StateNotFoundError:
    every = Wanted(wanted.operator)
    names = dict.fromkeys(
        state.full_name
        for pair in pairs
        for operator in pair
        if operator is not None
        for state in _states(_side(operator, operator.name, every))
    )
    where = f"operator {wanted.operator} has" if wanted.operator else "there is"
    return StateNotFoundError(
        f"{where} no state {wanted.state!r}; there are: {', '.join(names) or 'none'}"
    )
