"""Times with nanoseconds: read in every form, and written back to the last digit, or refused."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F

from savepoint_database.rows.rows import first_rows
from savepoint_formats.errors import ColumnTypeError, InexactTimeError, SavepointError
from state_processor import (
    ListStateDescriptor,
    MapStateDescriptor,
    OperatorTransformation,
    Savepoint,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

EXACT = "2026-01-31 12:00:00.123456789"
FOR_EVER = "9999-12-31 23:59:59.999999999"
GREATEST = "+1000000000-12-31 23:59:59.999999999"
"""The greatest ``Instant`` of Java."""

ROW = Types.ROW_DATA([("at", "TIMESTAMP(9)"), ("n", "INT")])
UID = "clock"


def columns(spark: SparkSession, instants: dict[str, str]) -> DataFrame:
    """Key and instant as texts; and the same in the other forms of a state."""
    data = spark.createDataFrame(list(instants.items()), "key STRING, at STRING")
    local = F.regexp_replace("at", "Z$", "")
    return data.select(
        "key",
        "at",
        local.alias("local"),
        F.array("at", "at").alias("all"),
        F.create_map("at", F.struct(local.alias("at"), F.lit(7).alias("n"))).alias("by"),
    )


def write(data: DataFrame, path: Path) -> str:
    keyed = OperatorTransformation.bootstrap_with(data).key_by("key")
    transformation = (
        keyed.with_state(ValueStateDescriptor("at", Types.INSTANT()))
        .with_state(ValueStateDescriptor("local", Types.LOCAL_DATE_TIME()))
        .with_state(ListStateDescriptor("all", Types.INSTANT()))
        .with_state(MapStateDescriptor("by", Types.INSTANT(), ROW))
    )
    writer = Savepoint.create(data.sparkSession, max_parallelism=8).with_operator(
        UID, transformation
    )
    writer.write(str(path))
    return str(path)


def rows(path: str) -> list[dict[str, Any]]:
    """Content of the files, without Spark."""
    scan = Savepoint.open(path, uids=(UID,)).scan(f"{UID}.keyed_state")
    return sorted(first_rows(scan, 100), key=lambda row: row["key"])


@pytest.fixture(scope="module")
def exact(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    data = columns(spark, {"a": f"{EXACT}Z", "b": f"{FOR_EVER}Z"})
    return write(data, tmp_path_factory.mktemp("exact") / "savepoint")


def loaded(spark: SparkSession, path: str) -> Any:
    return Savepoint.load(spark, path, uids=(UID,))


def test_texts_are_written_to_the_last_digit(exact: str) -> None:
    assert rows(exact) == [
        {
            "key": key,
            "at": f"{text}Z",
            "local": text,
            "all": [f"{text}Z"] * 2,
            "by": [(f"{text}Z", {"f0": text, "f1": 7, "$row_kind": "+I"})],
        }
        for key, text in (("a", EXACT), ("b", FOR_EVER))
    ]


def test_reading_what_spark_cannot_hold_is_refused(spark: SparkSession, exact: str) -> None:
    with pytest.raises(Exception, match=r"InexactTimeError.*nanoseconds='struct'"):
        loaded(spark, exact).read_keyed_state(UID).collect()


def test_columns_without_such_times_are_read_all_the_same(spark: SparkSession, exact: str) -> None:
    found = loaded(spark, exact).read_keyed_state(UID, columns=["key"]).orderBy("key").collect()
    assert [row.key for row in found] == ["a", "b"]


@pytest.mark.parametrize("nanoseconds", ["struct", "text"])
def test_they_are_written_back_as_they_were(
    spark: SparkSession, exact: str, nanoseconds: str, tmp_path: Path
) -> None:
    savepoint = loaded(spark, exact)
    data = savepoint.with_forms(nanoseconds=nanoseconds).read_keyed_state(UID)
    out = tmp_path / "like"
    like = OperatorTransformation.bootstrap_with(data).like(savepoint.operator(UID))
    Savepoint.create(data.sparkSession, max_parallelism=8).with_operator(UID, like).write(str(out))
    assert rows(str(out)) == rows(exact)
    replaced = savepoint
    for name in ("at", "local", "all", "by"):
        replaced = replaced.with_state(UID, name, data.select("key", name))
    replaced.write(str(tmp_path / "replaced"))
    assert rows(str(tmp_path / "replaced")) == rows(exact)


def test_a_struct_has_seconds_and_nanoseconds(spark: SparkSession, exact: str) -> None:
    data = loaded(spark, exact).with_forms(nanoseconds="struct").read_keyed_state(UID)
    assert data.schema["at"].dataType.simpleString() == "struct<seconds:bigint,nanos:int>"
    assert data.where("key = 'b'").first()["at"].asDict() == {
        "seconds": 253_402_300_799,
        "nanos": 999_999_999,
    }


def test_digits_are_cut_off_where_somebody_says_so(spark: SparkSession, exact: str) -> None:
    data = loaded(spark, exact).with_forms(nanoseconds="truncate").read_keyed_state(UID)
    assert data.schema["at"].dataType.simpleString() == "timestamp"
    assert data.where("key = 'a'").first()["local"] == datetime(2026, 1, 31, 12, 0, 0, 123_456)


def test_a_state_of_microseconds_needs_no_option(spark: SparkSession, tmp_path: Path) -> None:
    data = columns(spark, {"a": "9999-12-31 00:00:00Z", "b": "0001-01-01 00:00:00.000001Z"})
    path = write(data, tmp_path / "first")
    savepoint = loaded(spark, path)
    found = savepoint.read_keyed_state(UID)
    assert found.where("key = 'a'").first()["local"] == datetime(9999, 12, 31)
    like = OperatorTransformation.bootstrap_with(found).like(savepoint.operator(UID))
    out = str(tmp_path / "second")
    Savepoint.create(spark, max_parallelism=8).with_operator(UID, like).write(out)
    assert rows(out) == rows(path)


def test_a_time_beyond_the_range_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    data = spark.createDataFrame([("a", f"{GREATEST}Z")], "key STRING, at STRING")
    keyed = OperatorTransformation.bootstrap_with(data).key_by("key")
    state = keyed.with_state(ValueStateDescriptor("at", Types.INSTANT()))
    path = str(tmp_path / "savepoint")
    Savepoint.create(data.sparkSession, max_parallelism=8).with_operator(UID, state).write(path)
    assert rows(path) == [{"key": "a", "at": f"{GREATEST}Z"}]
    savepoint = loaded(spark, path)
    with pytest.raises(Exception, match="InexactTimeError"):
        savepoint.read_keyed_state(UID).collect()
    (row,) = savepoint.with_forms(nanoseconds="text").read_keyed_state(UID).collect()
    assert row["at"] == f"{GREATEST}Z"


@pytest.mark.parametrize(
    ("expression", "nanoseconds", "expected"),
    [
        ("named_struct('seconds', at.seconds + 1, 'nanos', at.nanos)", "struct", EXACT),
        ("replace(at, '12:00:00', '12:00:01')", "text", EXACT),
    ],
)
def test_an_update_keeps_all_digits(
    spark: SparkSession,
    exact: str,
    tmp_path: Path,
    expression: str,
    nanoseconds: str,
    expected: str,
) -> None:
    shown = loaded(spark, exact).with_forms(nanoseconds=nanoseconds)
    changed = shown.update_state(UID, "at", expression, where="key = 'a'")
    changed.write(str(tmp_path / "out"))
    first, second = rows(str(tmp_path / "out"))
    assert first["at"] == f"{expected}Z".replace("12:00:00", "12:00:01")
    assert second == rows(exact)[1]


@pytest.mark.parametrize("change", ["add", "drop", "widen"])
def test_other_fields_leave_all_digits(
    spark: SparkSession, exact: str, tmp_path: Path, change: str
) -> None:
    savepoint = loaded(spark, exact)
    changes = {
        "add": lambda shown: shown.add_field(UID, "by", "f2", "BIGINT", F.lit(5)),
        "drop": lambda shown: shown.drop_field(UID, "by", "f1"),
        "widen": lambda shown: shown.widen_field(UID, "by", "f1", "BIGINT"),
    }
    refused = changes[change](savepoint)
    # What no expression is in, is tried without Spark as well.
    acts = [partial(refused.write, str(tmp_path / "refused"))]
    if change != "add":
        unaided = replace(refused, spark=None)
        acts.append(partial(unaided.plan, str(tmp_path / "refused"), check=True))
    for act in acts:
        with pytest.raises(
            SavepointError, match=r"change it after with_forms\(nanoseconds='struct'"
        ):
            act()
    changes[change](savepoint.with_forms(nanoseconds="struct")).write(str(tmp_path / "out"))
    after = {"add": {"f1": 7, "f2": 5}, "drop": {}, "widen": {"f1": 7}}[change]
    for row, before in zip(rows(str(tmp_path / "out")), rows(exact), strict=True):
        (time, value), *_ = before["by"]
        assert row["by"] == [(time, {"f0": value["f0"], **after, "$row_kind": "+I"})]


def test_an_update_of_microseconds_is_refused(
    spark: SparkSession, exact: str, tmp_path: Path
) -> None:
    changed = loaded(spark, exact).update_state(UID, "at", "at + interval 1 second")
    with pytest.raises(SavepointError, match="nanoseconds='struct'"):
        changed.write(str(tmp_path / "out"))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("2026-01-31 12:00:00.1234567891Z", "is no time such as"),
        ("2026-01-31 12:00:00", "expected Z behind it"),
        ("2026-02-30 12:00:00Z", "."),
        ("yesterday", "is no time such as"),
    ],
)
def test_a_text_that_is_no_time_is_refused(
    spark: SparkSession, tmp_path: Path, text: str, reason: str
) -> None:
    data = spark.createDataFrame([("a", text)], "key STRING, at STRING")
    keyed = OperatorTransformation.bootstrap_with(data).key_by("key")
    state = keyed.with_state(ValueStateDescriptor("at", Types.INSTANT()))
    writer = Savepoint.create(data.sparkSession, max_parallelism=8).with_operator(UID, state)
    with pytest.raises(SavepointError, match=reason):
        writer.write(str(tmp_path / "out"))


def test_a_time_of_day_is_written_and_read_again(spark: SparkSession, tmp_path: Path) -> None:
    data = spark.createDataFrame([("a", "01:02:03.000000004")], "key STRING, at STRING")
    keyed = OperatorTransformation.bootstrap_with(data).key_by("key")
    state = keyed.with_state(ValueStateDescriptor("at", Types.LOCAL_TIME()))
    path = str(tmp_path / "savepoint")
    Savepoint.create(spark, max_parallelism=8).with_operator(UID, state).write(path)
    assert rows(path) == [{"key": "a", "at": "01:02:03.000000004"}]
    assert loaded(spark, path).read_keyed_state(UID).collect() == data.collect()


@pytest.fixture(scope="module")
def timed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    data = spark.sql("SELECT 'a' AS key, 5L AS n, array(1L, 2L) AS all, 1000L AS seen")
    keyed = OperatorTransformation.bootstrap_with(data).key_by("key")
    state = keyed.with_state(
        ValueStateDescriptor("n", Types.LONG()).with_ttl(), last_access="seen"
    ).with_state(ListStateDescriptor("all", Types.LONG()).with_ttl(), last_access="seen")
    path = str(tmp_path_factory.mktemp("timed") / "savepoint")
    Savepoint.create(spark, max_parallelism=8).with_operator(UID, state).write(path)
    return path


class TestTimesOfLastAccess:
    def test_they_come_back_if_they_were_read(
        self, spark: SparkSession, timed: str, tmp_path: Path
    ) -> None:
        savepoint = loaded(spark, timed)
        data = savepoint.read_keyed_state(UID, with_times=True)
        like = OperatorTransformation.bootstrap_with(data).like(savepoint.operator(UID))
        out = str(tmp_path / "like")
        Savepoint.create(spark, max_parallelism=8).with_operator(UID, like).write(out)
        assert times(out) == times(timed)
        out = str(tmp_path / "replaced")
        savepoint.with_state(UID, "n", data.select("key", "n")).write(out)
        assert times(out) == times(timed)

    def test_they_are_not_lost_without_a_word(
        self, spark: SparkSession, timed: str, tmp_path: Path
    ) -> None:
        savepoint = loaded(spark, timed)
        data = savepoint.read_keyed_state(UID)
        begun = OperatorTransformation.bootstrap_with(data)
        with pytest.raises(ValueError, match="with_times=True"):
            begun.like(savepoint.operator(UID))
        with pytest.raises(ValueError, match="ttl_times='now'"):
            savepoint.with_state(UID, "n", data.select("key", "n"))
        out = str(tmp_path / "now")
        savepoint.with_state(UID, "n", data.select("key", "n"), ttl_times="now").write(out)
        assert times(out)["n"] > times(timed)["n"]
        assert times(out)["all"] == times(timed)["all"]

    def test_a_word_that_nobody_knows(self, spark: SparkSession, timed: str) -> None:
        savepoint = loaded(spark, timed)
        begun = OperatorTransformation.bootstrap_with(savepoint.read_keyed_state(UID))
        with pytest.raises(ValueError, match="expected 'now'"):
            begun.like(savepoint.operator(UID), ttl_times="never")  # type: ignore[arg-type]


def times(path: str) -> dict[str, Any]:
    """The times of last access of the only key."""
    scan = Savepoint.open(path, uids=(UID,)).scan(f"{UID}.keyed_state", with_times=True)
    (row,) = first_rows(scan, 2)
    return {"n": row["n"]["timestamp"], "all": [one["timestamp"] for one in row["all"]]}


def test_other_structs_are_none(spark: SparkSession) -> None:
    data = spark.sql("SELECT 'a' AS key, named_struct('at', 1, 'nanos', 2) AS at")
    keyed = OperatorTransformation.bootstrap_with(data).key_by("key")
    with pytest.raises(ColumnTypeError, match="no field 'at'; missing: 'seconds'"):
        keyed.with_state(ValueStateDescriptor("at", Types.INSTANT()))


def test_an_option_that_does_not_exist(spark: SparkSession, exact: str) -> None:
    with pytest.raises(ValueError, match="refuse, struct, text, truncate"):
        loaded(spark, exact).with_forms(nanoseconds="round").read_keyed_state(UID)


def test_the_error_can_be_caught() -> None:
    assert issubclass(InexactTimeError, (SavepointError, ValueError))
