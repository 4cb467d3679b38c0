"""The state of a Flink operator as the initial state of a streaming query: a row per key, with its timers.

Spark hands such rows to ``handleInitialState`` of a ``transformWithState(InPandas)``, grouped by key. A query
has one time mode, so timers of both domains in one operator are refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from savepoint_extensions.spark_streams.stored_fields import (
    by_key,
    expect_distinct,
    quoted,
    with_arrays,
)
from savepoint_extensions.spark_streams.stream_operator import EVENT_TIME, PROCESSING_TIME
from savepoint_formats.errors import ColumnTypeError, RefusedError, StateNotFoundError
from savepoint_formats.tables import KEYED_STATE, TIMERS, WINDOW_STATE
from savepoint_formats.values import ROW_KIND

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

    from state_processor import SparkSavepoint

_DOMAINS = {"EVENT_TIME": EVENT_TIME, "PROCESSING_TIME": PROCESSING_TIME}
_KEY = "key"


def starting_rows(savepoint: SparkSavepoint, uid: str, key: Sequence[str]) -> DataFrame:
    """See ``SparkSavepoint.initial_state``."""
    operator = savepoint.operator(uid)
    tables = {table.name for table in operator.readable_tables}
    if WINDOW_STATE in tables:
        raise RefusedError(
            f"operator {operator.name} has state of windows, which Spark keeps in aggregations, and"
            " these have no initial state: let the query's first batch read rows of"
            " read_window_state as partial aggregates"
        )
    if not tables & {KEYED_STATE, TIMERS}:
        raise StateNotFoundError(f"operator {operator.name} has no keyed state and no timers")
    rows = savepoint.read_keyed_state(uid) if KEYED_STATE in tables else None
    timers = _timers(savepoint, uid) if TIMERS in tables else None
    return _with_key(with_timers(rows, timers, operator.name), key)


def _timers(savepoint: SparkSavepoint, uid: str) -> DataFrame | None:
    """A row per key with an array of its timers; None if no key has one."""
    timers = savepoint.read_timers(uid)
    if "namespace" in timers.columns:
        raise RefusedError(
            f"operator {uid} has timers with namespaces, which a query of Spark doesn't have"
        )
    domains = sorted(row[0] for row in timers.select("time_domain").distinct().collect())
    if len(domains) > 1:
        raise RefusedError(
            f"operator {uid} has timers in event time and in processing time, but a query of Spark has"
            " one time mode: remove those of one domain first, or begin from read_keyed_state and"
            " read_timers(uid, where=\"time_domain = 'EVENT_TIME'\")"
        )
    if not domains:
        return None
    domain = _DOMAINS[domains[0]]
    named = timers.select(_KEY, F.col("timestamp").alias(domain))
    return with_arrays(named, (_KEY,), domain)


def with_timers(rows: DataFrame | None, timers: DataFrame | None, operator: str) -> DataFrame:
    """The rows of an operator with its timers; ``StateNotFoundError`` if it has neither."""
    tables = [table for table in (rows, timers) if table is not None]
    if not tables:
        raise StateNotFoundError(
            f"operator {operator} has no keyed state, and none of its timers is set: begin the"
            " query without initial state"
        )
    if len(tables) > 1 and (domain := tables[1].columns[-1]) in tables[0].columns:
        raise RefusedError(
            f"a state is called {domain!r} like the column of timers: rename it by rename_state first"
        )
    return by_key(tables, (_KEY,))


def _with_key(rows: DataFrame, names: Sequence[str]) -> DataFrame:
    """The rows with the key in columns of other names, if there are any."""
    if not names:
        return rows
    key_type = rows.schema[_KEY].dataType
    columns: list[Column] = [F.col(_KEY)]
    if isinstance(key_type, StructType):
        fields = [name for name in key_type.names if name != ROW_KIND]
        columns = [F.col(_KEY).getField(name) for name in fields]
    if len(columns) != len(names):
        raise ColumnTypeError(f"key={list(names)!r}, but the key has {len(columns)} columns")
    expect_distinct([*names, *rows.columns[1:]], rows.sparkSession, "columns of the key or states")
    named = [column.alias(name) for column, name in zip(columns, names, strict=True)]
    return rows.select(*named, *quoted(rows.columns[1:]))
