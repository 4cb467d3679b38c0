"""Tables of the states of an operator.

A savepoint is a database, an operator a namespace. Each operator state is a table; all keyed state
of an operator is one table. State with a namespace (windows) and timers have their own tables.

| table         | columns                                                                    |
|---------------|----------------------------------------------------------------------------|
| keyed_state   | ``key``, then a column per state                                           |
| window_state  | ``key``, ``namespace``, then a column per state                            |
| timers        | ``key``, ``namespace``, ``timestamp``, ``time_domain``, ``service``        |
| a list state  | ``value``; a row per element                                               |
| a broadcast   | ``key``, ``value``; a row per entry                                        |

State in a format that only the operator knows is bytes, in tables of fixed names:

| table              | columns                                                               |
|--------------------|-----------------------------------------------------------------------|
| raw_keyed_state    | ``key_group``, ``value``; a row per key group                         |
| raw_timers         | ``key_group``, ``value``; timers that cannot all be read              |
| raw_operator_state | ``value``; a row per partition                                        |
| coordinator_state  | ``value``; one row                                                    |

Local keyed state has a row per subtask and key: its tables have the column ``subtask`` in front.

States or timers with namespaces of several types make a table per type: ``window_state``,
``window_state_2``... Timers of an unknown serializer make a table with only a ``value``.

As in SQL, the case of names does not count. An operator state named like a table of keyed or raw
state becomes ``operator_state.<name>``. A keyed state named like another column, of its table or one
that other tables or options of a read add, becomes ``state_<name>``. ``distinct_names`` distinguishes
columns whose names differ only in case.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING
from zlib import crc32

import pyarrow as pa

from savepoint_formats.layout import Int, Layout, Opaque, Struct, Text, TimerTimestamp
from savepoint_formats.printable import encodable
from savepoint_formats.state_files.state import State, StateKind
from savepoint_formats.values.arrow_types import arrow_type, visible_key_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


def distinct_names(names: Iterable[str], written: Callable[[str], str] = str) -> dict[str, str]:
    """Maps names to distinct names in SQL; ``written`` replaces characters that SQL doesn't allow.

    Names that become the same get a checksum of the original name at the end, so a name does not
    depend on other names of the savepoint.

    Example:
        >>> distinct_names(["total", "a", "A"])
        {'total': 'total', 'a': 'a_e8b7be43', 'A': 'A_d3d99e8b'}
    """
    plain = {name: written(name) for name in names}
    folded = Counter(name.casefold() for name in plain.values())
    return {
        name: shown if folded[shown.casefold()] == 1 else _unfolded(name, shown, folded)
        for name, shown in plain.items()
    }


def _unfolded(name: str, shown: str, taken: Iterable[str]) -> str:
    unfolded = f"{shown}_{crc32(name.encode('utf-8', 'surrogatepass')):08x}"
    while unfolded.casefold() in taken:
        unfolded += "_"
    return unfolded


KEY = "key"
NAMESPACE = "namespace"
KEY_GROUP = "key_group"
SUBTASK = "subtask"
SCOPE = "scope"
KEYED_STATE = "keyed_state"
WINDOW_STATE = "window_state"
TIMERS = "timers"
OPERATOR_STATE_PREFIX = "operator_state."
STATE_PREFIX = "state_"

_NEVER_STATES = (KEY, NAMESPACE, KEY_GROUP, SUBTASK, SCOPE)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    name: str
    layout: Layout


@dataclass(frozen=True, slots=True, repr=False)
class Table:
    """A table of an operator, and the states in it."""

    name: str
    columns: tuple[Column, ...]
    states: tuple[State, ...]

    def __repr__(self) -> str:
        return f"Table({self.name!r}, {len(self.columns)} columns)"

    def with_open_pojos(self) -> Table:
        """The table with the bytes of POJOs that cannot be decoded."""
        if self.states[0].kind is StateKind.TIMERS:
            return self
        states = tuple(state.with_open_pojos() for state in self.states)
        shown = zip(self.state_columns(), states, strict=True)
        opened = (Column(column.name, state.value) for (column, _), state in shown)
        return Table(self.name, (*self.columns[: -len(states)], *opened), states)

    def state_columns(self) -> tuple[tuple[Column, State], ...]:
        """Columns with the values of a state, and the state; timers have none."""
        if self.states[0].kind is StateKind.TIMERS:
            return ()
        return tuple(zip(self.columns[-len(self.states) :], self.states, strict=True))


def tables_of(states: Iterable[State]) -> tuple[Table, ...]:
    """The tables of an operator with these states."""
    states = tuple(states)
    keyed = tuple(_keyed_tables(states))
    raw = tuple(_raw_table(state) for state in states if state.kind.is_raw)
    others = [state for state in states if not state.kind.is_keyed and not state.kind.is_raw]
    names = {state.job_name for state in others}
    taken = {table.name.casefold() for table in (*keyed, *raw)}
    return (*keyed, *(_operator_table(state, names, taken) for state in others), *raw)


def _keyed_tables(states: tuple[State, ...]) -> Iterator[Table]:
    keyed = [state for state in states if state.kind.is_keyed]
    values = [state for state in keyed if state.kind is not StateKind.TIMERS]
    timers = [state for state in keyed if state.kind is StateKind.TIMERS]
    plain = tuple(state for state in values if state.namespace is None)
    if plain:
        yield Table(KEYED_STATE, _with_values(_keys(plain[0]), plain), plain)
    windows = (state for state in values if state.namespace is not None)
    for name, columns, group in _grouped(WINDOW_STATE, windows, _namespace):
        yield Table(name, _with_values((*_keys(group[0]), *columns), group), group)
    for name, columns, group in _grouped(TIMERS, timers, _timer_columns):
        yield Table(name, columns, group)


def _timer_columns(state: State) -> tuple[Column, ...]:
    match state.value:
        case Struct(_, (TimerTimestamp(), _, _)):
            return (*_keys(state), *_namespace(state), *_TIMER_COLUMNS)
        case other:
            return (Column("value", other),)


_TIMER_COLUMNS = (
    Column("timestamp", TimerTimestamp()),
    Column("time_domain", Text()),
    Column("service", Text()),
)


def _grouped(
    name: str, states: Iterable[State], columns_of: Callable[[State], tuple[Column, ...]]
) -> Iterator[tuple[str, tuple[Column, ...], tuple[State, ...]]]:
    """Name, columns and states of each table; states with the same columns share a table."""
    groups: dict[tuple[Column, ...], list[State]] = {}
    for state in states:
        groups.setdefault(columns_of(state), []).append(state)
    for number, (columns, group) in enumerate(groups.items(), start=1):
        yield name if number == 1 else f"{name}_{number}", columns, tuple(group)


def _keys(state: State) -> tuple[Column, ...]:
    assert state.key is not None  # what makes a state keyed
    key = Column(KEY, state.key)
    return (Column(SUBTASK, Int()), key) if state.scope.is_local else (key,)


def _namespace(state: State) -> tuple[Column, ...]:
    return () if state.namespace is None else (Column(NAMESPACE, state.namespace),)


def _with_values(columns: tuple[Column, ...], states: tuple[State, ...]) -> tuple[Column, ...]:
    taken = {*_NEVER_STATES, *(column.name for column in columns)}
    names = distinct_names((state.job_name for state in states), encodable)
    values = (Column(_free_name(names[s.job_name], STATE_PREFIX, taken), s.value) for s in states)
    return (*columns, *values)


def _free_name(name: str, prefix: str, taken: set[str]) -> str:
    """Puts prefixes before a name until it is free, and takes it."""
    while name.casefold() in taken:
        name = prefix + name
    taken.add(name.casefold())
    return name


def _raw_table(state: State) -> Table:
    value = Column("value", state.value)
    is_keyed = state.kind is StateKind.RAW_KEYED
    columns = (Column(KEY_GROUP, Int()), value) if is_keyed else (value,)
    return Table(state.name, columns, (state,))


def _operator_table(state: State, states: set[str], taken: set[str]) -> Table:
    name = encodable(state.job_name)
    while name.casefold() in taken or (name != state.job_name and name in states):
        name = OPERATOR_STATE_PREFIX + name
    value = Column("value", state.value)
    columns = (value,) if state.key is None else (Column(KEY, state.key), value)
    return Table(name, columns, (state,))


def column_type(table: Table, column: Column) -> pa.DataType:
    """The Arrow type of a column; keys that are rows have no row kind."""
    if table.states[0].kind.is_raw and isinstance(column.layout, Opaque):
        return pa.binary()  # the name of the table says that it is not decoded
    plain_type = arrow_type(column.layout)
    is_row_key = column.name == KEY and table.states[0].kind.is_keyed
    return visible_key_type(plain_type) if is_row_key else plain_type
