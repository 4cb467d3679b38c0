"""Queries over a savepoint in a warm Spark session, beside those over the same rows as Parquet.

    python benchmarks/read_spark.py [--keys 1000000 5000000] [--form canonical native] [--runs 4]

All is done in one session on two cores. The sources take turns; of each query the fastest run counts,
behind ``--warm`` rounds that do not. Parquet is what Spark itself writes of the savepoint, in its order,
with the settings that it has by default. ``floor`` is a data source in Python that does nothing: it
sends batches of the same rows, which lie ready in a file, from as many partitions. So what ours takes
above it is ours, and the rest is Spark's. Every result is compared with what went in.

The second table says where the time of the sums goes. CPU time is that of Java, and that of all
Python workers; ``load`` and ``plan`` are seconds before any row is read.
"""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from customers import NAME_SIZE, TABLE
from make_savepoint import FORMS, BenchmarkSavepoint
from measure import CORES, cpu_seconds, descendants, installed_flink, options_parser
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from state_processor import Savepoint, local_session

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession

SUMS = ("count(key)", "sum(count)", "sum(length(name))")
PARQUET, FLOOR = "Parquet", "floor"


@dataclass(frozen=True)
class Rows(InputPartition):
    """Some rows of the file of the floor."""

    start: int
    count: int


class FloorReader(DataSourceReader):
    """Sends ready batches."""

    def __init__(self, options: dict[str, str]) -> None:
        self._path = options["file"]
        self._rows, self._partitions = int(options["rows"]), int(options["partitions"])
        self._columns = options["columns"].split(",")

    def partitions(self) -> list[Rows]:
        share = -(-self._rows // self._partitions)
        return [Rows(start, share) for start in range(0, self._rows, share)]

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        if isinstance(partition, Rows):
            with pa.memory_map(self._path) as file:
                rows = pa.ipc.open_file(file).read_all().select(self._columns)
                yield from rows.slice(partition.start, partition.count).to_batches()


class Floor(DataSource):
    """The least that a data source in Python can do."""

    @classmethod
    def name(cls) -> str:
        return "floor"

    def schema(self) -> str:
        types = {"key": "BIGINT", "count": "BIGINT", "name": "STRING"}
        return ", ".join(f"{name} {types[name]}" for name in self.options["columns"].split(","))

    def reader(self, schema: Any) -> FloorReader:  # noqa: ARG002  # Spark's
        return FloorReader(dict(self.options))


@dataclass(frozen=True, slots=True)
class Source:
    """A source of rows.

    Attributes:
        name: What the tables call it.
        format: Spark's name of the data source.
        path: The savepoint or file.
        options: Those of the data source.
    """

    name: str
    format: str
    path: Path
    options: dict[str, str] = field(default_factory=dict)

    def frame(self, spark: SparkSession, **options: str) -> DataFrame:
        """The rows. Parquet needs no options because Spark tells it what is asked for."""
        if self.format == "parquet":
            return spark.read.parquet(str(self.path))
        given = self.options | options
        return spark.read.format(self.format).options(**given).load(str(self.path))


Query = tuple[str, "Callable[[SparkSession, Source], list[Any]]", list[Any]]


def queries(keys: int) -> list[Query]:
    """Name, query, and what its rows must be."""
    few, key = keys // 100, keys // 3

    def sums(frame: DataFrame) -> list[Any]:
        return list(frame.selectExpr(*SUMS).first() or ())

    def where(spark: SparkSession, source: Source, condition: str) -> DataFrame:
        if source.format == "savepoint":
            return source.frame(spark, where=condition)
        return source.frame(spark).where(condition)

    def look_up(spark: SparkSession, source: Source) -> list[Any]:
        options = {"keys": f"[{key}]"} if source.format == "savepoint" else {}
        return list(source.frame(spark, **options).where(f"key = {key}").first() or ())

    def counted(spark: SparkSession, source: Source) -> list[Any]:
        if source.format != "savepoint":
            return [source.frame(spark).count()]
        return [Savepoint.load(spark, str(source.path)).count_rows(TABLE)]

    total = keys * (keys + 1) // 2
    return [
        (
            "count and sums of all columns",
            lambda spark, source: sums(source.frame(spark)),
            [keys, total, keys * NAME_SIZE],
        ),
        ("`count(*)`", lambda spark, source: [source.frame(spark).count()], [keys]),
        ("the same, `count_rows`", counted, [keys]),
        (
            "sum of a column",
            lambda spark, source: list(source.frame(spark).selectExpr("sum(count)").first() or ()),
            [total],
        ),
        (
            "the same, `columns=`",
            lambda spark, source: list(
                source.frame(spark, columns="count").selectExpr("sum(count)").first() or ()
            ),
            [total],
        ),
        (
            "sums where a value keeps 1 %",
            lambda spark, source: sums(source.frame(spark).where(f"count <= {few}")),
            [few, few * (few + 1) // 2, few * NAME_SIZE],
        ),
        (
            "the same, `where=`",
            lambda spark, source: sums(where(spark, source, f"count <= {few}")),
            [few, few * (few + 1) // 2, few * NAME_SIZE],
        ),
        ("one key", look_up, [key, key + 1, f"customer-{key:011}"]),
        ("LIMIT 10", lambda spark, source: [len(source.frame(spark).take(10))], [10]),
    ]


@dataclass(frozen=True, slots=True)
class Parts:
    """Seconds of each step of a query.

    Attributes:
        load: Seconds until the columns are known.
        plan: Seconds from there until the partitions are known.
        seconds: All of them.
        java: CPU seconds of Java.
        python: CPU seconds of all Python workers.
    """

    load: float
    plan: float
    seconds: float
    java: float
    python: float

    @classmethod
    def of(cls, spark: SparkSession, source: Source) -> Parts:
        """Seconds of the sums over all columns."""
        java, python = cpu_times()
        start = time.perf_counter()
        frame = source.frame(spark)
        loaded = time.perf_counter()
        summed = frame.selectExpr(*SUMS)
        summed._jdf.queryExecution().executedPlan().toString()
        planned = time.perf_counter()
        summed.collect()
        end = time.perf_counter()
        java_after, python_after = cpu_times()
        return cls(
            loaded - start,
            planned - loaded,
            end - start,
            java_after - java,
            # A worker that has ended while nothing was asked of it took its time with it.
            max(0.0, python_after - python),
        )


def cpu_times() -> tuple[float, float]:
    """CPU time of Java and of all other Python processes."""
    java = python = 0.0
    for process in descendants(os.getpid()):
        name = Path(f"/proc/{process}/comm").read_text(encoding="ascii", errors="replace").strip()
        if name == "java":
            java += cpu_seconds(process)
        elif process != os.getpid():
            python += cpu_seconds(process)
    return java, python


def sources(spark: SparkSession, options: argparse.Namespace, keys: int) -> list[Source]:
    """All of them, made if they are not there."""
    saved = [BenchmarkSavepoint(options.folder, form, keys) for form in options.form]
    if not all(savepoint.path.exists() for savepoint in saved):
        flink = installed_flink(options)
        for savepoint in saved:
            savepoint.make(flink)
    first = Savepoint.load(spark, str(saved[0].path))
    scan = first.scan(TABLE)
    columns = ",".join(scan.schema.names)
    arrow = options.folder / f"rows-{keys}.arrow"
    parquet = options.folder / f"rows-{keys}.parquet"
    if not arrow.exists():
        draft = arrow.with_suffix(".draft")
        plain = pa.schema([column.remove_metadata() for column in scan.schema])
        with pa.OSFile(str(draft), "wb") as file, pa.ipc.new_file(file, plain) as writer:
            for batch in scan.batches():
                writer.write_batch(batch.cast(plain))
        draft.rename(arrow)
    if not parquet.exists():
        draft = parquet.with_suffix(".draft")
        shutil.rmtree(draft, ignore_errors=True)
        first.read_table(TABLE).write.parquet(str(draft))
        draft.rename(parquet)
    partitions = str(len(scan.splits()))
    ready = {"file": str(arrow), "rows": str(keys), "partitions": partitions, "columns": columns}
    return [
        Source(PARQUET, "parquet", parquet),
        Source(FLOOR, "floor", arrow, ready),
        *(Source(one.form, "savepoint", one.path, {"table": TABLE}) for one in saved),
    ]


def least_seconds(
    spark: SparkSession, given: list[Source], asked: list[Query], options: argparse.Namespace
) -> dict[tuple[str, str], float]:
    """The fastest run of each query over each source.

    Raises:
        ValueError: A query gave something else than what went in.
    """
    least: dict[tuple[str, str], float] = {}
    for run in range(options.warm + options.runs):
        for name, query, expected in asked:
            for source in given:
                start = time.perf_counter()
                rows = query(spark, source)
                seconds = time.perf_counter() - start
                if rows != expected:
                    raise ValueError(f"{source.path}: {name} gave {rows}, expected {expected}")
                if run >= options.warm:
                    place = (name, source.name)
                    least[place] = min(least.get(place, seconds), seconds)
    return least


def print_queries(
    given: list[Source], asked: list[Query], least: dict[tuple[str, str], float]
) -> None:
    """A line for each query; ``x`` is against Parquet."""
    own = [source.name for source in given if source.name != PARQUET]
    print(f"| query | {PARQUET} s | " + " | ".join(f"{name} s | x" for name in own) + " |")
    print("|---" * (2 + 2 * len(own)) + "|")
    for name, *_ in asked:
        peer = least[name, PARQUET]
        cells = [f"{peer:.2f}"]
        for source in own:
            seconds = least[name, source]
            cells += [f"{seconds:.2f}", f"{seconds / peer:.1f}"]
        print(f"| {name} | " + " | ".join(cells) + " |")


def print_parts(spark: SparkSession, given: list[Source], runs: int) -> None:
    """A line for each source."""
    parts = {source.name: Parts.of(spark, source) for source in given}
    for _ in range(runs - 1):
        for source in given:
            again = Parts.of(spark, source)
            parts[source.name] = min(parts[source.name], again, key=lambda part: part.seconds)
    print("\n| source | load s | plan s | seconds | CPU of Java s | CPU of Python s |")
    print("|---" * 6 + "|")
    for name, part in parts.items():
        print(
            f"| {name} | {part.load:.2f} | {part.plan:.2f} | {part.seconds:.2f} | {part.java:.2f}"
            f" | {part.python:.2f} |"
        )


def main() -> None:
    """Prints two tables for each size."""
    parser = options_parser(__doc__)
    parser.add_argument("--form", choices=FORMS, nargs="+", default=["canonical", "native"])
    parser.add_argument("--runs", type=int, default=4, help="that count")
    parser.add_argument("--warm", type=int, default=2, help="rounds before, which do not count")
    options = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    spark = local_session(f"local[{CORES}]")
    spark.dataSource.register(Floor)
    for keys in options.keys:
        given, asked = sources(spark, options, keys), queries(keys)
        least = least_seconds(spark, given, asked, options)
        print(f"\n{keys:,} keys, load {os.getloadavg()[0]:.1f}\n", flush=True)
        print_queries(given, asked, least)
        print_parts(spark, given, options.runs)


if __name__ == "__main__":
    main()
