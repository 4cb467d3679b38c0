"""A function over batches of whole keys, with their state as columns: its rows, and its new state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import pyarrow as pa

from savepoint_functions.functions.function_rows import MAX_PARALLELISM
from savepoint_functions.functions.initial_state import InitialState, with_marks
from savepoint_functions.functions.outputs import Outputs, kept_once
from savepoint_functions.functions.run_table import StateInTable, spark_schema, state_ids
from savepoint_functions.functions.sorted_inputs import routed, task_borders
from savepoint_functions.functions.state_runs import FunctionState
from savepoint_functions.functions.stateful_batch_task import StatefulBatchTask
from savepoint_spark.writing.handed_runs import RunSource
from savepoint_spark.writing.keyed_plan import KeyedPlan
from savepoint_spark.writing.run_encoding import KEY, RunEncoding

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, Row
    from pyspark.sql.types import StructType

    from savepoint_database.snapshot.operator import Operator
    from savepoint_database.types.descriptors import StateDescriptor
    from savepoint_functions.functions.initial_state import InitialTask
    from savepoint_functions.functions.key_batch import KeyBatchFunction
    from savepoint_functions.functions.sorted_inputs import KeyedInput


@dataclass(frozen=True)
class StatefulBatches:
    """A function over batches of whole keys.

    Attributes:
        rows: The rows.
        function: The function.
        states: The states that it is given, and gives.
        batch_rows: A batch ends with the key that brings it to so many rows.
        initial: The state with which it begins, if not with nothing.
        returns_all_keys: Whether the function must give a row of state for each key. If not, a key
            that it leaves out has no state.
    """

    rows: KeyedInput
    function: KeyBatchFunction
    states: tuple[FunctionState, ...]
    batch_rows: int
    initial: InitialState | None = None
    returns_all_keys: bool = True

    @classmethod
    def of(
        cls,
        rows: KeyedInput,
        function: KeyBatchFunction,
        descriptors: tuple[StateDescriptor, ...],
        batch_rows: int,
        initial: Operator | None,
        *,
        returns_all_keys: bool = True,
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
        if initial is None:
            return cls(rows, function, states, batch_rows, returns_all_keys=returns_all_keys)
        state = InitialState.of(initial, key, states)
        return cls(rows, function, state.states, batch_rows, state, returns_all_keys)

    def plan(self) -> KeyedPlan:
        """What is to be written."""
        infos = tuple(state.new.info for state in self.states)
        return KeyedPlan(self.rows.key.snapshot, infos, (self,))

    def runs(self, ids: Mapping[str, int], max_parallelism: int) -> RunSource:
        """See ``RunRows``."""
        task = self._task(ids, max_parallelism, None)
        rows = self._routed(task.initial, max_parallelism)
        return RunSource(rows, task.run)

    def in_table(
        self, schema: StructType | str, max_parallelism: int
    ) -> tuple[Outputs, DataFrame, StateInTable]:
        """Runs the function: what it gives, the table of all that it made, and the state in there.

        Raises:
            ValueError: The schema has no columns.
            SavepointError: What a task has raised.
        """
        outputs = Outputs.of(schema, self.function)
        task = self._task(state_ids(self.states), max_parallelism, outputs)
        rows = self._routed(task.initial, max_parallelism)
        made = rows.mapInArrow(task.run_with_output, spark_schema(outputs))
        table = kept_once(made)
        return outputs, table, StateInTable(self, table, max_parallelism)

    def duplicates(self, limit: int) -> list[Row]:  # noqa: ARG002  # the protocol's signature
        """None: each key is given once, and comes back once."""
        return []

    def max_parallelism(self, given: int | None) -> int:
        """The number of key groups that the user gives, or that of the state, or the usual one."""
        if given is not None:
            return given
        return MAX_PARALLELISM if self.initial is None else self.initial.max_parallelism

    def _task(
        self, ids: Mapping[str, int], max_parallelism: int, outputs: Outputs | None
    ) -> StatefulBatchTask:
        key, initial = self.rows.key, None
        if self.initial is not None:
            self.initial.expect(max_parallelism)
            borders = task_borders(self.rows.data.sparkSession, max_parallelism)
            initial = self.initial.task(borders, ids, {})
        encoding = RunEncoding(
            key.snapshot.layout(),
            None,
            max_parallelism,
            tuple(state.column(ids[state.new.name]) for state in self.states),
            key.hash_code,
            has_key_groups=True,
            # Where all keys come back, a task counts the rows of each. No other task has rows of them.
            is_keyed_once=not self.returns_all_keys,
        )
        types = pa.schema([(state.new.name, state.arrow_type) for state in self.states])
        return StatefulBatchTask(
            self.function, self.rows.fields, types, encoding, self.batch_rows, outputs, initial
        )

    def _routed(self, initial: InitialTask | None, max_parallelism: int) -> DataFrame:
        rows = self.rows.rows(0, (self.rows,), max_parallelism)
        if initial is not None:
            rows = with_marks(rows, initial)
        return routed(rows, max_parallelism, is_sorted=True)
