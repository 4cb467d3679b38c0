"""The keys of an operator that a condition chooses, and rows without them."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.errors import AnalysisException

from savepoint_formats.errors import ColumnNotFoundError
from savepoint_formats.pass_through.divided_entries import ListedKeys
from savepoint_spark.columns import fitted
from savepoint_spark.session.tasks import collected, typed_errors
from savepoint_spark.writing.keyed_rows import KeyedRows
from savepoint_spark.writing.operator_plan import encoded_elements
from savepoint_spark.writing.run_encoding import KEY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import Column, DataFrame

    from savepoint_formats.layout import Layout
    from savepoint_spark.writing.operator_plan import OperatorPlan

# Spark raises the second for a column "id", because the table is made of split numbers called so.
_UNRESOLVED = ("UNRESOLVED_COLUMN", "MISSING_ATTRIBUTES")


def keys_where(tables: Iterable[DataFrame], where: Column | str, operator: str) -> DataFrame:
    """The keys with a row that fits, in any of the tables that have the columns of the condition."""
    chosen, refusals = [], []
    for table in tables:
        try:
            chosen.append(table.where(where).select(KEY))
        except AnalysisException as error:
            if not _condition(error).startswith(_UNRESOLVED):
                raise
            refusals.append(error)
    if not chosen:
        reason = f": {refusals[0]}".splitlines()[0] if refusals else ""
        raise ColumnNotFoundError(
            f"no table of keyed state of operator {operator} has the columns of the condition{reason}"
        )
    return reduce(lambda rows, other: rows.union(other), chosen).distinct()


def _condition(error: AnalysisException) -> str:
    # PySpark 3.5 only has the older name.
    condition = error.getCondition if hasattr(error, "getCondition") else error.getErrorClass
    return condition() or ""


def encoded_keys(keys: DataFrame, layout: Layout) -> ListedKeys:
    """Runs the job that finds the keys, and holds them in memory as bytes."""
    column = fitted(keys, KEY, layout, "the key").alias(KEY)

    def encode(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pa.RecordBatch.from_arrays([encoded_elements(batch, KEY, layout)], names=[KEY])

    with typed_errors():
        encoded = collected(keys.select(column).mapInArrow(encode, "key BINARY"))
    whole = encoded.column(KEY).cast(pa.large_binary()).combine_chunks()
    return ListedKeys(whole if isinstance(whole, pa.Array) else whole.chunk(0), is_excluded=True)


def plan_without_keys(plan: OperatorPlan, keys: DataFrame) -> OperatorPlan:
    """The plan without the rows of some keys."""
    if plan.keyed is None:
        return plan
    rows = (
        replace(rows, data=rows.data.join(keys, [KEY], "left_anti"))
        if isinstance(rows, KeyedRows)
        else rows
        for rows in plan.keyed.rows
    )
    return replace(plan, keyed=replace(plan.keyed, rows=tuple(rows)))
