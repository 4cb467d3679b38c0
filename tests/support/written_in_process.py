"""Writes the changes of an operator in this process, into files within its record.

The runs and elements are those that tasks of Spark would make.
"""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from savepoint_formats.key_groups import KeyGroupRange
from savepoint_formats.metadata import DistributionMode, InlineStream, SubtaskState
from savepoint_formats.state_files.canonical_file import CanonicalFile
from savepoint_formats.state_files.operator_state import (
    BroadcastEntries,
    ListElements,
    OperatorStateFile,
)
from savepoint_spark.changing.outcome import outcome
from savepoint_spark.changing.stored_operator_state import element_arrays, operator_states
from savepoint_spark.writing.operator_plan import OperatorPlan
from savepoint_spark.writing.write_context import WriteContext

if TYPE_CHECKING:
    from savepoint_database.snapshot.operator import Operator
    from savepoint_formats.metadata import OperatorState
    from savepoint_spark.changing.changed_operator import ChangedOperator


def written(change: ChangedOperator, parallelism: int, max_parallelism: int) -> Operator:
    """The operator of the new savepoint, with its own knowledge of classes."""
    record = change.operator.record
    after = outcome(change)
    subtasks = {index: SubtaskState(index) for index in range(parallelism)}
    if change.operator.has_keyed_state:
        for index, handle in _keyed(change, parallelism, max_parallelism).items():
            subtasks[index] = replace(subtasks[index], managed_keyed_state=handle)
    for subtask in record.subtasks:
        handle = _elements(after, subtask.index)
        subtasks[subtask.index] = replace(subtasks[subtask.index], managed_operator_state=handle)
    made = replace(
        record,
        parallelism=parallelism,
        max_parallelism=max_parallelism,
        subtasks=tuple(subtasks[index] for index in sorted(subtasks)),
    )
    return replace(after, record=made)


def _keyed(change: ChangedOperator, parallelism: int, max_parallelism: int) -> dict[int, Any]:
    nothing: Any = None
    record = change.operator.record
    context = WriteContext(nothing, nothing, record.operator_id, parallelism, max_parallelism)
    plan = change.headers.plan(OperatorPlan(change.keyed(context))).keyed
    assert plan is not None
    ids = {info.name: number for number, info in enumerate(plan.states)}
    sections: dict[int, list[bytes]] = {}
    renamed: Any
    for renamed in plan.rows:
        known = {renamed.old_names.get(name, name): number for name, number in ids.items()}
        reading = renamed.rows.reading(known, max_parallelism)
        for split in reading.splits:
            for batch in reading.runs(split):
                for row in batch.to_pylist():
                    sections.setdefault(row["key_group"], []).append(row["run"])
    handles = {}
    for index in range(parallelism):
        groups = KeyGroupRange.of_subtask(index, parallelism, max_parallelism)
        own = [(group, sections[group]) for group in groups if group in sections]
        content = io.BytesIO()
        file = CanonicalFile.write(content, plan.header, groups, own)
        handles[index] = file.handle(InlineStream(f"written {index}", content.getvalue()))
    return handles


def _elements(after: Operator, index: int) -> Any:
    """The operator state of a subtask that stays what it is."""
    (subtask,) = (subtask for subtask in after.record.subtasks if subtask.index == index)
    handle = subtask.managed_operator_state
    if handle is None:
        return None
    present = {stored.name for stored in handle.states}
    alone = replace(after, record=_only(after.record, index))
    lists, broadcasts = [], []
    for name, state in operator_states(alone).items():
        if name not in present:
            continue
        arrays = [pa.array([], pa.large_binary()), *element_arrays(alone, state)]
        elements = pa.concat_arrays(arrays)
        if state.mode is DistributionMode.BROADCAST:
            assert state.key is not None
            data = elements[0].as_buffer()
            broadcasts.append(BroadcastEntries(name, state.key, state.element, data))
        else:
            lists.append(ListElements(name, state.mode, state.element, elements))
    content = io.BytesIO()
    file = OperatorStateFile.write(content, lists, broadcasts)
    return file.handle(InlineStream(f"elements {index}", content.getvalue()))


def _only(record: OperatorState, index: int) -> OperatorState:
    subtasks = tuple(subtask for subtask in record.subtasks if subtask.index == index)
    return replace(record, subtasks=subtasks)
