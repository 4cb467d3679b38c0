"""Rows on their way to a function: sent to the task of their key, and sorted by the bytes of keys.

As in Flink the key group decides on the task. Within a key group, rows are sorted by a hash of
their key's bytes and then by the bytes. Spark sorts, and spills if memory is short.

| column    | type   | meaning                                                                  |
|-----------|--------|--------------------------------------------------------------------------|
| order     | BIGINT | the key group in 16 bits, and a hash of the key in 48                    |
| key       | BINARY | the key, as its serializer writes it                                     |
| timestamp | BIGINT | of the row in ms; only if an input has timestamps                        |
| input     | INT    | the input of the row; only if a function has several                     |
| arrival   | BIGINT | the place of the row in its input; only if rows come as they arrive      |
| row 0 0 … |        | the columns of the row, null for one of another input; ``row 1 0`` …     |

Spark compares the first column of an order as a number, and, much more slowly, the other columns if
it is equal. The hash tells most keys apart; the first bytes of texts, tuples and negative numbers
are often equal.

Rows can be sorted by keys if equal keys have the same bytes. Every layout is in one of two tables.
A layout is stable if what Java's ``equals`` compares decides the bytes that this package writes,
whatever else its serializer could write.
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

from savepoint_database.types import from_spark
from savepoint_formats import layout as layouts
from savepoint_formats.entries import distinct_hashes
from savepoint_formats.errors import ColumnTypeError
from savepoint_formats.hashing import expect_stable, hashed_key_groups
from savepoint_formats.key_groups import KeyGroupRange
from savepoint_formats.program.encode import Encoder
from savepoint_formats.values import arrow_type
from savepoint_spark.columns import column_of, fits, fitted
from savepoint_spark.writing import checked_key_groups, present, routed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray
    from pyspark.sql import Column, DataFrame, SparkSession

    from savepoint_formats.hashing import HashKeys
    from savepoint_formats.layout import Layout
    from savepoint_spark.writing import Key


KEY_GROUP, ORDER, KEY = "key_group", "order", "key"
TIMESTAMP, INPUT, ARRIVAL = "timestamp", "input", "arrival"

_ORDER_BITS = 48


def row_columns(number: int, names: Iterable[str]) -> list[str]:
    """The names of the columns with the rows of an input."""
    return [name for name in names if name.startswith(f"row {number} ")]


@dataclass(frozen=True)
class KeyedInput:
    """Rows, their key, the column of their timestamps, and the column that orders equal timestamps.

    If not ``is_sorted``, rows of a key come in the order of arrival.
    """

    data: DataFrame
    key: Key
    timestamps: str | None = None
    tie_breaker: str | None = None
    is_sorted: bool = True

    @property
    def fields(self) -> tuple[str, ...]:
        return tuple(self.data.columns)

    def check(self) -> None:
        """Raises ``ColumnNotFoundError``, ``ColumnTypeError`` or ``UnstableKeyError`` for wrong columns."""
        expect_stable(self.key.snapshot.layout())
        self.key.column(self.data)
        self._key_groups()
        if self.timestamps is not None:
            milliseconds(self.data, self.timestamps)

    def rows(
        self,
        number: int,
        inputs: tuple[KeyedInput, ...],
        max_parallelism: int,
        *,
        wraps: bool = False,
    ) -> DataFrame:
        """The rows with the bytes of their key and ``order``, as rows of the input with this number.

        With ``wraps``, given key groups may be larger than allowed, because they are not stored.
        """
        layout = self.key.snapshot.layout()
        encoding = KeyEncoding(layout, max_parallelism, self.key.hash_code, wraps=wraps)
        selected = self.columns(number, inputs)
        others = [field for field in selected.schema if field.name not in (KEY, KEY_GROUP)]
        keys = [StructField(ORDER, LongType()), StructField(KEY, BinaryType())]
        return selected.mapInArrow(encoding.ordered, StructType(keys + others))

    def columns(self, number: int, inputs: tuple[KeyedInput, ...]) -> DataFrame:
        """The rows with their unencoded key; arguments are those of ``rows``."""
        columns = {KEY: self.key.column(self.data)}
        if (key_groups := self._key_groups()) is not None:
            columns[KEY_GROUP] = key_groups
        if any(keyed_input.timestamps is not None for keyed_input in inputs):
            columns[TIMESTAMP] = F.lit(None).cast(LongType())
            if self.timestamps is not None:
                columns[TIMESTAMP] = milliseconds(self.data, self.timestamps)
        if len(inputs) > 1:
            columns[INPUT] = F.lit(number)
        if not self.is_sorted:
            columns[ARRIVAL] = F.monotonically_increasing_id()
        for index, rows in enumerate(inputs):
            for position, field in enumerate(rows.data.schema):
                column = F.lit(None).cast(field.dataType)
                if index == number:
                    column = column_of(self.data, field.name)[0]
                columns[f"row {index} {position}"] = column
        selected = self.data.select(*(column.alias(name) for name, column in columns.items()))
        # Two inputs must have the same schema, although a column is null in only one of them.
        nullable = [StructField(field.name, field.dataType) for field in selected.schema]
        return selected.to(StructType(nullable))

    def ties(self, number: int) -> list[str]:
        """The column of ``rows`` that orders rows with equal timestamps, if there is one."""
        if self.tie_breaker is None:
            return []
        return [f"row {number} {self.data.columns.index(self.tie_breaker)}"]

    def _key_groups(self) -> Column | None:
        name = self.key.key_groups
        return None if name is None else fitted(self.data, name, layouts.Int(), "the key group")


def milliseconds(data: DataFrame, name: str) -> Column:
    """A column of timestamps, in ms; ``ColumnNotFoundError`` or ``ColumnTypeError`` for any other."""
    column, data_type = column_of(data, name)
    if isinstance(data_type, TimestampType):
        return F.unix_millis(column)
    if fits(data_type, LongType()):
        return column.cast(LongType())
    raise ColumnTypeError(
        f"column {name!r} is {data_type.simpleString()}, expected timestamps: timestamp, or bigint in ms"
    )


def expect_ordered(data: DataFrame, name: str) -> None:
    """Raises ``ColumnTypeError`` for a column that Spark can't sort by."""
    words = column_of(data, name)[1].simpleString()
    if "map<" in words or "variant" in words:
        raise ColumnTypeError(f"column {name!r} is {words}, which has no order: take another one")


@dataclass(frozen=True, slots=True)
class KeyEncoding:
    """Turns keys into bytes and key groups.

    With ``wraps``, given key groups that are too large are counted from 0 again.
    """

    key: Layout
    max_parallelism: int
    hash_keys: HashKeys | None
    wraps: bool = False

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The batches with keys as bytes, and key groups in front."""
        for key_groups, keys, others in self._encoded(batches):
            columns = {KEY_GROUP: pa.array(key_groups.astype(np.int32)), KEY: keys}
            yield pa.RecordBatch.from_pydict(columns | others)

    def ordered(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The batches with keys as bytes, and ``order`` in front."""
        for key_groups, keys, others in self._encoded(batches):
            order = (key_groups.astype(np.int64) << _ORDER_BITS) | hashed_bits(keys)
            yield pa.RecordBatch.from_pydict({ORDER: pa.array(order), KEY: keys} | others)

    def _encoded(
        self, batches: Iterable[pa.RecordBatch]
    ) -> Iterator[tuple[NDArray[np.uint16], pa.BinaryArray, dict[str, pa.Array]]]:
        encoder, wanted = Encoder(self.key), arrow_type(self.key)
        for batch in batches:
            keys = present(from_spark(batch.column(KEY), wanted))
            others = {
                name: batch.column(name)
                for name in batch.schema.names
                if name not in (KEY, KEY_GROUP)
            }
            yield self._key_groups(batch, keys), encoder.encode(keys).cast(pa.binary()), others

    def _key_groups(self, batch: pa.RecordBatch, keys: pa.Array) -> NDArray[np.uint16]:
        if KEY_GROUP in batch.schema.names:
            given = batch.column(KEY_GROUP)
            if self.wraps:
                wrapped = np.asarray(given.fill_null(0)) % self.max_parallelism
                return wrapped.astype(np.uint16)
            return checked_key_groups(given, keys, self.key, self.max_parallelism, self.hash_keys)
        return hashed_key_groups(self.key, keys, self.max_parallelism, self.hash_keys)


def hashed_bits(keys: pa.BinaryArray) -> NDArray[np.int64]:
    """A hash of 48 bits of each key."""
    hashes = distinct_hashes(keys.cast(pa.large_binary()))
    return (hashes[:, 0] >> np.uint64(64 - _ORDER_BITS)).astype(np.int64)


def in_key_groups(rows: DataFrame, max_parallelism: int) -> DataFrame:
    """The rows in the partitions of their keys."""
    count = _partitions(rows.sparkSession, max_parallelism)
    key_group = F.shiftright(ORDER, _ORDER_BITS)
    task = (key_group * F.lit(count) / F.lit(max_parallelism)).cast(IntegerType())
    return routed(rows, count, task)


def in_order(rows: DataFrame, inputs: Iterable[KeyedInput]) -> DataFrame:
    """The rows sorted in their partitions: rows of a key follow each other."""
    if ARRIVAL in rows.columns:
        return rows.sortWithinPartitions(ORDER, KEY, ARRIVAL).drop(ARRIVAL)
    names = [name for name in (ORDER, KEY, TIMESTAMP, INPUT) if name in rows.columns]
    ties = [name for number, of in enumerate(inputs) for name in of.ties(number)]
    return rows.sortWithinPartitions(*names, *ties)


def task_borders(spark: SparkSession, max_parallelism: int) -> tuple[int, ...]:
    """The first key group of each partition that ``in_key_groups`` makes."""
    count = _partitions(spark, max_parallelism)
    return tuple(
        KeyGroupRange.of_subtask(index, count, max_parallelism).start for index in range(count)
    )


def _partitions(spark: SparkSession, max_parallelism: int) -> int:
    setting = spark.conf.get("spark.sql.shuffle.partitions")
    return min(int(setting or 1), max_parallelism)


def order_of(key_group: int) -> int:
    """The least ``order`` of a key group."""
    return key_group << _ORDER_BITS


def key_groups_in(order: pa.Array) -> NDArray[np.int64]:
    """The key groups in a column ``order``."""
    key_groups: NDArray[np.int64] = order.to_numpy(zero_copy_only=False) >> _ORDER_BITS
    return key_groups
