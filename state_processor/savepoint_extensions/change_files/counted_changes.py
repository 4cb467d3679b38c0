"""How many values and keys the changes of a write would touch, counted without writing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType, StructType

from savepoint_extensions.change_files.change_count import ChangeCount
from savepoint_spark.changing import BEFORE, DeletedKeys
from savepoint_spark.columns import column_of
from savepoint_spark.session import typed_errors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType

    from savepoint_spark.changing import ChangedOperator, ChangedTable


def change_counts(changed: ChangedOperator, spark: SparkSession) -> Iterator[ChangeCount]:
    """What all changes of an operator do to keys and values; reads the tables that change."""
    for stage in changed.stages:
        for change in stage.changes:
            if isinstance(change, DeletedKeys):
                yield ChangeCount(stage.operator.name, "", None, 0, len(change.choice.keys))
        for table in stage.tables:
            yield from _counted_values(replace(table, spark=spark))


def _counted_values(table: ChangedTable) -> Iterator[ChangeCount]:
    """Counts the values of each state that get others; values whose fields change are not compared.

    Raises ``SavepointError`` if a value can't be read.
    """
    edited = {change.state for change in table.changes if change.edit is not None}
    states = [state for state in table.states if state.name not in edited]
    if not states:
        return
    rows, sums = table.data(with_values_before=True), list[Column]()
    for number, state in enumerate(states):
        old = _comparable(rows, BEFORE + state.name)
        new = _comparable(rows, table.column_name(state))
        is_other = new.isNotNull() & ~new.eqNullSafe(old)
        for what in (old.isNotNull(), is_other, old.isNotNull() & new.isNull()):
            sums.append(F.count_if(what).alias(f"{number} {len(sums)}"))
    with typed_errors():
        counts = list(rows.agg(*sums).collect()[0])
    for number, state in enumerate(states):
        yield ChangeCount(table.operator.name, state.name, *counts[3 * number : 3 * number + 3])


def _comparable(rows: DataFrame, name: str) -> Column:
    return _without_maps(*column_of(rows, name))


def _without_maps(column: Column, data_type: DataType) -> Column:
    """The values with sorted entries in place of maps, which Spark can't compare."""
    if "map<" not in data_type.simpleString():
        return column
    match data_type:
        case MapType():
            values = F.transform_values(
                column, lambda _, it: _without_maps(it, data_type.valueType)
            )
            return F.array_sort(F.map_entries(values))
        case ArrayType():
            return F.transform(column, lambda it: _without_maps(it, data_type.elementType))
        case StructType():
            fields = (
                _without_maps(column.getField(field.name), field.dataType).alias(field.name)
                for field in data_type
            )
            return F.when(column.isNotNull(), F.struct(*fields))
        case _:
            return column
