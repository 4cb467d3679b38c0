"""Tables of local keyed state as DataFrames whose instances are merged."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pyspark.sql import Column

from savepoint_formats.errors import StateNotFoundError
from savepoint_formats.scan.merged_columns import mergeable_states
from state_processor.jobs.table_rows import TableRows
from state_processor.local_merges import merge_instances

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

    from state_processor.local_merges import Merge
    from state_processor.row_choice import RowChoice
    from state_processor.spark_savepoint import SparkSavepoint

    ReadMerge = Merge | Column


def read_merged(
    savepoint: SparkSavepoint, name: str, choice: RowChoice, merge: Mapping[str, ReadMerge]
) -> DataFrame:
    """The rows of a table of local state; see ``SparkSavepoint.read_local_state``.

    Args:
        savepoint: The savepoint.
        name: The full name of the table.
        choice: What of it is wanted.
        merge: State -> how its instances become one.
    """
    _, table = savepoint.table(name)
    states = mergeable_states(table.states, merge, name)
    expressions = {one: value for one, value in merge.items() if isinstance(value, Column)}
    functions = {one: value for one, value in merge.items() if not isinstance(value, Column)}
    # Made of all: errors of a data source come from Spark, and not as what they are.
    merges = {one: merge_instances(states[one], value) for one, value in functions.items()}
    if all(isinstance(one, str) for one in functions.values()):
        rules = json.dumps(functions) if functions else None
        found = savepoint.read_table(name, **choice.options(), merge=rules)
    else:
        scan = savepoint.scan(
            name,
            columns=None if choice.columns is None else tuple(choice.columns),
            keys=None if choice.keys is None else tuple(choice.keys),
            flat=choice.flat,
            with_key_group=choice.with_key_group,
            merge=merges,
        )
        found = TableRows.to_dataframe(savepoint.spark, scan, frozenset())
    return _with_expressions(found, expressions)


def _with_expressions(found: DataFrame, expressions: Mapping[str, Column]) -> DataFrame:
    """The rows with what expressions make of their arrays of instances."""
    for name in expressions:
        if name not in found.columns:
            known = ", ".join(found.columns)
            raise StateNotFoundError(f"there is no column of state {name!r}; there are: {known}")
    return found.withColumns(dict(expressions))
