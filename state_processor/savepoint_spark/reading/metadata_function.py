"""The table function ``savepoint_metadata`` of Spark SQL: contents of savepoints as rows.

::

    SELECT * FROM savepoint_metadata('s3://jobs/orders/savepoint-1a2b')
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from pyspark.sql.udtf import UserDefinedTableFunction

from savepoint_database.snapshot import Snapshot
from savepoint_spark.session.session import is_remote

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

FUNCTION = "savepoint_metadata"

_METADATA_COLUMNS = (
    "operator STRING, operator_hash STRING, operator_name STRING, parallelism INT,"
    " max_parallelism INT, state STRING, kind STRING, key_type STRING, namespace_type STRING,"
    " value_type STRING, has_ttl BOOLEAN, checkpoint_id BIGINT, flink STRING"
)


class SavepointMetadata:
    """A row per state of each operator; one row for an operator without state."""

    def eval(self, path: str) -> Iterator[tuple[object, ...]]:
        described = Snapshot.open(path).describe()
        for operator in described.operators:
            head = (
                operator.uid or operator.hash,
                operator.hash,
                operator.name,
                operator.parallelism,
                operator.max_parallelism,
            )
            tail = (described.checkpoint_id, described.flink)
            for state in operator.states:
                types = (state.key, state.namespace, state.value, state.has_ttl)
                yield (*head, state.state, state.kind, *types, *tail)
            if not operator.states:
                yield (*head, *(None,) * 6, *tail)


def register_metadata_function(spark: SparkSession) -> None:
    """Registers ``savepoint_metadata`` in a session."""
    spark.udtf.register(FUNCTION, _table_function(spark))


def _table_function(spark: SparkSession) -> UserDefinedTableFunction:
    if not is_remote(spark):
        return UserDefinedTableFunction(SavepointMetadata, returnType=_METADATA_COLUMNS)
    from pyspark.sql.connect import udtf  # noqa: PLC0415  # it needs what only Connect brings

    function: Any = udtf.UserDefinedTableFunction(SavepointMetadata, returnType=_METADATA_COLUMNS)
    return cast("UserDefinedTableFunction", function)
