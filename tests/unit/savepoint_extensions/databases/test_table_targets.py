"""Tables of DuckDB, Delta and Iceberg: their own programs read what was written."""

from __future__ import annotations

import json
import sys
from datetime import UTC, date, datetime
from decimal import Decimal
from subprocess import run
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pytest
from support.databases import Database
from support.sample_rows import Sample

from savepoint_database.files import TableTarget
from savepoint_database.types.spark_values import EXPORTED
from savepoint_extensions.databases import table_targets
from savepoint_extensions.databases.table_targets import TARGETS, NewTable
from savepoint_formats.errors import MissingPackageError, TableFileError
from state_processor import Savepoint, export_table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.s3_server import S3Server

STATES = Sample("states-2.2.1-rocksdb-native")
KEYED = "stateful.keyed_state"
SAVEPOINT = (sys.executable, "-c", "from savepoint_cli.start import main; main()")

SCHEMA = pa.schema(
    {
        "flag": pa.bool_(),
        "id": pa.int64(),
        "ratio": pa.float64(),
        "text": pa.utf8(),
        "bytes": pa.binary(),
        "price": pa.decimal128(38, 10),
        "day": pa.date32(),
        "at": pa.timestamp("us", "UTC"),
        "local": pa.timestamp("us"),
        "ids": pa.list_(pa.int64()),
        "by id": pa.map_(pa.int64(), pa.list_(pa.utf8())),
        "order": pa.struct({"a": pa.int32(), "b": pa.struct({"c": pa.float32()})}),
    }
)
ROWS: list[dict[str, Any]] = [
    {
        "flag": True,
        "id": -(2**63),
        "ratio": float("-inf"),
        "text": "é\0'\"",
        "bytes": b"\x00\xff",
        "price": Decimal("-9999999999999999999999999999.9999999999"),
        "day": date(1, 1, 1),
        "at": datetime(9999, 12, 31, 23, 59, 59, 999999, UTC),
        "local": datetime(1, 1, 1),
        "ids": [1, None],
        "by id": [(1, ["x", None]), (2, None)],
        "order": {"a": 1, "b": {"c": -0.0}},
    },
    dict.fromkeys(SCHEMA.names),
    {
        **dict.fromkeys(SCHEMA.names),
        "text": "",
        "ids": [],
        "by id": [],
        "order": {"a": 1, "b": None},
    },
]
TABLE = pa.Table.from_pylist(ROWS, schema=SCHEMA)


@pytest.fixture(params=TableTarget)
def database(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Database:
    return Database.in_folder(request.param, tmp_path, monkeypatch)


def write(database: Database, tables: Iterator[pa.Table], *, is_overwritten: bool = False) -> int:
    new = NewTable(database.place, "stateful", "keyed_state", "mine", SCHEMA, is_overwritten)
    return TARGETS[database.target].write(new, tables)


class TestEachTarget:
    def test_keyed_state_is_what_the_savepoint_has(self, database: Database) -> None:
        scan = Savepoint.open(STATES.path).scan(KEYED)
        written = export_table(scan, database.place, database.target)
        expected = pa.Table.from_batches(
            [EXPORTED["refuse"].batch(each) for each in scan.batches()]
        )
        assert written.rows == expected.num_rows == 23
        assert written.size > 0
        assert by_key(database.rows()) == by_key(expected)

    def test_comments_say_what_a_column_is(self, database: Database) -> None:
        export_table(Savepoint.open(STATES.path).scan(KEYED), database.place, database.target)
        table, columns = database.comments()
        assert table.startswith("Flink state stateful.keyed_state of /")
        assert columns["key"] == "STRING"
        assert columns["by_currency"] == "map state by_currency: MAP<STRING, LONG>"
        assert columns["customer"] == "value state customer: shop.Customer"

    def test_rows_come_back_from_many_tables(self, database: Database) -> None:
        count = 40
        write(database, iter([TABLE] * count))
        found = database.rows()
        assert found.num_rows == count * len(ROWS)
        assert in_order(found.to_pylist()) == in_order(ROWS * count)

    def test_a_table_without_rows_has_its_columns(self, database: Database) -> None:
        write(database, iter([]))
        found = database.rows()
        assert (found.num_rows, found.schema.names) == (0, SCHEMA.names)

    def test_an_existing_table_is_not_touched(self, database: Database) -> None:
        write(database, iter([TABLE]))
        before = database.files()
        with pytest.raises(TableFileError, match=r"has the table stateful\.keyed_state already"):
            write(database, iter([TABLE]))
        assert database.files() == before
        assert database.rows().num_rows == len(ROWS)

    def test_an_existing_table_is_replaced_if_told(self, database: Database) -> None:
        write(database, iter([TABLE]))
        write(database, iter([TABLE.slice(0, 1)]), is_overwritten=True)
        assert database.rows().to_pylist() == ROWS[:1]

    def test_a_failed_export_leaves_nothing(self, database: Database) -> None:
        with pytest.raises(TableFileError, match="no more"):
            write(database, failing())
        assert database.files() == set()

    def test_a_failed_export_leaves_what_was_there(self, database: Database) -> None:
        write(database, iter([TABLE]))
        before = database.files()
        with pytest.raises(TableFileError, match="no more"):
            write(database, failing(), is_overwritten=True)
        assert database.files() == before
        assert in_order(database.rows().to_pylist()) == in_order(ROWS)

    def test_of_two_exports_at_once_one_completes(self, database: Database) -> None:
        def meanwhile() -> Iterator[pa.Table]:
            yield TABLE
            if database.target is TableTarget.DELTA:
                # The files of the first are there.
                with pytest.raises(TableFileError, match="exists, and is not a Delta table"):
                    write(database, iter([TABLE]))
                return
            write(database, iter([TABLE.slice(0, 1)]))
            completed.append(database)

        completed: list[Database] = []
        try:
            write(database, meanwhile())
        except Exception as error:
            assert "exist" in str(error).lower()  # noqa: PT017
            assert completed
        assert database.rows().num_rows == (1 if completed else len(ROWS))

    def test_a_date_beyond_the_calendar_is_written_or_refused(self, database: Database) -> None:
        days = pa.array([2**31 - 1], pa.int32()).view(pa.date32())
        columns = [
            days if name == "day" else pa.nulls(1, kind) for name, kind in columns_of(SCHEMA)
        ]
        far = pa.Table.from_arrays(columns, schema=SCHEMA)
        if database.target is TableTarget.ICEBERG:
            with pytest.raises(OverflowError):
                write(database, iter([far]))
            assert not any(name.endswith(".avro") for name in database.files())
        else:
            write(database, iter([far]))
            found = database.rows().column("day").combine_chunks()
            assert found.view(pa.int32()).to_pylist() == [2**31 - 1]


class TestDuckDb:
    def test_other_tables_of_the_file_stay(self, tmp_path: Path) -> None:
        path = tmp_path / "state.duckdb"
        with duckdb.connect(str(path)) as database:
            database.execute("CREATE TABLE mine AS SELECT 7 AS seven")
        savepoint = Savepoint.open(STATES.path)
        for table in ("stateful.timers", KEYED):
            export_table(savepoint.scan(table), path, "duckdb")
        with duckdb.connect(str(path)) as database:
            found = database.sql("SELECT schema_name, table_name FROM duckdb_tables()").fetchall()
            assert database.sql("FROM mine").fetchall() == [(7,)]
        assert sorted(found) == [
            ("main", "mine"),
            ("stateful", "keyed_state"),
            ("stateful", "timers"),
        ]
        assert list(tmp_path.iterdir()) == [path]

    @pytest.mark.usefixtures("slow")
    def test_large_values_get_more_memory(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """None of the rows needs more alone, but DuckDB has all of them in memory at once."""
        monkeypatch.setattr(table_targets, "_DUCKDB_LARGE", 64 << 20)
        schema = pa.schema({"bytes": pa.binary()})
        rows = [pa.table({"bytes": [number.to_bytes(2) * 500_000]}) for number in range(100)]
        path = str(tmp_path / "large.duckdb")
        written = NewTable(path, "operator", "table", "", schema, is_overwritten=False)
        monkeypatch.setattr(table_targets, "_VECTOR_ROWS", 1)
        with pytest.raises(TableFileError, match=r"needs more memory .* export them as Parquet"):
            TARGETS[TableTarget.DUCKDB].write(written, iter(rows))
        assert [*tmp_path.iterdir()] == []
        monkeypatch.setattr(table_targets, "_VECTOR_ROWS", 2048)
        assert TARGETS[TableTarget.DUCKDB].write(written, iter(rows)) > 0
        with duckdb.connect(path, read_only=True) as database:
            query = "SELECT count(DISTINCT bytes), sum(octet_length(bytes)) FROM operator.table"
            assert database.execute(query).fetchall() == [(100, 100_000_000)]

    def test_another_file_is_not_touched(self, tmp_path: Path) -> None:
        path = tmp_path / "state.duckdb"
        path.write_text("mine" * 5000)
        scan = Savepoint.open(STATES.path).scan(KEYED)
        with pytest.raises(TableFileError, match="not a valid DuckDB database file"):
            export_table(scan, path, "duckdb", overwrite=True)
        assert path.read_text() == "mine" * 5000

    def test_a_store_is_refused(self) -> None:
        scan = Savepoint.open(STATES.path).scan(KEYED)
        with pytest.raises(TableFileError, match="not a local path, and DuckDB writes to no other"):
            export_table(scan, "s3://jobs/state.duckdb", "duckdb")

    def test_a_map_with_a_key_twice_is_refused(self, tmp_path: Path) -> None:
        twice = pa.MapArray.from_arrays([0, 2], pa.array([1, 1]), pa.array([2, 3]))
        rows = pa.table({"m": twice})
        new = NewTable(str(tmp_path / "a.duckdb"), "a", "b", "", rows.schema, is_overwritten=False)
        with pytest.raises(duckdb.Error, match="duplicate key"):
            TARGETS[TableTarget.DUCKDB].write(new, iter([rows]))
        assert list(tmp_path.iterdir()) == []


class TestDelta:
    def test_a_directory_of_others_is_not_touched(self, tmp_path: Path) -> None:
        (tmp_path / "rows").mkdir()
        (tmp_path / "rows" / "mine.txt").write_text("mine")
        scan = Savepoint.open(STATES.path).scan(KEYED)
        with pytest.raises(TableFileError, match="is not a Delta table; name another directory"):
            export_table(scan, tmp_path / "rows", "delta", overwrite=True)
        assert [path.name for path in (tmp_path / "rows").iterdir()] == ["mine.txt"]

    @pytest.mark.usefixtures("slow")
    def test_a_table_lies_in_an_object_store(
        self, s3_server: S3Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{s3_server.address}")
        monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
        monkeypatch.setenv("AWS_REGION", "us-east-1")
        bucket = s3_server.bucket("delta-tables")
        # deltalake waits with Python's lock, which the server in this process needs.
        command = (
            *SAVEPOINT,
            "export",
            STATES.path,
            KEYED,
            f"s3://{bucket}/a/totals",
            "--to",
            "delta",
        )
        run(command, check=True, capture_output=True)
        log, data = sorted(s3_server.keys(bucket))
        assert log == "a/totals/_delta_log/00000000000000000000.json"
        lines = s3_server.client.get_object(Bucket=bucket, Key=log)["Body"].read().splitlines()
        (added,) = (action["add"] for action in map(json.loads, lines) if "add" in action)
        assert data == f"a/totals/{added['path']}"
        assert json.loads(added["stats"]) == {"numRecords": 23}

    def test_options_of_a_uri_are_refused(self) -> None:
        scan = Savepoint.open(STATES.path).scan(KEYED)
        with pytest.raises(TableFileError, match="Delta takes from the environment"):
            export_table(scan, "s3://jobs/totals?region=eu-west-1", "delta")


class TestIceberg:
    @pytest.fixture
    def database(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Database:
        return Database.in_folder(TableTarget.ICEBERG, tmp_path, monkeypatch)

    @pytest.mark.parametrize(
        ("place", "message"),
        [
            ("totals", "is not a table of Iceberg, expected a catalog, a namespace and a table"),
            ("local.none.totals", "Namespace none does not exist"),
            ("nowhere.flink.totals", "URI missing"),
        ],
    )
    def test_a_wrong_place_is_refused(self, database: Database, place: str, message: str) -> None:
        scan = Savepoint.open(STATES.path).scan(KEYED)
        with pytest.raises(TableFileError, match=message):
            export_table(scan, place, "iceberg")
        assert database.files() == set()

    def test_a_table_with_other_columns_is_not_replaced(self, database: Database) -> None:
        write(database, iter([TABLE]))
        scan = Savepoint.open(STATES.path).scan(KEYED)
        with pytest.raises(TableFileError, match=r"has other columns \(flag, id, .*\): drop it"):
            export_table(scan, database.place, "iceberg", overwrite=True)
        assert in_order(database.rows().to_pylist()) == in_order(ROWS)


def test_a_missing_package_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scan = Savepoint.open(STATES.path).scan(KEYED)
    for package, extra, place in (
        ("deltalake", "delta", str(tmp_path / "rows")),
        ("pyiceberg", "iceberg", "a.b.c"),
    ):
        with monkeypatch.context() as patch:
            for module in (name for name in tuple(sys.modules) if name.startswith(package)):
                patch.delitem(sys.modules, module)
            patch.setitem(sys.modules, package, None)
            with pytest.raises(MissingPackageError, match=rf"{package} is not .*\[{extra}\]"):
                export_table(scan, place, extra)
    assert list(tmp_path.iterdir()) == []


def columns_of(schema: pa.Schema) -> Iterator[tuple[str, pa.DataType]]:
    return ((field.name, field.type) for field in schema)


def failing() -> Iterator[pa.Table]:
    yield from [TABLE] * 20
    raise TableFileError("no more")


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (str(row["id"]), str(row["text"])))


def by_key(table: pa.Table) -> list[dict[str, Any]]:
    return sorted(table.to_pylist(), key=lambda row: str(row["key"]))
