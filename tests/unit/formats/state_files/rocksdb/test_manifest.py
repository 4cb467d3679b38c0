"""A manifest says which tables there are: the same that RocksDB itself says."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from rocksdict import Rdict
from support.rocksdb_databases import Files, files_of, make, put, table_options

from savepoint_formats.checks.rocksdb_faults import directory_faults
from savepoint_formats.errors import FormatError
from savepoint_formats.state_files.rocksdb.manifest import (
    has_former_keys,
    live_tables,
    version_edits,
)
from savepoint_formats.state_files.rocksdb.states import SstFiles

if TYPE_CHECKING:
    from pathlib import Path

    from savepoint_formats.locations.state_file import StateFile

FAMILIES = ("merged", "moved", "dropped")
# Keys are in version edits, so that these do not all fit into a block of the log.
KEY_SIZE, ROUNDS = 500, 25


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, frozenset[int]]:
    """A database whose tables have come, gone and moved, and the numbers of those that it has."""
    folder = tmp_path_factory.mktemp("rocksdb") / "db"
    database = Rdict(str(folder), table_options())
    families = [database.create_column_family(name, table_options()) for name in FAMILIES]
    for number in range(ROUNDS):
        for name, family in zip(FAMILIES, families, strict=True):
            for key in (0, ROUNDS) if name == "merged" else (number,):
                family[key.to_bytes(KEY_SIZE)] = b"value"
            family.flush()
    for family in families[:2]:
        family.compact_range(None, None)
    for family in families:
        family.close()
    database.drop_column_family("dropped")
    names = [one["name"].strip("/") for one in database.live_files()]
    database.close()
    return folder, frozenset(int(name.removesuffix(".sst")) for name in names)


def manifest_of(files: Files) -> StateFile:
    (_, manifest) = files.handle.private
    return files.directory.file(manifest.stream)


def test_the_tables_are_those_that_rocksdb_tells(database: tuple[Path, frozenset[int]]) -> None:
    folder, numbers = database
    files = files_of(folder)
    tables = live_tables(manifest_of(files))
    assert tables is not None
    assert frozenset(tables) == numbers
    assert len(numbers) == 1 + ROUNDS + 0
    assert sum(map(len, version_edits(manifest_of(files)))) > 32 << 10
    kept = [one for one in files.handle.shared if int(one.name.removesuffix(".sst")) in numbers]
    assert len(kept) == len(numbers)


def test_keys_of_removed_tables_are_told(
    database: tuple[Path, frozenset[int]], tmp_path: Path
) -> None:
    assert has_former_keys(manifest_of(files_of(database[0])))
    assert not has_former_keys(manifest_of(make(tmp_path, put({b"a": b"1"}), put({b"b": b"2"}))))


def test_tables_that_are_not_listed_or_not_there_are_told(
    database: tuple[Path, frozenset[int]],
) -> None:
    folder, numbers = database
    files = files_of(folder)
    told = {fault.problem for fault in directory_faults(files.directory, files.handle)}
    obsolete = {one.name for one in files.handle.shared} - {f"{one:06}.sst" for one in numbers}
    assert told == {f"the handle has {one}, which the manifest does not list" for one in obsolete}


def test_a_manifest_that_is_cut_is_told(
    database: tuple[Path, frozenset[int]], tmp_path: Path
) -> None:
    manifest = manifest_of(files_of(database[0]))
    whole = manifest.read()
    for size in (len(whole) - 1, 5):
        (tmp_path / "MANIFEST-000001").write_bytes(whole[:size])
        (tmp_path / "CURRENT").write_bytes(b"MANIFEST-000001\n")
        with pytest.raises(FormatError):
            live_tables(manifest_of(files_of(tmp_path)))


class TestTablesThatAReadNeeds:
    """Tables of two states, each of two key groups, and one of all key groups."""

    @pytest.fixture(scope="class")
    @classmethod
    def files(cls, tmp_path_factory: pytest.TempPathFactory) -> Files:
        folder = tmp_path_factory.mktemp("needed") / "db"
        database = Rdict(str(folder), table_options())
        for name in ("first", "second"):
            family = database.create_column_family(name, table_options())
            for groups in ((0, 1), (2, 3), (4, 5)) + (((0, 5),) if name == "first" else ()):
                for group in groups:
                    family[bytes([group]) + b"key"] = b"value"
                family.flush()
            family.close()
        database.close()
        return files_of(folder)

    @pytest.mark.parametrize(
        ("states", "bounds", "expected"),
        [
            (["first"], (b"\1", b"\2"), {("first", 0), ("first", 3)}),
            (["second"], (b"\1", b"\2"), {("second", 0)}),
            (["second"], (b"\1", b"\3"), {("second", 0), ("second", 1)}),
            (["first", "second"], (b"\5", b"\6"), {("first", 2), ("first", 3), ("second", 2)}),
            (["first", "second"], (b"\6", b"\7"), set()),
            (["third"], (b"\0", b"\7"), set()),
        ],
    )
    def test_are_opened_and_no_others(
        self,
        files: Files,
        states: list[str],
        bounds: tuple[bytes, bytes],
        expected: set[tuple[str, int]],
    ) -> None:
        opened = SstFiles(files.directory, files.handle, None).open(states, bounds)
        assert {_place(table.table.path, files) for table in opened} == expected

    def test_are_all_where_no_manifest_says_what_they_have(self, files: Files) -> None:
        private = tuple(file for file in files.handle.private if file.name == "CURRENT")
        handle = replace(files.handle, private=private)
        assert len(SstFiles(files.directory, handle, None).open(["first"], (b"\1", b"\2"))) == 7

    def test_are_all_where_all_keys_are_wanted(self, files: Files) -> None:
        assert len(SstFiles(files.directory, files.handle, None).open(["first"], None)) == 7


def _place(path: str, files: Files) -> tuple[str, int]:
    """The state of a table, and how many tables of the state were written before it."""
    number = sorted(file.name for file in files.handle.shared).index(path.rpartition("/")[2])
    return ("first", number) if number < 4 else ("second", number - 4)
