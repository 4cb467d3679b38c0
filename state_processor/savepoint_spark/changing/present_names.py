"""The names that the states of a table have after earlier changes, and its columns under them.

``names`` maps a state of the savepoint to its present name, or to None if it was removed. A state
that is not in it has its old name.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType

from savepoint_formats.state_files import TIMER_STATE_PREFIX, StateKind
from savepoint_formats.tables import tables_of, timer_service
from savepoint_spark.columns import column_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import Column, DataFrame

    from savepoint_formats.tables import Table

    Names = Mapping[str, str | None]


BEFORE = "$before "
"""Beginning of the columns with the values before the changes, where these are counted."""


def present_columns(table: Table, names: Names) -> dict[str, str]:
    """The column of each state that is there, by the name of the state in the savepoint."""
    present = {state.name: names.get(state.name, state.name) for state in table.states}
    kept = [state for state in table.states if present[state.name] is not None]
    renamed = [replace(state, name=present[state.name] or "") for state in kept]
    columns = [column for shown in tables_of(renamed) for column, _ in shown.state_columns()]
    return {state.name: column.name for state, column in zip(kept, columns, strict=False)}


def timed(column: str) -> str:
    """The column of values with the times of their last access, next to those without."""
    return f"timed {column}"


def with_names(data: DataFrame, table: Table, before: Names, after: Names) -> DataFrame:
    """The rows of a table with other names of its states; those that only removed states had go."""
    if table.states[0].kind is StateKind.TIMERS:
        return _timers(data, table, before, after)
    old, new = present_columns(table, before), present_columns(table, after)
    columns = {}
    for state, column in old.items():
        columns[column] = new.get(state)
        columns[timed(column)] = timed(new[state]) if state in new else None
    renamed = ((name, columns.get(name, name)) for name in data.columns)
    selected = data.select(
        *(column_of(data, name)[0].alias(other) for name, other in renamed if other is not None)
    )
    counted = (name for name in selected.columns if name.startswith(BEFORE))
    # Without an alias, Spark finds columns that are not selected in a condition, too.
    return present_rows(selected.alias("$present"), (*new.values(), *counted))


def present_rows(data: DataFrame, columns: Iterable[str]) -> DataFrame:
    """The rows in which one of the columns of states has a value."""
    present = [column_of(data, name)[0].isNotNull() for name in columns]
    return data.where(reduce(or_, present, F.lit(False)))


def not_empty(data: DataFrame, values: Column) -> Column:
    """The lists or maps, but null for empty ones, which are not stored."""
    data_type = data.select(values.alias("values")).schema["values"].dataType
    is_collection = isinstance(data_type, ArrayType | MapType)
    return F.when(F.size(values) > 0, values) if is_collection else values


def _timers(data: DataFrame, table: Table, before: Names, after: Names) -> DataFrame:
    domain, service = (column_of(data, name)[0] for name in ("time_domain", "service"))
    new_domain, new_service, is_kept = domain, service, F.lit(True)
    for state in table.states:
        old, new = before.get(state.name, state.name), after.get(state.name, state.name)
        if old is None or old == new:
            continue
        is_its = _is_of(old, domain, service)
        if new is None or not new.startswith(TIMER_STATE_PREFIX):
            is_kept = is_kept & ~is_its
            continue
        named = timer_service(new)
        new_domain = F.when(is_its, F.lit(named[0])).otherwise(new_domain)
        new_service = F.when(is_its, F.lit(named[1])).otherwise(new_service)
    return data.where(is_kept).withColumns({"time_domain": new_domain, "service": new_service})


def _is_of(name: str, domain: Column, service: Column) -> Column:
    of_domain, of_service = timer_service(name)
    return (domain == F.lit(of_domain)) & (service == F.lit(of_service))
