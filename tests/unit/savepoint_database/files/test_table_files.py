"""Files of rows: what was written is read, and what is wrong is told with its place."""

from __future__ import annotations

import gzip
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import TYPE_CHECKING

import fastavro
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyarrow import parquet
from support.sample_rows import Sample

from savepoint_database.files import TableFormat, write_table_file
from savepoint_database.files.table_files import TableFiles, write_parquet
from savepoint_database.types.spark_values import EXPORTED, SPARK
from savepoint_formats.errors import ColumnNotFoundError, ColumnTypeError, TableFileError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from support.s3_server import S3Server

    from savepoint_formats.values.kinds.precise_times import Nanoseconds

SAMPLES = [
    Sample("states-2.2.1-rocksdb-native"),
    Sample("windows-2.2.1-hashmap-native"),
    Sample("sql-2.2.1-rocksdb-native"),
]
ROWS = pa.table(
    {
        "a b": pa.array([1, None, 3], pa.int8()),
        "a_b": pa.array([b"\x00", b"", None]),
        "1st": pa.array([0.5, float("inf"), None], pa.float32()),
        "text": pa.array(["", None, 'a,"\nb']),
        "price": pa.array([Decimal("1.50"), None, Decimal("-2.00")], pa.decimal128(10, 2)),
        "at": pa.array([1, None, -1], pa.timestamp("us")),
        "long ago": pa.array([-(10**13), None, 10**14], pa.timestamp("ms", "UTC")),
        "day": pa.array([1, None, -1], pa.int32()).cast(pa.date32()),
        "nothing": pa.nulls(3),
        "by id": pa.array([[(1, [None, "x"])], [], None], pa.map_(pa.int64(), pa.list_(pa.utf8()))),
    }
)


def written(folder: Path, form: TableFormat, rows: pa.Table, name: str = "rows") -> TableFiles:
    path = str(folder / f"{name}.{form}")
    write_table_file(path, form, rows.schema, rows.to_batches(), is_overwritten=False)
    return TableFiles.at(path)


def read(files: TableFiles, schema: pa.Schema) -> pa.Table:
    wanted = files.chosen({field.name: field.type for field in schema})
    batches = [batch for split in files.splits() for batch in files.read(split, wanted)]
    return pa.Table.from_batches(batches)


def as_spark_has_them(
    batches: Iterable[pa.RecordBatch], nanoseconds: Nanoseconds = "refuse"
) -> pa.Table:
    return pa.Table.from_batches([SPARK[nanoseconds].batch(batch) for batch in batches])


@pytest.mark.parametrize("form", TableFormat)
class TestEachFormat:
    def test_rows_come_back(self, form: TableFormat, tmp_path: Path) -> None:
        files = written(tmp_path, form, ROWS)
        found = read(files, ROWS.schema)
        assert found.to_pylist() == as_spark_has_them(ROWS.to_batches()).to_pylist()

    def test_columns_are_chosen(self, form: TableFormat, tmp_path: Path) -> None:
        files = written(tmp_path, form, ROWS.select(["text", "a_b"]))
        assert read(files, ROWS.select(["a_b"]).schema).to_pylist() == [
            {"a_b": value} for value in (b"\x00", b"", None)
        ]

    @pytest.mark.parametrize("sample", SAMPLES, ids=str)
    @pytest.mark.usefixtures("slow")
    def test_every_table_of_a_savepoint_comes_back(
        self, form: TableFormat, sample: Sample, tmp_path: Path
    ) -> None:
        savepoint = sample.open()
        for number, table in enumerate(savepoint.tables()):
            scan = savepoint.scan(table.table)
            batches = [batch for split in scan.splits() for batch in scan.read(split)]
            nanoseconds: Nanoseconds = "refuse" if form.has_types else "text"
            exported = [EXPORTED[nanoseconds].batch(batch) for batch in batches]
            rows = pa.Table.from_batches(exported, EXPORTED[nanoseconds].schema(scan.schema))
            if rows.num_rows:
                files = written(tmp_path, form, rows, str(number))
                found = read(files, rows.schema)
                expected = as_spark_has_them(batches, nanoseconds)
                assert str(found.to_pylist()) == str(expected.to_pylist())

    def test_a_column_that_is_not_there_is_named(self, form: TableFormat, tmp_path: Path) -> None:
        files = written(tmp_path, form, ROWS.select(["text"]))
        with pytest.raises(ColumnNotFoundError, match="no column 'texts'; it has: text"):
            files.chosen({"texts": pa.utf8()})

    def test_a_file_of_another_format_is_refused(self, form: TableFormat, tmp_path: Path) -> None:
        (tmp_path / "rows").write_bytes(b"\xff\xfe\x00 none of them\n\xff")
        files = TableFiles.at(str(tmp_path / "rows"), form)
        with pytest.raises(TableFileError, match=f"{tmp_path}/rows"):
            read(files, pa.schema({"text": pa.utf8()}))

    def test_a_file_that_is_cut_is_refused(self, form: TableFormat, tmp_path: Path) -> None:
        rows = pa.table({"text": ['"quoted"' * 100] * 100})
        files = written(tmp_path, form, rows)
        path = tmp_path / f"rows.{form}"
        path.write_bytes(path.read_bytes()[:-30])
        if form is TableFormat.CSV:
            # Its last text is only shorter: a cut file of lines is one, too.
            assert read(files, rows.schema).num_rows == 100
            return
        with pytest.raises(TableFileError):
            read(files, rows.schema)

    def test_a_failure_leaves_what_was_there(self, form: TableFormat, tmp_path: Path) -> None:
        def failing() -> Iterable[pa.RecordBatch]:
            yield from ROWS.to_batches()
            raise TableFileError("no more")

        path = tmp_path / "rows"
        path.write_text("mine")
        with pytest.raises(TableFileError, match="no more"):
            write_table_file(str(path), form, ROWS.schema, failing(), is_overwritten=True)
        assert [file.name for file in tmp_path.iterdir()] == ["rows"]
        assert path.read_text() == "mine"


def test_a_line_without_an_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    with path.open("wb") as file:
        file.write(b'{"text": "')
        file.truncate(1 << 40)
    with pytest.raises(TableFileError, match=r"a line of more than 268,435,456 bytes"):
        read(TableFiles.at(str(path)), pa.schema({"text": pa.utf8()}))


def test_files_of_gzip_are_not_expanded(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv.gz"
    path.write_bytes(gzip.compress(b"text\n" + b"7" * (1 << 20)))
    with pytest.raises(TableFileError, match="do not tell a single format"):
        TableFiles.at(str(path))
    for form in (TableFormat.CSV, TableFormat.JSONL):
        with pytest.raises(TableFileError, match="can't be read as"):
            read(TableFiles.at(str(path), form), pa.schema({"text": pa.utf8()}))


def meanwhile(path: str, *, is_overwritten: bool) -> Iterator[pa.RecordBatch]:
    """Rows, while whose file is written another one comes to lie in its place."""
    yield from ROWS.to_batches()
    rows = pa.table({"text": ["of the other"]})
    write_table_file(
        path, TableFormat.CSV, rows.schema, rows.to_batches(), is_overwritten=is_overwritten
    )


def test_of_two_writes_at_once_one_completes(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    batches = meanwhile(str(path), is_overwritten=False)
    with pytest.raises(TableFileError, match=r"rows\.csv exists already"):
        write_table_file(str(path), TableFormat.CSV, ROWS.schema, batches, is_overwritten=False)
    assert path.read_text() == '"text"\n"of the other"\n'
    assert list(tmp_path.iterdir()) == [path]


def test_of_two_writes_at_once_that_overwrite_the_last_one_stays(tmp_path: Path) -> None:
    alone, path = tmp_path / "alone.csv", tmp_path / "rows.csv"
    write_table_file(
        str(alone), TableFormat.CSV, ROWS.schema, ROWS.to_batches(), is_overwritten=False
    )
    batches = meanwhile(str(path), is_overwritten=True)
    write_table_file(str(path), TableFormat.CSV, ROWS.schema, batches, is_overwritten=True)
    assert path.read_bytes() == alone.read_bytes()
    assert set(tmp_path.iterdir()) == {alone, path}


def test_many_writes_at_once_to_a_file_complete_once(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"

    def won(number: int) -> bool:
        rows = pa.table({"number": [number] * 1000})
        try:
            write_table_file(
                str(path), TableFormat.CSV, rows.schema, rows.to_batches(), is_overwritten=False
            )
        except TableFileError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        winners = [number for number, is_one in enumerate(pool.map(won, range(64))) if is_one]
    assert len(winners) == 1
    assert path.read_text() == '"number"\n' + f"{winners[0]}\n" * 1000
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("is_overwritten", [True, False])
def test_a_failure_leaves_what_an_object_store_has(
    s3_server: S3Server, *, is_overwritten: bool
) -> None:
    def failing() -> Iterator[pa.RecordBatch]:
        yield from ROWS.to_batches()
        s3_server.put(bucket, "rows.csv", b"mine")
        raise TableFileError("no more")

    bucket = s3_server.bucket(f"tables-{is_overwritten}".lower())
    uri = s3_server.uri(bucket, "rows.csv")
    with pytest.raises(TableFileError, match="no more"):
        write_table_file(
            uri, TableFormat.CSV, ROWS.schema, failing(), is_overwritten=is_overwritten
        )
    assert s3_server.keys(bucket) == {"rows.csv"}
    assert s3_server.client.get_object(Bucket=bucket, Key="rows.csv")["Body"].read() == b"mine"


def test_what_an_object_store_does_not_copy_is_written_once_more(
    s3_server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("savepoint_formats.new_snapshot.whole_files.LARGEST_COPY_SIZE", 100)
    bucket = s3_server.bucket("large-tables")
    for name, texts in ("small", ["a"]), ("large", ["b" * 101]):
        rows = pa.table({"text": texts})
        uri = s3_server.uri(bucket, name)
        write_table_file(uri, TableFormat.CSV, rows.schema, rows.to_batches(), is_overwritten=False)
        found = s3_server.client.get_object(Bucket=bucket, Key=name)["Body"].read()
        assert found.decode() == f'"text"\n"{texts[0]}"\n'
    assert s3_server.keys(bucket) == {"small", "large"}


def test_a_format_without_types_asks_for_them(tmp_path: Path) -> None:
    files = written(tmp_path, TableFormat.CSV, ROWS.select(["text"]))
    with pytest.raises(ColumnTypeError, match="csv does not store the type of column 'text'"):
        files.chosen({"text": None})


def test_the_row_of_a_wrong_value_is_told(tmp_path: Path) -> None:
    lines = [f'{{"id": {number}}}' for number in range(1000)]
    lines[700] = '{"id": "x"}'
    (tmp_path / "rows.jsonl").write_text("\n".join(lines))
    files = TableFiles.at(str(tmp_path / "rows.jsonl"))
    with pytest.raises(TableFileError, match="row 701: column 'id' takes int64, found"):
        read(files, pa.schema({"id": pa.int64()}))


def test_a_line_that_is_no_object_is_told(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"id": 1}\n[2]\n')
    files = TableFiles.at(str(tmp_path / "rows.jsonl"))
    with pytest.raises(TableFileError, match=r"row 2: column 'object' takes .*no JSON object"):
        read(files, pa.schema({"id": pa.int64()}))


def test_row_groups_of_parquet_are_splits(tmp_path: Path) -> None:
    rows = pa.table({"bytes": [bytes([number]) * (24 << 20) for number in range(4)]})
    path = str(tmp_path / "rows.parquet")
    parquet.write_table(rows, path, row_group_size=1, use_dictionary=False)
    files = TableFiles.at(path)
    assert [split.row_groups for split in files.splits()] == [(0, 1), (2, 3)]
    assert read(files, rows.schema).num_rows == 4


def test_large_values_have_no_statistics_which_would_copy_them(tmp_path: Path) -> None:
    rows = pa.table({"id": ["a", "b"], "text": ["x" * (1 << 20), "y"], "flat": ["x", "y"]})
    tables = [rows, rows.slice(1)]
    with pa.OSFile(str(tmp_path / "rows.parquet"), "wb") as file:
        write_parquet(file, rows.schema, iter(tables))
    stored = parquet.ParquetFile(tmp_path / "rows.parquet")
    assert stored.read().equals(pa.concat_tables(tables))
    columns = [stored.metadata.row_group(0).column(index) for index in range(3)]
    assert [column.is_stats_set for column in columns] == [True, False, True]


def test_half_a_million_rows_are_in_memory_at_once(tmp_path: Path) -> None:
    schema, count, most = pa.schema({"id": pa.int64()}), 1 << 16, 1 << 19
    before = pa.total_allocated_bytes()
    held: list[int] = []

    def batches() -> Iterator[pa.RecordBatch]:
        for number in range(40):
            ids = pc.add(pa.array(range(count), pa.int64()), number * count)
            yield pa.RecordBatch.from_arrays([ids], schema=schema)
            held.append(pa.total_allocated_bytes() - before)

    path = str(tmp_path / "rows.parquet")
    write_table_file(path, TableFormat.PARQUET, schema, batches(), is_overwritten=False)
    stored = parquet.ParquetFile(path).metadata
    rows = [stored.row_group(number).num_rows for number in range(stored.num_row_groups)]
    assert rows == [most] * 5
    assert max(held) < 8 * (most + 4 * count)


def test_no_rows_are_a_file_of_parquet_without_row_groups(tmp_path: Path) -> None:
    schema = pa.schema({"id": pa.utf8()})
    with pa.OSFile(str(tmp_path / "rows.parquet"), "wb") as file:
        write_parquet(file, schema, iter(()))
    stored = parquet.ParquetFile(tmp_path / "rows.parquet")
    assert (stored.num_row_groups, stored.schema_arrow) == (0, schema)


def test_files_of_a_directory_must_agree(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"id": [1]}), tmp_path / "1.parquet")
    parquet.write_table(pa.table({"id": ["a"]}), tmp_path / "2.parquet")
    files = TableFiles.at(str(tmp_path))
    with pytest.raises(TableFileError, match=r"2\.parquet: its columns are string, but those of"):
        read(files, pa.schema({"id": pa.int64()}))
    (tmp_path / "3.csv").write_text("id\n1\n")
    with pytest.raises(TableFileError, match="do not tell a single format"):
        TableFiles.at(str(tmp_path))


def test_nothing_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(TableFileError, match="does not exist, or has no files in it"):
        TableFiles.at(str(tmp_path / "rows.csv"))


def test_a_union_of_avro_is_no_column(tmp_path: Path) -> None:
    fields = [{"name": "id", "type": ["long", "string"]}]
    with (tmp_path / "rows.avro").open("wb") as file:
        fastavro.writer(file, {"type": "record", "name": "r", "fields": fields}, [{"id": 1}])
    files = TableFiles.at(str(tmp_path / "rows.avro"))
    with pytest.raises(TableFileError, match="a union of 2 types, which a column can't have"):
        files.schema({})
