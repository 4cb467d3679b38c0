"""Names of columns that the tables of state add, or those of windows, and keys of hostile values."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from pyspark.sql import functions as F
from support.stream_queries import input_rows, put, read, run

from savepoint_extensions.spark_streams.stored_fields import by_key
from savepoint_formats.errors import ColumnTypeError, RefusedError
from state_processor import (
    OperatorTransformation,
    Savepoint,
    SparkCheckpoint,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

ROWS = [row for batch in input_rows() for row in batch]


def counted(rows: DataFrame) -> DataFrame:
    """The number of rows per account, which is called ``timeout``; without a timeout."""

    def count(key: Any, frames: Any, state: Any) -> Iterator[pd.DataFrame]:
        number = (state.get[0] if state.exists else 0) + sum(map(len, frames))
        state.update((number,))
        yield pd.DataFrame({"k": [key[0]], "n": [number]})

    return (
        rows.selectExpr("k AS timeout", "v")
        .groupBy("timeout")
        .applyInPandasWithState(count, "k STRING, n BIGINT", "n BIGINT", "update", "NoTimeout")
    )


@contextmanager
def telling_case_apart(spark: SparkSession) -> Iterator[None]:
    """A session that does not ignore the case of names."""
    spark.conf.set("spark.sql.caseSensitive", True)
    try:
        yield
    finally:
        spark.conf.unset("spark.sql.caseSensitive")


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Queries whose columns have such names, and the new job, whose savepoint has no rows."""
    folder = tmp_path_factory.mktemp("names")
    put(folder / "in", input_rows())
    rows = read(spark, folder / "in")
    pairs = rows.selectExpr("MOD(id, 2) = 0 AS Seen", "k")
    run(pairs.dropDuplicates(["Seen", "k"]), folder / "seen", "append")
    times = rows.selectExpr("t AS event_time", "ts")
    run(times.dropDuplicatesWithinWatermark(["event_time"]), folder / "within", "append")
    named = rows.selectExpr("k AS window", "v", "id")
    run(named.groupBy("window").agg(F.sum("v").alias("total")), folder / "text")
    run(counted(rows), folder / "groups")
    for name in ("sum", "Total"):
        account = rows.selectExpr(f"k AS {name}", "v").groupBy(name)
        run(account.agg(F.sum("v")), folder / f"by {name}")
    run(rows.groupBy("k").agg(F.sum("v"), F.count("*")), folder / "two")
    ids = {"spark.sql.streaming.stateStore.checkpointFormatVersion": "2"}
    run(rows.agg(F.sum("v")), folder / "all", **ids, **{"spark.sql.shuffle.partitions": "3"})
    write_empty_job(spark, folder / "empty")
    return folder


def write_empty_job(spark: SparkSession, path: Path) -> None:
    nothing = spark.sql("SELECT 'k' AS k, TRUE AS b, 0L AS n").limit(0)
    by_text = OperatorTransformation.bootstrap_with(nothing).key_by("k")
    by_number = OperatorTransformation.bootstrap_with(nothing).key_by("n")
    pairs = nothing.selectExpr("struct(b AS f0, k AS f1) AS pair", "b")
    pair = Types.TUPLE([Types.BOOLEAN(), Types.STRING()])
    by_pair = OperatorTransformation.bootstrap_with(pairs).key_by("pair", key_type=pair)
    writer = Savepoint.create(spark).with_operator(
        "totals", by_text.with_state(ValueStateDescriptor("total", Types.LONG()), "n")
    )
    writer = writer.with_operator(
        "pairs", by_pair.with_state(ValueStateDescriptor("is_there", Types.BOOLEAN()), "b")
    )
    expiring = by_number.with_state(ValueStateDescriptor("expires", Types.LONG()), "n")
    writer.with_operator("times", expiring.with_timers(event_time="n")).write(path)


UIDS = ["totals", "pairs", "times"]


def moved(  # as of an import
    spark: SparkSession,
    folder: Path,
    query: str,
    uid: str,
    to: Path,
    aggregates: dict[str, str] | None = None,
) -> DataFrame:
    """The state of the operator after an import."""
    new_job = Savepoint.load(spark, folder / "empty", uids=UIDS)
    checkpoint = SparkCheckpoint.load(spark, folder / query)
    state = checkpoint.state_like(new_job.operator(uid), aggregates=aggregates)
    Savepoint.create(spark).with_operator(uid, state).write(to)
    return Savepoint.load(spark, to, uids=[uid]).read_keyed_state(uid)


def test_a_key_called_seen_is_no_mark(spark: SparkSession, folder: Path, tmp_path: Path) -> None:
    table = moved(spark, folder, "seen", "pairs", tmp_path / "out")
    answers = {(*row["key"], row["is_there"]) for row in table.collect()}
    assert answers == {(row["id"] % 2 == 0, row["k"], True) for row in ROWS}


def test_a_key_called_event_time_is_no_timer(
    spark: SparkSession, folder: Path, tmp_path: Path
) -> None:
    table = moved(spark, folder, "within", "times", tmp_path / "out")
    answers = {row["key"]: row["expires"] for row in table.collect()}
    assert answers
    assert answers == {t: t * 1000 + 10_000 for t in answers}
    assert {*answers} <= {row["t"] for row in ROWS}
    timers = Savepoint.load(spark, tmp_path / "out", uids=["times"]).read_timers("times")
    assert {row["key"]: row["timestamp"] for row in timers.collect()} == answers


def test_a_text_called_window_is_no_window(
    spark: SparkSession, folder: Path, tmp_path: Path
) -> None:
    table = moved(spark, folder, "text", "totals", tmp_path / "out")
    answers = {row["key"]: row["total"] for row in table.collect()}
    assert answers == {k: sum(it["v"] for it in ROWS if it["k"] == k) for k in answers}
    assert len(answers) == 3


def test_a_key_called_timeout_is_none(spark: SparkSession, folder: Path, tmp_path: Path) -> None:
    table = moved(spark, folder, "groups", "totals", tmp_path / "out")
    answers = {row["key"]: row["total"] for row in table.collect()}
    assert answers == {k: sum(it["k"] == k for it in ROWS) for k in ("k0", "k1", "k2")}


def test_a_key_with_the_name_of_a_buffer_has_it(
    spark: SparkSession, folder: Path, tmp_path: Path
) -> None:
    checkpoint = SparkCheckpoint.load(spark, folder / "by sum")
    assert checkpoint.table(0).columns == ["sum", "sum_2"]
    table = moved(spark, folder, "by sum", "totals", tmp_path / "out")
    answers = {row["key"]: row["total"] for row in table.collect()}
    assert answers == {row["sum"]: row["sum_2"] for row in checkpoint.table(0).collect()}
    assert {*answers} == {"k0", "k1", "k2"}


def test_a_name_in_another_case_is_the_same(
    spark: SparkSession, folder: Path, tmp_path: Path
) -> None:
    checkpoint = SparkCheckpoint.load(spark, folder / "by Total")
    with pytest.raises(ColumnTypeError, match="'Total' and 'total' have one name: give the"):
        checkpoint.aggregation(0, total="sum")
    # The state of a job has no columns of the key.
    table = moved(spark, folder, "by Total", "totals", tmp_path / "out", {"total": "sum"})
    assert {row["key"]: row["total"] for row in table.collect()} == {
        row["Total"]: row["sum"] for row in checkpoint.table(0).collect()
    }


@pytest.mark.parametrize("name", ["key", "operator"])
def test_an_aggregate_may_have_the_name_of_an_argument(
    spark: SparkSession, folder: Path, tmp_path: Path, name: str
) -> None:
    table = moved(spark, folder, "by Total", "totals", tmp_path / "out", {name: "sum"})
    stored = SparkCheckpoint.load(spark, folder / "by Total").table(0)
    assert {*table.select("key", "total").collect()} == {*stored.collect()}


def test_states_whose_names_differ_by_case_are_not_one(spark: SparkSession) -> None:
    states = [spark.sql(f"SELECT 'k' AS key, {n} AS {name}") for n, name in enumerate("nN")]
    with pytest.raises(ColumnTypeError, match=r"'n' and 'N' have one name; .* is true$"):
        by_key(states, ["key"])
    with telling_case_apart(spark):
        assert by_key(states, ["key"]).collect() == [("k", 0, 1)]


def test_aggregates_whose_names_differ_by_case_are_not_one(
    spark: SparkSession, folder: Path, tmp_path: Path
) -> None:
    checkpoint, words = SparkCheckpoint.load(spark, folder / "two"), {"n": "sum", "N": "count"}
    with pytest.raises(ColumnTypeError, match=r"'n' and 'N' have one name: .*aggregates; Spark"):
        checkpoint.aggregation(0, **words)
    with telling_case_apart(spark):
        nothing = spark.sql("SELECT 'k' AS k, 0L AS n, 0L AS N").limit(0)
        keyed = OperatorTransformation.bootstrap_with(nothing).key_by("k")
        for name in words:
            keyed = keyed.with_state(ValueStateDescriptor(name, Types.LONG()))
        Savepoint.create(spark).with_operator("totals", keyed).write(tmp_path / "empty")
        new_job = Savepoint.load(spark, tmp_path / "empty", uids=["totals"])
        state = checkpoint.state_like(new_job.operator("totals"), aggregates=words)
        Savepoint.create(spark).with_operator("totals", state).write(tmp_path / "out")
        table = Savepoint.load(spark, tmp_path / "out", uids=["totals"]).read_keyed_state("totals")
        answers = {row["key"]: tuple(row[1:]) for row in table.collect()}
    of_keys = {k: [it["v"] for it in ROWS if it["k"] == k] for k in ("k0", "k1", "k2")}
    assert answers == {k: (sum(values), len(values)) for k, values in of_keys.items()}


def test_fields_of_the_job_whose_names_differ_by_case_get_their_own_columns(
    spark: SparkSession, folder: Path, tmp_path: Path
) -> None:
    checkpoint = SparkCheckpoint.load(spark, folder / "two")
    pair = Types.POJO("com.acme.Pair", {"a": Types.LONG(), "A": Types.LONG()})
    with telling_case_apart(spark):
        nothing = spark.sql("SELECT 'k' AS k, struct(0L AS a, 0L AS A) AS pair").limit(0)
        keyed = OperatorTransformation.bootstrap_with(nothing).key_by("k")
        keyed = keyed.with_state(ValueStateDescriptor("pair", pair))
        Savepoint.create(spark).with_operator("totals", keyed).write(tmp_path / "empty")
        operator = Savepoint.load(spark, tmp_path / "empty", uids=["totals"]).operator("totals")
        state = checkpoint.state_like(operator, aggregates={"a": "sum", "A": "count"})
        Savepoint.create(spark).with_operator("totals", state).write(tmp_path / "out")
        table = Savepoint.load(spark, tmp_path / "out", uids=["totals"]).read_keyed_state("totals")
        answers = {row["key"]: (row["pair"]["a"], row["pair"]["A"]) for row in table.collect()}
    of_keys = {k: [it["v"] for it in ROWS if it["k"] == k] for k in ("k0", "k1", "k2")}
    assert answers == {k: (sum(values), len(values)) for k, values in of_keys.items()}


@pytest.mark.parametrize("name", ["key", "event_time", "Namespace"])
def test_a_state_of_the_job_may_have_the_name_of_a_key_or_of_timers(
    spark: SparkSession, folder: Path, tmp_path: Path, name: str
) -> None:
    nothing = spark.sql("SELECT 0L AS n").limit(0)
    keyed = OperatorTransformation.bootstrap_with(nothing).key_by("n")
    keyed = keyed.with_state(ValueStateDescriptor(name, Types.LONG()), "n")
    writer = Savepoint.create(spark).with_operator("times", keyed.with_timers(event_time="n"))
    writer.write(tmp_path / "empty")
    operator = Savepoint.load(spark, tmp_path / "empty", uids=["times"]).operator("times")
    state = SparkCheckpoint.load(spark, folder / "within").state_like(operator)
    Savepoint.create(spark).with_operator("times", state).write(tmp_path / "out")
    moved_job = Savepoint.load(spark, tmp_path / "out", uids=["times"])
    timers = {row["key"]: row["timestamp"] for row in moved_job.read_timers("times").collect()}
    assert timers
    assert timers == {t: t * 1000 + 10_000 for t in timers}


def test_no_column_of_a_key_gets_lost_behind_another_of_its_name(
    spark: SparkSession, folder: Path
) -> None:
    checkpoint = SparkCheckpoint.load(spark, folder / "seen")
    with pytest.raises(ColumnTypeError, match=r"key=\['a', 'a'\] has a name twice"):
        checkpoint.deduplicated(0, key=["a", "a"])


HOSTILE = {
    "fraction": "element_at(array(double('NaN'), -0.0D, 0.0D, double('-inf'), NULL, 1e-310D), id % 6 + 1)",
    "text": "element_at(array('', repeat('ä', 70000), NULL, 'a\\0b'), id % 4 + 1)",
    "decimal": "CAST(IF(v < 0, NULL, v - 12345678901234567890.5) AS DECIMAL(38, 9))",
    "day": "IF(id = 1, DATE'0001-01-01', DATE'9999-12-31')",
    "at": "IF(id = 2, TIMESTAMP'1883-01-01 00:00:00.000001', ts)",
    "nested": "named_struct('a', named_struct('x', IF(id > 5, id, NULL), 'y', ''), 'b', array(k, NULL))",
}
"""Name of a column of a key -> its values."""


def test_keys_are_those_of_sparks_own_answer(
    spark: SparkSession, folder: Path, tmp_path: Path
) -> None:
    def totals(rows: DataFrame) -> DataFrame:
        named = rows.selectExpr("v", *(f"{value} AS {name}" for name, value in HOSTILE.items()))
        return named.groupBy(*HOSTILE).agg(F.sum("v").alias("total"))

    stream = read(spark, folder / "in")
    run(totals(stream), tmp_path / "query")
    plain = spark.read.schema(stream.drop("ts").schema).json(str(folder / "in"))
    expected = totals(plain.withColumn("ts", F.timestamp_seconds("t"))).collect()
    # NaN is not equal to itself, but its text is.
    answers = SparkCheckpoint.load(spark, tmp_path / "query").aggregation(0, total="sum").collect()
    assert sorted(map(repr, answers)) == sorted(map(repr, expected))
    assert len(answers) > 10


def test_a_total_of_all_rows_has_no_window(spark: SparkSession, folder: Path) -> None:
    checkpoint = SparkCheckpoint.load(spark, folder / "all")
    assert checkpoint.operator(0).partitions == 1
    new_job = Savepoint.load(spark, folder / "empty", uids=UIDS)
    with pytest.raises(RefusedError, match="operator 0 has no key: in the new job key by"):
        checkpoint.state_like(new_job.operator("totals"))
