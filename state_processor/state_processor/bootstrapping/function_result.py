"""State that a function makes, and what one run of it has made: rows, side outputs and state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from pyspark.sql import functions as F
from pyspark.storagelevel import StorageLevel

from savepoint_formats.key_groups.ranges import MAX_PARALLELISM
from state_processor.functions.backends import TimerService
from state_processor.functions.batch_function import BatchRows
from state_processor.functions.run_table import OUTPUT, Outputs, RunTable, StateInTable, state_ids
from state_processor.snapshot.task_errors import typed_errors
from state_processor.writing.operator_plan import OperatorPlan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from savepoint_formats.metadata import OperatorState
    from state_processor.functions.function_rows import FunctionRows
    from state_processor.functions.side_outputs import OutputTag
    from state_processor.snapshot.operator import Operator
    from state_processor.writing.write_context import WriteContext


@dataclass(frozen=True, repr=False)
class FunctionStateTransformation:
    """What a function leaves of each key as state of a savepoint.

    Attributes:
        rows: The function, and what it is given.
    """

    rows: FunctionRows | BatchRows | StateInTable

    def __repr__(self) -> str:
        return (
            f"FunctionStateTransformation(states {[state.new.name for state in self.rows.states]})"
        )

    def write(self, context: WriteContext) -> OperatorState:
        """See ``StateTransformation``."""
        return self.plan().write(context)

    def plan(self) -> OperatorPlan:
        """What is to be written."""
        return OperatorPlan(self.rows.plan())

    @property
    def initial(self) -> Operator | None:
        """The operator that the function goes on from, whose other state stays as it is."""
        state = None if isinstance(self.rows, BatchRows) else self.rows.initial
        return None if state is None else state.operator


@dataclass(frozen=True, repr=False)
class FunctionResult:
    """What one run of a function has made; Spark keeps it while this lives.

    Attributes:
        rows: The function, and what it was given.
        outputs: What it gives.
        table: What it has made, see ``run_table``.
        max_parallelism: The number of key groups of the state.
    """

    rows: FunctionRows
    outputs: Outputs
    table: DataFrame
    max_parallelism: int

    def __repr__(self) -> str:
        states = [state.new.name for state in self.rows.states]
        return f"FunctionResult(outputs {list(self.outputs.columns)}, states {states})"

    @classmethod
    def of(
        cls,
        rows: FunctionRows,
        schema: StructType | str | None,
        watermark: int | None,
        max_parallelism: int,
    ) -> Self:
        """Runs a function; see ``KeyedRowsTransformation.run``."""
        if not 1 <= max_parallelism <= MAX_PARALLELISM:
            raise ValueError(
                f"max_parallelism={max_parallelism}, expected 1 <= max parallelism <= {MAX_PARALLELISM}"
            )
        outputs, ids = Outputs.of(schema, rows.task.function), state_ids(rows.states)
        reached = {} if watermark is None else {TimerService.EVENT: watermark}
        told = rows.told(max_parallelism, ids=ids, reached=reached)
        made = RunTable(told.task, told.state_runs(ids, max_parallelism), outputs, watermark)
        table = told.routed_rows(max_parallelism).mapInArrow(made.run, made.spark_schema)
        with typed_errors():
            # Not a cache: Spark would run the function again for what a lost executor has kept.
            kept = table.localCheckpoint(eager=True, storageLevel=StorageLevel.DISK_ONLY)
        return cls(rows, outputs, kept, max_parallelism)

    @property
    def output(self) -> DataFrame:
        """The rows that the function gave, in no order.

        Columns may be null, whatever the schema says of them; none is that the schema does not let.

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
    def state(self) -> FunctionStateTransformation:
        """What the function has left of each key, timers among it, for an operator of a savepoint.

        Example:
            >>> Savepoint.create(spark).with_operator("totals", run.state).write(path)
        """
        return FunctionStateTransformation(
            StateInTable(self.rows, self.table, self.max_parallelism)
        )

    def _rows(self, column: str) -> DataFrame:
        return self.table.where(F.col(column).isNotNull()).select(f"{column}.*")
