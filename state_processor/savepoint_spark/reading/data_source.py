"""The Spark data source ``savepoint``: a table of a savepoint as a DataFrame.

::

    spark.read.format("savepoint").option("table", "summarize.keyed_state").load(path)

``docs/data-source.md`` explains the options. Planning reads metadata and headers; an executor reads
the key groups of its partition.

Reads by ``Savepoint.load(...)`` do without it: only this name and tables in SQL need Spark's data
sources in Python, which Spark has since 4.0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from savepoint_database.snapshot import Snapshot, key_types_of, types_of_option
from savepoint_formats.errors import TableNotFoundError
from savepoint_formats.lazy_names import named
from savepoint_formats.tables import KEY
from savepoint_formats.values import kryo_classes_of
from savepoint_spark.reading.column_facts import are_present, with_present_keys
from savepoint_spark.reading.source_options import FORMAT, SourceOptions, flag_of, names_of
from savepoint_spark.reading.table_read import TableRead
from savepoint_spark.workers.start import keep_what_is_imported

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa
    from pyspark.sql.types import StructType

    from savepoint_formats.scan import Split, TableScan


_CHANGES = "savepoint_extensions.change_feed.feed_source:FeedSource"


@dataclass(frozen=True)
class SplitPartition(InputPartition):
    """A Spark partition: one split of the table."""

    split: Split


class SavepointDataSource(DataSource):
    """A table of a savepoint; with the option ``changes``, a feed of changes."""

    def __new__(cls, options: Mapping[str, str] | None = None) -> Any:
        # Pickle has no options: it makes what it fills itself.
        return (
            named(_CHANGES)(options) if options and "changes" in options else super().__new__(cls)
        )

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> StructType:
        return TableRead.of(self._scan(), SourceOptions.parse(self.options)).schema

    def reader(self, schema: StructType) -> SavepointReader:
        """The reader; a user's ``schema`` is a choice of columns."""
        names = tuple(schema.fieldNames())
        table = TableRead.of(self._scan(), SourceOptions.parse(self.options), names)
        for wanted, field in zip(schema, table.schema, strict=True):
            if wanted.dataType.simpleString() != field.dataType.simpleString():
                type_name = field.dataType.simpleString()
                raise ValueError(
                    f"column {field.name!r} is {type_name}: read it as that, and change it after reading"
                )
        has_keys = KEY in schema.names and not schema[KEY].nullable and are_present(table.scan)
        return SavepointReader(table, has_keys=has_keys)

    def streamReader(self, schema: StructType) -> NoReturn:  # noqa: ARG002, N802  # Spark's name
        """Raises ``TypeError``, which Spark shows as the reason why a stream failed."""
        raise TypeError(
            "a savepoint does not grow, so readStream can't read it: use spark.read.format('savepoint'),"
            " or option('changes', 'true') and the directory of a job's checkpoints"
        )

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
    """Plans on the driver, and reads on executors; with ``has_keys``, the column of keys is not nullable."""

    def __init__(self, table: TableRead, *, has_keys: bool = False) -> None:
        self._table, self._has_keys = table, has_keys

    def partitions(self) -> list[SplitPartition]:
        return [SplitPartition(split) for split in self._table.splits()]

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        # If there are no partitions, Spark asks for the rows of None.
        if isinstance(partition, SplitPartition):
            batches = self._table.batches(partition.split)
            yield from map(with_present_keys, batches) if self._has_keys else batches
        keep_what_is_imported()
