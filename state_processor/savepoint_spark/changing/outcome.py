"""An operator as it is after its changes, for changes that come later.

Its files are read as before, and its entries and elements are changed as they are read; so any
number of changes is one pass over the data. Its headers are made from those of the savepoint.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from savepoint_formats.bytes import DataOutputView
from savepoint_formats.key_groups import KeyGroupRange
from savepoint_formats.metadata import InlineStream, OperatorStateOffsets, SubtaskState
from savepoint_formats.pass_through import ChangedHandles, EntryChanges
from savepoint_formats.sources.changed_source import ChangedHandle
from savepoint_formats.sources.entry_source import SourceSettings
from savepoint_formats.sources.keyed_source import keyed_handles
from savepoint_formats.state_files import (
    ChangedElements,
    KeyedBackendHeader,
    OperatorBackendHeader,
    StateMetaInfo,
    keyed_states,
)
from savepoint_formats.values import with_new_names
from savepoint_spark.changing.stored_operator_state import (
    StoredElements,
    operator_states,
    rewritten_state,
)
from savepoint_spark.writing.keyed_plan import KeyedPlan
from savepoint_spark.writing.stored_types import StoredTypes

if TYPE_CHECKING:
    from savepoint_database.snapshot import Operator
    from savepoint_formats.metadata import OperatorStateHandle
    from savepoint_formats.state_files import Step
    from savepoint_formats.values import KryoDialect
    from savepoint_spark.changing.header_changes import HeaderChanges
    from savepoint_spark.changing.operator_changes import OperatorChanges
    from savepoint_spark.writing.operator_plan import NewOperatorState

_NAME = "changed operator state"

Stored: TypeAlias = "dict[str, tuple[NewOperatorState, tuple[Step, ...]]]"
"""Operator states by their old names, and what changes their elements."""


def outcome(change: OperatorChanges) -> Operator:
    """The operator after its changes."""
    operator = change.operator
    names = operator.names
    for of_stored in change.changes:
        names = of_stored.new_names(names)
    after = replace(operator, kryo=_kryo(change), names=names)
    subtasks = operator.record.subtasks
    has_keys = operator.has_keyed_state or change.added.keyed is not None
    if change.touches(is_keyed=True) and has_keys:
        subtasks = _with_changed_keys(change, after, subtasks)
    if change.touches(is_keyed=False):
        subtasks = _with_changed_elements(change, subtasks)
    return replace(after, record=replace(operator.record, subtasks=subtasks))


def _kryo(change: OperatorChanges) -> KryoDialect:
    kryo = change.operator.kryo
    assert kryo is not None  # operators of a savepoint have one
    for of_stored in change.changes:
        kryo = of_stored.new_kryo(kryo)
    for rename in change.headers.classes:
        kryo = replace(kryo, classes=with_new_names(kryo.classes, rename.name))
    types = tuple((change.headers.name(name), text) for name, text in kryo.python_types)
    return replace(kryo, python_types=types)


def _with_changed_keys(
    change: OperatorChanges, after: Operator, subtasks: tuple[SubtaskState, ...]
) -> tuple[SubtaskState, ...]:
    header, names = _header(change)
    if not header.states:
        return tuple(map(_without_keys, subtasks))
    operator, count = change.operator, change.operator.record.max_parallelism
    settings = SourceSettings(count, after.kryo, names=after.names)
    states = dict(zip(names, map(settings.applied, keyed_states(header)), strict=True))
    made = change.makes(is_keyed=True)
    of_made = frozenset(map(change.headers.name, made))
    stored = {name: state for name, state in states.items() if name not in made}
    key, changes, hash_keys = header.key_serializer.layout(), EntryChanges(), None
    if operator.has_keyed_state:
        rows = change.stored_rows(None)
        key, hash_keys = rows.key, rows.hash_code
        changes = EntryChanges(rows.choices, rows.recoded)
    changed = []
    for subtask in subtasks or (SubtaskState(0),):
        handles = keyed_handles(subtask)
        known = operator.kryo, count, stored, changes, hash_keys, of_made
        entries = ChangedHandles(handles, key, *known)
        own = KeyGroupRange.of_subtask(subtask.index, operator.record.parallelism, count)
        groups = handles[0].handle.key_groups if handles else own
        handle = ChangedHandle.of(header, groups, entries)
        changed.append(replace(_without_keys(subtask), managed_keyed_state=handle))
    return tuple(changed)


def _without_keys(subtask: SubtaskState) -> SubtaskState:
    return replace(subtask, managed_keyed_state=None, raw_keyed_state=None)


def _header(change: OperatorChanges) -> tuple[KeyedBackendHeader, list[str]]:
    """The header after the changes, and the old names of its states in the same order."""
    plan = change.added.keyed
    if change.operator.has_keyed_state:
        types = StoredTypes.of(change.operator)
        added = KeyedPlan(types.key, () if plan is None else plan.states, ())
        for table in change.tables:
            if table.is_keyed:
                encoded = tuple(table.info(state, types) for state in table.states)
                added = replace(added, states=(*added.states, *encoded))
        order = [info.name for info in types.states]
        plan = replace(added.beside(change.passing(types), (), order), key=change.key(types))
    assert plan is not None  # keyed state is there, or added
    infos = tuple(map(change.headers.info, plan.states))
    header = KeyedBackendHeader.of(change.headers.snapshot(plan.key), infos)
    return header, [info.name for info in plan.states]


def _with_changed_elements(
    change: OperatorChanges, subtasks: tuple[SubtaskState, ...]
) -> tuple[SubtaskState, ...]:
    stored = _stored_elements(change)
    added: Stored = {rows.state.name: (rows.state, ()) for rows in change.added.operator_states}
    made = change.makes(is_keyed=False)
    changed: list[SubtaskState] = []
    for subtask in subtasks or (SubtaskState(0),):
        handle = subtask.managed_operator_state
        names = () if handle is None else tuple(it.name for it in handle.states)
        present = {name: stored[name] for name in names if name in stored}
        if not changed:
            present |= added
        new = _changed(handle, present, change.headers, made)
        changed.append(replace(subtask, managed_operator_state=new))
    return tuple(changed)


def _stored_elements(change: OperatorChanges) -> Stored:
    """The operator states of the savepoint that remain, also those with other values."""
    stored: Stored = {}
    for name, state in operator_states(change.operator).items():
        if name not in change.written():
            elements = StoredElements(None, change.operator, state)
            steps = change.recoded_elements(elements)[0].steps
            stored[name] = change.passing_elements(elements).state, steps
    for table in change.tables:
        for of_table in () if table.is_keyed else table.states:
            written = rewritten_state(change.operator, of_table.name)
            stored[of_table.name] = replace(written, element=table.snapshot(of_table)), ()
    return stored


def _changed(
    handle: OperatorStateHandle | None,
    present: Stored,
    headers: HeaderChanges,
    made: frozenset[str],
) -> OperatorStateHandle | None:
    if not present:
        return None
    states = {name: headers.operator_state(state) for name, (state, _) in present.items()}
    lists, broadcasts = [], []
    for state in states.values():
        if state.key is None:
            lists.append(StateMetaInfo.of_operator(state.name, state.mode, state.element))
        else:
            broadcasts.append(StateMetaInfo.of_broadcast(state.name, state.key, state.element))
    view = DataOutputView()
    OperatorBackendHeader.of(tuple(lists), tuple(broadcasts)).write(view)
    offsets = tuple(OperatorStateOffsets(it.name, it.mode, ()) for it in states.values())
    steps = {
        states[name].name: (name, of_state)
        for name, (_, of_state) in present.items()
        if name not in made
    }
    return ChangedElements(offsets, InlineStream(_NAME, view.to_bytes()), None, handle, steps)
