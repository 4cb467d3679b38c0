"""The ``_metadata`` file: real ones, made-up ones and damaged ones."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.any_metadata import base_handles, changelogs, file_changes, metadata_of
from support.each import each
from support.nightly import examples

from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
from savepoint_formats.errors import (
    FormatError,
    NotASavepointError,
    RefusedError,
    SavepointError,
    TruncatedError,
    UnsupportedVersionError,
)
from savepoint_formats.key_groups.operator_id import OperatorId
from savepoint_formats.key_groups.ranges import KeyGroupRange
from savepoint_formats.metadata import (
    CheckpointMetadata,
    CheckpointProperties,
    DistributionMode,
    KeyedHandleType,
    KeyGroupsHandle,
    OperatorState,
    OperatorStateHandle,
    RelativeFile,
    SubtaskState,
)
from savepoint_formats.metadata.keyed_handles import write_keyed_handle
from savepoint_formats.metadata.operator_handles import OperatorStateOffsets
from savepoint_formats.metadata.stream_handles import KeyGroupRangeOffsets

if TYPE_CHECKING:
    from pathlib import Path

    from savepoint_formats.metadata.keyed_handles import ChangesHandle, KeyedStateHandle

# The first two operators of a savepoint that Flink 1.20 wrote, as a file of version 3.
GOLDEN = bytes.fromhex(
    "4960672d 00000003 0000000000000002 00000000 00000002"
    "1f2b5df5a66154aca61fcb26193792be 00000001 00000004 00 00000001 00000000 00000001"
    "04 00000001 000c 736f757263652d7374617465 01 00000004"
    "00000000000000bc 00000000000000cd 00000000000000e3 00000000000000fd"
    "06 0024 36313962653232612d373035312d343730332d386261642d326562656465643937356531"
    "000000000000011a 00000000 00 00 00000000 00000000"
    "d5c8b1680000000000000000000000ff 00000004 00000004 00 00000001 00000001"
    "00000000 00000000 07 00000001 00000001 00000000000001f9"
    "06 0008 6162616462643665 0000000000000217 00 00000000 00000000"
)
EXPECTED = CheckpointMetadata(
    version=3,
    checkpoint_id=2,
    operators=(
        OperatorState(
            OperatorId.from_hex("1f2b5df5a66154aca61fcb26193792be"),
            parallelism=1,
            max_parallelism=4,
            subtasks=(
                SubtaskState(
                    0,
                    managed_operator_state=OperatorStateHandle(
                        (
                            OperatorStateOffsets(
                                "source-state", DistributionMode.UNION, (188, 205, 227, 253)
                            ),
                        ),
                        RelativeFile("619be22a-7051-4703-8bad-2ebeded975e1", 282),
                    ),
                ),
            ),
        ),
        OperatorState(
            OperatorId.from_hex("d5c8b1680000000000000000000000ff"),
            parallelism=4,
            max_parallelism=4,
            subtasks=(
                SubtaskState(
                    1,
                    managed_keyed_state=KeyGroupsHandle(
                        KeyedHandleType.CANONICAL_SAVEPOINT,
                        KeyGroupRangeOffsets(KeyGroupRange(1, 1), (505,)),
                        RelativeFile("abadbd6e", 535),
                    ),
                ),
            ),
        ),
    ),
)

NEWEST = {
    KeyedHandleType.KEY_GROUPS_V1: KeyedHandleType.KEY_GROUPS,
    KeyedHandleType.CANONICAL_SAVEPOINT: KeyedHandleType.KEY_GROUPS,
    KeyedHandleType.INCREMENTAL_V1: KeyedHandleType.INCREMENTAL,
    KeyedHandleType.CHANGELOG_V1: KeyedHandleType.CHANGELOG,
    KeyedHandleType.FILE_CHANGES_V1: KeyedHandleType.FILE_CHANGES,
}
OTHER_FIELDS = NEWEST | {newest: old for old, newest in NEWEST.items()}


def read(data: bytes) -> CheckpointMetadata:
    return CheckpointMetadata.read(DataInputView(data, "sp/_metadata"))


def written(metadata: CheckpointMetadata) -> bytes:
    view = DataOutputView()
    metadata.write(view)
    return view.to_bytes()


def test_reads_what_flink_wrote() -> None:
    assert read(GOLDEN) == EXPECTED


def test_every_real_file_is_rewritten_byte_for_byte(corpus: Path) -> None:
    files = sorted(corpus.rglob("_metadata"))
    assert files
    for file in files:
        data = file.read_bytes()
        assert written(read(data)) == data, file


@each("cut", range(len(GOLDEN)))
def test_every_cut_is_noticed(cut: int) -> None:
    with pytest.raises((TruncatedError, FormatError, NotASavepointError)):
        read(GOLDEN[:cut])


def test_every_cut_of_real_files_is_noticed(corpus: Path) -> None:
    data = (corpus / "savepoints/complexKeyed-flink1.20/_metadata").read_bytes()
    for cut in range(0, len(data), 7):
        with pytest.raises(SavepointError):
            read(data[:cut])


@given(st.integers(0, len(GOLDEN) - 1), st.integers(0, 7))
def test_a_flipped_bit_is_a_typed_error_or_another_metadata(byte: int, bit: int) -> None:
    damaged = bytearray(GOLDEN)
    damaged[byte] ^= 1 << bit
    try:
        assert read(bytes(damaged)) != EXPECTED
    except SavepointError:
        return


def test_bytes_behind_the_end_are_noticed() -> None:
    with pytest.raises(FormatError, match="1 bytes too many") as caught:
        read(GOLDEN + b"\0")
    assert caught.value.offset == len(GOLDEN)


@pytest.mark.parametrize("version", [0, 1, 8, 1 << 30])
def test_an_unknown_version_is_named(version: int) -> None:
    data = GOLDEN[:4] + version.to_bytes(4, "big") + GOLDEN[8:]
    with pytest.raises(UnsupportedVersionError, match=f"metadata version {version}, expected 2"):
        read(data)


@pytest.mark.parametrize("data", [b"", b"PAR1", b"\x49\x60\x67", b"hello world"])
def test_a_file_of_another_kind_is_named(data: bytes) -> None:
    with pytest.raises(SavepointError, match="sp/_metadata"):
        read(data)


def test_a_count_larger_than_the_file_is_refused_before_it_is_believed() -> None:
    data = bytes.fromhex("4960672d 00000003 0000000000000002 00000000 7fffffff")
    with pytest.raises(FormatError, match="a count of 2147483647 elements") as caught:
        read(data)
    assert caught.value.offset == 20


@pytest.mark.parametrize("version", [2, 3])
@settings(max_examples=examples(25))
@given(data=st.data())
def test_write_is_the_mirror_of_read(version: int, data: st.DataObject) -> None:
    metadata = data.draw(metadata_of(version))
    assert read(written(metadata)) == metadata


@pytest.mark.parametrize("version", [4, 5, 6, 7])
@settings(max_examples=examples(25))
@given(data=st.data())
def test_write_is_the_mirror_of_read_with_properties(version: int, data: st.DataObject) -> None:
    metadata = data.draw(metadata_of(version))
    view = DataOutputView()
    metadata.write(view)
    view.write_bytes(bytes.fromhex("aced0005 70"))
    found = read(view.to_bytes())
    assert written(found) == view.to_bytes()
    assert found.operators == metadata.operators


@given(handle=st.one_of(base_handles, file_changes, changelogs))
def test_a_handle_with_the_fields_of_another_type_is_refused(
    handle: KeyedStateHandle | ChangesHandle,
) -> None:
    write_keyed_handle(handle, DataOutputView())
    other = replace(handle, type=OTHER_FIELDS[handle.type])
    with pytest.raises(RefusedError, match="so it could not be read"):
        write_keyed_handle(other, DataOutputView())


def test_a_native_file_without_its_name_is_refused() -> None:
    handle = EXPECTED.operators[1].subtasks[0].managed_keyed_state
    assert isinstance(handle, KeyGroupsHandle)
    message = r"type 12 \(KEY_GROUPS\) without handle_id, so it could not be read; set it"
    with pytest.raises(RefusedError, match=message):
        write_keyed_handle(replace(handle, type=KeyedHandleType.KEY_GROUPS), DataOutputView())


@pytest.mark.parametrize("release", ["1.20.5", "2.2.1"])
def test_properties_of_a_canonical_savepoint_are_those_that_flink_writes(
    samples: Path, release: str
) -> None:
    path = samples / f"currency-{release}-hashmap-canonical" / "_metadata"
    read = CheckpointMetadata.read(DataInputView(path.read_bytes(), str(path)))
    assert CheckpointProperties.of_canonical_savepoint() == read.properties


class TestTextTools:
    """Editors, build tools and version control may take ``_metadata`` for a text."""

    @pytest.mark.parametrize(
        ("name", "change"),
        [("utf8", "EF BF BD for each byte that is no UTF-8"), ("crlf", "CR LF for each LF")],
    )
    def test_a_file_of_such_a_tool_is_recognised(self, cases: Path, name: str, change: str) -> None:
        data = (cases / "11-metadata-through-a-text-tool" / name / "_metadata").read_bytes()
        with pytest.raises(FormatError, match=f"{change}; get the original file"):
            CheckpointMetadata.read(DataInputView(data))

    @pytest.mark.parametrize("size", [30, 500, 1000])
    def test_other_damage_is_not_blamed_on_it(self, samples: Path, size: int) -> None:
        data = (samples / "currency-1.20.5-hashmap-canonical" / "_metadata").read_bytes()
        with pytest.raises(FormatError) as raised:
            CheckpointMetadata.read(DataInputView(data[:size]))
        assert "text" not in raised.value.message
