"""A canonical savepoint with another max parallelism, by Flink's API and by ours, on two cores.

    python benchmarks/rescale.py [--keys 1000000 5000000] [--only spark]

From 128 key groups to 256, from two subtasks to four. Flink has no call for that: a job reads all
state with a KeyedStateReaderFunction, and writes it with a KeyedStateBootstrapFunction.
``x flink`` is against the faster of its two backends.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from make_savepoint import BenchmarkSavepoint
from measure import installed_flink, measuring_parser
from writers import WRITERS, Task, report

from state_processor import Savepoint

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARALLELISM = 4
MAX_PARALLELISM = 256


def rescale(source: str, spark: SparkSession, path: str) -> None:
    """Writes a savepoint of the same state."""
    Savepoint.load(spark, source).rescale(
        max_parallelism=MAX_PARALLELISM, parallelism=PARALLELISM
    ).write(path)


def task(source: BenchmarkSavepoint) -> Task:
    """The rescaling of a savepoint."""
    return Task(
        source.keys,
        PARALLELISM,
        MAX_PARALLELISM,
        "RescaleKeyedState",
        lambda folders: [source.path.as_uri(), folders, str(MAX_PARALLELISM)],
        partial(rescale, str(source.path)),
    )


def main() -> None:
    """Makes what is not there, measures, prints."""
    options = measuring_parser(__doc__, WRITERS).parse_args()
    flink = installed_flink(options)
    for keys in options.keys:
        source = BenchmarkSavepoint(options.folder, "canonical", keys)
        source.make(flink)
        report("rescale", task(source), flink, options)


if __name__ == "__main__":
    main()
