"""Keys that wake up because the clock has reached a timer of processing time.

Spark's timers know one kind of time in a query, and that is event time here. So the driver looks in
the state store for keys with such timers, and feeds them to the query as rows without content, in
files of a directory that the query reads. A key that wakes up twice, or for nothing, does nothing.
So no failure makes a timer fire twice, or lose it.
"""

from __future__ import annotations

from functools import partial
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


def woken_keys(
    spark: SparkSession, directory: str, key: Layout, hash_keys: HashKeys | None, key_groups: int
) -> DataFrame:
    """The keys in a directory, as a stream of rows without content; see ``stream_rows``."""
    location = Location.of(directory)
    location.filesystem.create_dir(location.path)
    files = spark.readStream.schema(_SCHEMA).option("cleanSource", "delete")
    keys = files.option("recursiveFileLookup", "true").parquet(readable(spark, directory))
    return keys.mapInArrow(partial(_without_content, key, hash_keys, key_groups), PACKED)


def _without_content(
    key: Layout, hash_keys: HashKeys | None, key_groups: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        keys, count = batch.column(0), batch.num_rows
        groups = hashed_key_groups(key, decoded_keys(key, keys), key_groups, hash_keys)
        columns = [
            keys.cast(pa.binary()),
            pa.array(np.zeros(count, np.int64)),
            pa.nulls(count, pa.binary()),
            pa.array(groups.astype(np.int32)),
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=PACKED_SCHEMA)


def wake_up(keys: DataFrame, directory: str, now: int) -> int | None:
    """Wakes up the keys of ``stored_keys`` with a timer of processing time up to ``now``, in ms.

    Returns the first later timer of processing time, in ms; None if there is none.
    """
    pending = keys.select(KEY, F.array_min(PROCESSING_TIMERS).alias("first")).where(
        "first IS NOT NULL"
    )
    later = F.min(F.when(F.col("first") > now, F.col("first"))).alias("later")
    wake_up_row = pending.agg(F.count_if(F.col("first") <= now).alias("due"), later).collect()[0]
    if wake_up_row["due"]:
        path = f"{directory.rstrip('/')}/{uuid4().hex}"
        pending.where(F.col("first") <= now).select(KEY).coalesce(1).write.parquet(path)
    later_timer: int | None = wake_up_row["later"]
    return later_timer
