"""Aggregates rows by key: in their partitions, and after they were sorted by key.

Keys become bytes; keys with equal bytes are equal, as in Flink's state. For unsorted rows a task
holds a table with an accumulator per key. If the table outgrows its size, it goes to the
shuffle and begins anew; no row is lost, since accumulators of one key merge after the shuffle. A
sorted key is done when the next one comes.

| column         | type   | meaning                                              |
|----------------|--------|------------------------------------------------------|
| key            | BINARY | the key, as its serializer writes it                 |
| start, end     | BIGINT | of the window, in ms; only if rows have windows      |
| value 0, …     |        | the value, or the accumulator, of each aggregate     |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from savepoint_database.types import SPARK, from_spark
from savepoint_formats.program.encode import Encoder
from savepoint_formats.values import arrow_type
from savepoint_functions.aggregating.accumulators import Groups
from savepoint_functions.functions.rows_by_key import decoded_keys
from savepoint_functions.functions.sorted_inputs import KEY
from savepoint_spark.writing import present

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from savepoint_formats.layout import Layout
    from savepoint_functions.aggregating.accumulators import Accumulator

START, END = "start", "end"

# Merging costs as much as all merged rows, so it waits until the table has doubled, at least by these.
_LEAST_PENDING = 1 << 15
_OUTPUT_ROWS = 1 << 16


def value_column(number: int) -> str:
    """The name of the column of an aggregate's values, or accumulators."""
    return f"value {number}"


@dataclass(frozen=True)
class Aggregation:
    """The accumulator of each aggregate; ``has_windows`` if rows have a window besides their key."""

    accumulators: tuple[Accumulator, ...]
    has_windows: bool

    @property
    def group_columns(self) -> tuple[str, ...]:
        """The columns whose values rows of one group share."""
        return (KEY, *((START, END) if self.has_windows else ()))

    def gathered(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """A row with accumulators for each group of rows with values."""
        return self._made(batch, [accumulator.gathered for accumulator in self.accumulators])

    def merged(self, batches: list[pa.RecordBatch]) -> pa.RecordBatch:
        """A row for each group of rows with accumulators."""
        makes = [accumulator.merged for accumulator in self.accumulators]
        return self._made(pa.concat_batches(batches), makes)

    def _made(
        self, batch: pa.RecordBatch, makes: Sequence[Callable[[Groups, pa.Array], pa.Array]]
    ) -> pa.RecordBatch:
        groups, columns = self._grouped(batch)
        made = [make(groups, batch.column(value_column(n))) for n, make in enumerate(makes)]
        return self._batch(columns, made)

    def typed(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Rows with accumulators from Spark, with the types of tasks."""
        columns = [
            from_spark(batch.column(value_column(number)), accumulator.type)
            for number, accumulator in enumerate(self.accumulators)
        ]
        return self._batch([batch.column(name) for name in self.group_columns], columns)

    def _grouped(self, batch: pa.RecordBatch) -> tuple[Groups, list[pa.Array]]:
        """The groups, and the columns whose values their rows share."""
        ids = batch.column(KEY).dictionary_encode().indices.to_numpy().astype(np.int64)
        for name in (START, END) if self.has_windows else ():
            codes = batch.column(name).dictionary_encode()
            both = pa.array(ids * len(codes.dictionary) + codes.indices.to_numpy())
            ids = both.dictionary_encode().indices.to_numpy().astype(np.int64)
        # Groups are numbered as they first occur, so each first row is a new maximum.
        is_first = np.diff(np.maximum.accumulate(ids), prepend=-1) > 0
        firsts = pa.array(np.flatnonzero(is_first))
        columns = [batch.column(name).take(firsts) for name in self.group_columns]
        return Groups(ids.astype(np.int32), len(firsts)), columns

    def _batch(self, columns: list[pa.Array], accumulated: list[pa.Array]) -> pa.RecordBatch:
        names = [*self.group_columns, *map(value_column, range(len(accumulated)))]
        return pa.RecordBatch.from_arrays([*columns, *accumulated], names)


def with_key_bytes(layout: Layout, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows with the bytes of their keys. Raises ``NullKeyError`` if a key is null."""
    encoder, wanted = Encoder(layout), arrow_type(layout)
    for batch in batches:
        keys = present(from_spark(batch.column(KEY), wanted))
        index = batch.schema.get_field_index(KEY)
        yield batch.set_column(index, KEY, encoder.encode(keys).cast(pa.binary()))


def local_rows(
    layout: Layout, aggregation: Aggregation, table_size: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Accumulators of unsorted rows of a partition; a key has several if the table was full.

    A task may hold ``table_size`` bytes of accumulators; for a moment it needs several times as
    much.
    """
    table: list[pa.RecordBatch] = []
    rows, size, merged_rows = 0, 0, 0
    for batch in with_key_bytes(layout, batches):
        if not batch.num_rows:
            continue
        table.append(aggregation.gathered(batch))
        rows, size = rows + table[-1].num_rows, size + table[-1].nbytes
        if size <= 2 * table_size and rows - merged_rows < max(merged_rows, _LEAST_PENDING):
            continue
        table = [aggregation.merged(table)]
        rows = merged_rows = table[0].num_rows
        size = table[0].nbytes
        if size > table_size:
            yield from _by_key(table[0])
            table, rows, size, merged_rows = [], 0, 0, 0
    if table:
        yield from _by_key(aggregation.merged(table))


def combined_rows(
    layout: Layout, aggregation: Aggregation, is_partial: bool, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Accumulators of sorted rows, which have accumulators if ``is_partial``, and values if not."""
    held: list[pa.RecordBatch] = []
    gathered = aggregation.typed if is_partial else aggregation.gathered
    for batch in batches:
        if not batch.num_rows:
            continue
        merged = aggregation.merged([*held, gathered(batch)])
        # The last group may continue in the next batch.
        yield from with_keys(layout, _slices(merged.slice(0, merged.num_rows - 1)))
        held = [merged.slice(merged.num_rows - 1)]
    yield from with_keys(layout, held)


def with_keys(layout: Layout, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows with their keys decoded."""
    for batch in batches:
        keys = decoded_keys(layout, batch.column(KEY))
        names = [name for name in batch.schema.names if name != KEY]
        columns = [keys, *map(batch.column, names)]
        yield SPARK["refuse"].batch(pa.RecordBatch.from_arrays(columns, [KEY, *names]))


def _by_key(table: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The rows of a table sorted by key, because they then shuffle in fewer bytes."""
    yield from _slices(table.take(pc.sort_indices(table.column(KEY))))


def _slices(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The batch in batches that are small enough for the JVM."""
    for start in range(0, batch.num_rows, _OUTPUT_ROWS):
        yield batch.slice(start, _OUTPUT_ROWS)
