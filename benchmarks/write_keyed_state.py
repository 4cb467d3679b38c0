"""Keyed state out of rows, by Flink's SavepointWriter and by ours, on two cores.

    python benchmarks/write_keyed_state.py [--keys 1000000 5000000] [--only spark]

Ours reads the rows from a Parquet file; those of Flink are made by a sequence source, which
costs it less than any file. ``x flink`` is against the faster of its two backends.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from customers import COUNT, MAX_PARALLELISM, NAME, UID, make_parquet
from measure import CORES, installed_flink, measuring_parser
from writers import WRITERS, Task, report

from state_processor import OperatorTransformation, Savepoint

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def bootstrap(rows: str, spark: SparkSession, path: str) -> None:
    """Writes the rows of a Parquet file as a savepoint."""
    customers = OperatorTransformation.bootstrap_with(spark.read.parquet(rows)).key_by("key")
    transformation = customers.with_state(COUNT).with_state(NAME)
    Savepoint.create(spark, parallelism=CORES, max_parallelism=MAX_PARALLELISM).with_operator(
        UID, transformation
    ).write(path)


def task(folder: Path, keys: int) -> Task:
    """Makes the rows if they are not there."""
    rows = folder / f"customers-{keys}.parquet"
    make_parquet(rows, keys)
    return Task(
        keys,
        CORES,
        MAX_PARALLELISM,
        "WriteCanonical",
        lambda folders: [folders, str(keys)],
        partial(bootstrap, str(rows)),
    )


def main() -> None:
    """Makes what is not there, measures, prints."""
    options = measuring_parser(__doc__, WRITERS).parse_args()
    flink = installed_flink(options)
    for keys in options.keys:
        report("bootstrap", task(options.folder, keys), flink, options)


if __name__ == "__main__":
    main()
