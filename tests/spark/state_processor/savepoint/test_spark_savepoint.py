"""The tables of a savepoint as DataFrames, and in Spark SQL."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException
from support.changed_metadata import renamed
from support.sample_rows import Rows, Sample, copy_of, file_of, in_order, told, with_columns

from savepoint_formats.errors import (
    ColumnNotFoundError,
    ConditionError,
    KeyTypeError,
    OperatorNotFoundError,
    StateFileNotFoundError,
    StateNotFoundError,
)
from savepoint_formats.key_groups.ranges import KeyGroupRange
from savepoint_formats.savepoint_warnings import NewestSnapshotWarning, UnreadTableWarning
from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from state_processor.savepoint.spark_savepoint import SparkSavepoint

    Load = Callable[[str], SparkSavepoint]

PUSHDOWN = "spark.sql.python.filterPushdown.enabled"
KINDS = ["hashmap-canonical", "hashmap-native", "rocksdb-canonical", "rocksdb-native"]


@pytest.fixture
def load(spark: SparkSession) -> Load:
    """Loads a sample by its name."""

    def loaded(name: str) -> SparkSavepoint:
        sample = Sample(name)
        return Savepoint.load(spark, sample.path, uids=sample.uids)

    return loaded


def rows_of(frame: DataFrame) -> Rows:
    return in_order(told(frame.toArrow()))


def test_of_a_directory_of_checkpoints_the_newest_complete_one_is_loaded(
    spark: SparkSession, samples: Path
) -> None:
    path = str(samples / "states-2.2.1-rocksdb-incremental")
    with pytest.warns(NewestSnapshotWarning, match="chk-2 is read, the newest complete"):
        loaded = Savepoint.load(spark, path, uids=["stateful"])
    assert loaded.path.endswith("chk-2")
    assert loaded.read_timers("stateful").count() == 116
    with pytest.warns(NewestSnapshotWarning):
        before = Savepoint.open(path, uids=["stateful"])
    assert loaded.diff(before).is_equal


@pytest.mark.parametrize("kind", KINDS)
class TestEachBackend:
    def test_keyed_state(self, load: Load, kind: str) -> None:
        frame = load(f"states-2.2.1-{kind}").read_keyed_state("stateful")
        expected = Sample(f"states-2.2.1-{kind}").keyed_state("stateful")
        assert rows_of(frame) == in_order(with_columns(expected, frame.columns))

    def test_timers(self, load: Load, kind: str) -> None:
        frame = load(f"states-2.2.1-{kind}").read_timers("stateful")
        assert frame.columns == ["key", "timestamp", "time_domain", "service"]
        renamed = frame.drop("service").withColumnRenamed("time_domain", "domain")
        assert rows_of(renamed) == in_order(Sample(f"states-2.2.1-{kind}").timers("stateful"))

    @pytest.mark.parametrize("uid", ["tumbling", "session", "count_window"])
    def test_window_state(self, load: Load, kind: str, uid: str) -> None:
        frame = load(f"windows-1.20.5-{kind}").read_window_state(uid)
        expected = Sample(f"windows-1.20.5-{kind}").window_state(uid)
        assert rows_of(frame) == in_order(with_columns(expected, frame.columns))

    def test_operator_state(self, load: Load, kind: str) -> None:
        savepoint, sample = load(f"states-2.2.1-{kind}"), Sample(f"states-2.2.1-{kind}")
        elements = told(savepoint.read_list_state("buffer", "elements").toArrow())
        assert [row["value"] for row in elements] == sample.elements("buffer", "elements")
        offsets = told(savepoint.read_union_state("buffer", "offsets").toArrow())
        assert [row["value"] for row in offsets] == sample.elements("buffer", "offsets")

    def test_broadcast_state(self, load: Load, kind: str) -> None:
        name = f"currency-1.20.5-{kind}"
        frame = load(name).read_broadcast_state("currency_converter", "rates")
        expected = Sample(name).elements("currency_converter", "rates")
        assert rows_of(frame) == in_order(expected)


class TestKeyedState:
    def test_is_collected_as_python_has_it(self, load: Load) -> None:
        savepoint = load("sql-2.2.1-rocksdb-native")
        frame = savepoint.read_keyed_state("4_group-aggregate")
        (row,) = frame.where("key.f0 = 'Zoë'").collect()
        found = row.asDict(recursive=True)["accState"]
        expected = {"f0": 12, "f1": Decimal("59902.00"), "f2": 31, "f3": 12, "f4": "coffee"}
        assert {name: found[name] for name in expected} == expected

    def test_of_some_columns(self, load: Load) -> None:
        frame = load("states-2.2.1-rocksdb-native").read_keyed_state(
            "stateful", columns=["last_id", "key"], keys=["", "nobody"]
        )
        assert [tuple(row) for row in frame.collect()] == [(213, "")]

    def test_of_keys_that_are_rows(self, load: Load) -> None:
        savepoint = load("sql-1.20.5-hashmap-canonical")
        frame = savepoint.read_keyed_state("4_group-aggregate", keys=[{"f0": "Zoë"}])
        assert [row.key.f0 for row in frame.collect()] == ["Zoë"]

    def test_flat(self, load: Load) -> None:
        savepoint = load("states-2.2.1-hashmap-native")
        frame = savepoint.read_keyed_state("stateful", flat="by_currency", keys=[""])
        assert in_order(told(frame.toArrow())) == [
            {"key": "", "map_key": currency, "map_value": cents}
            for currency, cents in [
                ("BTC", 27450),
                ("GBP", 638850),
                ("SEK", 771775),
                ("USD", 653275),
            ]
        ]

    def test_with_the_key_groups_of_its_rows(self, load: Load) -> None:
        frame = load("states-1.20.5-rocksdb-canonical").read_keyed_state(
            "stateful", with_key_group=True
        )
        groups = {row.key_group for row in frame.select("key_group").collect()}
        assert len(groups) > 1
        assert groups <= set(range(128))

    def test_with_the_times_of_the_last_access(self, load: Load) -> None:
        frame = load("states-1.20.5-hashmap-canonical").read_keyed_state(
            "stateful", with_times=True, columns=["key", "recent_memo"]
        )
        assert frame.schema["recent_memo"].simpleString() == (
            "recent_memo:struct<timestamp:timestamp,value:string>"
        )
        plain = frame.select("key", "recent_memo.value").withColumnRenamed("value", "recent_memo")
        expected = Sample("states-1.20.5-hashmap-canonical").keyed_state("stateful")
        assert rows_of(plain) == in_order(
            [{"key": row["key"], "recent_memo": row.get("recent_memo")} for row in expected]
        )


class TestOperatorState:
    def test_each_copy_of_broadcast_state(self, load: Load) -> None:
        frame = load("currency-2.2.1-hashmap-native").read_broadcast_state(
            "currency_converter", "rates", with_subtask=True
        )
        counts = {row.subtask: row["count"] for row in frame.groupBy("subtask").count().collect()}
        assert counts == {0: 5, 1: 5}

    @pytest.mark.parametrize(
        ("read", "state", "message"),
        [
            ("read_list_state", "offsets", "'offsets' of buffer is a union list state; it has: "),
            ("read_union_state", "elements", "'elements' of buffer is a operator list state"),
            ("read_broadcast_state", "rates", "'rates' of buffer does not exist; it has: "),
        ],
    )
    def test_of_another_kind_is_an_error(
        self, load: Load, read: str, state: str, message: str
    ) -> None:
        with pytest.raises(StateNotFoundError, match=message):
            getattr(load("states-2.2.1-hashmap-native"), read)("buffer", state)


class TestErrors:
    def test_an_unknown_operator(self, load: Load) -> None:
        with pytest.raises(OperatorNotFoundError, match="no operator 'statefull'; it has: buffer"):
            load("states-2.2.1-hashmap-native").read_keyed_state("statefull")

    def test_an_operator_without_keyed_state(self, load: Load) -> None:
        with pytest.raises(StateNotFoundError, match="no table 'keyed_state'; it has: "):
            load("states-2.2.1-hashmap-native").read_keyed_state("buffer")

    def test_a_damaged_file(self, spark: SparkSession, tmp_path: Path) -> None:
        savepoint = copy_of(Sample("currency-2.2.1-hashmap-canonical"), tmp_path)
        file = file_of(savepoint, "summarize 1: keyed state")
        file.write_bytes(file.read_bytes()[:-9])
        frame = Savepoint.load(spark, savepoint.path).read_keyed_state("summarize")
        with pytest.raises(PySparkException, match=f"TruncatedError: {file.name} at byte") as error:
            frame.collect()
        assert "operator summarize" in str(error.value)

    def test_a_file_that_is_gone_by_now(self, spark: SparkSession, tmp_path: Path) -> None:
        savepoint = copy_of(Sample("currency-2.2.1-hashmap-canonical"), tmp_path)
        frame = Savepoint.load(spark, savepoint.path).read_keyed_state("summarize")
        file = file_of(savepoint, "summarize 0: keyed state")
        file.unlink()
        with pytest.raises(PySparkException, match=f"{file.name} does not exist"):
            frame.collect()


READS: list[tuple[str, tuple[str, ...]]] = [
    ("read_table", ("stateful.keyed_state",)),
    ("read_keyed_state", ("stateful",)),
    ("read_timers", ("stateful",)),
    ("read_list_state", ("buffer", "elements")),
    ("read_union_state", ("buffer", "offsets")),
]


class TestOptions:
    @pytest.mark.parametrize(("read", "arguments"), READS)
    @pytest.mark.parametrize(
        ("wrong", "error", "message"),
        [
            ({"kyes": ["a"]}, TypeError, "unexpected keyword argument 'kyes'"),
            ({"withSubtask": True}, TypeError, "unexpected keyword argument 'withSubtask'"),
            ({"columns": "key"}, TypeError, r"expected a list: columns=\['key'\]"),
            ({"columns": ["totl"]}, ColumnNotFoundError, "no column 'totl'; it has: "),
            ({"where": "totl > 1"}, ConditionError, "no column 'totl'; there are: "),
            ({"where": 5}, TypeError, "where is 5, expected a condition in SQL"),
            ({"split_size": 0}, ValueError, "split_size is 0, expected a number of bytes"),
        ],
    )
    def test_that_are_wrong_are_told_where_they_are_given(
        self,
        load: Load,
        read: str,
        arguments: tuple[str, ...],
        wrong: dict[str, Any],
        error: type[Exception],
        message: str,
    ) -> None:
        with pytest.raises(error, match=message):
            getattr(load("states-2.2.1-hashmap-native"), read)(*arguments, **wrong)

    @pytest.mark.parametrize(("read", "arguments"), READS[:3])
    @pytest.mark.parametrize(
        ("wrong", "error", "message"),
        [
            ({"keys": "customer-001"}, TypeError, r"expected a list: keys=\['customer-001'\]"),
            ({"keys": [[1]]}, KeyTypeError, "not a key of type string"),
            (
                {"key_groups": "all"},
                ValueError,
                "key_groups is 'all', expected a number or range such as 3",
            ),
        ],
    )
    def test_of_keys_are_told_too(
        self,
        load: Load,
        read: str,
        arguments: tuple[str, ...],
        wrong: dict[str, Any],
        error: type[Exception],
        message: str,
    ) -> None:
        with pytest.raises(error, match=message):
            getattr(load("states-2.2.1-hashmap-native"), read)(*arguments, **wrong)

    def test_of_windows_and_local_state_are_checked_too(self, load: Load) -> None:
        windows = load("windows-2.2.1-hashmap-native")
        with pytest.raises(StateNotFoundError, match="window_state has no state 'a'"):
            windows.read_window_state("tumbling", flat="a")
        with pytest.raises(TypeError, match="with_times is 1, expected True or False"):
            windows.read_local_state("tumbling", with_times=1)  # type: ignore[arg-type]

    def test_add_a_column_to_those_that_are_named(self, load: Load) -> None:
        savepoint = load("states-2.2.1-rocksdb-native")
        for found in (
            savepoint.read_table(
                "stateful.keyed_state", columns=["last_id"], keys=[""], with_key_group=True
            ),
            savepoint.read_keyed_state(
                "stateful", columns=["last_id"], keys=[""], with_key_group=True
            ),
        ):
            assert found.columns == ["last_id", "key_group"]
            assert [row.last_id for row in found.collect()] == [213]
        one = savepoint.read_keyed_state("stateful", key_groups=KeyGroupRange(0, 99))
        other = savepoint.read_keyed_state("stateful", key_groups="100-299")
        assert one.count() + other.count() == savepoint.read_keyed_state("stateful").count()
        assert 0 < one.count() < savepoint.read_keyed_state("stateful").count()


class TestSql:
    def test_each_table_is_a_view_in_the_database_of_its_operator(
        self, spark: SparkSession, load: Load
    ) -> None:
        sample = Sample("sql-2.2.1-hashmap-canonical")
        names = load(sample.name).register()
        assert sorted(names.values()) == sorted(table.table for table in sample.open().tables())
        for name, full in names.items():
            frame = spark.sql(f"SELECT * FROM {name}")
            assert frame.columns == list(sample.open().scan(full).schema.names)
            assert frame.count() == sum(
                batch.num_rows
                for split in sample.open().scan(full).splits()
                for batch in sample.open().scan(full).read(split)
            )

    def test_odd_uids_are_names_with_underscores(self, spark: SparkSession, load: Load) -> None:
        sample = Sample("sql-2.2.1-rocksdb-native")
        load(sample.name).register()
        found = spark.sql("SELECT * FROM `4_group_aggregate`.keyed_state")
        assert rows_of(found) == in_order(sample.keyed_state("4_group-aggregate"))
        found = spark.sql("SELECT * FROM `8_window_aggregate`.window_state")
        assert rows_of(found) == in_order(sample.window_state("8_window-aggregate"))

    def test_registering_again_replaces_the_views(self, spark: SparkSession, load: Load) -> None:
        query = "SELECT count(*) FROM stateful.keyed_state WHERE recent_memo IS NOT NULL"
        for name in ("states-2.2.1-rocksdb-native", "states-1.20.5-hashmap-canonical"):
            load(name).register()
            expected = [row for row in Sample(name).keyed_state("stateful") if row["recent_memo"]]
            assert spark.sql(query).collect()[0][0] == len(expected)

    def test_a_table_without_files_is_told_and_no_view_of_another_savepoint_stands_for_it(
        self, spark: SparkSession, load: Load, tmp_path: Path
    ) -> None:
        sample = Sample("currency-2.2.1-hashmap-canonical")
        load(sample.name).register()
        damaged = copy_of(sample, tmp_path)
        for subtask in (0, 1):
            file_of(damaged, f"summarize {subtask}: keyed state").unlink()
        found = Savepoint.load(spark, damaged.path)
        with pytest.warns(UnreadTableWarning, match=r"summarize.keyed_state .* does not exist"):
            names = found.register()
        assert "summarize.keyed_state" not in names.values()
        assert "currency_converter.rates" in names.values()
        with pytest.raises(PySparkException, match="TABLE_OR_VIEW_NOT_FOUND"):
            spark.sql("SELECT * FROM summarize.keyed_state")
        with pytest.raises(
            StateFileNotFoundError, match=r"does not exist.*; in subtask 0, table key"
        ):
            found.read_keyed_state("summarize")

    @pytest.mark.parametrize("pushdown", ["true", "false"])
    def test_a_condition_leaves_the_other_queries_of_a_view_their_rows(
        self, spark: SparkSession, load: Load, pushdown: str
    ) -> None:
        load("currency-2.2.1-hashmap-canonical").register()
        everything = "SELECT count FROM summarize.keyed_state"
        one, other = f"{everything} WHERE key = 1003", f"{everything} WHERE key = -7"
        view = spark.table("summarize.keyed_state")
        spark.conf.set(PUSHDOWN, pushdown)
        try:
            assert [row["count"] for row in view.where("key = 1003").collect()] == [13]
            assert [row["count"] for row in spark.sql(one).collect()] == [13]
            assert view.count() == spark.sql(everything).count() == 24
            assert spark.sql(f"{one} UNION ALL {everything}").count() == 25
            both = spark.sql(f"{one} UNION ALL {other}").collect()
            assert sorted(row["count"] for row in both) == [13, 14]
        finally:
            spark.conf.unset(PUSHDOWN)

    def test_tables_of_different_operators_are_joined(
        self, spark: SparkSession, load: Load
    ) -> None:
        load("windows-2.2.1-rocksdb-native").register()
        found = spark.sql(
            "SELECT w.key, t.timestamp FROM tumbling.window_state w JOIN tumbling.timers t"
            " ON w.key = t.key AND w.namespace = t.namespace"
            " WHERE t.timestamp != w.namespace.end - 1"
        )
        assert found.collect() == []

    def test_a_path_with_quotes_and_spaces(self, spark: SparkSession, tmp_path: Path) -> None:
        folder = tmp_path / "a 'quoted' \\ path"
        folder.mkdir()
        savepoint = copy_of(Sample("currency-2.2.1-hashmap-native"), folder)
        Savepoint.load(spark, savepoint.path).register()
        assert spark.sql("SELECT * FROM summarize.keyed_state").count() == 24


def test_a_notebook_shows_the_tables(load: Load) -> None:
    html: Any = load("currency-1.20.5-hashmap-native")._repr_html_()
    assert "<td>summarize.keyed_state</td><td>key, total, count</td><td>value</td>" in html


def test_names_do_not_turn_round_what_a_notebook_shows(spark: SparkSession, tmp_path: Path) -> None:
    sample = Path(Sample("currency-2.2.1-hashmap-native").path)
    path = renamed(sample, tmp_path / "hostile", {"summarize": "<b>sum\u202e"})
    html: Any = Savepoint.load(spark, str(path))._repr_html_()
    assert r"<td>&lt;b&gt;sum\u202e.keyed_state</td>" in html
    assert "\u202e" not in html
