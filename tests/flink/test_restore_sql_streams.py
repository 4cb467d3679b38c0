"""A streaming query of Spark reads half of the rows, and a job of Flink SQL the rest: nothing is missing or twice.

The types of the new job come from its savepoint before the first row, and again from its plan alone. At night
the job of SQL reads the first half, too, and functions of Spark go on with its state.
"""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from flink_home import FlinkHome
from pyspark.sql import functions as F
from support.nightly import is_night, nightly
from support.stream_kinds import OF_HDFS, given, run_in_turn
from support.stream_processors import Distinct, SqlTotals, with_state
from support.stream_queries import input_rows, put, run

from savepoint_formats.snapshots.nested import snapshot_bytes
from savepoint_spark.writing import StoredTypes
from state_processor import (
    ColumnTypeError,
    OperatorTransformation,
    RefusedError,
    Savepoint,
    SparkCheckpoint,
)

if TYPE_CHECKING:
    from collections.abc import Collection

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.flink

FIRST, SECOND = (0, 1), (2, 3)
NEAR, ON = "rt BETWEEN t - 20 AND t + 20", "right.rt BETWEEN left.t - 20 AND left.t + 20"
_LEFT, _RIGHT = (
    "(SELECT k, v, t FROM rows_in)",
    "(SELECT k, id, t AS rt FROM rows_in WHERE MOD(id, 2) = 0)",
)
QUERIES = {
    "totals": (
        "k STRING, a BIGINT, b BIGINT, c DOUBLE, d DECIMAL(38, 2), e BIGINT",
        "SELECT k, SUM(v), COUNT(v), AVG(CAST(v AS DOUBLE)), SUM(d), MAX(v) FROM rows_in GROUP BY k",
    ),
    "distinct": (
        "k STRING, id INT",
        (
            "SELECT k, id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k, id ORDER BY proc) AS r"
            " FROM rows_in) WHERE r = 1"
        ),
    ),
    "inner": (
        "k STRING, v BIGINT, id INT",
        f"SELECT l.k, v, id FROM {_LEFT} l JOIN {_RIGHT} r ON l.k = r.k AND {NEAR}",
    ),
    "outer": (
        "k STRING, v BIGINT, id INT",
        f"SELECT l.k, v, id FROM {_LEFT} l LEFT JOIN {_RIGHT} r ON l.k = r.k AND {NEAR}",
    ),
}
"""Name -> columns of the results, and the query of Flink."""

TOTALS = {"a": "sum", "b": "count", "c": "avg BIGINT", "d": "sum", "e": "max"}
WORDS: dict[str, dict[str, Any]] = {
    "totals": {"aggregates": TOTALS},
    "distinct": {},
    "inner": {"left": ("lk", "v", "t"), "right": ("k", "id", "rt")},
    "outer": {"left": ("lk", "v", "t"), "right": ("k", "id", "rt"), "on": ON},
}
OPERATORS = {
    "totals": "group-aggregate",
    "distinct": "deduplicate",
    "inner": "join",
    "outer": "join",
}


@dataclass(frozen=True, slots=True)
class Moved:
    """Checkpoints behind the first half, the empty job, and what jobs printed.

    ``first`` is the savepoint of a job that has read the first half, at night.
    """

    checkpoints: dict[str, SparkCheckpoint]
    empty: Savepoint
    plan: Path
    uids: dict[str, str]
    printed: dict[str, Counter[str]]
    first: str


def stream(spark: SparkSession, folder: Path) -> DataFrame:
    """The rows, of which none is ever late."""
    schema = "k STRING, v BIGINT, d DECIMAL(10, 2), t BIGINT, id INT"
    files = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).json(str(folder))
    return files.withColumn("ts", F.timestamp_seconds("t")).withWatermark("ts", "7 days")


def queried(
    spark: SparkSession, folder: Path, on_hdfs: Collection[str]
) -> dict[str, SparkCheckpoint]:
    """Checkpoints of queries that have read the first half; the state of some is HDFS-backed."""
    settings = {name: OF_HDFS if name in on_hdfs else {} for name in QUERIES}
    put(folder / "in", input_rows(FIRST))
    rows = stream(spark, folder / "in")
    totals = rows.groupBy("k").agg(F.sum("v"), F.count("v"), F.avg("v"), F.sum("d"), F.max("v"))
    run(totals, folder / "totals", **settings["totals"])
    distinct = rows.dropDuplicates(["k", "id"]).select("k", "id")
    run(distinct, folder / "distinct", "append", **settings["distinct"])
    left = rows.select(F.col("k").alias("lk"), "v", "t", "ts")
    others = stream(spark, folder / "in").where("id % 2 = 0")
    right = others.select("k", "id", F.col("t").alias("rt"), F.col("ts").alias("rts"))
    near = "rts BETWEEN ts - interval 20 seconds AND ts + interval 20 seconds"
    for name, kind in (("inner", "inner"), ("outer", "leftOuter")):
        joined = left.join(right, F.expr(f"lk = k AND {near}"), kind)
        run(joined, folder / name, "append", str(folder / f"{name} out"), **settings[name])
    return {name: SparkCheckpoint.load(spark, folder / name) for name in QUERIES}


def write_job(folder: Path) -> None:
    """What ``HistoryJobs`` reads: tables, queries, and the rows of each run."""
    source = "WITH ('connector' = 'filesystem', 'path' = 'ROWS/in', 'format' = 'json'WATCHED)"
    columns = "k STRING, v BIGINT, d DECIMAL(10, 2), t BIGINT, id INT, proc AS PROCTIME()"
    sinks = [
        f"CREATE TABLE to_{name} ({sink}) WITH ('connector' = 'print', 'print-identifier' = 'STEP/{name}')"
        for name, (sink, _) in QUERIES.items()
    ]
    inserts = [f"INSERT INTO to_{name} {query}" for name, (_, query) in QUERIES.items()]
    (folder / "tables.sql").write_text(
        "\n".join([f"CREATE TABLE rows_in ({columns}) {source}", *sinks])
    )
    (folder / "queries.sql").write_text("\n".join(inserts))
    options = ("table.local-time-zone=UTC", "table.plan.restore.catalog-objects=IDENTIFIER")
    (folder / "options").write_text("\n".join(options))
    steps = {"none": (), "first": FIRST, "like": SECOND, "all": (*FIRST, *SECOND)}
    for name, batches in steps.items():
        (folder / name).mkdir()
        put(folder / name / "in", input_rows(batches))
    shutil.copytree(folder / "like", folder / "plan")


SWAPPED = tuple(name for name in QUERIES if name != "distinct")
"""Queries that have the other provider at night."""


@pytest.fixture(
    scope="module",
    params=[
        ("2.2.1", ("distinct",)),
        pytest.param(("2.2.1", SWAPPED), marks=nightly),
        pytest.param(("1.20.5", ("distinct",)), marks=nightly),
        pytest.param(("1.20.5", SWAPPED), marks=nightly),
    ],
    ids=str,
)
def moved(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, spark: SparkSession
) -> Moved:
    folder = tmp_path_factory.mktemp("sql")
    release, on_hdfs = request.param
    checkpoints = queried(spark, tmp_path_factory.mktemp("queries"), on_hdfs)
    write_job(folder)
    home = FlinkHome.cached(release)
    home.install()
    classes = home.compiled([Path(__file__).parent / "history_job"])
    java = home.java(classes, ["-Xmx1200m", f"-Djava.io.tmpdir={folder}"])

    def flink(*steps: str) -> list[str]:
        command = [*java, "plans.HistoryJobs", str(folder), *steps]
        return subprocess.run(
            command, check=True, stdout=subprocess.PIPE, text=True
        ).stdout.splitlines()

    lines = flink("compile", "savepoint:none", *(["savepoint:first"] if is_night() else []))
    path, *first = (line.split()[1] for line in lines if line.startswith("savepoint "))
    plan = folder / "plan.json"
    # Before Flink 2 a savepoint has no names of operators.
    empty = Savepoint.load(spark, path.removeprefix("file:"), plan=plan)
    names = [it.name for it in empty.operators() if "source" not in it.name]
    uids = {name: of_query(name, names) for name in QUERIES}
    for way in ("like", "plan"):
        writer = Savepoint.create(spark)
        for name, uid in uids.items():
            planned = OperatorTransformation.for_plan(plan, uid)
            like = empty.operator(uid) if way == "like" else planned
            writer = writer.with_operator(uid, checkpoints[name].state_like(like, 0, **WORDS[name]))
        writer.write(folder / f"of-{way}")
    steps = [f"run:{way}:{(folder / f'of-{way}').as_uri()}" for way in ("like", "plan")]
    printed: dict[str, Counter[str]] = {}
    for line in [*lines, *flink(*steps, "run:all")]:
        step, _, row = line.partition("> ")
        if row:
            printed.setdefault(step, Counter())[row[2:]] += 1 if row[0] == "+" else -1
    return Moved(checkpoints, empty, plan, uids, printed, "".join(first).removeprefix("file:"))


def of_query(name: str, uids: list[str]) -> str:
    """The operator of a query; joins are planned in the order of their sinks."""
    of_kind = [uid for uid in uids if uid.endswith(OPERATORS[name])]
    of_kind.sort(key=lambda uid: int(uid.partition("_")[0]))
    return of_kind[[it for it in OPERATORS if OPERATORS[it] == OPERATORS[name]].index(name)]


def given_by_spark(moved: Moved, name: str) -> Counter[str]:
    """The results of the first half, as Flink prints them; rows without a match, too."""
    checkpoint, given = moved.checkpoints[name], Counter[str]()
    if name == "totals":
        table = checkpoint.aggregation(0, key=["k"], **TOTALS)
        values = table.selectExpr("k", "a", "b", "c.sum / c.count", "d", "e")
    elif name == "distinct":
        values = checkpoint.deduplicated(0, key=["k", "id"])
    else:
        out = Path(checkpoint.path).with_name(f"{name} out")
        values = checkpoint.spark.read.json(str(out)).select("k", "v", "id")
        if name == "outer":
            unmatched = checkpoint.joined(0).where("side = 'left' AND NOT matched")
            values = values.union(unmatched.selectExpr("left.lk", "left.v", "NULL"))
    for row in values.collect():
        given[f"[{', '.join('null' if it is None else str(it) for it in row)}]"] += 1
    return given


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("way", ["like", "plan"])
def test_spark_reads_the_first_half_and_flink_sql_the_second(
    moved: Moved, name: str, way: str
) -> None:
    first, second = given_by_spark(moved, name), moved.printed[f"{way}/{name}"]
    together = Counter(first)
    together.update(second)
    alone = moved.printed[f"all/{name}"]
    assert {row: n for row, n in together.items() if n} == {row: n for row, n in alone.items() if n}
    assert first
    assert second


@nightly
def test_flink_sql_reads_the_first_half_and_spark_the_second(
    moved: Moved, spark: SparkSession, tmp_path: Path
) -> None:
    first = Savepoint.load(spark, moved.first, plan=moved.plan)
    put(tmp_path / "in", input_rows(SECOND))
    rows = stream(spark, tmp_path / "in")
    totals = first.initial_state(moved.uids["totals"], key=["k"])
    distinct = first.initial_state(moved.uids["distinct"], key=["k", "id"])
    going_on = {
        "totals": with_state(rows, SqlTotals(), "k", initial=totals),
        "distinct": with_state(rows, Distinct(), "k", "id", initial=distinct),
    }
    run_in_turn(going_on, tmp_path)
    lines = [line.split(" ", 1) for line in given(tmp_path)]
    last = {line.split(",")[0]: line for kind, line in lines if kind == "totals"}
    assert {*last.values()} == {row for row, n in moved.printed["all/totals"].items() if n}
    together = Counter(f"[{line.replace(' ', ', ')}]" for kind, line in lines if kind == "distinct")
    assert together
    together.update(moved.printed["first/distinct"])
    assert together == moved.printed["all/distinct"]


def test_a_plan_has_the_types_of_the_job(moved: Moved, spark: SparkSession) -> None:
    for uid in moved.uids.values():
        of_job = StoredTypes.of(moved.empty.operator(uid))
        keyed = OperatorTransformation.for_plan(moved.plan, uid).begin_empty(spark).plan().keyed
        assert keyed is not None
        of_plan = StoredTypes(keyed.key, keyed.states)
        assert {it.name for it in of_plan.states} == {it.name for it in of_job.states}
        assert [*map(snapshot_bytes, of_plan.serializers)] == [
            *map(snapshot_bytes, of_job.serializers)
        ]


def test_matches_are_not_guessed(moved: Moved) -> None:
    like, checkpoint = moved.empty.operator(moved.uids["outer"]), moved.checkpoints["outer"]
    words = WORDS["outer"]
    with pytest.raises(RefusedError, match=r"Spark has not marked them as matched.* Say it by on="):
        checkpoint.state_like(like, 0, left=words["left"], right=words["right"])
    with pytest.raises(ColumnTypeError, match=r"on='rt > t': .*Put left. or right. before each"):
        checkpoint.state_like(like, 0, **{**words, "on": "rt > t"})
    with pytest.raises(ColumnTypeError, match=r"on='': "):
        checkpoint.state_like(like, 0, **{**words, "on": ""})


def test_a_key_in_another_order_goes_by_the_names_of_the_plan(
    moved: Moved, spark: SparkSession, tmp_path: Path
) -> None:
    rows = stream(spark, Path(moved.checkpoints["distinct"].path).with_name("in"))
    run(rows.dropDuplicates(["id", "k"]).select("k", "id"), tmp_path / "query", "append")
    uid = moved.uids["distinct"]
    like = moved.empty.operator(uid)
    keys: list[set[tuple[object, ...]]] = []
    for checkpoint in (
        moved.checkpoints["distinct"],
        SparkCheckpoint.load(spark, tmp_path / "query"),
    ):
        to = tmp_path / str(len(keys))
        Savepoint.create(spark).with_operator(uid, checkpoint.state_like(like, 0)).write(to)
        written = Savepoint.load(spark, to, uids=[uid]).read_keyed_state(uid).collect()
        keys.append({tuple(row["key"]) for row in written})
    assert keys[0]
    assert keys[0] == keys[1]


@pytest.mark.parametrize(
    ("name", "words", "message"),
    [
        (
            "outer",
            {"left": ("lk", "gone", "t")},
            r"left=\['lk', 'gone', 't'\]: .*side has lk, v, t, ts",
        ),
        ("outer", {"right": ("k", "rt + 0", "id")}, "id is bigint, expected int"),
        (
            "outer",
            {"aggregates": {"a": "sum"}},
            "aggregates is for an operator of the kind aggregation",
        ),
        ("totals", {"on": "true"}, "on is for an operator of the kind join"),
        (
            "totals",
            {"aggregates": {**TOTALS, "e": "count"}},
            "has the buffers count, but the state has max",
        ),
    ],
)
def test_words_that_do_not_fit_are_refused(
    moved: Moved, name: str, words: dict[str, Any], message: str
) -> None:
    like = moved.empty.operator(moved.uids[name])
    with pytest.raises((ColumnTypeError, RefusedError), match=message):
        moved.checkpoints[name].state_like(like, 0, **{**WORDS[name], **words})


def test_state_goes_only_into_an_operator_of_its_kind(moved: Moved) -> None:
    for name, other in (("inner", "totals"), ("distinct", "outer"), ("totals", "distinct")):
        like = moved.empty.operator(moved.uids[other])
        with pytest.raises(ColumnTypeError):
            moved.checkpoints[name].state_like(like, 0, **WORDS[name])
