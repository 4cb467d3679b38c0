"""A savepoint in a Spark session: its tables as DataFrames, and as tables of Spark SQL."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

from savepoint_database.rows.filtered_scan import FilteredScan
from savepoint_database.snapshot.key_types import key_types_json
from savepoint_database.types.listed_options import lists
from savepoint_formats.scan.read_options import ReadOptions
from savepoint_formats.values.kryo.descriptions import kryo_classes_json
from savepoint_spark.reading.data_source import FORMAT, SavepointDataSource, path_options
from savepoint_spark.reading.metadata_function import register_metadata_function
from savepoint_spark.reading.source_options import SourceOptions, TableArguments
from savepoint_spark.savepoint.registered_views import RegisteredViews, unread_views
from savepoint_spark.savepoint.savepoint import Savepoint
from savepoint_spark.savepoint.spark_verbs import SparkAuditVerbs
from savepoint_spark.savepoint.writer import SavepointWriter

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Self

    from pyspark.sql import DataFrame, SparkSession

    from savepoint_database.types.described_classes import DescribedClasses
    from savepoint_database.types.timer_dates import Times
    from savepoint_formats.locations.location import PathText
    from savepoint_formats.scan.read_options import UndescribedSubclasses
    from savepoint_formats.values.kinds.nanoseconds import Nanoseconds


@dataclass(frozen=True, repr=False)
class SparkTables(SparkAuditVerbs, Savepoint):
    """A savepoint whose tables are read by their names.

    Attributes:
        spark: The session.
        uids: The uids that the user gave and the savepoint lacks.
    """

    spark: SparkSession
    uids: tuple[str, ...]

    @classmethod
    def of(
        cls,
        spark: SparkSession,
        path: PathText,
        uids: Iterable[str],
        kryo_classes: DescribedClasses = (),
        options: Mapping[str, Any] | None = None,
    ) -> Self:
        """Opens a savepoint for a session; see ``Savepoint.load``."""
        opened = Savepoint.open(path, uids=uids, kryo_classes=kryo_classes, **(options or {}))
        # The others were warned of, once.
        known = tuple(
            operator.uid
            for operator in opened.operators()
            if operator.uid and not operator.record.uid
        )
        spark.dataSource.register(SavepointDataSource)
        register_metadata_function(spark)
        parts = (opened.path, opened.metadata, opened.directory, opened.kryo, opened.operators())
        return cls(*parts, spark, known)

    def writer(self) -> SavepointWriter:
        """What writes a savepoint that is based on this one; as yet a copy of it."""
        return SavepointWriter.of(self, self.spark)

    @lists(TableArguments)
    def read_table(self, table: str, **options: Unpack[TableArguments]) -> DataFrame:
        """Any table by its full name.

        Args:
            table: ``<operator>.<table>``, the operator by its uid or hash.
            options: What of it is read, by the names of ``ReadOptions``, or by those of the data
                source, which are the same in camel case; ``split_size``, about how many bytes a
                Spark partition has; and ``where``, a condition in DuckDB's SQL, by which the tasks
                choose rows before these go to Java. It may be about columns that are not wanted.
                To it, times are timestamps, whatever ``nanoseconds`` says.

        Raises:
            OperatorNotFoundError: There is no such operator; the message lists those there are.
            StateNotFoundError: The operator has no such table; the message lists its tables.
            ColumnNotFoundError: A column is wanted that there is not.
            ConditionError: ``where`` can't be understood, or is about a column that there is not.
            KeyTypeError: A key is none of the table's.
            TypeError: There is no such option, or it has a wrong type.
            ValueError: An option has a value that it can't have.

        Example:
            >>> savepoint.read_table("summarize.keyed_state", with_key_group=True).show()
        """
        asked = SourceOptions.of(options)
        operator, shown = self.table(table)
        # Raised here, an error is what it is; from the data source it comes as one of Spark's.
        scan = operator.scan(shown, asked.read)
        scan.check()
        if asked.where is not None:
            FilteredScan.of(scan, asked.where)
        given = self.source_options(table, asked)
        return self.spark.read.format(FORMAT).options(**given).load(self.directory.absolute_uri)

    def register(
        self,
        *,
        nanoseconds: Nanoseconds = "refuse",
        undescribed_subclasses: UndescribedSubclasses = "refuse",
        times: Times = "numbers",
    ) -> dict[str, str]:
        """Makes each operator a database of Spark SQL, and each table a view in it.

        That reads what the files tell of their types, and no state: a view is planned when a
        query uses it.

        Spark's names consist of letters, digits and ``_``; what else a uid or a state's name has
        becomes ``_``, and a number behind it tells apart what would be the same. Databases of
        these names are used if they are there; views of these names are replaced.

        Args:
            nanoseconds: As for ``read_keyed_state``.
            undescribed_subclasses: As for ``read_keyed_state``.
            times: ``dates`` makes the times of timers timestamps; ``numbers`` are milliseconds.

        Returns:
            Name in SQL -> full name of the table.

        Warns:
            UnreadTableWarning: A table is left out, as its files are missing or damaged.

        Example:
            >>> savepoint.register()
            >>> spark.sql("SELECT key, total FROM summarize.keyed_state").show()
        """
        asked = ReadOptions(nanoseconds=nanoseconds, undescribed_subclasses=undescribed_subclasses)
        self.warn_of_unread_tables()
        return RegisteredViews(self, asked, times).show_all()

    def unread_views(self) -> dict[str, str]:
        """Name in SQL -> why ``register`` left it out."""
        return unread_views(self)

    def source_options(self, table: str, options: SourceOptions) -> dict[str, str]:
        """The options of the data source that reads a table as it is read here, as texts."""
        given = {"table": table, **path_options(self.directory.rules)}
        if self.uids:
            given["uids"] = json.dumps(self.uids)
        if self.kryo.classes:
            given["kryoClasses"] = kryo_classes_json(self.kryo.classes)
        keys = {
            operator.id: operator.key_type
            for operator in self.operators()
            if operator.key_type is not None
        }
        if keys:
            given["keyTypes"] = key_types_json(keys)
        return {**given, **options.texts()}
