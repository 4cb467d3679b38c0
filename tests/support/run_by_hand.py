"""Functions over rows without Spark: each task's batches are made here, and its runs written here."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from savepoint_formats.key_groups.operator_id import OperatorId
from savepoint_formats.key_groups.ranges import KeyGroupRange
from savepoint_formats.locations.file_io import SnapshotDirectory
from savepoint_formats.metadata import InlineStream, OperatorState, SubtaskState
from savepoint_formats.pass_through.stored_states import StoredStates
from savepoint_formats.state_files.canonical_file import CanonicalFile
from savepoint_formats.state_files.header import KeyedBackendHeader
from savepoint_functions.functions.backends.timers import EVENT_TIME, timer_states
from savepoint_functions.functions.function_task import FunctionTask, registered
from savepoint_functions.functions.initial_state import InitialState
from savepoint_functions.functions.outputs import Outputs
from savepoint_functions.functions.result_table import (
    FunctionState,
    ResultTable,
    StateEncoding,
    state_ids,
)
from savepoint_functions.functions.rows_by_key import RowTypes
from savepoint_functions.functions.sorted_inputs import KEY, ORDER, KeyEncoding, order_of
from savepoint_spark.writing.keyed_rows import Key
from state_processor import Operator, Types

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from savepoint_functions.functions.execution_options import ExecutionOptions
    from savepoint_functions.functions.process_functions import KeyedFunction

MAX_PARALLELISM = 8
SUBTASKS = 2
KEYS = Types.LONG()


def left_by(
    function: KeyedFunction,
    rows: Sequence[Mapping[str, Any]],
    options: ExecutionOptions,
    folder: Path,
    initial: Operator | None = None,
    tasks: int = 3,
    watermark: int | None = None,
) -> Operator:
    """The operator that a function leaves.

    Args:
        function: The function.
        rows: Its rows, in the order in which each key gets them; ``key`` is a long.
        options: How it is run.
        folder: Where the savepoint would be.
        initial: The operator with whose state it begins.
        tasks: The number of tasks that have rows.
        watermark: The event time in ms that the rows have reached; None fires no timers.
    """
    key = KEYS.snapshot
    names = tuple(rows[0]) if rows else ("key",)
    types = RowTypes(KEYS.layout, (names,), has_timestamps=False, has_key_groups=True)
    states = tuple(
        FunctionState.of(descriptor, key, namespace)
        for descriptor, namespace in registered(function, KEYS.layout)
    )
    borders = [
        KeyGroupRange.of_subtask(task, tasks, MAX_PARALLELISM).start for task in range(tasks)
    ]
    told = None
    if initial is not None:
        kept = InitialState.of(initial, key, states)
        states = kept.states
        timers = timer_states(function.fired_timers)[EVENT_TIME]
        reached = {} if watermark is None else {timers: watermark}
        told = kept.task(borders, state_ids(states), reached)
    task = FunctionTask(
        function, types, options, keeps_state=True, initial=told, watermark=watermark
    )
    state = StateEncoding.of(task, states, Key(("key",), key), state_ids(states), MAX_PARALLELISM)
    table = ResultTable(task, state, Outputs.dropped())
    marks = [order_of(split.start) for split in told.splits] if told else []
    made = [
        batch
        for number in range(tasks)
        for batch in table.run(_batches(rows, marks, borders, number))
    ]
    infos = tuple(state.new.info for state in states)
    header = KeyedBackendHeader(is_compressed=False, key_serializer=key, states=infos)
    subtasks = tuple(_subtask(number, header, made) for number in range(SUBTASKS))
    record = OperatorState(OperatorId.from_uid("a"), SUBTASKS, MAX_PARALLELISM, subtasks)
    return Operator(record, "a", SnapshotDirectory.of(str(folder)))


def entries_of(operator: Operator) -> list[tuple[Any, ...]]:
    """All entries of an operator: state, key group, and the bytes of key and value, in order."""
    stored = StoredStates(operator.directory, operator.record, KEYS.layout)
    names = frozenset(state.name for state in operator.catalog.states)
    return sorted(
        (chunk.state.name, int(group), entry_key, value)
        for chunk in stored.state_chunks(names, KeyGroupRange(0, MAX_PARALLELISM - 1))
        for group, entry_key, value in zip(
            chunk.key_groups,
            chunk.entries.keys.to_pylist(),
            chunk.entries.values.to_pylist(),
            strict=True,
        )
    )


def _batches(
    rows: Sequence[Mapping[str, Any]],
    marks: Iterable[int],
    borders: Sequence[int],
    number: int,
) -> Iterator[pa.RecordBatch]:
    """The rows of a task as Spark would send them, in batches of few."""
    names = list(rows[0]) if rows else ["key"]
    columns = {"key": pa.array([row["key"] for row in rows], pa.int64())}
    for position, name in enumerate(names):
        columns[f"row 0 {position}"] = pa.array([row[name] for row in rows])
    if not rows:
        columns["row 0 0"] = pa.array([], pa.int64())
    encoding = KeyEncoding(KEYS.layout, MAX_PARALLELISM, None)
    (batch,) = encoding.ordered([pa.RecordBatch.from_pydict(columns)])
    marked = pa.RecordBatch.from_pydict(
        {
            field.name: pa.array(list(marks), pa.int64())
            if field.name == ORDER
            else pa.nulls(len(list(marks)), field.type)
            for field in batch.schema
        }
    )
    table = pa.Table.from_batches([batch, marked.cast(batch.schema)])
    groups = np.asarray(table.column(ORDER)) >> 48
    task = np.searchsorted(borders, groups, "right") - 1
    table = table.append_column("n", pa.array(range(len(table)))).filter(pa.array(task == number))
    # Marks, which have no key, come first, as nulls do in Spark.
    table = table.append_column("k", pc.fill_null(table.column(KEY), b""))
    order = [(ORDER, "ascending"), ("k", "ascending"), ("n", "ascending")]
    table = table.sort_by(order).drop_columns(["k"])
    yield from table.drop_columns(["n"]).combine_chunks().to_batches(max_chunksize=7)


def _subtask(
    number: int, header: KeyedBackendHeader, made: Iterable[pa.RecordBatch]
) -> SubtaskState:
    key_groups = KeyGroupRange.of_subtask(number, SUBTASKS, MAX_PARALLELISM)
    sections: dict[int, list[bytes]] = {}
    for batch in made:
        for row in batch.to_pylist():
            if row["run"] is not None and row["key_group"] in key_groups:
                sections.setdefault(row["key_group"], []).append(row["run"])
    output = BytesIO()
    file = CanonicalFile.write(output, header, key_groups, sorted(sections.items()))
    handle = file.handle(InlineStream(f"keyed-{number}", output.getvalue()))
    return SubtaskState(number, managed_keyed_state=handle)
