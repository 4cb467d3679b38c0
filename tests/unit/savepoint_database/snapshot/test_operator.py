"""Operators called by the first digits of their hashes, as commits are in git."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

import pytest
from support.sample_rows import Sample, copy_of, file_of

from savepoint_database.snapshot.operator import short_ids
from savepoint_formats.errors import (
    AmbiguousOperatorError,
    OperatorNotFoundError,
    StateFileNotFoundError,
)
from savepoint_formats.key_groups.operator_id import OperatorId
from state_processor import Savepoint

WINDOWS = "windows-1.20.5-hashmap-canonical"
HASH = "1228afe0298b7812a54a8a47f0a2c61f"


@pytest.fixture
def windows(samples: Path) -> Savepoint:
    return Savepoint.open(samples / WINDOWS)


def alike_uids(digits: int) -> tuple[str, str]:
    """Two uids whose hashes begin alike."""
    known: dict[str, str] = {}
    for number in count():
        uid = f"uid-{number}"
        start = str(OperatorId.from_uid(uid))[:digits]
        if start in known:
            return known[start], uid
        known[start] = uid
    raise AssertionError


@pytest.fixture
def alike(windows: Savepoint, tmp_path: Path) -> tuple[Savepoint, str, str]:
    """A savepoint with two operators whose hashes begin alike; and these hashes."""
    uids = alike_uids(5)
    writer = windows.rename_operator(HASH, uids[0]).rename_operator("06873195", uids[1])
    writer.write(tmp_path / "alike")
    ids = [str(OperatorId.from_uid(uid)) for uid in uids]
    return Savepoint.open(tmp_path / "alike"), ids[0], ids[1]


@pytest.mark.parametrize("name", [HASH, HASH[:8], HASH[:4], HASH[:9].upper()])
def test_an_operator_by_the_first_digits_of_its_hash(name: str, windows: Savepoint) -> None:
    assert windows.operator(name).id == HASH
    assert str(windows.writer().operator(name).operator_id) == HASH
    table = f"{name}.window_state"
    assert windows.scan(table).full_name == f"{HASH}.window_state"
    assert windows.schema(table) == windows.schema(f"{HASH}.window_state")
    assert windows.stats(table).states[0].operator == HASH
    assert {rows.operator for rows in windows.key(1, operator=name).tables} == {HASH}
    (difference,) = windows.diff(windows, table).table_names
    assert difference == f"{HASH}.window_state"


def test_an_operator_of_sql_by_the_first_digits_of_its_hash(windows: Savepoint) -> None:
    expected = windows.sql(f'SELECT count(*) AS n FROM "{HASH}".window_state')
    assert expected.to_pylist() == [{"n": 27}]
    for name in (HASH[:8], HASH[:4]):
        assert windows.sql(f'SELECT count(*) AS n FROM "{name}".window_state') == expected
    # A name for a table in a query may look like the first digits of a hash.
    aliased = f'SELECT c9e0.key FROM "{HASH}".window_state AS c9e0'
    assert windows.sql(aliased).num_rows == 27


def test_the_type_of_keys_by_the_first_digits(samples: Path) -> None:
    opened = Savepoint.open(samples / WINDOWS, key_types={HASH[:6]: "INT"})
    assert opened.operator(HASH).key_type is not None


@pytest.mark.parametrize("name", [HASH[:3], "ffff", HASH + "0"])
def test_what_is_the_beginning_of_no_hash(name: str, windows: Savepoint) -> None:
    for call in (windows.operator, windows.writer().operator):
        with pytest.raises(OperatorNotFoundError, match=f"has no operator '{name}'; it has: "):
            call(name)


def test_digits_of_several_operators(alike: tuple[Savepoint, str, str]) -> None:
    savepoint, *ids = alike
    digits = ids[0][:4]
    calls: list[Any] = [
        lambda: savepoint.operator(digits),
        lambda: savepoint.writer().operator(digits),
        lambda: savepoint.scan(f"{digits}.window_state"),
        lambda: savepoint.key(1, operator=digits),
        lambda: savepoint.sql(f'FROM "{digits}".window_state'),
        lambda: Savepoint.open(savepoint.path, key_types={digits: "INT"}),
    ]
    for call in calls:
        with pytest.raises(AmbiguousOperatorError) as caught:
            call()
        message = f"several operators whose hash begins with {digits}: {', '.join(sorted(ids))}"
        assert message in str(caught.value)


def test_a_uid_goes_before_digits(windows: Savepoint, tmp_path: Path) -> None:
    windows.rename_operator("06873195", HASH[:8]).write(tmp_path / "renamed")
    savepoint = Savepoint.open(tmp_path / "renamed", uids=[HASH[:8]])
    assert savepoint.operator(HASH[:8]).uid == HASH[:8]
    assert savepoint.operator(HASH[:9]).id == HASH
    assert savepoint.short_ids()[HASH] == HASH[:9]


def test_the_shortest_digits_that_stand_for_no_other(alike: tuple[Savepoint, str, str]) -> None:
    savepoint, *_ = alike
    for operator_id, digits in savepoint.short_ids().items():
        assert operator_id.startswith(digits)
        assert len(digits) == 8
    ids = ["0123456789" + "a" * 22, "0123456789" + "b" * 22, "0123456700" + "a" * 22]
    assert short_ids(dict.fromkeys(ids)) == {
        ids[0]: "0123456789a",
        ids[1]: "0123456789b",
        ids[2]: "012345670",
    }


def test_a_table_of_a_missing_file_is_never_left_out_in_silence(tmp_path: Path) -> None:
    opened = copy_of(Sample("currency-2.2.1-hashmap-canonical"), tmp_path)
    assert "keyed_state" in [table.name for table in opened.operator("summarize").tables]
    for subtask in range(opened.operator("summarize").record.parallelism):
        file_of(opened, f"summarize {subtask}: keyed state").unlink(missing_ok=True)
    operator = Savepoint.open(opened.path, uids=["summarize"]).operator("summarize")
    with pytest.raises(StateFileNotFoundError, match="operator summarize"):
        operator.tables  # noqa: B018  # a property that raises
    assert "keyed_state" in operator.unread_tables
    assert "keyed_state" not in [table.name for table in operator.readable_tables]


@pytest.mark.parametrize("backend", ["hashmap-canonical", "rocksdb-native"])
def test_rows_of_a_snapshot_that_was_deleted_meanwhile_are_an_error_that_says_so(
    tmp_path: Path, backend: str
) -> None:
    opened = copy_of(Sample(f"currency-2.2.1-{backend}"), tmp_path)
    table = "summarize.keyed_state"
    scan, metadata = opened.scan(table), Path(opened.path, "_metadata").read_bytes()
    assert scan.to_arrow().num_rows
    for path in Path(opened.path).iterdir():
        path.unlink()
    reads = (
        scan.to_arrow,
        lambda: opened.sql(f"SELECT sum(total) FROM {table}"),
        lambda: opened.rename_operator("summarize", "sums").write(str(tmp_path / "copied")),
    )
    for read in reads:
        with pytest.raises(StateFileNotFoundError, match=r"it was deleted while .* a newer one"):
            read()
    Path(opened.path, "_metadata").write_bytes(metadata)
    with pytest.raises(StateFileNotFoundError, match="no file of its name is beside _metadata"):
        Savepoint.open(opened.path, uids=["summarize"]).scan(table)


def test_an_operator_is_called_by_the_name_that_flink_2_stores(samples: Path) -> None:
    opened = Savepoint.open(samples / "sql-2.2.1-rocksdb-native")
    operator = opened.operator("WindowAggregate[8]")
    assert operator.uid == "8_window-aggregate"
    assert opened.writer().operator("WindowAggregate[8]").name == operator.name
    table = operator.tables[0].name
    by_name = opened.scan(f"WindowAggregate[8].{table}").to_arrow()
    assert by_name.equals(opened.scan(f"{operator.uid}.{table}").to_arrow())
    by_sql = opened.sql(f'SELECT count(*) AS count FROM "WindowAggregate[8]".{table}')
    assert by_sql["count"].to_pylist() == [by_name.num_rows]
    # Names are not unique, unlike uids.
    with pytest.raises(
        AmbiguousOperatorError, match="several operators of the name 'Sink: Writer'"
    ):
        Savepoint.open(samples / "windows-2.2.1-rocksdb-native").operator("Sink: Writer")
