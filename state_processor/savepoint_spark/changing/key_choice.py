"""The keys of an operator that a condition chooses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.errors import AnalysisException

from savepoint_formats.errors import ColumnNotFoundError
from savepoint_formats.pass_through import ListedKeys
from savepoint_spark.changing.change import ChosenKeys
from savepoint_spark.changing.table_rows import ENCODED_KEY
from savepoint_spark.session.tasks import collected, typed_errors

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import Column, DataFrame

# Spark raises the second for a column "id", because the table is made of split numbers called so.
_UNRESOLVED = ("UNRESOLVED_COLUMN", "MISSING_ATTRIBUTES")


def keys_where(tables: Iterable[DataFrame], where: Column | str, operator: str) -> DataFrame:
    """The bytes of keys with a row that fits, in any table that has the columns of the condition."""
    chosen, refusals = [], []
    for table in tables:
        try:
            chosen.append(table.where(where).select(f"`{ENCODED_KEY}`"))
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


@dataclass(frozen=True)
class DeletedKeys(ChosenKeys):
    """The keys of ``choice`` go."""

    choice: ListedKeys


def listed_keys(keys: DataFrame) -> ListedKeys:
    """Runs the job that finds the keys, and holds their bytes in memory."""
    with typed_errors():
        rows = collected(keys)
    encoded = rows.column(ENCODED_KEY).cast(pa.large_binary()).combine_chunks()
    whole = encoded if isinstance(encoded, pa.Array) else encoded.chunk(0)
    return ListedKeys(whole, is_excluded=True)
