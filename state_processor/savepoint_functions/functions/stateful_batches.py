"""A function that is called for batches of whole keys, with their state as columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import pyarrow as pa

from savepoint_functions.functions.function_plan import FunctionPlan
from savepoint_functions.functions.initial_state import InitialState
from savepoint_functions.functions.outputs import Outputs, kept_once
from savepoint_functions.functions.run_table import StateInTable, spark_schema, state_ids
from savepoint_functions.functions.state_runs import FunctionState
from savepoint_functions.functions.stateful_batch_task import StatefulBatchTask
from savepoint_spark.writing.handed_runs import RunSource
from savepoint_spark.writing.run_encoding import KEY, RunEncoding

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from savepoint_database.snapshot.operator import Operator
    from savepoint_database.types.descriptors import StateDescriptor
    from savepoint_functions.functions.key_batch import KeyBatchFunction
    from savepoint_functions.functions.sorted_inputs import KeyedInput


@dataclass(frozen=True)
class StatefulBatches(FunctionPlan):
    """A function over batches of whole keys.

    A batch ends with the key that brings it to ``batch_rows`` rows. If ``returns_all_keys``, the function
    must give a row of state for each key; if not, a key that it leaves out has no state.
    """

    function: KeyBatchFunction
    batch_rows: int
    returns_all_keys: bool

    @classmethod
    def of(
        cls,
        rows: KeyedInput,
        function: KeyBatchFunction,
        descriptors: tuple[StateDescriptor, ...],
        batch_rows: int,
        initial: Operator | None,
        *,
        returns_all_keys: bool,
    ) -> Self:
        """The function; arguments and errors are those of ``run_batches``."""
        rows.check()
        names = [descriptor.name for descriptor in descriptors]
        if not names or len({*names, KEY}) <= len(names):
            raise ValueError(
                f"a function over batches has states with names of their own, and none {KEY!r}, as the"
                f" column of the keys; it was given: {', '.join(names) or 'none'}"
            )
        if batch_rows < 1:
            raise ValueError(f"batch_rows={batch_rows}, expected 1 or more")
        key = rows.key.snapshot
        states = tuple(FunctionState.of(descriptor, key) for descriptor in descriptors)
        state = None if initial is None else InitialState.of(initial, key, states)
        known = states if state is None else state.states
        return cls((rows,), known, state, function, batch_rows, returns_all_keys)

    def runs(self, ids: Mapping[str, int], max_parallelism: int) -> RunSource:
        """See ``RunRows``."""
        task = self._task(ids, max_parallelism, None)
        return RunSource(self.routed_rows(task.initial, max_parallelism), task.run)

    def in_table(
        self, schema: StructType | str, max_parallelism: int
    ) -> tuple[Outputs, DataFrame, StateInTable]:
        """Runs the function; returns its outputs, the table of all results, and the state in the table.

        Raises:
            ValueError: The schema has no columns.
            SavepointError: A task has failed with it.
        """
        outputs = Outputs.of(schema, self.function)
        task = self._task(state_ids(self.states), max_parallelism, outputs)
        rows = self.routed_rows(task.initial, max_parallelism)
        made = rows.mapInArrow(task.run_with_output, spark_schema(outputs))
        table = kept_once(made)
        return outputs, table, StateInTable(self, table, max_parallelism)

    def _task(
        self, ids: Mapping[str, int], max_parallelism: int, outputs: Outputs | None
    ) -> StatefulBatchTask:
        key, initial = self.inputs[0].key, self.initial_task(max_parallelism, ids, {})
        encoding = RunEncoding(
            key.snapshot.layout(),
            None,
            max_parallelism,
            tuple(state.column(ids[state.new.name]) for state in self.states),
            key.hash_code,
            has_key_groups=True,
            # If all keys come back, the task counts the rows of each; no other task has these keys.
            is_keyed_once=not self.returns_all_keys,
        )
        types = pa.schema([(state.new.name, state.arrow_type) for state in self.states])
        return StatefulBatchTask(
            self.function, self.inputs[0].fields, types, encoding, self.batch_rows, outputs, initial
        )
