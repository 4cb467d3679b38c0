"""Operator state, list, union or broadcast, out of the columns of a DataFrame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from savepoint_formats.metadata import DistributionMode
from savepoint_spark.writing.operator_plan import OperatorPlan
from savepoint_spark.writing.operator_rows import NewOperatorState, OperatorRows
from savepoint_spark.writing.write_context import PlannedTransformation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from savepoint_database.snapshot.operator import Operator
    from savepoint_database.types.descriptors import ListStateDescriptor, MapStateDescriptor
    from savepoint_spark.writing.operator_rows import ElementRows


@dataclass(frozen=True, repr=False)
class OperatorStateTransformation(PlannedTransformation):
    """Rows that become elements of operator states.

    Attributes:
        rows: The rows for each state; a function may have several states.
        initial: The operator that the states go on from, if any; its other states are copied.
    """

    rows: tuple[ElementRows, ...]
    initial: Operator | None = None

    def __repr__(self) -> str:
        return f"OperatorStateTransformation(states {[rows.state.name for rows in self.rows]})"

    @classmethod
    def of_list(
        cls, data: DataFrame, descriptor: ListStateDescriptor, column: str | None, *, is_union: bool
    ) -> Self:
        """See ``OneInputStateTransformation.list_state`` and ``union_state``."""
        mode = DistributionMode.UNION if is_union else DistributionMode.SPLIT_DISTRIBUTE
        state = NewOperatorState(descriptor.name, mode, descriptor.element)
        return cls((OperatorRows.of(data, state, (column or descriptor.name,)),))

    @classmethod
    def of_broadcast(
        cls, data: DataFrame, descriptor: MapStateDescriptor, key: str, value: str
    ) -> Self:
        """See ``OneInputStateTransformation.broadcast_state``."""
        mode, user_value = DistributionMode.BROADCAST, descriptor.user_value
        state = NewOperatorState(descriptor.name, mode, user_value, descriptor.user_key)
        return cls((OperatorRows.of(data, state, (key, value)),))

    def plan(self) -> OperatorPlan:
        """The state that will be written."""
        return OperatorPlan(operator_states=self.rows)
