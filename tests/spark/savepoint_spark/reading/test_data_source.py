"""The data source ``savepoint``, as a user of Spark calls it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException
from support.sample_rows import Sample, copy_of, file_of, in_order, told, with_columns

from savepoint_spark.reading.data_source import SavepointDataSource
from state_processor import (
    OperatorTransformation,
    Savepoint,
    StateFileNotFoundError,
    Types,
    ValueStateDescriptor,
)
from state_processor.savepoint import spark_verbs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

STATES = Sample("states-2.2.1-rocksdb-native")
CURRENCY = Sample("currency-1.20.5-hashmap-canonical")
PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


def read(spark: SparkSession, sample: Sample, **options: str | int | bool) -> DataFrame:
    """A read that no line of this package has prepared."""
    return spark.newSession().read.format("savepoint").options(**options).load(sample.path)


def keyed_state(spark: SparkSession, **options: str | int | bool) -> DataFrame:
    return read(spark, STATES, table="stateful.keyed_state", **options)


@contextmanager
def setting(spark: SparkSession, name: str, value: str) -> Iterator[None]:
    before = spark.conf.get(name)
    spark.conf.set(name, value)
    try:
        yield
    finally:
        spark.conf.set(name, str(before))


def partitions(frame: DataFrame) -> int:
    return frame.rdd.getNumPartitions()


def test_is_found_by_its_name_where_nothing_was_registered() -> None:
    program = (
        "from state_processor import local_session\n"
        "import sys\n"
        "spark = local_session('local[1]')\n"
        "assert 'savepoint_spark.reading.data_source' not in sys.modules\n"
        "reader = spark.read.format('savepoint').option('table', 'summarize.keyed_state')\n"
        f"print(reader.load({CURRENCY.path!r}).count())\n"
        "spark.stop()\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (run.stdout, run.returncode) == ("24\n", 0), run.stderr


class TestOptions:
    def test_a_table(self, spark: SparkSession) -> None:
        frame = keyed_state(spark)
        expected = with_columns(STATES.keyed_state("stateful"), frame.columns)
        assert in_order(told(frame.toArrow())) == in_order(expected)

    def test_an_operator_may_be_named_by_a_uid_that_the_savepoint_does_not_know(
        self, spark: SparkSession
    ) -> None:
        assert read(spark, CURRENCY, table="summarize.keyed_state").count() == 24

    @pytest.mark.parametrize(
        "uids", ["summarize, currency_converter", '["summarize"]', "summarize, of_another_job"]
    )
    def test_uids(self, spark: SparkSession, uids: str) -> None:
        assert read(spark, CURRENCY, table="summarize.keyed_state", uids=uids).count() == 24

    def test_columns_in_their_order(self, spark: SparkSession) -> None:
        assert keyed_state(spark, columns="last_id, key").columns == ["last_id", "key"]

    def test_a_schema_is_a_choice_of_columns(self, spark: SparkSession) -> None:
        reader = spark.read.format("savepoint").option("table", "summarize.keyed_state")
        frame = reader.schema("count INT, key INT").load(CURRENCY.path)
        expected = [
            {"count": row["count"], "key": row["key"]} for row in CURRENCY.keyed_state("summarize")
        ]
        assert in_order(told(frame.toArrow())) == in_order(expected)

    def test_a_schema_leaves_out_what_an_option_adds(self, spark: SparkSession) -> None:
        reader = spark.read.format("savepoint").option("table", "summarize.keyed_state")
        frame = reader.option("withKeyGroup", "true").schema("key INT").load(CURRENCY.path)
        assert frame.columns == ["key"]
        assert frame.count() == 24

    def test_of_a_table_of_the_catalog(self, spark: SparkSession) -> None:
        spark.sql("DROP TABLE IF EXISTS of_the_catalog")
        spark.sql(
            "CREATE TABLE of_the_catalog (count INT, key INT) USING savepoint COMMENT 'totals'"
            f" OPTIONS (savepoint '{CURRENCY.path}', table 'summarize.keyed_state')"
        )
        options = f"`savepoint` = '{CURRENCY.path}', `table` = 'summarize.keyed_state'"
        assert spark.sql(f"SELECT * FROM of_the_catalog WITH ({options})").count() == 24
        spark.sql("DROP TABLE of_the_catalog")

    def test_keys(self, spark: SparkSession) -> None:
        frame = keyed_state(spark, keys='["", " ", "nobody"]', splitSize=1)
        assert partitions(frame) == 3
        assert sorted(row.key for row in frame.collect()) == ["", " "]

    def test_key_groups(self, spark: SparkSession) -> None:
        frame = keyed_state(spark, keyGroups="100-159", splitSize=1, withKeyGroup=True)
        assert partitions(frame) == 60
        one = keyed_state(spark, keyGroups="101", splitSize=1)
        assert partitions(one) == 1

    def test_split_size(self, spark: SparkSession) -> None:
        assert partitions(keyed_state(spark)) == 2
        assert partitions(keyed_state(spark, splitSize=1)) == 300

    def test_flat(self, spark: SparkSession) -> None:
        frame = keyed_state(spark, flat="memos", keys='[""]')
        assert [tuple(row) for row in frame.collect()] == [
            ("", 0, "rent; March"),
            ("", 1, "rent; March"),
        ]

    def test_subtasks(self, spark: SparkSession) -> None:
        frame = read(spark, CURRENCY, table="currency_converter.rates", withSubtask=True)
        assert frame.count() == 10

    def test_names_of_options_in_any_case(self, spark: SparkSession) -> None:
        assert "key_group" in keyed_state(spark, WITHKEYGROUP="TRUE").columns


class TestWrongOptions:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({}, "has 6 tables: name one by the option 'table'; it has: "),
            ({"table": "stateful.keys"}, "operator stateful has no table 'keys'; it has: keyed"),
            ({"table": "statefull.keyed_state"}, "has no operator 'statefull'; it has: buffer"),
            ({"columns": "memo"}, "keyed_state has no column 'memo'; it has: key, last_id"),
            ({"keys": "42"}, "option 'keys' is '42', expected a JSON list"),
            ({"keys": "a"}, "option 'keys' is not JSON: 'a'"),
            ({"keys": "[[1]]"}, r"\[1\] is not a key of type string"),
            ({"keyGroups": "all"}, "option 'keyGroups' is 'all', expected 3 or 0-15"),
            ({"keyGroups": "5-1"}, "option 'keyGroups' is '5-1', expected 3 or 0-15"),
            ({"withKeyGroup": "yes"}, "option 'withKeyGroup' is 'yes', expected true or false"),
            ({"splitSize": "0"}, "option 'splitSize' is '0', expected a number of bytes"),
            ({"splitSize": "1 MB"}, "option 'splitSize' is '1 MB', expected a number of bytes"),
            ({"flat": "last_id"}, "'last_id' is not a list or map"),
            ({"where": "memo = 'a'"}, "no column 'memo'; there are: key, last_id, .*did you mean"),
            ({"kyes": '["a"]'}, "no option 'kyes': did you mean 'keys'"),
            ({"filterPushdown": "true"}, "no option 'filterpushdown'"),
        ],
    )
    def test_say_what_is_expected(
        self, spark: SparkSession, options: dict[str, str], message: str
    ) -> None:
        given = options if not options else {"table": "stateful.keyed_state", **options}
        with pytest.raises(PySparkException, match=message):
            read(spark, STATES, **given).collect()

    def test_no_path(self, spark: SparkSession) -> None:
        with pytest.raises(PySparkException, match="needs a path: load"):
            spark.read.format("savepoint").load()

    def test_a_path_that_is_none(self, spark: SparkSession) -> None:
        with pytest.raises(PySparkException, match="/nowhere does not exist"):
            spark.read.format("savepoint").load("/nowhere")

    @pytest.mark.parametrize(
        ("schema", "message"),
        [
            ("totl DOUBLE", "has no column 'totl'; it has: key, total, count"),
            ("total STRING", "column 'total' is double: read it as that, and change it after"),
        ],
    )
    def test_a_schema_of_another_table(
        self, spark: SparkSession, schema: str, message: str
    ) -> None:
        reader = spark.read.format("savepoint").option("table", "summarize.keyed_state")
        with pytest.raises(PySparkException, match=message):
            reader.schema(schema).load(CURRENCY.path).collect()

    def test_a_stream(self) -> None:
        # Spark calls this in a process that it starts for each stream.
        source = SavepointDataSource({"path": CURRENCY.path, "table": "summarize.keyed_state"})
        with pytest.raises(TypeError, match=r"readStream can't read it: use spark\.read"):
            source.streamReader(source.schema())


def test_columns_say_what_they_are_in_flink(spark: SparkSession) -> None:
    def facts(frame: DataFrame) -> dict[str, Any]:
        return {field.name: (field.nullable, dict(field.metadata)) for field in frame.schema}

    loaded = Savepoint.load(spark, STATES.path, uids=STATES.uids)
    frame = loaded.read_keyed_state("stateful")
    found = facts(frame)
    assert found == facts(keyed_state(spark, uids=",".join(STATES.uids)))
    assert found["key"] == (False, {"flink_type": "STRING", "kind": "key"})
    kinds = {name: metadata["kind"] for name, (_, metadata) in found.items()}
    described = loaded.describe().states()
    states = [one for one in described if one.operator == "stateful" and one.state in kinds]
    assert len(states) == len(kinds) - 1
    assert {state.state: state.kind for state in states}.items() <= kinds.items()
    assert not any(
        nullable
        for name, (nullable, _) in facts(loaded.read_timers("stateful")).items()
        if name == "key"
    )


def test_keys_that_are_shown_as_null_stay_nullable(spark: SparkSession, tmp_path: Path) -> None:
    data = spark.sql("SELECT 1L AS n").selectExpr("n", "named_struct('f0', n, 'f1', n) AS pair")
    for name, key_type, is_nullable in (
        ("n", Types.LONG(), False),
        ("pair", Types.TUPLE([Types.LONG(), Types.LONG()]), False),
        ("n", Types.NULLABLE(Types.LONG()), True),
    ):
        keyed = OperatorTransformation.bootstrap_with(data).key_by(name, key_type=key_type)
        keyed = keyed.with_state(
            ValueStateDescriptor("pair", Types.TUPLE([Types.LONG()] * 2)).with_ttl()
        )
        path = str(tmp_path / f"{name} {is_nullable}")
        Savepoint.create(spark).with_operator("a", keyed).write(path)
        schema = Savepoint.load(spark, path, uids=["a"]).read_keyed_state("a").schema
        assert schema["key"].nullable is is_nullable
        assert schema["pair"].metadata == {
            "flink_type": "TUPLE<LONG, LONG>",
            "kind": "value",
            "ttl": True,
        }


class TestConditions:
    """Spark keeps the rows of a condition; nothing is left out that a later query asks for."""

    @pytest.fixture(params=["true", "false"], autouse=True)
    def pushdown(self, request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[None]:
        """Whether Spark hands conditions to those sources that take them."""
        with setting(spark, PUSHDOWN, request.param):
            yield

    @pytest.mark.parametrize(
        ("condition", "keys"),
        [
            ("key = ''", {""}),
            ("key IN ('', ' ', 'nobody')", {"", " "}),
            ("key IN ('', ' ') AND last_id = 213", {""}),
            ("key = '' AND key = ' '", set()),
            ("key = '' OR last_id = 226", {"", " "}),
            ("key IS NULL", set()),
        ],
    )
    def test_rows(self, spark: SparkSession, condition: str, keys: set[str]) -> None:
        frame = keyed_state(spark, columns="key, last_id").where(condition)
        assert {row.key for row in frame.collect()} == keys

    def test_a_condition_ends_with_its_query(self, spark: SparkSession) -> None:
        frame = Savepoint.load(spark, STATES.path).read_keyed_state("stateful", columns=["key"])
        count = len({row.key for row in frame.collect()})
        some, other = frame.where("key = ''"), frame.where("key = ' '")
        assert [row.key for row in some.collect()] == [""]
        assert frame.count() == count > 2
        assert {row.key for row in some.union(other).collect()} == {"", " "}

    def test_of_numbers(self, spark: SparkSession) -> None:
        frame = read(spark, CURRENCY, table="summarize.keyed_state")
        assert [row["count"] for row in frame.where("key = -7L").collect()] == [14]
        assert frame.where("key = 0.5 OR key = 99999999999").collect() == []

    def test_of_keys_that_are_rows(self, spark: SparkSession) -> None:
        sample = Sample("sql-2.2.1-rocksdb-native")
        frame = read(spark, sample, table="13_deduplicate.keyed_state")
        assert frame.where("key = named_struct('f0', -7)").count() == 1
        assert frame.where("key.f0 = -7").count() == 1

    def test_of_timers(self, spark: SparkSession) -> None:
        frame = read(spark, Sample("windows-2.2.1-hashmap-native"), table="tumbling.timers")
        assert frame.where("key = 255").count() == 2

    def test_beside_the_option_keys(self, spark: SparkSession) -> None:
        frame = keyed_state(spark, keys='["", " "]')
        assert [row.key for row in frame.where("key = ' '").collect()] == [" "]
        assert frame.where("key = '0'").collect() == []


class TestWhere:
    """Tasks choose rows by the option; it means what Spark's own condition means."""

    def test_gives_the_rows_that_spark_would_keep(self, spark: SparkSession) -> None:
        rows = keyed_state(spark).cache()
        for condition in (
            "last_id > 220 AND NOT last_kind = 'TRANSFER'",
            "customer.address.city = 'Köln' OR recent_memo IS NULL",
            "average.f0 / average.f1 > 400000 AND key <> ''",
        ):
            expected = told(rows.where(condition).toArrow())
            assert 0 < len(expected) < 20
            given = keyed_state(spark, where=condition)
            assert in_order(told(given.toArrow())) == in_order(expected)
        rows.unpersist()

    def test_beside_keys_and_columns(self, spark: SparkSession) -> None:
        keys = '["", " ", "nobody"]'
        condition = "key <> '' AND key_group >= 0 AND last_seen > '2024-03-01'"
        frame = keyed_state(spark, keys=keys, columns="last_id", where=condition, withKeyGroup=True)
        assert frame.columns == ["last_id", "key_group"]
        assert [row.last_id for row in frame.select("last_id").collect()] == [226]

    def test_no_other_row_leaves_the_reader(self) -> None:
        options = {"path": CURRENCY.path, "table": "summarize.keyed_state", "where": "count > 13"}
        source = SavepointDataSource({**options, "columns": "total"})
        reader = source.reader(source.schema())
        batches = [batch for part in reader.partitions() for batch in reader.read(part)]
        assert sum(batch.num_rows for batch in batches) == 4
        assert {*batches[0].schema.names} == {"total"}

    def test_of_rows_that_are_counted_flat_or_merged(self, spark: SparkSession) -> None:
        loaded = Savepoint.load(spark, STATES.path)
        flat: dict[str, Any] = {"flat": "memos", "where": "list_value = 'rent; March'"}
        rows = loaded.read_table("stateful.keyed_state", **flat).collect()
        assert {row.list_value for row in rows} == {"rent; March"}
        assert loaded.count_rows("stateful.keyed_state", **flat) == len(rows) > 2
        assert loaded.count_rows("stateful.keyed_state", where="1 = 0") == 0


def test_a_limit_reads_no_more_than_the_first_rows(spark: SparkSession, tmp_path: Path) -> None:
    damaged = copy_of(CURRENCY, tmp_path)
    for subtask in range(2):
        file = file_of(damaged, f"summarize {subtask}: keyed state")
        file.write_bytes(file.read_bytes()[:-20] + b"\xff" * 20)
    options = {"table": "summarize.keyed_state", "uids": "summarize", "chunkSize": "64"}
    frame = spark.read.format("savepoint").options(**options).load(damaged.path)
    with pytest.raises(PySparkException, match="a key or value of -1 bytes"):
        frame.collect()
    assert len(frame.take(2)) == 2


@pytest.mark.parametrize(
    ("table", "options"),
    [
        ("stateful.keyed_state", {}),
        ("stateful.keyed_state", {"flat": "memos", "split_size": 5000}),
        ("stateful.timers", {"key_groups": "0-149"}),
        ("buffer.elements", {}),
    ],
)
def test_tasks_count_the_rows_that_a_scan_gives(
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
    table: str,
    options: dict[str, Any],
) -> None:
    loaded = Savepoint.load(spark, STATES.path, uids=STATES.uids)
    read = {name: value for name, value in options.items() if name != "split_size"}
    expected = loaded.scan(table, **read).to_arrow().num_rows
    assert loaded.count_rows(table, **options) == expected > 0
    # As if the state were larger: more splits than cores become fewer.
    monkeypatch.setattr(spark_verbs, "SPLIT_SIZE", 1000)
    assert loaded.count_rows(table, **options) == expected


def test_a_count_of_what_is_damaged_says_what_it_is(spark: SparkSession, tmp_path: Path) -> None:
    damaged = copy_of(CURRENCY, tmp_path)
    file_of(damaged, "summarize 1: keyed state").unlink()
    loaded = Savepoint.load(spark, damaged.path)
    with pytest.raises(StateFileNotFoundError, match="subtask 1"):
        loaded.count_rows("summarize.keyed_state")


def test_rows_of_a_checkpoint_that_was_deleted_meanwhile_are_an_error_that_says_so(
    spark: SparkSession, tmp_path: Path
) -> None:
    loaded = Savepoint.load(spark, copy_of(CURRENCY, tmp_path).path)
    rows = loaded.read_table("summarize.keyed_state")
    shutil.rmtree(loaded.path)
    with pytest.raises((PySparkException, StateFileNotFoundError), match=r"deleted .* a newer one"):
        rows.collect()
