"""Runs reader functions without Spark, and shows what their states hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from savepoint_database.types.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from savepoint_spark.reading.functions import ReaderFunction, RuntimeContext, WindowReaderFunction
from savepoint_spark.reading.per_key import KeyedReaderJob, PerKeyJob, ReaderPlan
from savepoint_spark.reading.window_reader import WindowReaderJob

if TYPE_CHECKING:
    from support.sample_rows import Sample


def state_of(context: RuntimeContext, kind: str, name: str) -> Any:
    """The state object of a kind, as the catalog calls it."""
    match kind:
        case "value":
            return context.get_state(ValueStateDescriptor(name))
        case "list":
            return context.get_list_state(ListStateDescriptor(name))
        case "map":
            return context.get_map_state(MapStateDescriptor(name))
        case "reducing":
            return context.get_reducing_state(ReducingStateDescriptor(name))
        case _:
            return context.get_aggregating_state(AggregatingStateDescriptor(name))


def content(state: Any) -> Any:
    """Content of a state object, as a table shows it."""
    match type(state).__name__:
        case "ValueState":
            return state.value()
        case "MapState":
            return None if state.is_empty() else state.items()
        case "ListState":
            return state.get() or None
        case _:
            return state.get()


def job_of(sample: Sample, uid: str, reader: ReaderFunction, schema: pa.Schema) -> PerKeyJob:
    """The job of a function, as the driver plans it."""
    savepoint = sample.open()
    plan = ReaderPlan(savepoint, savepoint.operator(uid), reader)
    if isinstance(reader, WindowReaderFunction):
        return WindowReaderJob.of(plan, schema)
    return KeyedReaderJob.of(plan, schema)


def rows_of(sample: Sample, uid: str, reader: ReaderFunction, schema: pa.Schema) -> pa.Table:
    """Results of a function, without Spark."""
    job = job_of(sample, uid, reader, schema)
    batches = [batch for split in job.scan.splits() for batch in job.run(split)]
    return pa.Table.from_batches(batches, schema)


def calls_of(sample: Sample, uid: str, reader: ReaderFunction) -> list[Any]:
    """The rows of a function as it gives them, whatever their types."""
    job = job_of(sample, uid, reader, pa.schema([]))
    return [row for split in job.scan.splits() for _, row in job.rows(split)]
