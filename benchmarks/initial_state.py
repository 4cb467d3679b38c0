"""Today's rows on top of yesterday's savepoint, against writing all of it, on two cores.

    python benchmarks/initial_state.py [--keys 5000000] [--touched 50000] [--runs 2] [--only WAY …]

The state is that of ``customers``: a long and a name per key. ``bootstrap`` writes it from columns,
``function`` by a function over a row per key, ``batches`` by the same over batches of whole keys, and
``go on`` and ``go on in batches`` are these functions over rows of some keys, from the savepoint. CPU is that of Spark and its Python workers together. Each way is run once
to start everything, on few keys, and then so many times; the best time counts. ``x`` says how many
times the CPU another way takes.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import customers
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from customers import COUNT, MAX_PARALLELISM, NAME, UID, make_parquet
from measure import CORES, all_cpu_seconds
from pyspark import cloudpickle
from pyspark.sql import functions as F

from state_processor import (
    KeyedStateBootstrapFunction,
    OperatorTransformation,
    Savepoint,
    local_session,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from state_processor import KeyBatch
    from state_processor.savepoint.writer import SavepointWriter

WAYS = ("bootstrap", "function", "batches", "go on", "go on in batches")


class Customers(KeyedStateBootstrapFunction):
    """Adds to the count of a customer, and sets the name."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(COUNT)
        self.name = runtime_context.get_state(NAME)

    def process_element(self, value: Any, context: Any) -> None:  # noqa: ARG002  # Flink's
        self.count.update((self.count.value() or 0) + value.count)
        self.name.update(value.name)


def customers_of(batch: KeyBatch) -> tuple[None, pa.Table]:
    """Does by columns what ``Customers`` does by rows."""
    sums = np.add.reduceat(batch.rows["count"].to_numpy(), batch.starts)
    lasts = np.append(batch.starts[1:], batch.rows.num_rows) - 1
    columns = {
        "key": batch.state["key"],
        "count": pc.add(pc.fill_null(batch.state["count"], 0), sums),
        "name": batch.rows["name"].take(lasts),
    }
    return None, pa.table(columns)


def writer(way: str, spark: SparkSession, rows: DataFrame, before: str) -> SavepointWriter:
    """A write of a savepoint in one of the ways."""
    keyed = OperatorTransformation.bootstrap_with(rows).key_by("key")
    if way.startswith("go on"):
        savepoint = Savepoint.load(spark, before, uids=[UID])
        initial = savepoint.operator(UID)
        if way == "go on":
            return savepoint.with_operator(UID, keyed.transform(Customers(), initial=initial))
        run = keyed.run_batches(customers_of, None, COUNT, NAME, initial=initial)
        return savepoint.with_operator(UID, run.state)
    new = Savepoint.create(spark, parallelism=CORES, max_parallelism=MAX_PARALLELISM)
    if way == "function":
        return new.with_operator(UID, keyed.transform(Customers()))
    if way == "batches":
        run = keyed.run_batches(customers_of, None, COUNT, NAME)
        return new.with_operator(UID, run.state)
    return new.with_operator(UID, keyed.with_state(COUNT).with_state(NAME))


def measured(way: str, spark: SparkSession, rows: DataFrame, folder: Path) -> tuple[float, float]:
    """Seconds and CPU seconds of writing a savepoint."""
    path = folder / f"savepoint of {way}"
    shutil.rmtree(path, ignore_errors=True)
    start, cpu_start = time.perf_counter(), all_cpu_seconds()
    writer(way, spark, rows, str(folder / "savepoint of bootstrap")).write(str(path))
    return time.perf_counter() - start, all_cpu_seconds() - cpu_start


def main() -> None:
    """Measures each way, and prints a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--keys", type=int, default=5_000_000)
    parser.add_argument("--touched", type=int, default=50_000)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--only", nargs="+", choices=WAYS, default=WAYS)
    options = parser.parse_args()
    # Workers of Spark do not find what lies beside this script.
    cloudpickle.register_pickle_by_value(customers)
    spark = local_session(f"local[{CORES}]", spark__sql__shuffle__partitions=str(4 * CORES))
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        make_parquet(folder / "rows", options.keys)
        rows = spark.read.parquet(str(folder / "rows"))
        # Every so many-th key, of whatever key group.
        every = options.keys // options.touched
        touched = rows.where(F.col("key") % every == 0)
        warm = folder / "warm"
        ways = [way for way in WAYS if way == "bootstrap" or way in options.only]
        for way in ways:
            measured(way, spark, rows.where("key < 1000"), warm)
        best: dict[str, tuple[float, float]] = {}
        for way in ways:
            of_way = touched if way.startswith("go on") else rows
            load = os.getloadavg()[0]
            times = [measured(way, spark, of_way, folder) for _ in range(options.runs)]
            best[way] = min(seconds for seconds, _ in times), min(used for _, used in times)
            seconds, used = best[way]
            shares = ", ".join(f"{best[known][1] / used:.1f} x {known}" for known in best)
            print(
                f"{way:16} {seconds:7.2f} s, {used:7.2f} s of CPU; {shares}; load {load:.1f}",
                flush=True,
            )
    spark.stop()


if __name__ == "__main__":
    main()
