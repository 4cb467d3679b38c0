"""Changelogs: change sets in files and in memory, registrations, and every kind of damage."""

from __future__ import annotations

import struct
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import cramjam
import pytest
from support.hand_made import (
    EVERYTHING,
    LONG,
    STRING,
    UNKNOWN,
    Record,
    change,
    change_set,
    changelog,
    i32,
    in_file,
    in_memory,
    meta_info,
    registration,
    with_ttl,
)

from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
from savepoint_formats.errors import (
    FormatError,
    SavepointError,
    TruncatedError,
    UnknownSnapshotError,
    UnsupportedVersionError,
)
from savepoint_formats.key_groups.ranges import KeyGroupRange
from savepoint_formats.locations.file_io import SnapshotDirectory
from savepoint_formats.metadata import ChangelogHandle, CheckpointMetadata, InlineStream
from savepoint_formats.metadata.keyed_handles import (
    ChangeSetStream,
    FileChanges,
    read_keyed_handle,
    write_keyed_handle,
)
from savepoint_formats.state_files.changelog import (
    KeyedChange,
    StateRegistration,
    read_changes,
    read_registrations,
)
from savepoint_formats.state_files.changelog import StateChangeOperation as Operation
from savepoint_formats.state_files.header import BackendStateType

if TYPE_CHECKING:
    from pathlib import Path

SAMPLE = "states-1.20.5-hashmap-changelog/chk-2"

# A StateTtlConfig is a Java object; any will do.
JAVA_STRING = bytes.fromhex("aced0005 74 0003") + b"ttl"

RECORDS: list[Record] = [
    (-1, registration(0, "total", "VALUE", LONG)),
    (-1, registration(258, "_timer_state/event_a", "TIMERS", LONG)),
    (1, change(0, 0, b"\2a\0")),
    (1, change(1, 0, b"\2a\0", bytes(8))),
    (3, change(7, 258, bytes(8))),
]


@pytest.fixture(scope="module")
def nowhere(tmp_path_factory: pytest.TempPathFactory) -> SnapshotDirectory:
    """A directory without any file; handles hold their bytes."""
    return SnapshotDirectory.of(str(tmp_path_factory.mktemp("snapshot")))


def told(directory: SnapshotDirectory, handle: ChangelogHandle, *groups: int) -> list[object]:
    """The changes of some key groups, by default all, in few words."""
    wanted = KeyGroupRange(min(groups), max(groups)) if groups else EVERYTHING
    return [
        (one.number, one.info.name)
        if isinstance(one, StateRegistration)
        else (one.key_group, one.operation, one.state, one.body.read_rest())
        for one in read_changes(directory, handle, wanted)
    ]


TOLD = [
    (0, "total"),
    (258, "_timer_state/event_a"),
    (1, Operation.CLEAR, 0, b"\2a\0"),
    (1, Operation.SET, 0, b"\2a\0" + bytes(8)),
    (3, Operation.REMOVE_ELEMENT, 258, bytes(8)),
]


def compressed(content: bytes) -> bytes:
    return b"\1" + bytes(cramjam.snappy.compress(content))


class TestChanges:
    def test_in_memory_are_read_in_order(self, nowhere: SnapshotDirectory) -> None:
        assert told(nowhere, changelog(in_memory(RECORDS))) == TOLD

    @pytest.mark.parametrize("is_compressed", [False, True])
    def test_in_files_are_read_in_order(
        self, nowhere: SnapshotDirectory, *, is_compressed: bool
    ) -> None:
        content = b"junk" + change_set(RECORDS) + b"more junk"
        data = compressed(content) if is_compressed else b"\0" + content
        assert told(nowhere, changelog(in_file(data, 4))) == TOLD

    def test_of_several_sets_and_handles_follow_each_other(
        self, nowhere: SnapshotDirectory
    ) -> None:
        first, second = change_set(RECORDS[:3]), change_set(RECORDS[3:4])
        data = b"\0" + first + second
        handle = changelog(in_file(data, 0, len(first)), in_memory(RECORDS[4:]))
        assert told(nowhere, handle) == TOLD

    def test_of_other_key_groups_are_passed_by(self, nowhere: SnapshotDirectory) -> None:
        for changes in (in_memory(RECORDS), in_file(b"\0" + change_set(RECORDS), 0)):
            assert told(nowhere, changelog(changes), 2, 3) == [*TOLD[:2], TOLD[4]]

    def test_of_key_groups_that_a_handle_lost_in_a_rescale_are_passed_by(
        self, nowhere: SnapshotDirectory
    ) -> None:
        # Flink cuts the handles of files alone, and does not know the size that is left.
        whole = in_file(b"\0" + change_set(RECORDS), 0, key_groups=KeyGroupRange(0, 1))
        assert told(nowhere, changelog(replace(whole, size=0))) == TOLD[:4]

    def test_of_key_groups_that_a_handle_never_had_are_damage(
        self, nowhere: SnapshotDirectory
    ) -> None:
        half = KeyGroupRange(0, 1)
        in_a_file = in_file(b"\0" + change_set(RECORDS), 0, key_groups=half)
        message = "a change of key group 3, expected 0 to 1"
        for part, place in ((in_a_file, "log at byte"), (in_memory(RECORDS, half), "change 4 of")):
            with pytest.raises(FormatError, match=f"{place}.*{message}"):
                told(nowhere, changelog(part))

    def test_know_where_they_are_from(self, nowhere: SnapshotDirectory) -> None:
        data = b"\0" + change_set(RECORDS)
        handle = changelog(in_file(data, 0))
        for one in read_changes(nowhere, handle, EVERYTHING):
            if isinstance(one, KeyedChange):
                start, rest = one.body.offset, one.body.read_rest()
                assert data[start : start + len(rest)] == rest
                assert one.body.path == "log"


class TestRegistrations:
    @pytest.mark.parametrize("is_compressed", [False, True])
    def test_are_found_in_front_of_each_set(
        self, nowhere: SnapshotDirectory, *, is_compressed: bool
    ) -> None:
        first, second = change_set(RECORDS[2:]), change_set(RECORDS)
        content = first + second
        data = compressed(content) if is_compressed else b"\0" + content
        found = read_registrations(nowhere, changelog(in_file(data, 0, len(first))))
        assert [one.number for one in found] == [0, 258]

    def test_are_found_in_memory(self, nowhere: SnapshotDirectory) -> None:
        handle = changelog(in_memory([RECORDS[2], *RECORDS[:2]]))
        assert [one.number for one in read_registrations(nowhere, handle)] == [0, 258]

    def test_may_be_many(self, nowhere: SnapshotDirectory) -> None:
        records = [(-1, registration(i, f"state {i}", "VALUE", LONG)) for i in range(600)]
        data = b"\0" + change_set([*records, *RECORDS[2:]])
        assert len(data) > 1 << 16
        found = list(read_registrations(nowhere, changelog(in_file(data, 0))))
        assert [one.info.name for one in found] == [f"state {i}" for i in range(600)]

    def test_may_be_followed_by_a_large_change(self, nowhere: SnapshotDirectory) -> None:
        large = (0, change(1, 0, bytes(1 << 17)))
        data = b"\0" + change_set([*RECORDS, large])
        found = read_registrations(nowhere, changelog(in_file(data, 0)))
        assert [one.number for one in found] == [0, 258]

    def test_are_of_two_versions(self) -> None:
        data = registration(7, "a", "MAP", STRING)
        old = data[:1] + i32(6) + data[5:]
        assert read(old) == read(data)
        assert read(data).number == 7
        assert read(data).info.type is BackendStateType.KEY_VALUE
        with pytest.raises(UnsupportedVersionError, match="version 8, expected 6 or 7"):
            read(data[:1] + i32(8) + data[5:])

    def test_may_have_a_ttl_and_a_default_value(self) -> None:
        data = registration(7, "a", "VALUE", with_ttl(STRING))
        head, tail = data[:-5], data[-3:]
        for middle in (
            b"\1" + JAVA_STRING + b"\0",
            b"\0\1" + bytes(8) + b"\2x",
            b"\1" + JAVA_STRING + b"\1" + bytes(8) + b"\0",
        ):
            assert read(head + middle + tail) == read(data)

    def test_of_unknown_serializers_are_read_around(self) -> None:
        for number in (0, 1, 258):
            found = read(registration(number, "a", "VALUE", UNKNOWN))
            assert found.number == number
            assert found.info.name == "a"

    def test_of_unknown_serializers_with_a_ttl_cannot_be_read(self) -> None:
        data = registration(7, "a", "VALUE", UNKNOWN)
        with pytest.raises(UnknownSnapshotError):
            read(data[:-5] + b"\1" + JAVA_STRING + b"\0" + data[-3:])

    def test_must_be_of_the_type_that_their_info_says(self) -> None:
        data = registration(7, "a", "VALUE", LONG)
        with pytest.raises(FormatError, match="state 'a' of type 3, expected 0"):
            read(data[:-1] + b"\3")


def read(data: bytes) -> StateRegistration:
    return StateRegistration.read(DataInputView(data))


class TestDamage:
    def test_every_cut_of_a_registration_is_noticed(self) -> None:
        data = registration(7, "a", "VALUE", LONG)
        for cut in range(len(data)):
            with pytest.raises(SavepointError):
                read(data[:cut])
        with pytest.raises(FormatError):
            read(data + b"\0")

    def test_every_cut_of_a_file_is_noticed(self, nowhere: SnapshotDirectory) -> None:
        data = b"\0" + change_set(RECORDS)
        for cut in range(len(data)):
            with pytest.raises(SavepointError):
                told(nowhere, changelog(in_file(data[:cut], 0)))

    def test_every_cut_of_a_compressed_file_is_noticed(self, nowhere: SnapshotDirectory) -> None:
        data = compressed(change_set(RECORDS))
        for cut in range(len(data)):
            with pytest.raises(SavepointError):
                told(nowhere, changelog(in_file(data[:cut], 0)))

    def test_no_flipped_byte_of_a_file_is_a_crash(self, nowhere: SnapshotDirectory) -> None:
        data = b"\0" + change_set(RECORDS)
        for position in range(len(data)):
            for flip in (0x01, 0x80, 0xFF):
                damaged = bytearray(data)
                damaged[position] ^= flip
                try:
                    told(nowhere, changelog(in_file(bytes(damaged), 0)))
                    list(read_registrations(nowhere, changelog(in_file(bytes(damaged), 0))))
                except SavepointError:
                    continue

    @pytest.mark.parametrize("offset", [-1, 1 << 40])
    def test_a_set_outside_of_its_file_is_noticed(
        self, nowhere: SnapshotDirectory, offset: int
    ) -> None:
        handle = changelog(in_file(b"\0" + change_set(RECORDS), offset))
        with pytest.raises(TruncatedError, match="a change set at"):
            told(nowhere, handle)
        with pytest.raises(TruncatedError, match="a change set at"):
            list(read_registrations(nowhere, handle))

    def test_an_unknown_operation_is_named(self, nowhere: SnapshotDirectory) -> None:
        with pytest.raises(FormatError, match="operation 9, expected 0 to 7"):
            told(nowhere, changelog(in_memory([(1, change(9, 0))])))
        with pytest.raises(FormatError, match="operation 1, expected 8"):
            told(nowhere, changelog(in_memory([(-1, change(1, 0))])))
        with pytest.raises(FormatError, match="operation 8, expected 0 to 7"):
            told(nowhere, changelog(in_memory([(1, RECORDS[0][1])])))

    def test_an_impossible_key_group_is_named(self, nowhere: SnapshotDirectory) -> None:
        data = b"\0" + change_set([(-2, b"\0\0\0")])
        with pytest.raises(FormatError, match="log at byte 9: a change of key group -2"):
            told(nowhere, changelog(in_file(data, 0)))

    def test_a_meta_info_of_no_keyed_state_is_named(self) -> None:
        info = bytearray(meta_info("a", "VALUE", LONG))
        data = (
            b"\x08" + i32(7) + bytes(info).replace(utf_a := b"\0\1a" + i32(0), b"\0\1a" + i32(9), 1)
        )
        assert utf_a in bytes(info)
        with pytest.raises(FormatError, match="of type 9"):
            read(data + b"\0\0\0\1\0")


def counts_of(data: bytes, position: int) -> dict[int, int]:
    """Key group -> number of changes, of the change set there."""
    counts: dict[int, int] = {}
    (groups,) = struct.unpack_from(">i", data, position)
    position += 4
    for _ in range(groups):
        changes, group = struct.unpack_from(">ii", data, position)
        position += 8
        counts[group] = changes
        for _ in range(changes):
            position += 4 + struct.unpack_from(">i", data, position)[0]
    return counts


def written(handle: ChangelogHandle) -> DataInputView:
    view = DataOutputView()
    write_keyed_handle(handle, view)
    return DataInputView(view.to_bytes())


Logged = tuple[SnapshotDirectory, list[ChangelogHandle]]


@pytest.fixture(scope="module")
def logged(samples: Path) -> Logged:
    """The changelogs of the sample."""
    directory = SnapshotDirectory.of(str(samples / SAMPLE))
    metadata = CheckpointMetadata.read(DataInputView(directory.read_metadata()))
    handles = [
        subtask.managed_keyed_state
        for operator in metadata.operators
        for subtask in operator.subtasks
    ]
    return directory, [one for one in handles if isinstance(one, ChangelogHandle)]


class TestSample:
    """Log of a job on Flink 1.20.5."""

    def test_each_subtask_registers_all_states(self, logged: Logged) -> None:
        directory, handles = logged
        for handle in handles:
            found = list(read_registrations(directory, handle))
            assert sorted(one.number for one in found) == list(range(18))
            in_order = [
                one
                for one in read_changes(directory, handle, handle.key_groups)
                if isinstance(one, StateRegistration)
            ]
            assert in_order == found

    def test_all_changes_are_read(self, logged: Logged) -> None:
        directory, handles = logged
        for handle in handles:
            found = list(read_changes(directory, handle, handle.key_groups))
            groups = Counter(one.key_group if isinstance(one, KeyedChange) else -1 for one in found)
            (part,) = handle.changes
            assert isinstance(part, FileChanges)
            (stream,) = part.streams
            data = directory.file(stream.stream).read()
            assert groups == counts_of(data, 1 + stream.offset)
            assert groups[-1] == 18
            assert sum(groups.values()) > 600

    def test_a_key_group_of_another_subtask_is_damage(self, logged: Logged) -> None:
        directory, (first, second) = logged
        (part,) = first.changes
        assert isinstance(part, FileChanges)
        (change_set,) = part.streams
        data = bytearray(directory.file(change_set.stream).read())
        # Behind the registrations, the first group of changes: their number, and the key group.
        position = 1 + change_set.offset + 4
        changes, _ = struct.unpack_from(">ii", data, position)
        position += 8
        for _ in range(changes):
            position += 4 + struct.unpack_from(">i", data, position)[0]
        assert struct.unpack_from(">i", data, position + 4)[0] in first.key_groups
        struct.pack_into(">i", data, position + 4, second.key_groups.start)
        stream = ChangeSetStream(change_set.offset, InlineStream("log", bytes(data)))
        damaged = replace(first, changes=(replace(part, streams=(stream,)),))
        message = f"log at byte {position + 4}: a change of key group {second.key_groups.start}"
        with pytest.raises(FormatError, match=message):
            list(read_changes(directory, damaged, first.key_groups))

    @pytest.mark.parametrize("which", ["base", "changes"])
    def test_a_handle_of_other_key_groups_is_damage(self, logged: Logged, which: str) -> None:
        _, (first, second) = logged
        damaged = replace(first, **{which: getattr(second, which)})
        message = f"a handle of key groups {second.key_groups.start} to {second.key_groups.end}"
        assert read_keyed_handle(written(first)) == first
        with pytest.raises(FormatError, match=message):
            read_keyed_handle(written(damaged))

    def test_compressed_it_says_the_same(self, logged: Logged) -> None:
        directory, handles = logged
        for handle in handles:
            (part,) = handle.changes
            assert isinstance(part, FileChanges)
            (change_set,) = part.streams
            data = directory.file(change_set.stream).read()
            stream = InlineStream("log", compressed(data[1:]))
            streams = (ChangeSetStream(change_set.offset, stream),)
            twin = replace(handle, changes=(replace(part, streams=streams),))
            groups = tuple(handle.key_groups)
            assert told(directory, twin, *groups) == told(directory, handle, *groups)
