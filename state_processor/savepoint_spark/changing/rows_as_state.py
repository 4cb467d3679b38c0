"""Rows that replace a state of an existing operator, written with the serializers that it has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from savepoint_formats.state_files.state import StateKind
from savepoint_spark.bootstrapping.keyed_columns import KeyedColumns
from savepoint_spark.changing.stored_elements import StoredElements
from savepoint_spark.columns.column_types import column_of
from savepoint_spark.writing.operator_plan import OperatorPlan
from savepoint_spark.writing.operator_rows import OperatorRows
from savepoint_spark.writing.run_encoding import KEY, KEY_GROUP, NAMESPACE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from savepoint_database.snapshot.operator import Operator
    from savepoint_formats.state_files.state import State

_VALUE = "value"


def rows_as_state(
    operator: Operator, state: State, data: DataFrame, ttl_times: Literal["now"] | None
) -> OperatorPlan:
    """The rows as a state of an operator; see ``SavepointWriter.with_state``."""
    name = state.name
    if state.kind.is_keyed:
        others = [] if state.namespace is None else [NAMESPACE]
        given = [KEY_GROUP] if KEY_GROUP in data.columns else []
        column = operator.state_columns.get(name, name)
        columns = [column_of(data, name)[0] for name in (KEY, *others, *given, column)]
        rows = data.select(*columns)
        return KeyedColumns.like(rows, operator, ttl_times).plan()
    stored = StoredElements.state_of(operator, name)
    names = (KEY, _VALUE) if state.kind is StateKind.BROADCAST else (_VALUE,)
    return OperatorPlan(operator_states=(OperatorRows.of(data, stored, names),))
