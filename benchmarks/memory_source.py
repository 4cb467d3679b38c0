"""A data source that has its rows in memory: what Spark takes for any data source in Python."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql.types import StructType

_PARTITIONS = 6
_ROWS = 20_000


class MemorySource(DataSource):
    """Rows like those of the benchmarks' savepoints, as many as the path says."""

    @classmethod
    def name(cls) -> str:
        return "memory"

    def schema(self) -> str:
        return "key BIGINT, count BIGINT, name STRING"

    def reader(self, schema: StructType) -> MemoryReader:  # noqa: ARG002
        return MemoryReader(int(self.options["path"].rpartition("-")[2]))


class MemoryReader(DataSourceReader):
    """Gives one batch again and again."""

    def __init__(self, keys: int) -> None:
        self._keys = keys

    def partitions(self) -> list[InputPartition]:
        bounds = [self._keys * part // _PARTITIONS for part in range(_PARTITIONS + 1)]
        pairs = pairwise(bounds)
        return [InputPartition(end - start) for start, end in pairs]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        numbers = pa.array(range(_ROWS), pa.int64())
        names = pa.array([f"customer-{number:011}" for number in range(_ROWS)])
        batch = pa.record_batch({"key": numbers, "count": numbers, "name": names})
        for start in range(0, partition.value, _ROWS):
            yield batch[: min(_ROWS, partition.value - start)]
