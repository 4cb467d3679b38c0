"""Tables of local keyed state as DataFrames whose instances are merged."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql import Column

from savepoint_formats.errors import StateNotFoundError
from savepoint_formats.scan.merged_columns import mergeable_states
from savepoint_spark.changing.local_merges import merge_instances
from savepoint_spark.changing.table_rows import TableRows
from savepoint_spark.savepoint.spark_tables import read_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

    from savepoint_spark.changing.local_merges import Merge
    from savepoint_spark.reading.source_options import SourceOptions
    from savepoint_spark.savepoint.spark_tables import SparkTables

    ReadMerge = Merge | Column


def read_merged(
    savepoint: SparkTables,
    name: str,
    merge: Mapping[str, ReadMerge],
    asked: SourceOptions,
) -> DataFrame:
    """The rows of a table of local state; see ``SparkSavepoint.read_local_state``.

    Args:
        savepoint: The savepoint.
        name: The full name of the table.
        merge: State -> how its instances become one.
        asked: The options of the read.
    """
    operator, table = savepoint.table(name)
    states = mergeable_states(table.states, merge, name)
    expressions = {state: value for state, value in merge.items() if isinstance(value, Column)}
    functions = {state: value for state, value in merge.items() if not isinstance(value, Column)}
    merges = {state: merge_instances(states[state], value) for state, value in functions.items()}
    rules = {state: value for state, value in functions.items() if isinstance(value, str)}
    if len(rules) == len(functions):
        rows = read_rows(
            savepoint, name, replace(asked, read=replace(asked.read, merge=rules or None))
        )
    else:
        if asked.where is not None:
            raise ValueError("where goes with rules that merge, not with functions: leave it out")
        scan = operator.scan(table, replace(asked.read, merge=merges))
        rows = TableRows.to_dataframe(savepoint.spark, scan, frozenset())
    return _with_expressions(rows, expressions)


def _with_expressions(rows: DataFrame, expressions: Mapping[str, Column]) -> DataFrame:
    """The rows with what expressions make of their arrays of instances."""
    for name in expressions:
        if name not in rows.columns:
            known = ", ".join(rows.columns)
            raise StateNotFoundError(f"there is no column of state {name!r}; there are: {known}")
    return rows.withColumns(dict(expressions))
