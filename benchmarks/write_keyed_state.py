"""Keyed state out of rows, by ours, beside Spark's own Parquet and Flink's SavepointWriter, on two cores.

    python benchmarks/write_keyed_state.py [--keys 1000000 5000000] [--key long string struct] [--flink]

All of Spark's read the rows from the same Parquet file. ``parquet`` writes them as Parquet, with a file
per core, repartitioned and sorted by key. Three rows are floors, which write nothing: ``sorted``
repartitions and sorts them and drops them; ``handed`` hands them to Python as they are, which drops
them; ``read`` drops what it reads.

Flink is asked with ``--flink``, and for keys that are longs. Its rows are made by a sequence source,
which costs it less than any file. ``x flink`` is against the faster of its two backends.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from customers import COUNT, KINDS, LONG, MAX_PARALLELISM, NAME, UID, key_columns, make_parquet
from measure import CORES, installed_flink, measuring_parser, megabytes, pin
from writers import BACKENDS, SPARK, Task, report

from state_processor import OperatorTransformation, Savepoint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    import pyarrow as pa
    from measure import Measurement
    from pyspark.sql import DataFrame, SparkSession

PARQUET = "parquet"
FLOORS = SORTED, HANDED, READ = "sorted", "handed", "read"
WAYS = [*BACKENDS, SPARK, PARQUET, *FLOORS]


def bootstrap(rows: str, kind: str, spark: SparkSession, path: str) -> None:
    """Writes the rows of a Parquet file as a savepoint."""
    data = OperatorTransformation.bootstrap_with(spark.read.parquet(rows))
    transformation = data.key_by(*key_columns(kind)).with_state(COUNT).with_state(NAME)
    Savepoint.create(spark, parallelism=CORES, max_parallelism=MAX_PARALLELISM).with_operator(
        UID, transformation
    ).write(path)


def as_parquet(rows: str, kind: str, spark: SparkSession, path: str) -> None:
    """Writes them as Parquet."""
    _sorted_rows(rows, kind, spark).write.parquet(path)


def as_nothing(rows: str, kind: str, spark: SparkSession, _: str) -> None:
    """Sorts them as for Parquet."""
    _dropped(_sorted_rows(rows, kind, spark))


def to_python(rows: str, _kind: str, spark: SparkSession, _: str) -> None:
    """Hands them to Python as they are."""

    # Workers can't import this script; what is defined within a function goes to them as a whole.
    def none_of(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            pass
        return iter(())

    _dropped(spark.read.parquet(rows).mapInArrow(none_of, "key INT"))


def only_read(rows: str, _kind: str, spark: SparkSession, _: str) -> None:
    """Reads them."""
    _dropped(spark.read.parquet(rows))


def _sorted_rows(rows: str, kind: str, spark: SparkSession) -> DataFrame:
    keys = key_columns(kind)
    return spark.read.parquet(rows).repartition(CORES, *keys).sortWithinPartitions(*keys)


def _dropped(rows: DataFrame) -> None:
    rows.write.format("noop").mode("overwrite").save()


def task(folder: Path, keys: int, kind: str) -> Task:
    """Makes the rows if they are not there."""
    name = "customers" if kind == LONG else f"customers-{kind}"
    rows = folder / f"{name}-{keys}.parquet"
    make_parquet(rows, keys, kind)
    writes = (as_parquet, as_nothing, to_python, only_read)
    floors = zip((PARQUET, *FLOORS), writes, strict=True)
    return Task(
        keys,
        CORES,
        MAX_PARALLELISM,
        "WriteCanonical",
        lambda folders: [folders, str(keys)],
        partial(bootstrap, str(rows), kind),
        {way: partial(write, str(rows), kind) for way, write in floors},
    )


def print_rows(kind: str, keys: int, measurements: Mapping[str, Measurement]) -> None:
    """The rows of the table in ``docs/performance.md``."""
    ours = measurements.get(SPARK)
    for way, measurement in measurements.items():
        times = f"{measurement.warm / ours.warm:.2f}" if ours is not None else ""
        print(
            f"| {kind} | {keys // 1_000_000} M | `{way}` | {measurement.warm:.2f} | {times}"
            f" | {megabytes(measurement.size)} | {megabytes(measurement.task_memory)} |"
        )


def main() -> None:
    """Makes what is not there, measures, prints."""
    parser = measuring_parser(__doc__, WAYS)
    parser.add_argument("--key", choices=KINDS, nargs="+", default=[LONG], help="types of keys")
    parser.add_argument("--flink", action="store_true", help="ask Flink, too")
    options = parser.parse_args()
    pin()
    flink = installed_flink(options) if options.flink else None
    measured = [
        (kind, keys, report(f"{kind} keys", task(options.folder, keys, kind), peer, options))
        for keys in options.keys
        for kind in options.key
        for peer in [flink if kind == LONG else None]
    ]
    print("\n| key | keys | way | seconds | x ours | MB written | MB of a task |")
    print("|---|---|---|---|---|---|---|")
    for row in measured:
        print_rows(*row)


if __name__ == "__main__":
    main()
