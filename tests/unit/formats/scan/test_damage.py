"""Damaged files: an error that tells where, and never a crash, a hang or a heap of memory."""

from __future__ import annotations

import pickle
import random
import resource
from typing import TYPE_CHECKING

import pytest
from support.sample_rows import Sample, copy_of, file_of
from support.slow_cases import slow_unless

from savepoint_formats.errors import FormatError, SavepointError, StateTypeError, TruncatedError
from savepoint_formats.metadata import KeyGroupsHandle
from savepoint_formats.scan.splits import KeyedSplit
from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from savepoint_formats.scan.scan import TableScan

CANONICAL = Sample("currency-1.20.5-hashmap-canonical")
COMPRESSED = Sample("states-1.20.5-hashmap-compressed")
HEAP = Sample("currency-2.2.1-hashmap-native")
ROCKSDB = Sample("currency-2.2.1-rocksdb-native")
INCREMENTAL = Sample("states-2.2.1-rocksdb-incremental")

KINDS = [
    CANONICAL,
    COMPRESSED,
    Sample("sql-1.20.5-rocksdb-native"),
    Sample("states-2.2.1-rocksdb-filemerging"),
    Sample("windows-2.2.1-hashmap-native"),
    Sample("states-2.2.1-rocksdb-heaptimers"),
    Sample("states-1.20.5-hashmap-changelog"),
]
MEMORY = 3 << 30
"""Bytes that a damaged savepoint of a few KB may make a process of a few hundred MB take."""


def read_all(scan: TableScan) -> int:
    return sum(batch.num_rows for split in scan.splits() for batch in scan.read(split))


def outcome(scan: TableScan) -> int | SavepointError:
    """The number of rows, or what is wrong."""
    try:
        return read_all(scan)
    except SavepointError as error:
        return error


def error_of(savepoint: Savepoint, table: str) -> SavepointError:
    with pytest.raises(SavepointError) as raised:
        read_all(reopened(savepoint).scan(table))
    return raised.value


def reopened(savepoint: Savepoint) -> Savepoint:
    """The savepoint after its files changed: what it told before may be of the whole ones."""
    uids = [operator.uid for operator in savepoint.operators() if operator.uid is not None]
    return Savepoint.open(savepoint.path, uids=uids)


def section_starts(savepoint: Savepoint, uid: str, subtask: int = 0) -> dict[int, int]:
    """Key group -> where its section begins, of those that have one, as the handle says."""
    handle = savepoint.operator(uid).record.subtasks[subtask].managed_keyed_state
    assert isinstance(handle, KeyGroupsHandle)
    pairs = zip(handle.key_groups, handle.groups.offsets, strict=True)
    return {key_group: offset for key_group, offset in pairs if offset > 0}


def overwrite(file: Path, offset: int, data: bytes) -> None:
    whole = bytearray(file.read_bytes())
    whole[offset : offset + len(data)] = data
    file.write_bytes(bytes(whole))


class TestCanonicalFile:
    @pytest.fixture
    def savepoint(self, tmp_path: Path) -> Savepoint:
        return copy_of(CANONICAL, tmp_path)

    @pytest.fixture
    def file(self, savepoint: Savepoint) -> Path:
        return file_of(savepoint, "summarize 0: keyed state")

    @pytest.mark.parametrize(
        ("distance", "data", "message"),
        [
            (0, b"\x00\x09", "state 9 of 2"),
            (2, b"\x7f\xff\xff\xff", "the key group has no end mark"),
            (2, b"\xff\xff\xff\xff", "a key or value of -1 bytes"),
            (2, b"\x00\x00\x00\x00", "a key or value of 0 bytes"),
        ],
    )
    def test_a_damaged_section_is_told_with_all_that_is_known(
        self, savepoint: Savepoint, file: Path, distance: int, data: bytes, message: str
    ) -> None:
        key_group, start = list(section_starts(savepoint, "summarize").items())[2]
        overwrite(file, start + distance, data)
        error = error_of(savepoint, "summarize.keyed_state")
        assert isinstance(error, FormatError)
        assert (error.path, error.message) == (file.name, message)
        assert start <= error.offset <= start + 4
        for place in (
            f"key group {key_group}",
            "operator summarize",
            "table keyed_state",
            "subtask 0",
        ):
            assert place in error.places
        if distance:
            assert error.places[0] in ("state 'total'", "state 'count'")
        assert str(error) == (
            f"{file.name} at byte {error.offset}: {message}; in {', '.join(error.places)}"
        )

    def test_a_damaged_key_is_told_with_its_states(self, savepoint: Savepoint, file: Path) -> None:
        key_group, start = next(iter(section_starts(savepoint, "summarize").items()))
        # State, size and prefix come first, then four bytes of key, then the empty namespace.
        overwrite(file, start + 2 + 4 + 1 + 4, b"\x01")
        error = error_of(savepoint, "summarize.keyed_state")
        assert isinstance(error, FormatError)
        assert (error.path, error.offset) == (file.name, start + 11)
        assert f"key group {key_group}" in error.places
        assert error.places[0] in ("state 'total'", "state 'count'")

    def test_a_value_of_another_size_is_told_with_its_state(
        self, savepoint: Savepoint, file: Path
    ) -> None:
        key_group, start = next(iter(section_starts(savepoint, "summarize").items()))
        size_at = start + 2 + 4 + 6
        size = int.from_bytes(file.read_bytes()[size_at : size_at + 4])
        data = file.read_bytes()
        # One byte of the value goes, its size says so, and the sections behind move on by one.
        shorter = data[:size_at] + (size - 1).to_bytes(4) + data[size_at + 5 :] + b"\0"
        moved = bytearray(shorter)
        end = sorted(section_starts(savepoint, "summarize").values())[1]
        moved[end - 1 :] = data[end - 1 :]
        moved[end - 3 : end - 1] = b"\xff\xff"
        file.write_bytes(bytes(moved))
        error = error_of(savepoint, "summarize.keyed_state")
        assert isinstance(error, FormatError)
        assert f"key group {key_group}" in error.places
        assert error.path == file.name

    @pytest.mark.parametrize("part", range(1, 20))
    def test_every_cut_behind_the_header_is_told(
        self, savepoint: Savepoint, file: Path, part: int
    ) -> None:
        first = min(section_starts(savepoint, "summarize").values())
        data = file.read_bytes()
        file.write_bytes(data[: first + (len(data) - first) * part // 20])
        error = error_of(savepoint, "summarize.keyed_state")
        assert isinstance(error, FormatError)
        assert error.path == file.name
        assert error.places[-3:] == ("operator summarize", "table keyed_state", "subtask 0")
        assert "key group " in str(error)

    def test_rows_of_other_key_groups_are_still_read(
        self, savepoint: Savepoint, file: Path
    ) -> None:
        starts = section_starts(savepoint, "summarize")
        damaged = list(starts)[2]
        overwrite(file, starts[damaged], b"\x00\x09")
        scan = savepoint.scan("summarize.keyed_state")
        counts = dict.fromkeys(starts, 0)
        for split in scan.splits(1):
            assert isinstance(split, KeyedSplit)
            group = split.key_groups.start
            if group in counts and group != damaged and split.subtask == 0:
                counts[group] = sum(batch.num_rows for batch in scan.read(split))
        assert all(count > 0 for group, count in counts.items() if group != damaged)


def test_a_compressed_section_is_told_where_it_lies_in_the_file(tmp_path: Path) -> None:
    savepoint = copy_of(COMPRESSED, tmp_path)
    file = file_of(savepoint, "stateful 0: keyed state")
    key_group, start = list(section_starts(savepoint, "stateful").items())[3]
    overwrite(file, start + 20, b"\xff\xff\xff\xff")
    error = error_of(savepoint, "stateful.keyed_state")
    assert isinstance(error, FormatError)
    assert error.path.startswith(file.name)
    assert f"key group {key_group}" in error.places


class TestHeapFile:
    @pytest.fixture
    def savepoint(self, tmp_path: Path) -> Savepoint:
        return copy_of(HEAP, tmp_path)

    @pytest.fixture
    def file(self, savepoint: Savepoint) -> Path:
        return file_of(savepoint, "summarize 1: keyed state")

    @pytest.mark.parametrize(
        ("distance", "data", "message", "has_state"),
        [
            (0, b"\x00\x00\x00\x00", "key group 0, expected ", False),
            (4, b"\x00\x09", "state 9 of 2", False),
            (6, b"\x7f\xff\xff\xff", "a count of 2147483647 records, with ", True),
            (6, b"\xff\xff\xff\xff", "a count of -1 records, with ", True),
            (10, b"\x01", "a byte of 1, expected 0", True),
        ],
    )
    def test_a_damaged_section_is_told_with_all_that_is_known(
        self,
        savepoint: Savepoint,
        file: Path,
        distance: int,
        data: bytes,
        message: str,
        has_state: bool,
    ) -> None:
        starts = section_starts(savepoint, "summarize", 1)
        content = file.read_bytes()
        # The first key group that has an entry: the count of its first state is not zero.
        key_group, start = next(
            (group, start)
            for group, start in starts.items()
            if any(content[start + 6 : start + 10])
        )
        overwrite(file, start + distance, data)
        error = error_of(savepoint, "summarize.keyed_state")
        assert isinstance(error, FormatError)
        assert error.path == file.name
        assert message in error.message
        assert start <= error.offset <= start + 20
        assert f"key group {key_group}" in error.places
        assert error.places[-3:] == ("operator summarize", "table keyed_state", "subtask 1")
        assert error.places[0].startswith("state '") is has_state


class TestRocksDb:
    @pytest.mark.parametrize("place", [0.0, 0.1, 0.5, 0.9, 0.999])
    def test_a_changed_byte_of_a_table_is_told(self, tmp_path: Path, place: float) -> None:
        savepoint = copy_of(ROCKSDB, tmp_path)
        file = file_of(savepoint, "summarize 0: 000013.sst")
        offset = int(len(file.read_bytes()) * place)
        overwrite(file, offset, bytes([file.read_bytes()[offset] ^ 0x40]))
        found = outcome(savepoint.scan("summarize.keyed_state"))
        if isinstance(found, FormatError):
            assert found.path == file.name
            assert "key groups 0 to 149" in found.places
            assert found.places[-3:] == ("operator summarize", "table keyed_state", "subtask 0")
        else:
            # Not all bytes of a table matter: its properties, for one, are not all looked at.
            assert found == 24

    def test_a_damaged_block_is_told_with_its_state(self, tmp_path: Path) -> None:
        savepoint = copy_of(ROCKSDB, tmp_path)
        file = file_of(savepoint, "summarize 0: 000013.sst")
        overwrite(file, 10, b"\xff\xff")
        error = error_of(savepoint, "summarize.keyed_state")
        assert isinstance(error, FormatError)
        assert (error.path, error.offset) == (file.name, 0)
        assert error.places[0] in ("state 'total'", "state 'count'")
        assert error.places[1] == "key groups 0 to 149"

    def test_a_cut_table_is_told(self, tmp_path: Path) -> None:
        savepoint = copy_of(ROCKSDB, tmp_path)
        file = file_of(savepoint, "summarize 1: 000012.sst")
        file.write_bytes(file.read_bytes()[:700])
        error = error_of(savepoint, "summarize.keyed_state")
        assert isinstance(error, FormatError)
        assert error.path == file.name
        assert error.places[-3:] == ("operator summarize", "table keyed_state", "subtask 1")


class TestOperatorState:
    @pytest.mark.parametrize("cut", [1, 5, 30])
    def test_a_cut_element_is_told_with_its_state(self, tmp_path: Path, cut: int) -> None:
        savepoint = copy_of(CANONICAL, tmp_path)
        file = file_of(savepoint, "currency_converter 0: operator state")
        file.write_bytes(file.read_bytes()[:-cut])
        error = error_of(savepoint, "currency_converter.rates")
        assert isinstance(error, TruncatedError)
        assert error.path == file.name
        places = ("state 'rates'", "operator currency_converter", "table rates", "subtask 0")
        assert error.places == places

    def test_a_wrong_count_is_told_before_it_is_believed(self, tmp_path: Path) -> None:
        savepoint = copy_of(CANONICAL, tmp_path)
        file = file_of(savepoint, "currency_converter 0: operator state")
        size_at = len(file.read_bytes()) - 5 * 12 - 4
        overwrite(file, size_at, b"\x7f\xff\xff\xff")
        error = error_of(savepoint, "currency_converter.rates")
        assert isinstance(error, FormatError)
        assert "a count of 2147483647 elements" in error.message
        assert error.offset == size_at

    def test_an_element_of_a_compressed_file(self, tmp_path: Path) -> None:
        savepoint = copy_of(COMPRESSED, tmp_path)
        file = file_of(savepoint, "buffer 1: operator state")
        file.write_bytes(file.read_bytes()[:-4])
        error = error_of(savepoint, "buffer.elements")
        assert error.places[0] == "state 'elements'"


class TestHeader:
    def test_a_type_that_is_another_one_in_other_subtasks(self, tmp_path: Path) -> None:
        savepoint = copy_of(CANONICAL, tmp_path)
        file = file_of(savepoint, "summarize 1: keyed state")
        data = file.read_bytes()
        double = b"DoubleSerializer$DoubleSerializerSnapshot"
        unknown = b"DoubleSerializer$DoubleSerializerSnapshop"
        assert data.count(double) == 1
        file.write_bytes(data.replace(double, unknown))
        error = error_of(savepoint, "summarize.keyed_state")
        assert isinstance(error, StateTypeError)
        assert file.name in str(error)
        assert "reason: string> here, double elsewhere; in state 'total'" in str(error)

    def test_no_header_is_told_with_the_operator(self, tmp_path: Path) -> None:
        savepoint = copy_of(CANONICAL, tmp_path)
        file = file_of(savepoint, "summarize 0: keyed state")
        file.write_bytes(b"")
        error = error_of(savepoint, "summarize.keyed_state")
        assert isinstance(error, TruncatedError)
        assert (error.path, error.offset) == (file.name, 0)
        assert "operator summarize" in error.places

    def test_a_table_that_is_not_there_for_damage_alone_says_so(self, tmp_path: Path) -> None:
        savepoint = copy_of(CANONICAL, tmp_path)
        for subtask in (0, 1):
            file_of(savepoint, f"summarize {subtask}: keyed state").write_bytes(b"")
        with pytest.raises(SavepointError, match=r"at byte 0: the data ends .*; in subtask 0, "):
            reopened(savepoint).scan("summarize.keyed_state")


def test_errors_keep_their_places_on_the_way_to_another_process() -> None:
    for kind in (FormatError, TruncatedError):
        error = kind("no end", "file", 7).within("state 'a'", "key group 3").within("subtask 0")
        copy = pickle.loads(pickle.dumps(error))
        assert str(copy) == "file at byte 7: no end; in state 'a', key group 3, subtask 0"
        assert type(copy) is kind
    plain = pickle.loads(pickle.dumps(StateTypeError("here").within("subtask 1")))
    assert str(plain) == "here; in subtask 1"


@pytest.fixture
def bounded_memory() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm", encoding="ascii") as pages:
        taken = int(pages.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.usefixtures("bounded_memory")
@pytest.mark.parametrize("sample", slow_unless(KINDS[:3].__contains__, KINDS), ids=str)
def test_whatever_is_damaged_is_told_or_does_not_matter(sample: Sample, tmp_path: Path) -> None:
    """Cut files, flipped bits and huge numbers at places that are the same in each run."""
    savepoint = copy_of(sample, tmp_path)
    chance = random.Random(sample.name)
    files = [file for file in savepoint.files() if file.references]
    for _ in range(6):
        described = chance.choice(files)
        file = tmp_path.joinpath(savepoint.path, described.location or described.path)
        data = file.read_bytes()
        file.write_bytes(damaged(data, chance))
        read_what_can_be_read(savepoint)
        file.write_bytes(data)


def damaged(data: bytes, chance: random.Random) -> bytes:
    position = chance.randrange(len(data))
    number = chance.choice([b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\0\0\0\0"])
    flipped = bytes([data[position] ^ 1 << chance.randrange(8)])
    return chance.choice(
        [
            data[:position],
            data[:position] + flipped + data[position + 1 :],
            (data[:position] + number + data[position + 4 :])[: len(data)],
        ]
    )


def read_what_can_be_read(savepoint: Savepoint) -> None:
    try:
        opened = Savepoint.open(savepoint.path)
    except SavepointError:
        return
    for operator in opened.operators():
        for table in operator.readable_tables:
            scan = opened.scan(f"{operator.name}.{table.name}")
            for split in scan.splits():
                try:
                    for batch in scan.read(split):
                        batch.validate(full=True)
                except SavepointError as error:
                    assert f"operator {operator.name}" in error.places  # noqa: PT017
