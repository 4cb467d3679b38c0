"""RocksDB state: entries that were changed, deleted and merged, in databases made here."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rocksdict import BottommostLevelCompaction, CompactOptions, Rdict
from support.nightly import examples
from support.rocksdb_databases import (
    SMALL,
    Entries,
    Reader,
    both,
    delete,
    files_of,
    make,
    numbered,
    plain_tables,
    put,
    read,
    read_by_rocksdb,
    table_options,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

pytestmark = pytest.mark.usefixtures("both_ways")


@both
def test_newer_tables_hide_older_ones(tmp_path: Path, reader: Reader) -> None:
    first, second = numbered(range(5), 10), {b"\1new": b"1", b"\1old": b"2"}
    third = {b"\1old": b"3", **dict.fromkeys(list(first)[::3], b"changed")}
    gone = [*list(first)[::7], b"\1new", b"\1never"]
    files = make(tmp_path, put(first), put(second), put(third), delete(*gone))
    expected = {key: value for key, value in (first | second | third).items() if key not in gone}
    for size in (1, SMALL, 1 << 20):
        assert reader(files, size=size) == sorted(expected.items())


@both
def test_a_key_comes_back_after_its_deletion(tmp_path: Path, reader: Reader) -> None:
    files = make(tmp_path, put({b"\1a": b"1"}), delete(b"\1a"), put({b"\1a": b"2"}))
    assert reader(files) == [(b"\1a", b"2")]


@both
def test_levels_are_merged(tmp_path: Path, reader: Reader) -> None:
    old, new = numbered(range(100), 30), dict.fromkeys(numbered(range(50), 5), b"new")
    compact = CompactOptions()
    compact.set_bottommost_level_compaction(BottommostLevelCompaction.force())
    files = make(
        tmp_path,
        put(old),
        lambda state: state.compact_range(None, None, compact),
        put(new),
        options=table_options(target_file_size_base=4096),
    )
    assert len(files.ssts) > 3
    assert reader(files, size=1000) == sorted((old | new).items())


def turn_into_operands(table: Path, keys: Iterable[bytes]) -> None:
    """Makes merge operands of puts: the type is the first byte of what follows a key."""
    data = bytearray(table.read_bytes())
    for key in keys:
        at = data.index(key + b"\1") + len(key)
        data[at] = 2
    table.write_bytes(data)


@both
def test_merge_operands_of_several_tables_are_joined_by_commas(
    tmp_path: Path, reader: Reader
) -> None:
    first = {b"\1base": b"0", b"\1deleted": b"0", b"\2over": b"0", b"\2same": b"0"}
    second = {b"\1base": b"1", b"\2none": b"1", b"\2over": b"1"}
    third = {b"\1base": b"", b"\1deleted": b"2", b"\2none": b"2,2"}
    fourth = {b"\2over": b"3"}
    files = make(
        tmp_path,
        put(first),
        put(second),
        delete(b"\1deleted"),
        put(third),
        put(fourth),
        options=plain_tables(),
    )
    turn_into_operands(files.ssts[1], second)
    turn_into_operands(files.ssts[3], third)
    assert reader(files) == [
        (b"\1base", b"0,1,"),
        (b"\1deleted", b"2"),
        (b"\2none", b"1,2,2"),
        (b"\2over", b"3"),
        (b"\2same", b"0"),
    ]


KEYS = [bytes([group]) + b"key-%d\0" % number for group in (3, 4, 9) for number in range(4)]
BATCHES = st.lists(
    st.dictionaries(
        st.sampled_from(KEYS),
        st.tuples(st.sampled_from(["put", "merge", "delete"]), st.binary(max_size=5)),
        min_size=1,
    ),
    min_size=1,
    max_size=5,
)


@settings(max_examples=examples(25))
@given(BATCHES, st.sampled_from([1, SMALL, 1 << 20]))
def test_any_history_ends_as_in_rocksdb(
    batches: list[dict[bytes, tuple[str, bytes]]], size: int
) -> None:
    def write(batch: dict[bytes, tuple[str, bytes]]) -> Callable[[Rdict], None]:
        def write(state: Rdict) -> None:
            for key, (verb, value) in batch.items():
                if verb == "delete":
                    del state[key]
                else:
                    state[key] = value

        return write

    model: Entries = {}
    for batch in batches:
        for key, (verb, value) in batch.items():
            if verb == "delete":
                model.pop(key, None)
            elif verb == "merge" and key in model:
                model[key] += b"," + value
            else:
                model[key] = value
    with tempfile.TemporaryDirectory() as folder:
        files = make(Path(folder), *map(write, batches), options=plain_tables())
        for table, batch in zip(files.ssts, batches, strict=True):
            turn_into_operands(table, [key for key in batch if batch[key][0] == "merge"])
        assert read(files, size=size) == sorted(model.items())
        assert read_by_rocksdb(files, size=size) == sorted(model.items())


@both
def test_a_state_without_a_column_family_is_empty(tmp_path: Path, reader: Reader) -> None:
    assert reader(make(tmp_path, put({b"\1a": b"1"})), "unknown") == []


@both
def test_a_state_whose_name_is_empty_is_read(tmp_path: Path, reader: Reader) -> None:
    # RocksDB notes no empty name in a table.
    database = Rdict(str(tmp_path / "db"), table_options())
    for name in ("", "other"):
        state = database.create_column_family(name, table_options())
        put({b"\1a": name.encode() or b"none"})(state)
        state.flush()
        state.close()
    database.close()
    files = files_of(tmp_path / "db")
    assert reader(files, "") == [(b"\1a", b"none")]
    assert reader(files, "other") == [(b"\1a", b"other")]
    assert reader(files, "default") == []


@both
def test_a_state_without_entries_is_empty(tmp_path: Path, reader: Reader) -> None:
    files = make(tmp_path)
    assert files.ssts == []
    assert reader(files) == []
    assert reader(files, "default") == []
