"""Keys that are woken up because the clock has reached a timer of processing time.

Spark's timers know one kind of time in a query, and that is event time here. So the driver looks in
the state store which keys have such timers, and feeds them to the query as rows that say nothing:
files in a directory, which is a part of its input. A key that is woken up twice, or for nothing, does
nothing; so whatever fails meanwhile, no timer fires twice or is lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F

from savepoint_formats.hashing.key_hash import hashed_key_groups
from savepoint_formats.locations.location import Location
from savepoint_functions.functions.key_spans import decoded_keys
from savepoint_functions.functions.sorted_inputs import KEY
from savepoint_functions.mixed_mode.spark_paths import readable
from savepoint_functions.mixed_mode.stored_backend import PROCESSING_TIMERS
from savepoint_functions.mixed_mode.stream_rows import PACKED, PACKED_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame, SparkSession

    from savepoint_formats.hashing.key_hash import HashKeys
    from savepoint_formats.layout import Layout

_SCHEMA = f"{KEY} BINARY"


def woken_keys(spark: SparkSession, directory: str, waking: Waking) -> DataFrame:
    """The keys that are put into a directory, as a stream of rows that say nothing."""
    location = Location.of(directory)
    location.filesystem.create_dir(location.path)
    files = spark.readStream.schema(_SCHEMA).option("cleanSource", "delete")
    keys = files.option("recursiveFileLookup", "true").parquet(readable(spark, directory))
    return keys.mapInArrow(waking.run, PACKED)


@dataclass(frozen=True, slots=True)
class Waking:
    """How keys become rows that wake them up.

    Attributes:
        key: The layout of keys.
        hash_keys: Gives their Java hash codes, if it is the user who knows them.
        max_parallelism: The number of key groups.
    """

    key: Layout
    hash_keys: HashKeys | None
    max_parallelism: int

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of these keys; see ``stream_rows``."""
        for batch in batches:
            keys, count = batch.column(0), batch.num_rows
            values = decoded_keys(self.key, keys)
            groups = hashed_key_groups(self.key, values, self.max_parallelism, self.hash_keys)
            columns = [
                keys.cast(pa.binary()),
                pa.array(np.zeros(count, np.int64)),
                pa.nulls(count, pa.binary()),
                pa.array(groups.astype(np.int32)),
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=PACKED_SCHEMA)


@dataclass(frozen=True, slots=True)
class WokenUp:
    """What was found in the state store.

    Attributes:
        keys: How many keys are woken up.
        next_due: The first timer of processing time that is not due yet, in ms; None for none.
    """

    keys: int
    next_due: int | None


def wake_up(keys: DataFrame, directory: str, now: int) -> WokenUp:
    """Wakes up the keys that have a timer of processing time that is due.

    Args:
        keys: The rows of all keys, as ``stored_keys`` gives them.
        directory: As for ``woken_keys``.
        now: The time of the clock, in ms.
    """
    pending = keys.select(KEY, F.array_min(PROCESSING_TIMERS).alias("first")).where(
        "first IS NOT NULL"
    )
    later = F.min(F.when(F.col("first") > now, F.col("first"))).alias("later")
    wake_up_row = pending.agg(F.count_if(F.col("first") <= now).alias("due"), later).collect()[0]
    if wake_up_row["due"]:
        path = f"{directory.rstrip('/')}/{uuid4().hex}"
        pending.where(F.col("first") <= now).select(KEY).coalesce(1).write.parquet(path)
    return WokenUp(wake_up_row["due"], wake_up_row["later"])
