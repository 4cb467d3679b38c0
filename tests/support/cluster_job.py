"""A program for a cluster: reads, bootstraps, changes, rescales, runs functions, and a backlog.

    spark-submit --master spark://… cluster_job.py SAVEPOINT TARGET [--without-backlog]

It prints what it has read of all it has written, as a line of JSON. ``TARGET`` is a directory, or a URI
of a store, that all machines see; ``SAVEPOINT`` is one of the samples, which only the driver needs
to see. A backlog is written by Spark itself, so that it needs a file system that Spark knows.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

from pyspark import TaskContext
from pyspark.sql import SparkSession

from state_processor import (
    Backlog,
    KeyedProcessFunction,
    KeyedStateReaderFunction,
    OperatorTransformation,
    Savepoint,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pyarrow as pa

ROWS, KEYS = 2_000, 100
UID = "totals"


class Totals(KeyedProcessFunction):
    """Adds up the numbers of each key."""

    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

    def process_element(self, value: Any, context: Any) -> Iterator[tuple[int, int]]:
        total = (self.total.value() or 0) + value.at
        self.total.update(total)
        yield value.account, total


class TotalsAgain(KeyedStateReaderFunction):
    """Reads them."""

    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

    def read_key(self, key: int, context: Any) -> Iterator[tuple[int, int]]:
        yield key, self.total.value()


def main(source: str, target: str, *options: str) -> dict[str, Any]:
    """Does all of it; returns what was read."""
    spark = SparkSession.builder.getOrCreate()

    def at(name: str) -> str:
        path, question, where = target.partition("?")
        return f"{path}/{name}{question}{where}"

    def sums(name: str) -> list[int]:
        written = Savepoint.load(spark, at(name), uids=[UID])
        (row,) = written.read_keyed_state(UID).selectExpr("count(*)", "sum(total)").collect()
        return list(row)

    told: dict[str, Any] = {"places": sorted(set(places(spark)))}
    Savepoint.open(source).writer().write(at("copied"))
    copied = Savepoint.load(spark, at("copied")).read_keyed_state("summarize")
    told["read"] = list(copied.selectExpr("count(*)", "sum(count)").collect()[0])

    rows = spark.range(0, ROWS, 1, 4).selectExpr(f"id % {KEYS} AS account", "id AS at")
    accounts = rows.groupBy("account").sum("at").toDF("account", "total")
    keyed = OperatorTransformation.bootstrap_with(accounts).key_by("account")
    keyed = keyed.with_state(ValueStateDescriptor("total", Types.LONG()))
    Savepoint.create(spark, parallelism=2).with_operator(UID, keyed).write(at("made"))
    told["bootstrap"] = sums("made")
    made = Savepoint.load(spark, at("made"), uids=[UID])
    made.update_state(UID, "total", "total + 1").write(at("changed"))
    told["change"] = sums("changed")
    made.rescale(max_parallelism=256, parallelism=3).write(at("rescaled"))
    told["rescale"] = sums("rescaled")
    again = made.read_keyed_state(UID, TotalsAgain(), schema="key LONG, total LONG")
    told["reader function"] = list(again.selectExpr("count(*)", "sum(total)").collect()[0])

    by_account = OperatorTransformation.bootstrap_with(rows).key_by("account")
    output = by_account.process(Totals(), "account LONG, total LONG")
    told["process"] = list(output.selectExpr("count(*)", "max(total)").collect()[0])
    state = by_account.transform(Totals())
    Savepoint.create(spark, parallelism=2).with_operator(UID, state).write(at("function"))
    told["transform"] = sums("function")
    if "--without-backlog" not in options:
        backlog = Backlog.of(by_account, Totals(), "account LONG, total LONG")
        result = backlog.run(at("backlog"), UID, parallelism=2)
        told["backlog"] = [result.output.count(), result.counts.keys]
    return told


def places(spark: SparkSession) -> list[str]:
    """The working directories of tasks."""

    def place(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow  # noqa: PLC0415  # a function that is shipped brings nothing

        context = TaskContext.get()
        assert context is not None
        for _ in batches:
            pass
        yield pyarrow.RecordBatch.from_pydict({"place": [os.getcwd()]})

    run: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]] = place
    return [row.place for row in spark.range(0, 8, 1, 8).mapInArrow(run, "place STRING").collect()]


if __name__ == "__main__":
    print("TOLD " + json.dumps(main(*sys.argv[1:])))
