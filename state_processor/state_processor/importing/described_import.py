"""Import of a table in files, as a description says."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Self

import pyarrow as pa
from pyspark.sql import functions as F

from savepoint_database.files.table_files import TableFiles
from savepoint_database.files.table_format import TableFormat
from savepoint_database.types import ListStateDescriptor, MapStateDescriptor
from savepoint_formats.errors import DescriptionError, SavepointError
from savepoint_formats.layout import without_ttl
from savepoint_formats.tables import KEYED_STATE, WINDOW_STATE
from savepoint_formats.values import ROW_KIND, arrow_type
from savepoint_spark.bootstrapping import (
    KeyedColumns,
    OperatorStateTransformation,
    columns_of_key,
    key_of,
)
from savepoint_spark.changing import rewritten_state
from savepoint_spark.columns import column_of, spark_schema
from savepoint_spark.session import rows_of_tasks
from savepoint_spark.writing import KEY_GROUP, OperatorRows
from state_processor.importing.import_description import ImportDescription
from state_processor.savepoint.savepoint import Savepoint

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from savepoint_formats.layout import Layout
    from savepoint_spark.writing import StateTransformation
    from state_processor.importing.import_description import (
        KeyedDescription,
        LikeDescription,
        OperatorStateDescription,
    )
    from state_processor.savepoint.writer import SavepointWriter

_DEFAULT_MAX_PARALLELISM = 128
_WINDOW = "window of start and end"
_WINDOW_TYPE = pa.struct({"start": pa.int64(), "end": pa.int64()})


@dataclass(frozen=True)
class DescribedImport:
    """Files of rows, and the description of the savepoint to write.

    Attributes:
        files: The files.
        description: The description.

    Example:
        >>> DescribedImport(TableFiles.at("totals.csv"), description).writer(spark).write("new")
    """

    files: TableFiles
    description: ImportDescription

    @classmethod
    def of(cls, data: str, description: Path, form: str | None = None) -> Self:
        """The import of a path.

        Args:
            data: A file of rows, or a directory of such files; a path or a URI.
            description: A YAML file that describes the state.
            form: The format of the files; by default from their names.

        Raises:
            TableFileError: There is no file, or the names of files do not say their format.
            DescriptionError: The description has a mistake.
        """
        described = ImportDescription.of_file(description)
        return cls(TableFiles.at(data, TableFormat(form) if form else None), described)

    def writer(self, spark: SparkSession, *, keeps_others: bool = False) -> SavepointWriter:
        """The savepoint to write; reads no rows yet.

        Args:
            spark: The session that makes the state.
            keeps_others: Whether the operator of the base keeps its other states.

        Raises:
            TableFileError: A file has another format.
            ColumnNotFoundError: The description names an unknown column.
            ColumnTypeError: A column does not fit its state.
            DescriptionError: The description fits no operator.
            SavepointError: A savepoint that it names cannot be read.
        """
        description = self.description
        with _mistakes_told(description.file):
            if description.base is not None:
                begun = Savepoint.load(spark, description.base).writer()
                return self._added_to(begun, keeps_others=keeps_others)
            if keeps_others:
                raise DescriptionError(
                    "it names no base, the savepoint whose operator keeps its other states"
                )
            begun = Savepoint.create(
                spark,
                max_parallelism=description.max_parallelism or _DEFAULT_MAX_PARALLELISM,
                parallelism=description.parallelism,
            )
            transformations = self._transformations(spark)
            return begun.with_operator(description.uid, *transformations)

    def added_to(self, writer: SavepointWriter, *, keeps_others: bool = False) -> SavepointWriter:
        """The writer of a savepoint whose operator also has the described state; as ``writer``.

        Raises:
            DescriptionError: The description names another savepoint as its base.
        """
        base, source = self.description.base, writer.source
        with _mistakes_told(self.description.file):
            if base is not None and (source is None or Savepoint.open(base).path != source.path):
                raise DescriptionError(
                    f"{self.description.file} names the base {base}, but the savepoint to change is"
                    f" {'new' if source is None else source.path}: remove base from the description"
                )
            return self._added_to(writer, keeps_others=keeps_others)

    def _added_to(self, writer: SavepointWriter, *, keeps_others: bool) -> SavepointWriter:
        description = self.description
        transformations = tuple(self._transformations(writer.session()))
        if keeps_others:
            for transformation in transformations:
                writer = writer.with_state(description.uid, transformation)
            return writer
        return writer.with_operator(
            description.uid,
            *transformations,
            parallelism=description.parallelism,
            max_parallelism=description.max_parallelism,
        )

    def _transformations(self, spark: SparkSession) -> Iterator[StateTransformation]:
        description = self.description
        if description.like is not None:
            yield self._like(spark, description.like)
            return
        schema = self.files.chosen(_column_types(description))
        data = self._rows(spark, schema)
        if description.keyed is not None:
            yield _keyed(data, description.keyed)
        for state in description.operator_states:
            yield _operator_state(data, state)

    def _rows(self, spark: SparkSession, schema: pa.Schema) -> DataFrame:
        read = partial(self.files.read, schema=schema)
        return rows_of_tasks(spark, read, self.files.splits(), spark_schema(schema))

    def _like(self, spark: SparkSession, like: LikeDescription) -> StateTransformation:
        """State with the types of an existing operator, which must have every column."""
        savepoint = Savepoint.open(like.savepoint)
        operator = savepoint.operator(like.operator)
        if like.state is not None:
            stored = rewritten_state(operator, like.state)
            types = {"key": arrow_type(stored.key.layout())} if stored.key is not None else {}
            types["value"] = arrow_type(stored.element.layout())
            data = self._rows(spark, self.files.chosen(types))
            rows = OperatorRows.of(data, stored, tuple(types))
            return OperatorStateTransformation((rows,))
        known: dict[str, pa.DataType | None] = {KEY_GROUP: pa.int32()}
        for table in operator.readable_tables:
            if table.name in (KEYED_STATE, WINDOW_STATE):
                # State with a time to live is not written without its times, unless they are to
                # be that of writing.
                with_times = like.ttl_times is None
                scan = savepoint.scan(f"{operator.name}.{table.name}", with_times=with_times)
                known.update({field.name: field.type for field in scan.schema})
        data = self._rows(spark, self.files.schema(known))
        return KeyedColumns.like(data, operator, like.ttl_times)


def _column_types(description: ImportDescription) -> dict[str, pa.DataType | None]:
    """Columns in use, with their types for files without types."""
    types: dict[str, pa.DataType | None] = {}
    if description.keyed is not None:
        types.update(_keyed_types(description.keyed))
    for state in description.operator_states:
        descriptor = state.descriptor
        if isinstance(descriptor, MapStateDescriptor):
            serializers = [descriptor.user_key, descriptor.user_value]
        else:
            serializers = [descriptor.element]
        layouts = (serializer.layout() for serializer in serializers)
        types.update(zip(state.columns, map(arrow_type, layouts), strict=True))
    return types


def _keyed_types(keyed: KeyedDescription) -> Iterator[tuple[str, pa.DataType | None]]:
    yield from _key_types(keyed)
    if keyed.key_groups is not None:
        yield keyed.key_groups, pa.int32()
    for state in keyed.states:
        layout: Layout = without_ttl(state.descriptor.stored.layout())
        yield state.column, arrow_type(layout)
        if state.last_access is not None:
            yield state.last_access, pa.int64()
    for timer in keyed.timers:
        yield timer.column, pa.list_(pa.int64()) if timer.is_list else pa.int64()
    if keyed.window is not None:
        whole = len(keyed.window.columns) == 1
        for column in keyed.window.columns:
            yield column, _WINDOW_TYPE if whole else pa.int64()


def _key_types(keyed: KeyedDescription) -> Iterator[tuple[str, pa.DataType | None]]:
    if keyed.key_type is None:
        yield from ((name, None) for name in keyed.key)
        return
    whole = keyed.key_type.arrow_type
    if len(keyed.key) == 1:
        yield keyed.key[0], whole
        return
    is_whole = pa.types.is_struct(whole)
    fields = [field for field in whole if field.name != ROW_KIND] if is_whole else []
    if len(fields) != len(keyed.key):
        raise ValueError(
            f"keyed_state.key has {len(keyed.key)} columns, but key_type {keyed.key_type!r}"
            " is no tuple of as many fields"
        )
    columns = columns_of_key(tuple(keyed.key), keyed.key_type)
    yield from zip(columns, (field.type for field in fields), strict=True)


def _keyed(data: DataFrame, described: KeyedDescription) -> StateTransformation:
    key = key_of(data, described.key, described.key_type, described.key_groups, None)
    keyed = KeyedColumns(data, key)
    if described.window is not None:
        return _windowed(keyed, described)
    for state in described.states:
        keyed = keyed.with_state(
            state.descriptor, state.column, last_access=state.last_access, merge=state.merge
        )
    services = dict.fromkeys(timer.service for timer in described.timers)
    for service in services:
        columns = {
            timers.time_domain: timers.column
            for timers in described.timers
            if timers.service == service
        }
        keyed = keyed.with_timers(
            event_time=columns.get("event"),
            processing_time=columns.get("processing"),
            service=service,
        )
    return keyed


def _windowed(keyed: KeyedColumns, described: KeyedDescription) -> StateTransformation:
    window = described.window
    assert window is not None  # the caller saw it
    name = window.columns[0]
    if len(window.columns) > 1:
        start, end = (column_of(keyed.data, column)[0].cast("bigint") for column in window.columns)
        data = keyed.data.withColumn(_WINDOW, F.struct(start.alias("start"), end.alias("end")))
        keyed, name = replace(keyed, data=data), _WINDOW
    windowed = keyed.window(
        name,
        is_merging=window.is_merging,
        is_processing_time=window.is_processing_time,
        allowed_lateness_ms=window.allowed_lateness_ms,
    )
    for state in described.states:
        windowed = windowed.with_state(
            state.descriptor, state.column, last_access=state.last_access, merge=state.merge
        )
    return windowed


def _operator_state(data: DataFrame, described: OperatorStateDescription) -> StateTransformation:
    descriptor, is_union = described.descriptor, described.kind == "union"
    if isinstance(descriptor, ListStateDescriptor):
        (column,) = described.columns
        return OperatorStateTransformation.of_list(data, descriptor, column, is_union=is_union)
    key, value = described.columns
    return OperatorStateTransformation.of_broadcast(data, descriptor, key, value)


@contextmanager
def _mistakes_told(file: str) -> Iterator[None]:
    """Names the description in errors about wrong values."""
    try:
        yield
    except SavepointError:
        raise
    except (ValueError, TypeError) as error:
        raise DescriptionError(f"{file}: {error}") from error
