"""Rows on their way to a function: each with the bytes of its key, sent to one task, and sorted.

Which task it is follows from the key group, as in Flink; and so does the order, in which keys of
a key group come one behind the other, each by its bytes. Spark sorts, and spills what is too much.

| column    | type   | meaning                                                                  |
|-----------|--------|--------------------------------------------------------------------------|
| key_group | INT    | of the key                                                               |
| key       | BINARY | what the serializer of keys writes                                       |
| timestamp | BIGINT | of the row in ms, null if it has none                                    |
| input     | INT    | which input the row is of                                                |
| row 0     | STRUCT | its columns, null for a row of another input; ``row 1``: of the second   |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BinaryType,
    IntegerType,
    LongType,
    StructField,
    StructType,
    TimestampType,
)

from savepoint_formats import layout as layouts
from savepoint_formats.columns import arrow_type
from savepoint_formats.columns.encode import Encoder
from savepoint_formats.columns.key_hash import key_groups_of, key_hashes
from savepoint_formats.errors import ColumnTypeError, NullKeyError, UnstableKeyError
from savepoint_formats.layout.properties import parts
from state_processor.column_types import column_of, fits
from state_processor.schema import from_spark

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray
    from pyspark.sql import Column, DataFrame

    from savepoint_formats.layout import Layout
    from state_processor.jobs.encode_keyed import HashKeys
    from state_processor.jobs.keyed_rows import Key

KEY_GROUP, KEY, TIMESTAMP, INPUT = "key_group", "key", "timestamp", "input"

_UNSTABLE: dict[type[Layout], str] = {
    layouts.MapOf: "a map, whose entries have no order",
    layouts.BinaryMap: "a map, whose entries have no order",
    layouts.BlockMap: "a map, whose entries have no order",
    layouts.Kryo: "an object that Kryo writes, whose bytes equal objects need not share",
    layouts.JavaObject: "an object that Java writes, whose bytes equal objects need not share",
    layouts.Opaque: "of a serializer that is not known",
}


def expect_stable(layout: Layout) -> None:
    """Raises ``UnstableKeyError`` if equal keys of this layout may have different bytes."""
    for kind, reason in _UNSTABLE.items():
        if isinstance(layout, kind):
            raise UnstableKeyError(
                f"keys that are or hold {reason}, have no bytes to be sorted by: key by a column"
                " of a simpler type"
            )
    for part in parts(layout):
        expect_stable(part)


def row_column(number: int) -> str:
    """The name of the column that has the rows of an input."""
    return f"row {number}"


@dataclass(frozen=True)
class KeyedInput:
    """Rows, and which of their columns are the key and the timestamp.

    Attributes:
        data: The rows.
        key: Their key.
        timestamps: The column of their timestamps, if there is one.
    """

    data: DataFrame
    key: Key
    timestamps: str | None = None

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.data.columns)

    def check(self) -> None:
        """Looks at the columns of key and timestamp.

        Raises:
            ColumnNotFoundError: There is no such column.
            ColumnTypeError: It has another type.
            UnstableKeyError: Equal keys may have different bytes.
            ValueError: The key groups are given, which a function cannot have.
        """
        expect_stable(self.key.snapshot.layout())
        self.key.column(self.data)
        if self.timestamps is not None:
            milliseconds(self.data, self.timestamps)
        if self.key.key_groups is not None:
            raise ValueError("a function computes the key groups: give key_by hash_code instead")

    def rows(self, number: int, inputs: tuple[KeyedInput, ...], max_parallelism: int) -> DataFrame:
        """The rows, each with its key's bytes and key group.

        Args:
            number: That of this input.
            inputs: All inputs of the function.
            max_parallelism: The number of key groups.
        """
        key = self.key
        columns = {
            KEY: key.column(self.data),
            TIMESTAMP: F.lit(None).cast(LongType()),
            INPUT: F.lit(number),
        }
        if self.timestamps is not None:
            columns[TIMESTAMP] = milliseconds(self.data, self.timestamps)
        for index, one in enumerate(inputs):
            columns[row_column(index)] = self._row() if index == number else _nothing(one.data)
        layout = key.snapshot.layout()
        encoding = KeyEncoding(layout, max_parallelism, key.hash_code)
        selected = self.data.select(*(column.alias(name) for name, column in columns.items()))
        return selected.mapInArrow(encoding.run, _schema(selected))

    def _row(self) -> Column:
        return F.struct(*(column_of(self.data, name)[0].alias(name) for name in self.data.columns))


def _nothing(data: DataFrame) -> Column:
    return F.lit(None).cast(data.schema)


def _schema(selected: DataFrame) -> StructType:
    """The columns with the key's bytes in the place of the key, and the key group in front."""
    rows = [field for field in selected.schema if field.name.startswith("row ")]
    fixed = [
        StructField(KEY_GROUP, IntegerType()),
        StructField(KEY, BinaryType()),
        StructField(TIMESTAMP, LongType()),
        StructField(INPUT, IntegerType()),
    ]
    return StructType(
        fixed + [StructField(field.name, field.dataType, nullable=True) for field in rows]
    )


def milliseconds(data: DataFrame, name: str) -> Column:
    """A column of timestamps, in ms.

    Raises:
        ColumnNotFoundError: There is no such column.
        ColumnTypeError: It is none of timestamps.
    """
    column, found = column_of(data, name)
    if isinstance(found, TimestampType):
        return F.unix_millis(column)
    if fits(found, LongType()):
        return column.cast(LongType())
    raise ColumnTypeError(
        f"column {name!r} is {found.simpleString()}, expected timestamps: timestamp, or bigint in ms"
    )


@dataclass(frozen=True, slots=True)
class KeyEncoding:
    """How keys become bytes and key groups.

    Attributes:
        key: The layout of the keys.
        max_parallelism: The number of key groups.
        hash_keys: Gives the Java hash codes of keys, if it is the user who knows them.
    """

    key: Layout
    max_parallelism: int
    hash_keys: HashKeys | None

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The batches with bytes and key groups."""
        encoder, wanted = Encoder(self.key), arrow_type(self.key)
        for batch in batches:
            keys = from_spark(batch.column(KEY), wanted)
            if keys.null_count:
                raise NullKeyError(
                    f"{keys.null_count} keys of {len(keys)} are null: leave them out"
                )
            hash_codes = key_hashes(self.key, keys) if self.hash_keys is None else self._given(keys)
            groups = pa.array(key_groups_of(hash_codes, self.max_parallelism).astype(np.int32))
            found = {KEY_GROUP: groups, KEY: encoder.encode(keys).cast(pa.binary())}
            others = [name for name in batch.schema.names if name != KEY]
            columns = found | {name: batch.column(name) for name in others}
            yield pa.RecordBatch.from_pydict(columns)

    def _given(self, keys: pa.Array) -> NDArray[np.int32]:
        assert self.hash_keys is not None  # or nobody would ask
        return np.asarray(self.hash_keys(keys), np.int32)


def routed(rows: DataFrame, max_parallelism: int, *, is_sorted: bool) -> DataFrame:
    """The rows in the partition of their key, where they are sorted, or as they come."""
    setting = rows.sparkSession.conf.get("spark.sql.shuffle.partitions")
    count = min(int(setting or 1), max_parallelism)
    task = F.expr(f"CAST({KEY_GROUP} * {count} DIV {max_parallelism} AS INT)")
    found = rows.repartitionById(count, task)
    return found.sortWithinPartitions(KEY_GROUP, KEY, TIMESTAMP, INPUT) if is_sorted else found
