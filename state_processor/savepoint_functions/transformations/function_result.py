"""State that a function makes, and the results of one run of it: rows, side outputs and state."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Self

from savepoint_formats.key_groups import MAX_PARALLELISM
from savepoint_functions.functions.outputs import OUTPUT, Outputs, kept_once, rows_in
from savepoint_functions.functions.result_table import ResultState, state_ids, table_type
from savepoint_spark.writing import OperatorPlan, PlannedTransformation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from savepoint_database.snapshot import Operator
    from savepoint_functions.functions.batch_plan import BatchFunctionPlan
    from savepoint_functions.functions.broadcast_run import BroadcastResult
    from savepoint_functions.functions.function_plan import FunctionPlan, KeyedFunctionPlan
    from savepoint_functions.functions.outputs import OutputTag
    from savepoint_spark.bootstrapping import OperatorStateTransformation
    from savepoint_spark.writing import ElementRows


@dataclass(frozen=True, repr=False)
class FunctionStateTransformation(PlannedTransformation):
    """The state that a function leaves, as state of a savepoint.

    Attributes:
        rows: The function, and its rows.
        operator_states: State of the operator that belongs to no key.
    """

    rows: KeyedFunctionPlan | ResultState
    operator_states: tuple[ElementRows, ...] = ()

    def __repr__(self) -> str:
        names = [state.new.name for state in self.rows.states]
        names += [elements.state.name for elements in self.operator_states]
        return f"FunctionStateTransformation(states {names})"

    def plan(self) -> OperatorPlan:
        return OperatorPlan(self.rows.plan(), self.operator_states)

    @property
    def initial(self) -> Operator | None:
        """The operator from which the function continues; its other states are copied."""
        state = self.rows.initial
        return None if state is None else state.operator


@dataclass(frozen=True, repr=False)
class FunctionResult:
    """Results of one run of a function; Spark keeps them as long as this object.

    Attributes:
        outputs: The outputs of the function.
        tables: Its results, see ``result_table`` and ``broadcast_run``.
        state: The state that it has left, timers included, for an operator of a savepoint.

    Example:
        >>> Savepoint.create(spark).with_operator("totals", run.state).write(path)
    """

    outputs: Outputs
    tables: tuple[DataFrame, ...]
    state: FunctionStateTransformation | OperatorStateTransformation

    def __repr__(self) -> str:
        return f"FunctionResult(outputs {list(self.outputs.columns)}, {self.state})"

    @classmethod
    def of(
        cls,
        rows: FunctionPlan,
        outputs: Outputs,
        watermark: int | None,
        max_parallelism: int,
        broadcast: BroadcastResult | None = None,
    ) -> Self:
        """Runs a function; see ``KeyedRowsTransformation.run``."""
        expected_parallelism(max_parallelism)
        if watermark is not None:
            rows.expect_no_internal_timers()
        ids = state_ids(rows.states)
        reached = {} if watermark is None else rows.reached(watermark)
        table, routed = rows.table(
            outputs, ids, max_parallelism, watermark=watermark, reached=reached
        )
        kept = kept_once(routed.mapInArrow(table.run, table_type(outputs)))
        in_table = ResultState(rows, kept, max_parallelism)
        if broadcast is None:
            return cls(outputs, (kept,), FunctionStateTransformation(in_table))
        with_broadcast = FunctionStateTransformation(in_table, broadcast.elements())
        return cls(outputs, (broadcast.table, kept), with_broadcast)

    @classmethod
    def of_batches(
        cls,
        batches: BatchFunctionPlan,
        schema: StructType | str | None,
        max_parallelism: int | None,
    ) -> Self:
        """Runs a function over batches, if it gives rows; see ``run_batches``."""
        if schema is None:
            return cls(Outputs.dropped(), (), FunctionStateTransformation(batches))
        key_groups = expected_parallelism(batches.max_parallelism(max_parallelism))
        outputs = Outputs.of(schema, batches.function)
        task, rows = batches.table(outputs, state_ids(batches.states), key_groups)
        kept = kept_once(rows.mapInArrow(task.run, table_type(outputs)))
        return cls(
            outputs, (kept,), FunctionStateTransformation(ResultState(batches, kept, key_groups))
        )

    @property
    def output(self) -> DataFrame:
        """The rows that the function gave, in no order.

        All columns are nullable; a column that the schema calls not nullable has no null.

        Raises:
            ValueError: The function was run without a schema, and gives no rows.

        Example:
            >>> run.output.show()
        """
        if OUTPUT not in self.outputs.columns:
            raise ValueError(
                "the function was run without a schema, so it has no rows: add schema=…"
            )
        return self._rows(OUTPUT)

    def side_output(self, tag: OutputTag) -> DataFrame:
        """The rows that the function gave to a side output, in no order.

        Args:
            tag: One of the function's ``side_outputs``.

        Raises:
            ValueError: The function has no such side output.

        Example:
            >>> run.side_output(LATE).show()
        """
        return self._rows(self.outputs.column(tag))

    @property
    def left_out(self) -> DataFrame:
        """The late rows that no window took, and no side output, in no order.

        The columns are those of the input, but for types that no function gives, such as
        ``VARIANT``. Without a watermark of ``run`` no row is late.

        Raises:
            ValueError: The function has no windows, so it gets all rows.

        Example:
            >>> assert not run.left_out.count()
        """
        column = self.outputs.left_out
        if column is None:
            raise ValueError("only windows leave out rows: run a function over key_by(…).window(…)")
        return self._rows(column)

    def _rows(self, column: str) -> DataFrame:
        rows = [rows_in(table, column) for table in self.tables]
        return reduce(lambda united, other: united.unionAll(other), rows)


def expected_parallelism(max_parallelism: int) -> int:
    """The number of key groups. Raises ``ValueError`` if it is out of range."""
    if not 1 <= max_parallelism <= MAX_PARALLELISM:
        raise ValueError(
            f"max_parallelism={max_parallelism}, expected 1 <= max parallelism <= {MAX_PARALLELISM}"
        )
    return max_parallelism
