"""A count of skewed words on two cores, with and without aggregation before the shuffle.

    python benchmarks/local_aggregation.py [--rows 10000000] [--plot balance.svg]

``zipf`` has words of a Zipf distribution with exponent 1.5, of ``half`` every other row is of one
word and the rest of 10 000. Rows lie in a Parquet file, in eight partitions. Each line is a run after
one over few rows, which starts everything; figures are Spark's own, from the REST API of its UI:

| column            | meaning                                                             |
|-------------------|---------------------------------------------------------------------|
| shuffled MB, rows | what the tasks of the first stage have written                      |
| slowest s         | run time of the slowest task of all stages                          |
| last s            | the same of those after the shuffle                                 |
| balance           | most rows that one task of these has read, to their mean; 1 is even |

``key_by`` and ``local_key_by`` are the same program but for that word; ``function`` is a Python
function over the rows of each key; ``tables`` is what ``local_key_by`` does where ``groupBy`` has other
accumulators, or takes other keys to be equal; ``spark`` is Spark's ``groupBy().count()``, to which
``local_key_by`` compiles here. The peer that the others are compared with is ``key_by``.

The last lines are savepoints of the counts: of ``local_key_by``, and of ``groupBy`` and ``with_state``.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.request import urlopen

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import word_count
from pyspark import cloudpickle
from pyspark.sql import functions as F

from savepoint_functions.aggregating.aggregates import Count
from savepoint_functions.transformations.keyed_transformation import (
    KeyedAggregation,
)
from savepoint_functions.transformations.local_aggregation import TABLE_SIZE
from state_processor import (
    OperatorTransformation,
    ReducingStateDescriptor,
    Savepoint,
    Types,
    local_session,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from savepoint_spark.writing.write_context import StateTransformation

CORES = 2
PARTITIONS = 8
EXPONENT = 1.5
OTHER_WORDS = 10_000
CHUNK = 1_000_000


@dataclass(frozen=True, slots=True)
class Work:
    """Work of the tasks of a query.

    Attributes:
        seconds: From its beginning to its end.
        shuffled_bytes: What was written for other tasks, compressed.
        shuffled_rows: The same in rows.
        slowest: Seconds of the slowest task.
        last: Seconds of each task after the shuffle.
        read: Rows that each of these has read.
    """

    seconds: float
    shuffled_bytes: int
    shuffled_rows: int
    slowest: float
    last: tuple[float, ...]
    read: tuple[int, ...]

    @classmethod
    def of(cls, seconds: float, stages: list[dict[str, Any]]) -> Self:
        """The work of stages as the REST API has them, with details."""
        tasks = [task for stage in stages for task in stage["tasks"].values()]
        metrics = [task["taskMetrics"] for task in tasks]
        # The sum of all counts is one more shuffle, of a row per task.
        last = [task for task in metrics if task["shuffleReadMetrics"]["recordsRead"]]
        written = [task["shuffleWriteMetrics"] for task in metrics if task not in last]
        last = [task for task in last if task["shuffleWriteMetrics"]["bytesWritten"]]
        return cls(
            seconds,
            sum(task["bytesWritten"] for task in written),
            sum(task["recordsWritten"] for task in written),
            max(task["executorRunTime"] for task in metrics) / 1000,
            tuple(task["executorRunTime"] / 1000 for task in last),
            tuple(task["shuffleReadMetrics"]["recordsRead"] for task in last),
        )

    @property
    def balance(self) -> float:
        """The most rows that a task has read, to the mean of all."""
        return max(self.read) * PARTITIONS / sum(self.read)


def zipf(generator: np.random.Generator, count: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Words of a Zipf distribution."""
    return generator.zipf(EXPONENT, count)


def half(generator: np.random.Generator, count: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Words of which one is half of all."""
    words = generator.integers(1, OTHER_WORDS + 1, count)
    return np.where(generator.random(count) < 0.5, 0, words)


def by_key(words: DataFrame) -> DataFrame:
    """All rows sent to the tasks of their words."""
    keyed = OperatorTransformation.bootstrap_with(words).key_by("word")
    return keyed.aggregate(n=Count()).rows()


def by_local_key(words: DataFrame) -> DataFrame:
    """Rows of that one word."""
    keyed = OperatorTransformation.bootstrap_with(words).local_key_by("word")
    return keyed.aggregate(n=Count()).key_by("word").rows()


def by_tables(words: DataFrame) -> DataFrame:
    """Aggregates like ``local_key_by``, by tables of accumulators in Python."""
    keyed = OperatorTransformation.bootstrap_with(words).local_key_by("word")
    rows = keyed.aggregate(n=Count()).partial
    encoded = rows.partial(TABLE_SIZE)
    return KeyedAggregation(rows, encoded, is_partial=True).rows()


def by_function(words: DataFrame) -> DataFrame:
    """A call of Python per row, in the tasks of the words."""
    keyed = OperatorTransformation.bootstrap_with(words).key_by("word")
    return keyed.process(word_count.WordCount(), "word STRING, n BIGINT")


def by_spark(words: DataFrame) -> DataFrame:
    """Spark's own aggregation."""
    return words.groupBy("word").agg(F.count("*").alias("n"))


DISTRIBUTIONS = {"zipf": zipf, "half": half}
WAYS: dict[str, Callable[[DataFrame], DataFrame]] = {
    "key_by": by_key,
    "local_key_by": by_local_key,
    "tables": by_tables,
    "function": by_function,
    "spark": by_spark,
}


def local_state(words: DataFrame) -> StateTransformation:
    """Counts as state, by ``local_key_by``."""
    keyed = OperatorTransformation.bootstrap_with(words).local_key_by("word")
    return keyed.aggregate(n=Count()).key_by("word")


def grouped_state(words: DataFrame) -> StateTransformation:
    """Aggregates by Spark's ``groupBy``, then ``with_state``."""
    keyed = OperatorTransformation.bootstrap_with(by_spark(words)).key_by("word")
    return keyed.with_state(ReducingStateDescriptor("n", Types.LONG()))


STATES: dict[str, Callable[[DataFrame], StateTransformation]] = {
    "local_key_by": local_state,
    "groupBy, with_state": grouped_state,
}


def print_savepoints(spark: SparkSession, few: Path, many: Path) -> None:
    """Seconds for a savepoint in each way, after one of few rows."""
    for way, state in STATES.items():
        seconds = 0.0
        for folder in (few, many):
            writer = Savepoint.create(spark).with_operator(
                "counts", state(spark.read.parquet(str(folder)))
            )
            start = time.perf_counter()
            writer.write(str(folder.with_name(f"{folder.name} {way}")))
            seconds = time.perf_counter() - start
        print(f"savepoint by {way:20} {seconds:8.1f} s", flush=True)


def write_words(name: str, rows: int, folder: Path) -> None:
    """Files of words, one per partition."""
    folder.mkdir()
    generator = np.random.default_rng(seed=44)
    for partition in range(PARTITIONS):
        with pq.ParquetWriter(
            folder / f"{partition}.parquet", pa.schema([("word", pa.utf8())])
        ) as writer:
            for start in range(0, rows // PARTITIONS, CHUNK):
                count = min(CHUNK, rows // PARTITIONS - start)
                numbers = pa.array(DISTRIBUTIONS[name](generator, count)).cast(pa.utf8())
                words = pc.binary_join_element_wise("word", numbers, "-")
                writer.write_table(pa.table({"word": words}))


def measured(spark: SparkSession, way: str, folder: Path, rows: int) -> Work:
    """A count, and the work of its tasks."""
    words = spark.read.parquet(str(folder))
    before = {stage["stageId"] for stage in stages(spark)}
    start = time.perf_counter()
    row = WAYS[way](words).agg(F.count("*"), F.sum("n")).first()
    seconds = time.perf_counter() - start
    assert row is not None
    assert row[1] == rows // PARTITIONS * PARTITIONS, row
    done = [stage for stage in stages(spark, "&details=true") if stage["stageId"] not in before]
    return Work.of(seconds, [stage for stage in done if stage["status"] == "COMPLETE"])


def stages(spark: SparkSession, details: str = "") -> list[dict[str, Any]]:
    """All stages, once the UI has heard of their end."""
    context = spark.sparkContext
    url = f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}/stages"
    while True:
        with urlopen(f"{url}?length=100000{details}") as answer:
            ended: list[dict[str, Any]] = json.load(answer)
        if all(stage["status"] != "ACTIVE" for stage in ended):
            return ended
        time.sleep(0.1)


def print_table(title: str, works: dict[str, Work]) -> None:
    """A line per way, each against ``key_by``."""
    peer = works["key_by"]
    print(f"\n{title}")
    print(
        f"{'':12} {'seconds':>8} {'shuffled MB':>12} {'x':>6} {'shuffled rows':>14} {'x':>6}"
        f" {'slowest s':>10} {'x':>5} {'last s':>7} {'x':>6} {'balance':>8}"
    )
    for way, work in works.items():
        print(
            f"{way:12} {work.seconds:8.1f} {work.shuffled_bytes / 1e6:12.2f}"
            f" {peer.shuffled_bytes / work.shuffled_bytes:6.1f} {work.shuffled_rows:14,}"
            f" {peer.shuffled_rows / work.shuffled_rows:6.1f} {work.slowest:10.2f}"
            f" {peer.slowest / work.slowest:5.1f} {max(work.last):7.2f}"
            f" {max(peer.last) / max(work.last):6.1f} {work.balance:8.2f}",
            flush=True,
        )


def svg(works: dict[str, dict[str, Work]]) -> str:
    """Bars: the rows that each task after the shuffle has read, as shares of the most."""
    parts, top = [], 0
    for name, of_ways in works.items():
        for way, work in of_ways.items():
            most, top = max(work.read), top + 20
            parts.append(f'<text x="0" y="{top}">{name}, {way}: at most {most:,} rows</text>')
            for task, rows in enumerate(sorted(work.read, reverse=True)):
                length = 500 * rows / max(of_ways["key_by"].read)
                y = top + 6 + 7 * task
                parts.append(f'<rect x="0" y="{y}" width="{max(length, 1):.1f}" height="5"/>')
            top += 10 + 7 * len(work.read)
    style = "font: 12px sans-serif; fill: steelblue"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="520" height="{top + 10}"'
        f' style="{style}">\n' + "\n".join(parts) + "\n</svg>\n"
    )


def main() -> None:
    """Runs each way over both distributions."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--only", nargs="+", default=list(WAYS), choices=WAYS)
    parser.add_argument("--plot", type=Path, help="an SVG of the balance between tasks")
    options = parser.parse_args()
    ways = ["key_by", *(way for way in options.only if way != "key_by")]
    # Workers of Spark do not find what lies beside this script.
    cloudpickle.register_pickle_by_value(word_count)
    spark = local_session(
        f"local[{CORES}]",
        spark__ui__enabled="true",
        spark__ui__port="0",
        spark__sql__shuffle__partitions=str(PARTITIONS),
        spark__sql__files__openCostInBytes=str(1 << 30),
        spark__sql__adaptive__coalescePartitions__enabled="false",
    )
    works: dict[str, dict[str, Work]] = {}
    with tempfile.TemporaryDirectory() as temporary:
        for name in DISTRIBUTIONS:
            few, many = Path(temporary, f"few {name}"), Path(temporary, name)
            write_words(name, 10_000, few)
            write_words(name, options.rows, many)
            works[name] = {}
            for way in ways:
                measured(spark, way, few, 10_000)
                works[name][way] = measured(spark, way, many, options.rows)
            print_table(f"{name}, {options.rows:,} rows", works[name])
            print_savepoints(spark, few, many)
    if options.plot is not None:
        options.plot.write_text(svg(works), encoding="utf-8")
    spark.stop()


if __name__ == "__main__":
    main()
