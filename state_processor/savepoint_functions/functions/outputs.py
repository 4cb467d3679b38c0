"""Rows that a function gives: as output, or under the tag of a side output.

On their way they are a table with a column of structs for each output.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType
from pyspark.storagelevel import StorageLevel

from savepoint_database.types import BATCH_ROWS, OutputRows
from savepoint_spark.reading import row_types
from savepoint_spark.session import is_at_least, is_remote, typed_errors

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame, SparkSession

    from savepoint_spark.reading import OutputRow


@dataclass(frozen=True)
class OutputTag:
    """A side output of a function.

    Attributes:
        name: Its name, which no other side output of the function has.
        schema: The columns of its rows, as a schema of Spark or as a DDL string.

    Example:
        >>> LATE = OutputTag("late", "account BIGINT, cents BIGINT")
    """

    name: str
    schema: StructType | str


class SideOutputs:
    """Rows that a function has given to side outputs and that were not taken yet.

    ``given`` has the rows by name of tag, each with the place that it was given for.
    """

    def __init__(self, function: object) -> None:
        self._function = type(function).__name__
        tags: Iterable[OutputTag] = getattr(function, "side_outputs", ())
        self.given: dict[str, list[tuple[object, Any]]] = {tag.name: [] for tag in tags}

    def add(self, tag: OutputTag, place: object, row: OutputRow) -> None:
        """Adds a row; ``place`` is for messages. Raises ``ValueError`` for an unknown tag."""
        if tag.name not in self.given:
            raise ValueError(
                f"{self._function} has no side output {tag.name!r}: name all tags that it gives rows"
                f" to in side_outputs; it has: {', '.join(self.given) or 'none'}"
            )
        self.given[tag.name].append((place, row))

    def clear(self) -> None:
        for rows in self.given.values():
            rows.clear()


def side_outputs(function: object) -> tuple[OutputTag, ...]:
    """The side outputs that a function names. Raises ``ValueError`` if two have the same name."""
    tags: tuple[OutputTag, ...] = tuple(getattr(function, "side_outputs", ()))
    names = [tag.name for tag in tags]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"{type(function).__name__} has two side outputs {twice[0]!r}")
    return tags


def expect_one_output(function: object) -> None:
    """Raises ``ValueError`` if a function for a stream has side outputs."""
    if tags := side_outputs(function):
        raise ValueError(
            f"{type(function).__name__} has side output {tags[0].name!r}, but a stream, and the backlog"
            " in front of it, have one output: give its rows as rows of the function"
        )


OUTPUT = "output"
LEFT_OUT = "$left_out"
"""The side output of late rows that no window takes, and no other side output."""


@dataclass(frozen=True)
class Outputs:
    """The outputs of a function, in the order of their columns in the table; side outputs come last.

    ``schemas`` are those of the table, whose fields are nullable. ``strict`` are those that the
    function must keep to. If ``are_dropped``, no rows are needed.
    """

    columns: tuple[str, ...]
    schemas: tuple[StructType, ...]
    strict: tuple[pa.Schema, ...]
    tags: tuple[OutputTag, ...]
    are_dropped: bool = False

    @classmethod
    def dropped(cls) -> Self:
        """The outputs of a function whose rows are not needed."""
        return cls((), (), (), (), are_dropped=True)

    @classmethod
    def of(cls, schema: StructType | str | None, function: object) -> Self:
        """The outputs of a function; ``schema`` is None if it gives no output rows.

        Raises:
            ValueError: A schema has no columns, or two side outputs have one name.
        """
        tags = side_outputs(function)
        by_column: dict[str, StructType | str] = {} if schema is None else {OUTPUT: schema}
        by_column |= {f"side_{number}": tag.schema for number, tag in enumerate(tags)}
        types = [row_types(columns, function) for columns in by_column.values()]
        schemas = tuple(
            StructType([StructField(field.name, field.dataType) for field in columns])
            for columns, _ in types
        )
        return cls(tuple(by_column), schemas, tuple(strict for _, strict in types), tags)

    def column(self, tag: OutputTag) -> str:
        """The column of a side output. Raises ``ValueError`` if the function doesn't have it."""
        names = [tag.name for tag in self.tags]
        if tag.name not in names:
            raise ValueError(
                f"there is no side output {tag.name!r}; the function has:"
                f" {', '.join(name for name in names if name != LEFT_OUT) or 'none'}"
            )
        return self._column(tag.name)

    @property
    def left_out(self) -> str | None:
        """The column of rows that are left out; None for a function without windows."""
        is_there = any(tag.name == LEFT_OUT for tag in self.tags)
        return self._column(LEFT_OUT) if is_there else None

    def _column(self, name: str) -> str:
        return f"side_{[tag.name for tag in self.tags].index(name)}"

    @property
    def fields(self) -> list[StructField]:
        return list(map(StructField, self.columns, self.schemas))

    @property
    def arrow_fields(self) -> list[pa.Field]:
        return [
            pa.field(column, pa.struct([field.with_nullable(True) for field in schema]))
            for column, schema in zip(self.columns, self.strict, strict=True)
        ]


class OutputBuffer:
    """Rows that a function has given, until they are enough for a batch.

    ``count`` is the number of rows so far, without those of side outputs.
    """

    def __init__(self, outputs: Outputs, function: object) -> None:
        self.count = 0
        self._function = type(function).__name__
        self._are_dropped = outputs.are_dropped
        self._outputs = {
            column: OutputRows(strict, self._function)
            for column, strict in zip(outputs.columns, outputs.strict, strict=True)
        }
        self._types = {field.name: field.type for field in outputs.arrow_fields}
        self._given: dict[str, list[tuple[object, Any]]] = {
            column: [] for column in outputs.columns
        }
        self._sides = [(tag.name, outputs.column(tag)) for tag in outputs.tags]

    def take(self, place: object, rows: list[Any], side_outputs: SideOutputs) -> None:
        """Takes the rows of a place from their lists; ``ValueError`` if their columns are not known."""
        if self._are_dropped:
            rows.clear()
            side_outputs.clear()
            return
        if rows:
            if OUTPUT not in self._given:
                raise ValueError(
                    f"{self._function} gave a row for {place}, but has no columns: add"
                    " schema='key STRING, total BIGINT'"
                )
            self._given[OUTPUT] += [(place, row) for row in rows]
            self.count += len(rows)
            rows.clear()
        for name, column in self._sides:
            side_rows = side_outputs.given[name]
            if side_rows:
                self._given[column] += side_rows
                side_rows.clear()

    def batches(self, schema: pa.Schema, least: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        """The rows of each output that has at least ``count`` rows, as batches of a table."""
        for column, rows in self._given.items():
            if len(rows) >= least:
                fields = list(self._types[column])
                for batch in self._outputs[column].batches(rows):
                    structs = pa.StructArray.from_arrays(batch.columns, fields=fields)
                    yield in_column(schema, column, structs)
                rows.clear()


def in_column(schema: pa.Schema, name: str, values: pa.Array) -> pa.RecordBatch:
    """Rows of a table with values only in this column."""
    columns = [
        values if field.name == name else pa.nulls(len(values), field.type) for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def rows_in(table: DataFrame, column: str) -> DataFrame:
    """The rows of an output in a table of several."""
    return table.where(F.col(column).isNotNull()).select(f"{column}.*")


def kept_once(table: DataFrame) -> DataFrame:
    """The table, made at once: in the session's directory of checkpoints, or else on executors.

    On executors, each partition is on the disks of two of them, so one may die. It is not a cache,
    because Spark would run the function again for a lost partition of a cache.

    Raises:
        SavepointError: A task failed with this error.
    """
    with typed_errors():
        if _has_checkpoints(table.sparkSession):
            return table.checkpoint(eager=True)
        if not is_at_least("4.0"):
            # Older ones use the memory of executors first, and then their disks.
            return table.localCheckpoint(eager=True)
        master = table.sparkSession.conf.get("spark.master", "local") or ""
        is_alone = master.partition("[")[0] == "local"
        level = StorageLevel.DISK_ONLY if is_alone else StorageLevel.DISK_ONLY_2
        return table.localCheckpoint(eager=True, storageLevel=level)


def _has_checkpoints(spark: SparkSession) -> bool:
    if is_remote(spark):
        return spark.conf.get("spark.checkpoint.dir", None) is not None
    return spark.sparkContext.getCheckpointDir() is not None
