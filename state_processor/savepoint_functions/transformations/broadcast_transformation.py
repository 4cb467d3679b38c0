"""Rows connected with broadcast rows: a function makes output or state of both.

The broadcast rows come first, all of them in one task and at once. All tasks of the other rows get
their broadcast state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from pyspark.sql.types import StructType

from savepoint_functions.functions.broadcast_functions import BroadcastProcessFunction
from savepoint_functions.functions.broadcast_run import BroadcastResult, ConnectedTask
from savepoint_functions.functions.function_calls import expect_kind
from savepoint_functions.functions.operator_function import ROW, in_structs
from savepoint_functions.functions.outputs import OUTPUT, Outputs, kept_once, rows_in
from savepoint_functions.transformations.function_result import FunctionResult
from savepoint_spark.bootstrapping import OperatorStateTransformation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from savepoint_database.snapshot import Operator
    from savepoint_database.types import MapStateDescriptor
    from savepoint_functions.functions.broadcast_run import BroadcastFunction


@dataclass(frozen=True, repr=False)
class BroadcastRows:
    """Rows that make broadcast state, which every task of other rows sees.

    Attributes:
        data: The rows, as ``in_structs`` gives them.
        descriptors: The broadcast states.
    """

    data: DataFrame
    descriptors: tuple[MapStateDescriptor, ...]

    def __repr__(self) -> str:
        return f"BroadcastRows(states {[descriptor.name for descriptor in self.descriptors]})"

    @classmethod
    def of(
        cls, data: DataFrame, timestamps: str | None, descriptors: tuple[MapStateDescriptor, ...]
    ) -> Self:
        """See ``OneInputStateTransformation.broadcast``."""
        names = [descriptor.name for descriptor in descriptors]
        if not names:
            raise ValueError("broadcast rows need the states that they make: broadcast(RATES)")
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"broadcast state {twice[0]!r} is given twice")
        for descriptor in descriptors:
            # Each raises ``ValueError`` if its type is missing.
            _ = descriptor.user_key, descriptor.user_value
        return cls(in_structs(data, timestamps), descriptors)

    def run(
        self, function: BroadcastFunction, outputs: Outputs, initial: Operator | None
    ) -> BroadcastResult:
        """Runs a function over them, beginning with the broadcast state of an operator."""
        return BroadcastResult.of(self.data, self.descriptors, function, outputs, initial)


@dataclass(frozen=True, repr=False)
class BroadcastTransformation:
    """Rows without keys, connected with broadcast rows.

    Attributes:
        data: The rows, as ``in_structs`` gives them.
        broadcast: The broadcast rows.
    """

    data: DataFrame
    broadcast: BroadcastRows

    def __repr__(self) -> str:
        return f"BroadcastTransformation({self.broadcast})"

    @classmethod
    def of(cls, data: DataFrame, timestamps: str | None, broadcast: object) -> Self:
        """See ``OneInputStateTransformation.connect``."""
        if not isinstance(broadcast, BroadcastRows):
            raise TypeError(
                f"a {type(broadcast).__name__} can't be connected with rows that have no keys: expected"
                " broadcast rows, of broadcast(…); or use key_by(…) for both"
            )
        return cls(in_structs(data, timestamps), broadcast)

    def process(
        self,
        function: BroadcastProcessFunction,
        schema: StructType | str,
        *,
        initial: Operator | None = None,
    ) -> DataFrame:
        """The rows that a function gives; the function runs over the broadcast rows at once.

        Args:
            function: The function.
            schema: The columns of the rows, as a schema of Spark or as a DDL string.
            initial: The operator of a savepoint with whose broadcast state the function begins.

        Raises:
            TypeError: The function is of another kind, or changes broadcast state for another row.
            ValueError: The schema has no columns.
            StateTypeError: A state has another mode or type in the savepoint.

        Example:
            >>> sales.connect(rates).process(Converter(), "id BIGINT, amount DOUBLE").show()
        """
        expect_kind(function, BroadcastProcessFunction)
        outputs = Outputs.of(schema, function)
        broadcast = self.broadcast.run(function, outputs, initial)
        rows = self._connected(function, broadcast, outputs)
        return rows_in(broadcast.table, OUTPUT).unionAll(rows_in(rows, OUTPUT))

    def transform(
        self, function: BroadcastProcessFunction, *, initial: Operator | None = None
    ) -> OperatorStateTransformation:
        """The broadcast state that a function makes; rows that it gives are dropped.

        With ``initial``, other states of that operator are copied. Errors are those of ``process``.

        Example:
            >>> writer.with_operator("converter", sales.connect(rates).transform(Converter()))
        """
        expect_kind(function, BroadcastProcessFunction)
        broadcast = self.broadcast.run(function, Outputs.dropped(), initial)
        return OperatorStateTransformation(broadcast.elements(), initial)

    def run(
        self,
        function: BroadcastProcessFunction,
        schema: StructType | str | None = None,
        *,
        initial: Operator | None = None,
    ) -> FunctionResult:
        """Runs a function once, and keeps its rows, its side outputs and the broadcast state.

        Args:
            function: The function.
            schema: The columns of the rows; None if the function gives none.
            initial: As for ``transform``.

        Raises:
            TypeError, ValueError, StateTypeError: As for ``process``.

        Example:
            >>> run = sales.connect(rates).run(Converter(), "id BIGINT, amount DOUBLE")
            >>> Savepoint.create(spark).with_operator("converter", run.state).write(path)
        """
        expect_kind(function, BroadcastProcessFunction)
        outputs = Outputs.of(schema, function)
        broadcast = self.broadcast.run(function, outputs, initial)
        rows = kept_once(self._connected(function, broadcast, outputs))
        state = OperatorStateTransformation(broadcast.elements(), initial)
        return FunctionResult(outputs, (broadcast.table, rows), state)

    def _connected(
        self, function: BroadcastProcessFunction, broadcast: BroadcastResult, outputs: Outputs
    ) -> DataFrame:
        names = tuple(self.data.select(f"{ROW}.*").columns)
        task = ConnectedTask(function, broadcast.held(), names, outputs)
        return self.data.mapInArrow(task.run, StructType(outputs.fields))
