"""Whole tables for other libraries, and how many rows they have."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pytest
from support.hidden_values import text
from support.sample_rows import Sample, copy_of, file_of, rows_of
from support.slow_cases import slow_unless

from savepoint_formats.errors import ColumnNotFoundError, FormatError, MissingPackageError
from savepoint_formats.program.decode import decode

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from savepoint_formats.bytes.chunk import Chunk
    from savepoint_formats.program.program import Program
    from savepoint_formats.scan.scan import TableScan

# The package has a function of the module's name.
decoding: Any = sys.modules[decode.__module__]

ROCKSDB = Sample("states-2.2.1-rocksdb-native")
STORED = [
    ROCKSDB,
    Sample("states-2.2.1-hashmap-canonical"),
    Sample("states-2.2.1-hashmap-native"),
    Sample("states-1.20.5-hashmap-changelog"),
]

OTHERS = [
    Sample("currency-2.2.1-rocksdb-native"),
    Sample("windows-2.2.1-hashmap-native"),
    Sample("sql-2.2.1-rocksdb-native"),
]


def keyed_state(sample: Sample = ROCKSDB, **options: Any) -> TableScan:
    return sample.open().scan("stateful.keyed_state", **options)


MAPS = ("by_currency", "changes", "memo_by_currency", "recent_by_currency")


def decoded_bytes(read: Callable[[], object]) -> int:
    """The bytes of all records that are decoded."""
    sizes: list[int] = []

    def counted(program: Program, chunk: Chunk, ranges: Any, *others: Any) -> pa.Array:
        sizes.append(int((ranges[1] - ranges[0]).sum()))
        return decode_ranges(program, chunk, ranges, *others)

    decode_ranges = decoding._decode_ranges
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decoding, "_decode_ranges", counted)
        read()
    return sum(sizes)


def size_of_map_keys(sample: Sample, state: str) -> int:
    """Bytes of key, void namespace and user key of all entries."""
    return sum(
        len(text(row["key"])) + 1 + len(text(user_key))
        for row in rows_of(keyed_state(sample))
        for user_key in row[state] or ()
    )


def is_no_changelog(sample: Sample) -> bool:
    """Whether it is read fast: that of a changelog is small, and has hundreds of pieces."""
    return "changelog" not in sample.name


class TestCount:
    @pytest.mark.parametrize("sample", slow_unless(is_no_changelog, [*STORED, *OTHERS]), ids=str)
    def test_is_that_of_the_rows_of_every_table(self, sample: Sample) -> None:
        savepoint = sample.open()
        scans = [savepoint.scan(one.table) for one in savepoint.tables() if one.columns]
        counts = [scan.count() for scan in scans]
        assert counts == [len(rows_of(scan)) for scan in scans]
        assert any(counts)

    @pytest.mark.parametrize(
        "options",
        [
            {"keys": ("", "nobody", "refunds only")},
            {"key_groups": "0-99"},
            {"flat": "by_currency"},
            {"flat": "memos"},
            {"columns": ("recent_memo",)},
            {"with_key_group": True, "with_subtask": True, "with_scope": True, "with_times": True},
        ],
        ids=str,
    )
    @pytest.mark.parametrize("sample", slow_unless(is_no_changelog, STORED), ids=str)
    def test_is_that_of_what_is_asked_for(self, sample: Sample, options: dict[str, Any]) -> None:
        scan = keyed_state(sample, **options)
        assert 0 < scan.count() == len(rows_of(scan))

    @pytest.mark.parametrize("sample", STORED[:2], ids=str)
    def test_decodes_nothing_but_the_keys_of_maps(self, sample: Sample) -> None:
        size = sum(size_of_map_keys(sample, name) for name in MAPS)
        assert decoded_bytes(keyed_state(sample).count) == size > 0

    def test_counts_each_copy_of_broadcast_state_that_is_shown(self) -> None:
        savepoint = Sample("currency-2.2.1-rocksdb-native").open()
        (table,) = (one.table for one in savepoint.tables() if one.kinds == ("broadcast",))
        once, each = savepoint.scan(table), savepoint.scan(table, with_subtask=True)
        assert each.count() == len(rows_of(each)) > once.count() == len(rows_of(once))

    def test_opens_no_file_to_count_elements(self, tmp_path: Path) -> None:
        savepoint = copy_of(ROCKSDB, tmp_path)
        scan = savepoint.scan("buffer.elements")
        file_of(savepoint, "buffer 0: operator state").unlink()
        assert scan.count() == len(ROCKSDB.elements("buffer", "elements"))

    def test_tells_of_an_unknown_column(self) -> None:
        scan = keyed_state()
        with pytest.raises(ColumnNotFoundError):
            replace(scan, options=replace(scan.options, columns=("nothing",))).count()


class TestColumns:
    @pytest.mark.parametrize("sample", STORED[:2], ids=str)
    def test_decode_only_their_own_bytes(self, sample: Sample) -> None:
        rows, counted = rows_of(keyed_state(sample)), decoded_bytes(keyed_state(sample).count)
        sums = sum(row["cents_sum"] is not None for row in rows)
        days = sum(row["last_day"] is not None for row in rows)
        for columns, size in [
            (("cents_sum",), 8 * sums),
            (("last_day",), 6 * days),
            (("last_day", "cents_sum"), 8 * sums + 6 * days),
        ]:
            scan = keyed_state(sample, columns=columns)
            assert decoded_bytes(scan.to_arrow) - counted == size


class TestWholeTables:
    @pytest.mark.parametrize("sample", slow_unless(is_no_changelog, STORED), ids=str)
    def test_of_arrow_have_all_rows(self, sample: Sample) -> None:
        scan = keyed_state(sample)
        table = scan.to_arrow()
        assert table.schema == scan.schema
        assert table.to_pylist() == [row for one in scan.batches() for row in one.to_pylist()]

    def test_of_arrow_may_have_no_rows(self) -> None:
        scan = keyed_state(keys=("nobody",))
        assert scan.to_arrow().equals(scan.schema.empty_table())
        assert scan.count() == 0

    def test_of_pandas(self) -> None:
        scan = keyed_state(columns=("key", "cents_sum"))
        expected = scan.to_arrow().to_pydict()
        frame = scan.to_pandas()
        assert frame["key"].tolist() == expected["key"]
        assert frame["cents_sum"].sum() == sum(one or 0 for one in expected["cents_sum"])

    @pytest.mark.usefixtures("slow")
    def test_of_polars(self) -> None:
        scan = keyed_state()
        frame = scan.to_polars()
        assert frame.columns == scan.schema.names
        assert frame["key"].to_list() == scan.to_arrow()["key"].to_pylist()
        assert frame["memos"].to_list() == scan.to_arrow()["memos"].to_pylist()

    def test_of_duckdb_are_read_for_each_query(self) -> None:
        scan = keyed_state()
        relation = scan.to_duckdb()
        assert relation.columns == scan.schema.names
        for _ in range(2):
            assert relation.aggregate("sum(cents_sum)").fetchall() == [
                (sum(one or 0 for one in scan.to_arrow()["cents_sum"].to_pylist()),)
            ]
        assert relation.filter("key = 'refunds only'").count("*").fetchall() == [(1,)]

    def test_of_duckdb_belong_to_a_connection_that_is_given(self) -> None:
        connection = duckdb.connect()
        keyed_state(columns=("key",)).to_duckdb(connection).create("copied")
        assert connection.sql("FROM copied").shape == (keyed_state().count(), 1)

    def test_stream_to_whatever_knows_the_protocol_of_arrow(self) -> None:
        scan = keyed_state()
        assert pa.table(scan).equals(scan.to_arrow())

    def test_tell_what_is_wrong_with_a_file(self, tmp_path: Path) -> None:
        savepoint = copy_of(Sample("states-2.2.1-hashmap-native"), tmp_path)
        file = file_of(savepoint, "stateful 0: keyed state")
        file.write_bytes(file.read_bytes()[:-100])
        scan = savepoint.scan("stateful.keyed_state")
        with pytest.raises(FormatError, match="operator stateful") as error:
            scan.to_arrow()
        with pytest.raises(duckdb.Error) as told:
            scan.to_duckdb().fetchall()
        assert str(error.value) in str(told.value)

    @pytest.mark.parametrize("name", ["polars", "pandas"])
    def test_name_the_package_that_is_not_installed(
        self, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # This is how Python itself says that there is no such package.
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(
            MissingPackageError, match=f"^{name} is not installed; install the extra"
        ):
            getattr(keyed_state(), f"to_{name}")()


class TestShown:
    def test_on_one_line(self) -> None:
        assert repr(keyed_state()) == "TableScan('stateful.keyed_state')"
        scan = keyed_state()
        assert repr(replace(scan, name="a\nb")) == r"TableScan('a\nb.keyed_state')"

    def test_in_a_notebook_with_columns_and_splits(self) -> None:
        html = keyed_state(columns=("key", "memos"))._repr_html_()
        assert html.startswith("<p>stateful.keyed_state, read in 2 splits</p>")
        assert "<tr><td>memos</td><td>list&lt;" in html
