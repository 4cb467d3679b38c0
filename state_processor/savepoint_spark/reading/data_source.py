"""The Spark data source ``savepoint``: a table of a savepoint as a DataFrame.

::

    spark.read.format("savepoint").option("table", "summarize.keyed_state").load(path)

| option          | meaning                                                                   |
|-----------------|---------------------------------------------------------------------------|
| path            | the savepoint, as given to ``load``                                       |
| savepoint       | the same, in a CREATE TABLE, where Spark takes a path for itself          |
| table           | ``<uid>.<table>``; may be left out if there is only one                   |
| uids            | uids of operators, with commas between them or as a JSON list             |
| kryoClasses     | a JSON list of classes that Kryo wrote, each as for ``kryo_class``        |
| keyTypes        | a JSON object of uids and types of keys: ``{"summarize": "STRING"}``      |
| types           | a JSON object of PyFlink's types: ``{"orders": {"total": "Types.LONG()"}}``|
| allowPaths      | directories and URIs, written like uids: stores other than the            |
|                 | savepoint's are asked for its files only below these                      |
| strictPaths     | ``true`` reads nothing else outside the savepoint's own directories       |
| columns         | names of columns, written like uids; all by default                       |
| keys            | a JSON list: only rows of these keys, and only their key groups           |
| where           | a condition in DuckDB's SQL: only rows that fulfil it are sent to Spark   |
| keyGroups       | ``3`` or ``0-15``: only rows of these key groups                          |
| flat            | a list or map state: a row per element or entry instead of one per key    |
| withKeyGroup    | ``true`` adds the column ``key_group``                                    |
| withSubtask     | ``true`` adds the column ``subtask``, and reads all copies of broadcast   |
|                 | state                                                                     |
| withScope       | ``true`` adds the column ``scope``: ``keyed`` or ``local``                |
| merge           | a JSON object, of local state: state -> rule that merges its instances    |
| withTimes       | ``true`` shows values with TTL as ``struct<timestamp, value>``            |
| nanoseconds     | ``struct``, ``text`` or ``truncate``: the form of times with more digits  |
|                 | than microseconds; ``refuse`` by default                                  |
| undescribed-    | ``bytes`` shows POJOs of subclasses that no snapshot describes as bytes,  |
| Subclasses      | in a field ``$undecoded``; ``refuse``, an error, by default               |
| portionSize     | a larger key group is decoded so many bytes at once                       |
| splitSize       | the approximate bytes of a Spark partition                                |

Planning reads metadata and headers; an executor reads the key groups of its partition.
"""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from savepoint_database.rows.filtered_scan import FilteredScan
from savepoint_database.snapshot.key_types import key_types_of
from savepoint_database.snapshot.python_types import types_of_option
from savepoint_database.snapshot.snapshot import Snapshot
from savepoint_database.types.spark_values import to_spark
from savepoint_formats.errors import TableNotFoundError
from savepoint_formats.printable import printable
from savepoint_formats.scan.splits import SPLIT_SIZE, KeyedSplit, Split
from savepoint_formats.values.kryo.descriptions import kryo_classes_of
from savepoint_spark.columns.spark_types import spark_schema
from savepoint_spark.reading.source_options import SourceOptions, flag_of, names_of
from savepoint_spark.workers.worker_garbage import keep_what_is_imported

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa
    from pyspark.sql.types import StructType

    from savepoint_formats.locations.path_rules import PathRules
    from savepoint_formats.scan.scan import TableScan

logger = logging.getLogger("state_processor")

FORMAT = "savepoint"


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
            read = sum(len(split.key_groups) for split in keyed if split.share.index == 0)
            total = self._scan.operator.max_parallelism
            name = printable(self._scan.table.name)
            logger.info("%s: read %d of %d key groups", name, read, total)
        return [SplitPartition(split) for split in splits]

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        # Spark asks for the rows of no partition where there are none.
        if isinstance(partition, SplitPartition):
            nanoseconds = self._scan.options.nanoseconds
            for batch in self._rows.read(partition.split):
                yield to_spark(batch, nanoseconds)
        keep_what_is_imported()
