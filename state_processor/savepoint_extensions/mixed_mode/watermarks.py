"""The watermark of each input, which a restart must not forget.

Spark's checkpoint has the watermark of a query, but not that of each input. After a restart, the
least of two would wait until both inputs have rows again. So for a query of two inputs the driver
writes them down. After a restart, each input begins with a row that has only its watermark.

| path               | content                                                                      |
|--------------------|------------------------------------------------------------------------------|
| ``watermarks.json``| that of each input, in ms, after the last batch, before that is committed    |
| ``ticks/<n>``      | rows of input n that only have a watermark; the input streams them too       |
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.accumulators import AccumulatorParam

from savepoint_extensions.mixed_mode.spark_paths import readable
from savepoint_formats.locations import Location
from savepoint_formats.new_snapshot import whole_file
from savepoint_functions.functions import MIN_WATERMARK

if TYPE_CHECKING:
    from pyspark import Accumulator
    from pyspark.sql import DataFrame, SparkSession

TICK = "tick"
"""The column of a watermark, in ms, in rows that say nothing else."""

# Spark counts time in microseconds.
MAX_MILLISECONDS = (2**63 - 1) // 1000
_SCHEMA = pa.schema([(TICK, pa.int64())])


class Greatest(AccumulatorParam[int]):
    """An accumulator of the greatest number."""

    def zero(self, value: int) -> int:  # noqa: ARG002  # Spark's signature
        return MIN_WATERMARK

    def addInPlace(self, value1: int, value2: int) -> int:  # noqa: N802  # Spark's name
        return max(value1, value2)


@dataclass(frozen=True)
class InputWatermarks:
    """The watermark of each input of a query, to which tasks add, in ms.

    ``has_ticks`` says that the watermark of the query is the least of several.
    """

    directory: str
    reached: tuple[Accumulator[int], ...]
    has_ticks: bool

    @classmethod
    def of(cls, spark: SparkSession, directory: str, count: int, *, has_ticks: bool) -> Self:
        """The watermarks of a query that starts, or continues with the stored ones."""
        reached = [spark.sparkContext.accumulator(MIN_WATERMARK, Greatest()) for _ in range(count)]
        watermarks = cls(directory, tuple(reached), has_ticks)
        if has_ticks:
            watermarks._go_on()
        return watermarks

    @property
    def greatest(self) -> int:
        """The greatest watermark of an input, in ms."""
        return max(reached.value for reached in self.reached)

    def ticks(self, spark: SparkSession, number: int) -> DataFrame | None:
        """The rows of an input that have only a watermark, as a stream; None if it has none."""
        if not self.has_ticks:
            return None
        files = spark.readStream.schema(f"{TICK} BIGINT").option("cleanSource", "delete")
        return files.option("recursiveFileLookup", "true").parquet(
            readable(spark, self._ticks(number))
        )

    def keep(self) -> None:
        """Writes the watermarks down, before a batch is committed."""
        if self.has_ticks:
            values = [reached.value for reached in self.reached]
            with whole_file(self._kept, is_overwritten=True) as file:
                file.write(json.dumps(values).encode())

    def _go_on(self) -> None:
        for number in range(len(self.reached)):
            location = Location.of(self._ticks(number))
            location.filesystem.create_dir(location.path)
        kept = Location.of(self._kept)
        if kept.file_size() is None:
            return
        with kept.filesystem.open_input_stream(kept.path) as stream:
            values = json.loads(stream.read())
        for number, value in enumerate(values):
            self.reached[number].add(value)
            if value > MIN_WATERMARK:
                self._write_tick(number, value)

    def _write_tick(self, number: int, value: int) -> None:
        in_range = max(min(value, MAX_MILLISECONDS), -MAX_MILLISECONDS)
        table = pa.table([pa.array([in_range], pa.int64())], schema=_SCHEMA)
        path = f"{self._ticks(number)}/{uuid4().hex}.parquet"
        with whole_file(path, is_overwritten=False) as file:
            pq.write_table(table, file)

    @property
    def _kept(self) -> str:
        return f"{self.directory}/watermarks.json"

    def _ticks(self, number: int) -> str:
        return f"{self.directory}/ticks/{number}"
