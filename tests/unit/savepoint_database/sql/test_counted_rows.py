"""``count(*)`` uses no values, so times with nanoseconds don't stop it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.commands import run
from support.counted_calls import calls_in
from support.hand_made import (
    LONG,
    MAX_PARALLELISM,
    canonical_base,
    encoded,
    entry_identity,
    header,
    meta_info,
    operator_of,
)
from support.sample_rows import Sample, copy_of

from savepoint_database.sql.scan_dataset import ScanDataset, SqlRows
from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.errors import FormatError, InexactTimeError
from savepoint_formats.hashing.key_hash import java_hash
from savepoint_formats.key_groups.ranges import key_group
from savepoint_formats.layout import Long, VoidNamespace
from savepoint_formats.metadata import (
    CheckpointMetadata,
    OperatorStateHandle,
    RelativeFile,
    SubtaskState,
)
from savepoint_formats.scan.read_options import ReadOptions
from savepoint_formats.snapshots.nested import snapshot_bytes
from state_processor import Savepoint, Types

if TYPE_CHECKING:
    import pyarrow as pa

INSTANT = Types.INSTANT()
KEYS = [{"seconds": second, "nanos": 123_456_789} for second in range(-3, 7)]


def savepoint_in(folder: Path, state: str) -> Savepoint:
    layouts = (INSTANT.layout, VoidNamespace())
    entries = [
        (
            key_group(java_hash(INSTANT.layout, key), MAX_PARALLELISM),
            0,
            entry_identity(key, None, layouts),
            encoded(Long(), number),
        )
        for number, key in enumerate(KEYS)
    ]
    head = header(meta_info(state, "VALUE", LONG), key=snapshot_bytes(INSTANT.snapshot))
    subtask = SubtaskState(0, managed_keyed_state=canonical_base(head, entries))
    view = DataOutputView()
    CheckpointMetadata.new((operator_of(subtask),)).write(view)
    (folder / "_metadata").write_bytes(view.to_bytes())
    return Savepoint.open(str(folder), uids=["a"])


@pytest.fixture
def savepoint(tmp_path: Path) -> Savepoint:
    return savepoint_in(tmp_path, "n")


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("SELECT count(*) AS c FROM a.keyed_state", 10),
        ("SELECT count(*) AS c FROM a.keyed_state WHERE n > 3", 6),
        ("SELECT count(*) AS c FROM a.keyed_state AS l, a.keyed_state AS r", 100),
        ("SELECT count(1) + 1 AS c FROM a.keyed_state", 11),
        ('SELECT count(*) AS c FROM (SELECT n AS "42" FROM a.keyed_state)', 10),
    ],
)
def test_rows_are_counted(savepoint: Savepoint, query: str, count: int) -> None:
    assert savepoint.sql(query).to_pylist() == [{"c": count}]
    code, output = run("query", savepoint.path, query, "--uid", "a", "--output", "json")
    assert (code, output.splitlines()[0]) == (0, f'{{"c": {count}}}')


@pytest.mark.parametrize(
    "query",
    [
        "SELECT key FROM a.keyed_state",
        "SELECT count(*) AS c, max(key) AS k FROM a.keyed_state",
        "SELECT count(*) AS c FROM a.keyed_state WHERE key > '1970-01-01'",
        "SELECT count(*) AS c, 42 AS n FROM a.keyed_state GROUP BY key",
        "SELECT count(DISTINCT key) AS c FROM a.keyed_state",
        'SELECT key AS "42" FROM a.keyed_state',
        "SELECT (SELECT count(*) FROM a.keyed_state) AS c, key FROM a.keyed_state",
    ],
)
def test_values_of_times_are_not_cut(savepoint: Savepoint, query: str) -> None:
    with pytest.raises(
        InexactTimeError, match="does not fit a timestamp of microseconds"
    ) as caught:
        savepoint.sql(query)
    assert "Spark" not in str(caught.value)


@pytest.mark.parametrize(("counted", "decoded"), [(("key",), 0), ((), 1)])
def test_only_columns_that_are_not_counted_are_decoded(
    savepoint: Savepoint, counted: tuple[str, ...], decoded: int
) -> None:
    options = ReadOptions(nanoseconds="truncate")
    scan = replace(savepoint.scan("a.keyed_state"), options=options)
    dataset = ScanDataset(SqlRows(scan))
    dataset.counted = frozenset({counted})
    batches: list[pa.RecordBatch] = []
    calls = calls_in(lambda: batches.extend(dataset.scanner(["key"]).to_reader()))
    assert calls["decode.decode"] == decoded
    assert sum(batch.num_rows for batch in batches) == len(KEYS)
    assert sum(batch.column("key").null_count for batch in batches) == (0 if decoded else len(KEYS))


def test_a_column_is_not_taken_for_a_count_by_its_name(tmp_path: Path) -> None:
    """DuckDB shows the constant that it counts like a column of this name."""
    savepoint = savepoint_in(tmp_path, "42")
    assert savepoint.sql('SELECT sum("42") AS s FROM a.keyed_state').to_pylist() == [{"s": 45}]


@pytest.mark.parametrize(
    ("query", "values"),
    [
        ('SELECT n + 1 AS "42" FROM a.keyed_state', [*range(1, 11)]),
        ('SELECT sum("42") FROM (SELECT n * 2 AS "42" FROM a.keyed_state)', [90]),
        ('WITH w("42") AS (SELECT n + 1 FROM a.keyed_state) SELECT count("42") FROM w', [10]),
        ('SELECT "42" FROM (SELECT n % 2 AS "42" FROM a.keyed_state) GROUP BY 1', [0, 1]),
        (r"SELECT max(COLUMNS('(n)')) AS '4\1' FROM a.keyed_state", [9]),
        (r"SELECT sum(x) FROM (SELECT n + 1 AS '42' FROM a.keyed_state) AS t(x)", [55]),
        ('SELECT sum("count_star()") FROM (SELECT n AS "count_star()" FROM a.keyed_state)', [45]),
        ('SELECT max("42") AS "count_star()" FROM (SELECT n + 1 AS "42" FROM a.keyed_state)', [10]),
    ],
)
def test_values_are_not_taken_for_a_count_by_an_alias(
    tmp_path: Path, query: str, values: list[int]
) -> None:
    rows = savepoint_in(tmp_path, "n").sql(query).to_pylist()
    assert sorted(value for row in rows for value in row.values()) == values


def test_a_count_does_not_read_damaged_values(tmp_path: Path) -> None:
    savepoint = copy_of(Sample("states-2.2.1-rocksdb-native"), tmp_path)
    for subtask in savepoint.operator("buffer").record.subtasks:
        handle = subtask.managed_operator_state
        assert isinstance(handle, OperatorStateHandle)
        assert isinstance(handle.stream, RelativeFile)
        (elements,) = (state for state in handle.states if state.name == "elements")
        file = Path(savepoint.path, handle.stream.path)
        content, begin = file.read_bytes(), elements.offsets[0]
        file.write_bytes(content[:begin] + b"\xff" * (len(content) - begin))
    for counted, rows in (("buffer.elements", 18), ("buffer.elements AS l, buffer.elements", 324)):
        query = f"SELECT count(*) AS c FROM {counted}"
        assert savepoint.sql(query).to_pylist() == [{"c": rows}]
    with pytest.raises(FormatError):
        savepoint.sql("SELECT count(value) FROM buffer.elements")
    assert savepoint.verify().faults
