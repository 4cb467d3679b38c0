"""SQL over savepoints without Spark: what is read, what comes out, what is told."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.changed_metadata import renamed
from support.sample_rows import SAMPLES, Sample, copy_of, file_of
from support.slow_cases import slow_unless, stands_for_others

from savepoint_database.sql.scan_dataset import ScanDataset, SqlRows
from savepoint_database.sql.sql_database import SqlDatabase
from savepoint_database.types.timer_dates import LAST_MS, with_dates
from savepoint_formats.errors import (
    FormatError,
    QueryError,
    StateFileNotFoundError,
    TableNotFoundError,
    UndecodableError,
)
from savepoint_formats.scan.read_options import ReadOptions
from savepoint_formats.scan.splits import KeyedSplit
from state_processor import Savepoint

CURRENCY = Sample("currency-2.2.1-hashmap-canonical")
STATES = Sample("states-2.2.1-hashmap-canonical")
SQL = Sample("sql-2.2.1-hashmap-canonical")
ALIKE = "K_BIGDEC_bb472623.keyed_state"
WINDOWS = Sample("windows-2.2.1-rocksdb-native")
OBJECTS = SAMPLES / "objects-2.2.1-hashmap-canonical"


def rows(sample: Sample, query: str, **options: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = sample.open().sql(query, **options).to_pylist()
    return found


def splits_read(savepoint: Savepoint, table: str, query: str) -> int:
    """The key groups that DuckDB has a table's splits read of, for a query."""
    asked: list[int] = []

    class Watched(ScanDataset):
        def scanner(self, *arguments: Any, **named: Any) -> Any:
            found = super().scanner(*arguments, **named)
            splits = found._rows().scan.splits()
            keyed = [one for one in splits if isinstance(one, KeyedSplit)]
            asked.append(sum(len(split.key_groups) for split in keyed))
            return found

    with SqlDatabase(savepoint) as database:
        database.query(f"SELECT * FROM {table} LIMIT 0").read_all()
        (place,) = database._datasets
        watched = Watched(database._datasets[place].rows)
        database._datasets[place] = watched
        database._connection.register(f"savepoint {table}", watched)
        database.query(query).read_all()
    return asked[0]


class TestRows:
    @pytest.mark.parametrize(
        "name",
        slow_unless(stands_for_others, sorted(path.name for path in SAMPLES.glob("*-canonical"))),
    )
    def test_are_those_of_scans(self, name: str) -> None:
        savepoint = Savepoint.open(str(SAMPLES / name))
        options = ReadOptions(undescribed_subclasses="bytes", nanoseconds="struct")
        with SqlDatabase(savepoint, options) as database:
            for table in database.tables:
                scan = table.operator.scan(table.operator.table(table.table), options)
                expected = pa.Table.from_batches(SqlRows(scan).batches(), SqlRows(scan).schema)
                found = database.query(f"SELECT * FROM {table.sql}").read_all()
                assert found.schema.names == expected.schema.names
                assert found.to_pylist() == expected.to_pylist(), table.sql

    def test_have_names_of_operators_that_are_words_of_sql(self) -> None:
        found = rows(CURRENCY, "SELECT key, total FROM summarize.keyed_state WHERE key = -7")
        assert found == [{"key": -7, "total": 913265.84375}]

    def test_of_a_uid_in_quotes_and_of_its_name(self) -> None:
        quoted = rows(SQL, 'SELECT count(*) AS n FROM "4_group-aggregate".keyed_state')
        assert quoted == rows(SQL, 'SELECT count(*) AS n FROM "4_group_aggregate".keyed_state')
        assert quoted == [{"n": 24}]

    def test_of_a_table_that_is_there_twice(self) -> None:
        query = (
            "SELECT count(*) AS n FROM stateful.keyed_state a"
            " JOIN stateful.keyed_state b USING (key) WHERE b.reminders IS NOT NULL"
        )
        expected = [row for row in STATES.keyed_state("stateful") if row.get("reminders")]
        assert rows(STATES, query) == [{"n": len(expected)}]

    def test_of_two_operators(self) -> None:
        query = (
            "WITH rates AS (FROM currency_converter.rates)"
            " SELECT s.key, r.value FROM summarize.keyed_state s JOIN rates r USING (key) ORDER BY 1"
        )
        assert rows(CURRENCY, query) == [{"key": 0, "value": 11.875}, {"key": 1, "value": 13.125}]

    def test_of_keys_that_are_structs(self) -> None:
        query = "SELECT count(*) AS n FROM \"4_group-aggregate\".keyed_state WHERE key.f0 = 'Zoë'"
        assert rows(SQL, query) == [{"n": 1}]

    def test_in_what_only_a_condition_is_about(self) -> None:
        query = "SELECT total FROM summarize.keyed_state WHERE count > 13"
        assert len(rows(CURRENCY, query)) == 4

    def test_explained(self) -> None:
        assert rows(CURRENCY, "EXPLAIN SELECT * FROM summarize.keyed_state")

    def test_of_a_second_query_are_read_again(self) -> None:
        with SqlDatabase(CURRENCY.open()) as database:
            query = "SELECT count(*) AS n FROM summarize.keyed_state"
            found = [database.query(query).read_all().to_pylist() for _ in range(2)]
        assert found == [[{"n": 24}], [{"n": 24}]]


class TestTimes:
    def test_of_timers_are_numbers_or_dates(self) -> None:
        query = "SELECT min(timestamp) AS first FROM tumbling.timers"
        (number,) = rows(WINDOWS, query)
        (date,) = rows(WINDOWS, query, times="dates")
        assert date["first"] == datetime.fromtimestamp(number["first"] / 1000, UTC)

    def test_beyond_timestamps_are_the_last_and_the_first(self) -> None:
        numbers = [(1 << 63) - 1, -(1 << 63), 1, LAST_MS]
        times = pa.array(numbers, pa.int64())
        batch = with_dates(pa.RecordBatch.from_arrays([times], names=["timestamp"]))
        micros = batch.column(0).view(pa.int64()).to_pylist()
        assert micros == [LAST_MS * 1000, -LAST_MS * 1000, 1000, LAST_MS * 1000]

    def test_of_other_tables_stay(self) -> None:
        found = rows(CURRENCY, "SELECT * FROM summarize.keyed_state LIMIT 1", times="dates")
        assert set(found[0]) == {"key", "total", "count"}

    def test_with_nanoseconds_as_asked(self) -> None:
        query = "SELECT last_seen FROM stateful.keyed_state WHERE key = ''"
        found = STATES.open().with_forms(nanoseconds="text").sql(query)
        (row,) = found.to_pylist()
        assert row == {"last_seen": "2024-03-01 10:10:50.293213000Z"}


class TestWhatIsRead:
    def test_key_groups_of_the_keys_that_are_wanted(self) -> None:
        savepoint, table = CURRENCY.open(), "summarize.keyed_state"
        read = {
            condition: splits_read(savepoint, table, f"SELECT total FROM {table} WHERE {condition}")
            for condition in ("key = -7", "key IN (-7, 1003, 0)", "key = 1 OR key = 0", "key > 0")
        }
        assert read["key = -7"] == 1
        assert read["key IN (-7, 1003, 0)"] == 3
        assert read["key = 1 OR key = 0"] == 2
        assert read["key > 0"] == 300

    def test_no_files_of_other_key_groups(self, tmp_path: Path) -> None:
        savepoint = copy_of(CURRENCY, tmp_path)
        file_of(savepoint, "summarize 0: keyed state").unlink()
        query = "SELECT key FROM summarize.keyed_state"
        with pytest.raises(StateFileNotFoundError):
            savepoint.sql(query)
        keys = [row["key"] for row in CURRENCY.keyed_state("summarize")]
        found = []
        for key in keys:
            try:
                found += savepoint.sql(f"{query} WHERE key = {key}").to_pylist()
            except StateFileNotFoundError:
                continue
        assert 0 < len(found) < len(keys)

    def test_no_files_behind_a_limit(self, tmp_path: Path) -> None:
        savepoint = copy_of(CURRENCY, tmp_path)
        file_of(savepoint, "summarize 1: keyed state").unlink()
        assert savepoint.sql("SELECT key FROM summarize.keyed_state LIMIT 3").num_rows == 3

    def test_no_columns_that_are_not_wanted(self) -> None:
        query = "SELECT {} FROM payments.keyed_state"
        savepoint = Savepoint.open(str(OBJECTS))
        assert savepoint.sql(query.format("key, memo")).num_rows == 40
        with pytest.raises(UndecodableError):
            savepoint.sql(query.format("payment"))

    def test_no_other_operators(self, tmp_path: Path) -> None:
        savepoint = copy_of(CURRENCY, tmp_path)
        for subtask in (0, 1):
            file_of(savepoint, f"currency_converter {subtask}: operator state").unlink()
        assert savepoint.sql("FROM summarize.keyed_state").num_rows == 24

    @pytest.mark.usefixtures("slow")
    def test_without_spark(self) -> None:
        program = (
            "import sys; from state_processor import Savepoint;"
            f"Savepoint.open({CURRENCY.path!r}).sql('SELECT 1 FROM summarize.keyed_state');"
            "assert 'pyspark' not in sys.modules"
        )
        subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


class TestNamesThatFitSeveral:
    @pytest.fixture
    def alike(self, tmp_path: Path) -> Savepoint:
        """A savepoint of two operators whose uids SQL takes for one."""
        uids = {"summarize": "K-BIGDEC", "currency_converter": "k-bigdec"}
        return Savepoint.open(str(renamed(Path(CURRENCY.path), tmp_path / "alike", uids)))

    @pytest.mark.parametrize("name", ["k_bigdec", "K_BIGDEC", '"K_bigdec"'])
    @pytest.mark.parametrize("table", ["keyed_state", "rates"])
    def test_are_an_error(self, alike: Savepoint, name: str, table: str) -> None:
        with pytest.raises(TableNotFoundError, match=r'several operators.*"K-BIGDEC".*"k-bigdec"'):
            alike.sql(f"SELECT count(*) FROM {name}.{table}")

    def test_are_no_error_as_they_are(self, alike: Savepoint) -> None:
        (row,) = alike.sql('SELECT count(*) AS n FROM "K-BIGDEC".keyed_state').to_pylist()
        assert row == {"n": 24}
        (row,) = alike.sql('SELECT count(*) AS n FROM "k-bigdec".rates').to_pylist()
        assert row["n"] > 0

    def test_have_names_without_quotes(self, alike: Savepoint) -> None:
        names = [row["name"] for row in alike.sql("SHOW TABLES").to_pylist()]
        assert alike.sql(f"FROM {names[names.index(ALIKE)]}").num_rows == 24

    def test_of_an_alias_are_no_error(self, alike: Savepoint) -> None:
        query = 'SELECT k_bigdec.key FROM "K-BIGDEC".keyed_state k_bigdec'
        assert alike.sql(query).num_rows == 24


class TestErrors:
    @pytest.fixture
    def unreadable(self, tmp_path: Path) -> Savepoint:
        """A savepoint of which everything but the heads of its files is damaged."""
        savepoint = copy_of(CURRENCY, tmp_path)
        for subtask in (0, 1):
            file = file_of(savepoint, f"summarize {subtask}: keyed state")
            file.write_bytes(file.read_bytes()[:-9])
        return savepoint

    @pytest.mark.parametrize(
        ("query", "message"),
        [
            ("SELEKT 1", 'syntax error at or near "SELEKT"'),
            ("SELECT totl FROM summarize.keyed_state", "no column 'totl'.*did you mean 'total'"),
            (
                "SELECT s.totl FROM summarize.keyed_state s",
                "no column 'totl'.*did you mean 'total'",
            ),
            ("SELECT foo(key) FROM summarize.keyed_state", "foo does not exist"),
            ("SELECT 1; SELECT 2", "2 statements, expected one query"),
            ("", "0 statements, expected one query"),
            ("DROP SCHEMA main", "DROP, expected a query"),
            ("COPY (SELECT 1) TO 'x.csv'", "COPY, expected a query"),
            ("SET threads = 1", "SET, expected a query"),
            (
                "EXPLAIN ANALYZE COPY (SELECT 1) TO 'x.csv'",
                "EXPLAIN of something other than a query",
            ),
        ],
    )
    def test_of_a_query_come_before_anything_is_read(
        self, unreadable: Savepoint, query: str, message: str
    ) -> None:
        with pytest.raises(QueryError, match=message) as raised:
            unreadable.sql(query)
        assert "\n" not in str(raised.value)
        assert "LINE 1" not in str(raised.value)

    @pytest.mark.parametrize(
        "table", ["summarise.keyed_state", "summarize.keyed_stat", '"summarize".keyed_stat']
    )
    def test_of_a_table_ask_what_was_meant(self, unreadable: Savepoint, table: str) -> None:
        with pytest.raises(TableNotFoundError, match=r"did you mean 'summarize\.keyed_state'\?"):
            unreadable.sql(f"SELECT * FROM {table}")

    def test_of_a_table_without_operator_list_what_there_is(self, unreadable: Savepoint) -> None:
        with pytest.raises(QueryError, match=r"no table foo; there are: currency_converter\.rates"):
            unreadable.sql("SELECT * FROM foo")

    def test_of_files_are_those_of_the_scan(self, unreadable: Savepoint) -> None:
        with pytest.raises(FormatError, match="at byte ") as raised:
            unreadable.sql("SELECT sum(total) FROM summarize.keyed_state")
        assert "operator summarize" in str(raised.value)

    def test_of_a_lost_table_name_its_file(self, tmp_path: Path) -> None:
        savepoint = copy_of(CURRENCY, tmp_path)
        for subtask in (0, 1):
            file_of(savepoint, f"summarize {subtask}: keyed state").unlink()
        with pytest.raises(StateFileNotFoundError, match="does not exist"):
            savepoint.sql("SELECT * FROM summarize.keyed_state")


class TestReach:
    @pytest.fixture
    def file(self, tmp_path: Path) -> Path:
        file = tmp_path / "secret.csv"
        file.write_text("name,value\nkey,42\n", encoding="utf-8")
        return file

    @pytest.mark.parametrize(
        "source",
        [
            "read_csv('{file}')",
            "read_text('{file}')",
            "read_blob('{file}')",
            "read_json('{file}')",
            "read_parquet('{file}')",
            "sniff_csv('{file}')",
            "glob('{file}')",
            "'{file}'",
            "query('FROM ''{file}''')",
            "json_execute_serialized_sql(json_serialize_sql('FROM read_csv(''{file}'')'))",
        ],
    )
    def test_a_query_opens_no_file(self, file: Path, source: str) -> None:
        with pytest.raises(QueryError, match=r"Cannot access.*allow_files=True") as raised:
            rows(CURRENCY, f"SELECT * FROM {source.format(file=file)}")
        assert "\n" not in str(raised.value)

    @pytest.mark.parametrize(
        ("query", "message"),
        [
            ("FROM 'https://example.com/x.parquet'", "Cannot access file"),
            ("FROM read_parquet('s3://bucket/x.parquet')", "Cannot access file"),
            ("FROM sqlite_scan('a', 'b')", "exists in the sqlite_scanner extension"),
            ("FROM enable_logging()", "the configuration has been locked"),
            ("FROM duckdb_secrets()", "Cannot access directory"),
            ("FROM variable", "no table variable"),
        ],
    )
    def test_a_query_reaches_nothing_else(self, query: str, message: str) -> None:
        variable = pa.table({"value": [1]})
        with pytest.raises(QueryError, match=message):
            rows(CURRENCY, query)
        assert variable.num_rows == 1

    def test_files_are_read_where_that_is_allowed(self, file: Path) -> None:
        query = f"SELECT value FROM '{file}' JOIN summarize.keyed_state s ON s.key = -7"
        assert rows(CURRENCY, query, allow_files=True) == [{"value": 42}]

    def test_no_extension_is_fetched_where_files_are_allowed(self) -> None:
        with SqlDatabase(CURRENCY.open(), allow_files=True) as database:
            settings = "'autoinstall_known_extensions', 'autoload_known_extensions'"
            found = database.query(
                f"SELECT value FROM duckdb_settings() WHERE name IN ({settings})"
            )
            assert found.read_all().column("value").to_pylist() == ["false", "false"]
            with pytest.raises(QueryError, match="httpfs"):
                database.query("FROM read_csv('https://127.0.0.1:9/x.csv')")

    @pytest.mark.usefixtures("slow")
    def test_rows_that_do_not_fit_into_memory_go_to_the_disk(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        texts = "SELECT repeat('x', 400) || i AS text, hash(i) AS h FROM range(1000000) t(i)"
        query = f"SELECT text FROM ({texts}) ORDER BY h"
        # Less than about 200 MB is too little for a sort by two threads.
        with SqlDatabase(CURRENCY.open(), memory_limit="300MB") as database:
            count, spilled = 0, False
            for batch in database.query(query).batches:
                count += batch.num_rows
                spilled = spilled or any(tmp_path.iterdir())
        assert count == 1_000_000
        assert spilled
        assert not any(tmp_path.iterdir())

    def test_what_fits_nowhere_is_an_error_that_tells_the_option(self) -> None:
        query = "SELECT len(list(i)) FROM range(20000000) t(i)"
        with pytest.raises(QueryError, match=r"used\); give it more memory with --memory-limit"):
            rows(CURRENCY, query, memory_limit="64MB")

    @pytest.mark.parametrize("limit", ["", "x", "4", "4 apples"])
    def test_a_limit_that_is_none(self, limit: str) -> None:
        with pytest.raises(ValueError, match="expected an amount such as 4GB or 50%"):
            rows(CURRENCY, "SELECT 1", memory_limit=limit)
