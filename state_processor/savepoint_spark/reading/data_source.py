"""The Spark data source ``savepoint``: a table of a savepoint as a DataFrame.

::

    spark.read.format("savepoint").option("table", "summarize.keyed_state").load(path)

``docs/data-source.md`` explains the options. Planning reads metadata and headers; an executor reads
the key groups of its partition.

The table function ``savepoint_metadata`` of Spark SQL has the contents of savepoints as rows::

    SELECT * FROM savepoint_metadata('s3://jobs/orders/savepoint-1a2b')
"""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.udtf import UserDefinedTableFunction

from savepoint_database.rows.row_condition import FilteredScan
from savepoint_database.snapshot.key_types import key_types_of, types_of_option
from savepoint_database.snapshot.snapshot import Snapshot
from savepoint_database.types.spark_values import SPARK
from savepoint_formats.errors import TableNotFoundError
from savepoint_formats.printable import printable
from savepoint_formats.scan.splits import SPLIT_SIZE, KeyedSplit, Split
from savepoint_formats.values.kryo.descriptions import kryo_classes_of
from savepoint_spark.columns import spark_schema
from savepoint_spark.reading.source_options import SourceOptions, flag_of, names_of
from savepoint_spark.session.session import is_remote
from savepoint_spark.workers.worker_garbage import keep_what_is_imported

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

    from savepoint_formats.locations.path_rules import PathRules
    from savepoint_formats.scan.scan import TableScan

logger = logging.getLogger("state_processor")

FORMAT = "savepoint"

FUNCTION = "savepoint_metadata"

_METADATA_COLUMNS = (
    "operator STRING, operator_hash STRING, operator_name STRING, parallelism INT,"
    " max_parallelism INT, state STRING, kind STRING, key_type STRING, namespace_type STRING,"
    " value_type STRING, has_ttl BOOLEAN, checkpoint_id BIGINT, flink STRING"
)


@dataclass(frozen=True)
class SplitPartition(InputPartition):
    """A Spark partition: one split of the table."""

    split: Split


class SavepointDataSource(DataSource):
    """A table of a savepoint."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> StructType:
        scan = self._scan()
        if (where := SourceOptions.parse(self.options).where) is not None:
            FilteredScan.of(scan, where)
        return spark_schema(scan.schema, scan.options.nanoseconds)

    def reader(self, schema: StructType) -> SavepointReader:
        """The reader; a user's ``schema`` is a choice of columns."""
        scan, asked = self._scan(), SourceOptions.parse(self.options)
        names = tuple(schema.fieldNames())
        # Comes first, because the condition may use columns that are left out.
        rows = None if asked.where is None else FilteredScan.of(scan, asked.where, names)
        if names != tuple(scan.schema.names):
            scan = replace(scan, options=scan.options.of_columns(names))
        known = spark_schema(scan.schema, scan.options.nanoseconds)
        for wanted, field in zip(schema, known, strict=True):
            if wanted.dataType.simpleString() != field.dataType.simpleString():
                type_name = field.dataType.simpleString()
                raise ValueError(f"column {field.name!r} is {type_name}: cast it after reading")
        return SavepointReader(scan, asked.split_size, rows)

    def _scan(self) -> TableScan:
        options = self.options
        savepoint = Snapshot.open(
            _path(options),
            uids=names_of("uids", options.get("uids", "[]")),
            kryo_classes=kryo_classes_of(options.get("kryoClasses", "[]")),
            allow_paths=names_of("allowPaths", options.get("allowPaths", "[]")),
            strict_paths=flag_of("strictPaths", options.get("strictPaths", "false")),
            key_types=key_types_of(options.get("keyTypes", "{}")),
            plan=options.get("plan"),
            types=types_of_option(options.get("types", "{}")),
        )
        operator, table = savepoint.table(_table_name(savepoint, options))
        return operator.scan(table, SourceOptions.parse(options).read)


def path_options(rules: PathRules) -> dict[str, str]:
    """The options for rules of paths that differ from the default."""
    allowed = {"allowPaths": json.dumps(rules.allowed)} if rules.allowed else {}
    return allowed | ({"strictPaths": "true"} if rules.is_strict else {})


def _path(options: Mapping[str, str]) -> str:
    for name in ("path", "savepoint"):
        if name in options:
            return options[name]
    raise ValueError(
        f"the data source {FORMAT} needs a path: load(path), or the option 'savepoint'"
    )


def _table_name(savepoint: Snapshot, options: Mapping[str, str]) -> str:
    if "table" in options:
        return options["table"]
    tables = [table.table for table in savepoint.tables()]
    if len(tables) == 1:
        return tables[0]
    known = ", ".join(tables) or "none"
    raise TableNotFoundError(
        f"{savepoint.path} has {len(tables)} tables: name one by the option 'table'; it has: {known}"
    )


class SavepointReader(DataSourceReader):
    """Plans on the driver, and reads on executors."""

    def __init__(
        self, scan: TableScan, split_size: int | None, rows: FilteredScan | None = None
    ) -> None:
        self._scan, self._rows = scan, rows or scan
        self._split_size = split_size

    def partitions(self) -> list[SplitPartition]:
        splits = self._scan.shared_splits(self._split_size or SPLIT_SIZE)
        keyed = [split for split in splits if isinstance(split, KeyedSplit)]
        if keyed:
            read = sum(len(split.key_groups) for split in keyed if split.group_split.index == 0)
            total = self._scan.operator.max_parallelism
            name = printable(self._scan.table.name)
            logger.info("%s: read %d of %d key groups", name, read, total)
        return [SplitPartition(split) for split in splits]

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        # Spark asks for the rows of no partition where there are none.
        if isinstance(partition, SplitPartition):
            nanoseconds = self._scan.options.nanoseconds
            for batch in self._rows.read(partition.split):
                yield SPARK[nanoseconds].batch(batch)
        keep_what_is_imported()


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
