"""A condition that rejects rows without a state leaves other states unread, and gives the same rows."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from support.sample_rows import Sample, copy_of, samples
from support.slow_cases import slow_unless, stands_for_others

from savepoint_database.rows.row_condition import FilteredScan
from savepoint_formats.state_files.state import StateKind
from state_processor import SavepointError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from savepoint_formats.scan import TableScan
    from state_processor import Savepoint

TABLE = "stateful.keyed_state"
STATES = Sample("states-2.2.1-hashmap-canonical")
NATIVE = Sample("states-2.2.1-rocksdb-native")


def keyed_tables(savepoint: Savepoint) -> Iterator[TableScan]:
    """Whole reads of the tables that have a row per key."""
    savepoint = savepoint.with_forms(undescribed_subclasses="bytes")
    for operator in savepoint.operators():
        for table in operator.tables:
            if table.states[0].kind.is_keyed and table.states[0].kind is not StateKind.TIMERS:
                yield savepoint.scan(f"{operator.name}.{table.name}")


def rows(filtered: FilteredScan) -> list[str]:
    batches = (batch for split in filtered.scan.splits() for batch in filtered.read(split))
    return sorted(str(row) for batch in batches for row in batch.to_pylist())


@pytest.mark.parametrize("sample", slow_unless(stands_for_others, samples()), ids=str)
def test_rows_are_those_of_a_whole_read(sample: Sample) -> None:
    count = 0
    for scan in keyed_tables(sample.open()):
        whole = pa.Table.from_batches(scan.batches(), scan.schema).to_pylist()
        names = [column.name for column, _ in scan.shown.state_columns()]
        for first, second in pairwise([*names, names[0]]):
            expected = [row for row in whole if None not in (row[first], row[second])]
            where = f'"{first}" IS NOT NULL AND "{second}" IS NOT NULL'
            filtered = FilteredScan.of(scan, where, ("key", first, second))
            assert filtered.scan.options.is_narrow
            shown = [{name: row[name] for name in ("key", first, second)} for row in expected]
            assert rows(filtered) == sorted(map(str, shown))
            count += len(expected)
    assert count or not any("keyed_state" in state for state in sample.operators().values())


@pytest.mark.parametrize(
    ("where", "is_narrow"),
    [
        ("balance IS NOT NULL", True),
        ("balance > '1'", True),
        ("customer.age BETWEEN 1 AND 99", True),
        ("balance > '1' OR last_id = 5", True),
        ("last_id IN (1, 2) AND NOT (balance = '1')", True),
        ("last_id + 1 > 0", True),
        ("balance > '1' OR last_id IS NULL", False),
        ("coalesce(last_id, 1) = 1", False),
        ("last_id IS DISTINCT FROM 5", False),
        ("key = 'customer-001' AND balance IS NOT NULL", False),
        ("random() > 1 OR last_id > 5", False),
        ("length(balance) > 2", False),
        ("last_id > 3 OR current_timestamp < TIMESTAMP '2000-01-01'", False),
        ("CAST(coalesce(CAST(last_id AS VARCHAR), '0x') AS INT) > 3 OR last_id IS NULL", False),
        ("1 = 0", False),
        ("COLUMNS('last_id') > 5", False),
    ],
)
def test_only_conditions_that_reject_nulls_are_narrow(where: str, is_narrow: bool) -> None:
    scan = STATES.open().scan(TABLE)
    filtered = FilteredScan.of(scan, where)
    assert filtered.scan.options.is_narrow is is_narrow
    narrow = FilteredScan.of(scan, where, ("key",))
    assert narrow.scan.options.is_narrow is is_narrow
    whole = FilteredScan(scan, filtered.condition, ("key",))
    assert rows(narrow) == rows(whole)


def test_a_condition_may_fail_for_a_row_that_is_not_there() -> None:
    """Each key has a total; a row without one would be the text ``none``, which is no number."""
    scan = Sample("currency-2.2.1-rocksdb-canonical").open().scan("summarize.keyed_state")
    where = "CAST(coalesce(CAST(total AS VARCHAR), 'none') AS DOUBLE) > -1e9"
    filtered = FilteredScan.of(scan, where, ("key",))
    assert not filtered.scan.options.is_narrow
    assert len(rows(filtered)) == scan.count()


def test_flat_views_stay_as_they_are() -> None:
    flat = STATES.open().scan(TABLE, flat="memos")
    assert not FilteredScan.of(flat, "list_value > 'a'").scan.options.is_narrow


def is_readable(scan: TableScan, where: str) -> bool:
    try:
        rows(FilteredScan.of(scan, where, ("key", "balance")))
    except SavepointError:
        return False
    return True


def test_files_of_other_states_are_not_opened(tmp_path: Path) -> None:
    savepoint = copy_of(NATIVE, tmp_path)
    files = [file for file in savepoint.files() if "('stateful 0: 00" in str(file.references)]
    readable = []
    for table in (Path(savepoint.path, file.location or file.path) for file in files):
        content = table.read_bytes()
        # The first block; what tables are about stands at their ends.
        table.write_bytes(bytes(16) + content[16:])
        scan = savepoint.scan(TABLE)
        readable.append((is_readable(scan, "balance > ''"), is_readable(scan, "key > ''")))
        table.write_bytes(content)
    # One file has the balances; others have other states, or timers.
    assert readable.count((False, False)) == 1
    assert readable.count((True, False)) >= 10
    assert (False, True) not in readable


@pytest.mark.parametrize("sample", [STATES, NATIVE], ids=str)
@pytest.mark.parametrize(
    ("condition", "is_kept"),
    [
        ("balance IS NOT NULL", lambda row: row["balance"] is not None),
        ("last_id > 3", lambda row: row["last_id"] is not None and row["last_id"] > 3),
        (
            "last_id > 3 OR balance IS NULL",
            lambda row: row["balance"] is None or row["last_id"] > 3,
        ),
    ],
)
def test_queries_in_sql_have_the_same_rows(
    sample: Sample, condition: str, is_kept: Callable[[dict[str, Any]], bool]
) -> None:
    savepoint = sample.open()
    whole = savepoint.scan(TABLE, columns=["key", "balance", "last_id"]).to_arrow().to_pylist()
    expected = [row["key"] for row in whole if is_kept(row)]
    query = f"SELECT key FROM {TABLE} WHERE {condition}"
    assert sorted(row["key"] for row in savepoint.sql(query).to_pylist()) == sorted(expected)
