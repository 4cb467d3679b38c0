"""Sections that are copied have the entries that the general path writes."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyarrow import fs
from support.passed_state import entries_in
from support.sample_rows import Sample, copy_of
from support.slow_cases import slow_unless

from savepoint_formats.errors import SavepointError, TruncatedError
from savepoint_formats.key_groups.ranges import KeyGroupRange
from savepoint_formats.locations.location import Location
from savepoint_formats.locations.stores import client_of
from savepoint_formats.metadata import KeyGroupsHandle, RelativeFile
from savepoint_formats.new_snapshot.directory import NewSnapshot
from savepoint_formats.new_snapshot.multipart_file import COPY_SECONDS, are_copied_by_store
from savepoint_formats.new_snapshot.new_file import StoredRange
from savepoint_formats.pass_through.copied_sections import StoredSections
from savepoint_formats.pass_through.stored_states import StoredStates
from savepoint_formats.state_files.canonical_file import CanonicalFile
from savepoint_formats.state_files.header import KeyedBackendHeader
from savepoint_spark.writing.stored_types import StoredTypes
from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.s3_server import S3Server

    from savepoint_database.snapshot.operator import Operator
    from savepoint_formats.locations.file_io import SnapshotDirectory
    from savepoint_formats.metadata import OperatorState

    Entry = tuple[int, bytes, bytes]

SAMPLES = [
    Sample("states-1.20.5-hashmap-canonical"),
    Sample("states-2.2.1-rocksdb-canonical"),
    Sample("windows-1.20.5-rocksdb-canonical"),
    Sample("currency-2.2.1-hashmap-canonical"),
]


def header_of(operator: Operator) -> KeyedBackendHeader:
    """The header of a file with all keyed state of an operator."""
    types = StoredTypes.of(operator)
    return KeyedBackendHeader(is_compressed=False, key_serializer=types.key, states=types.states)


def names_of(operator: Operator) -> list[str]:
    return [state.name for state in header_of(operator).states]


def sections_in(operator: Operator) -> StoredSections | None:
    return StoredSections.of(operator.directory, operator.record, names_of(operator))


def written(
    operator: Operator, key_groups: KeyGroupRange, target: NewSnapshot
) -> tuple[bytes, CanonicalFile]:
    """A file that is written of ranges, and what is known of it."""
    sections = sections_in(operator)
    assert sections is not None
    assert sections.can_be_copied_to(target)
    path, file = sections.write(target, "keyed", header_of(operator), key_groups)
    return Path(target.location.path, path).read_bytes(), file


def by_general_path(operator: Operator, key_groups: KeyGroupRange) -> tuple[bytes, CanonicalFile]:
    """Copied entries equal entries that are read."""
    header, ids = (
        header_of(operator),
        {name: place for place, name in enumerate(names_of(operator))},
    )
    stored = StoredStates(
        operator.directory, operator.record, StoredTypes.of(operator).key.layout()
    )
    runs: dict[int, list[bytes]] = {}
    for group in key_groups:
        for batch in stored.runs(ids, KeyGroupRange(group, group)):
            for row in batch.to_pylist():
                runs.setdefault(row["key_group"], []).append(row["run"])
    output = BytesIO()
    file = CanonicalFile.write(output, header, key_groups, runs.items())
    return output.getvalue(), file


def keyed_operators(sample: Sample) -> list[Operator]:
    operators = sample.open().operators()
    return [
        operator for operator in operators if any(s.kind.is_keyed for s in operator.catalog.states)
    ]


def content_of(written: tuple[bytes, CanonicalFile]) -> tuple[bytes, list[list[Entry]]]:
    """The header of a file, and the entries of each key group; states may come in any order."""
    data, file = written
    starts = [offset for offset in file.offsets if offset]
    sections = [data[start:end] for start, end in pairwise([*starts, file.size])]
    assert len(data) == file.size
    return data[: min(starts, default=file.size)], [
        sorted(entries_in(section.removesuffix(b"\xff\xff"))) for section in sections
    ]


@pytest.mark.parametrize("sample", slow_unless(SAMPLES[-1].__eq__, SAMPLES), ids=str)
def test_copied_sections_are_those_of_the_general_path(sample: Sample, tmp_path: Path) -> None:
    target, count = NewSnapshot.at(str(tmp_path / "out")), 0
    for operator in keyed_operators(sample):
        if sections_in(operator) is None:
            continue
        most = operator.record.max_parallelism
        for parallelism in (1, 3, most):
            for subtask in {0, parallelism // 2, parallelism - 1}:
                key_groups = KeyGroupRange.of_subtask(subtask, parallelism, most)
                expected = content_of(by_general_path(operator, key_groups))
                assert content_of(written(operator, key_groups, target)) == expected
                count += 1
    assert count


def test_where_the_system_copies_nothing_the_bytes_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("os.copy_file_range")
    (operator,) = [
        operator for operator in keyed_operators(SAMPLES[-1]) if sections_in(operator) is not None
    ][:1]
    key_groups = KeyGroupRange(0, operator.record.max_parallelism - 1)
    target = NewSnapshot.at(str(tmp_path / "out"))
    expected = content_of(by_general_path(operator, key_groups))
    assert content_of(written(operator, key_groups, target)) == expected


@pytest.mark.parametrize(
    "name",
    [
        "states-1.20.5-hashmap-compressed",
        "states-2.2.1-hashmap-native",
        "states-2.2.1-rocksdb-native",
    ],
)
def test_sections_of_other_formats_are_to_be_read(name: str) -> None:
    operators = keyed_operators(Sample(name))
    assert operators
    assert not any(map(sections_in, operators))


def test_sections_with_other_indices_of_states_are_to_be_read() -> None:
    operator = Sample("states-2.2.1-rocksdb-canonical").open().operator("stateful")
    names = names_of(operator)
    assert StoredSections.of(operator.directory, operator.record, [*names, "new"]) is not None
    for others in (names[::-1], names[1:], ["new", *names]):
        assert StoredSections.of(operator.directory, operator.record, others) is None


def of_copy(tmp_path: Path) -> Operator:
    savepoint = copy_of(Sample("currency-2.2.1-hashmap-canonical"), tmp_path)
    return savepoint.operator("summarize")


def with_offsets_moved(record: OperatorState, by: int) -> OperatorState:
    """An operator whose first file has a key group that begins elsewhere."""
    first, *others = record.subtasks
    handle = first.managed_keyed_state
    assert isinstance(handle, KeyGroupsHandle)
    places = list(handle.groups.offsets)
    index = sorted(range(len(places)), key=lambda index: places[index])[-1]
    places[index] += by
    groups = replace(handle.groups, offsets=tuple(places))
    moved = replace(first, managed_keyed_state=replace(handle, groups=groups))
    return replace(record, subtasks=(moved, *others))


@pytest.mark.parametrize("by", [-1, 1, 40])
def test_sections_that_begin_elsewhere_are_to_be_read(tmp_path: Path, by: int) -> None:
    operator = of_copy(tmp_path)
    directory, names = operator.directory, names_of(operator)
    assert StoredSections.of(directory, with_offsets_moved(operator.record, 0), names) is not None
    assert StoredSections.of(directory, with_offsets_moved(operator.record, by), names) is None


def stored_file(directory: SnapshotDirectory, operator: Operator) -> Path:
    handle = operator.record.subtasks[0].managed_keyed_state
    assert isinstance(handle, KeyGroupsHandle)
    assert isinstance(handle.stream, RelativeFile)
    return Path(directory.location.path, handle.stream.path)


def test_a_file_that_was_cut_is_to_be_read(tmp_path: Path) -> None:
    operator = of_copy(tmp_path)
    file = stored_file(operator.directory, operator)
    file.write_bytes(file.read_bytes()[:-1])
    assert sections_in(operator) is None


def test_a_file_that_is_cut_meanwhile_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    operator, target = of_copy(tmp_path), NewSnapshot.at(str(tmp_path / "out"))
    sections = sections_in(operator)
    assert sections is not None
    file = stored_file(operator.directory, operator)
    file.write_bytes(file.read_bytes()[:-1])
    key_groups = KeyGroupRange(0, operator.record.max_parallelism - 1)
    with pytest.raises(TruncatedError, match="expected 1 bytes more"):
        sections.write(target, "keyed", header_of(operator), key_groups)
    assert list(Path(target.location.path).iterdir()) == []


@contextmanager
def requests_to(target: NewSnapshot) -> Iterator[Counter[str]]:
    """The requests by which files are put together."""
    counted: Counter[str] = Counter()

    def count(model: Any, **_: object) -> None:
        counted.update([model.name])

    events = client_of(target.location.filesystem, COPY_SECONDS).meta.events
    events.register("before-call.s3", count)
    yield counted
    events.unregister("before-call.s3", count)


@pytest.mark.parametrize(
    ("sizes", "sent", "copied"),
    slow_unless(
        ((12 << 20,), 1, 1).__eq__,
        [
            ((1_000_000,), 1, 0),
            ((12 << 20,), 1, 1),
            ((12 << 20, 12 << 20), 1, 2),
            ((12 << 20, 1000, 12 << 20), 2, 2),
            ((12 << 20, 1000), 2, 1),
        ],
    ),
)
def test_a_store_copies_long_ranges_by_itself(
    s3_server: S3Server, sizes: tuple[int, ...], sent: int, copied: int
) -> None:
    bucket, data = s3_server.bucket(f"ranges-{sent}-{copied}-{len(sizes)}"), random_bytes()
    s3_server.put(bucket, "stored", data)
    target = NewSnapshot.at(s3_server.uri(bucket, "out"))
    stored = Location(target.location.filesystem, f"{bucket}/stored")
    assert target.copies_from([stored])
    ranges = [StoredRange(stored, 7 * place, size) for place, size in enumerate(sizes)]
    with requests_to(target) as requests:
        path = target.assembled("keyed", b"head", ranges)
    expected = b"head" + b"".join(data[of.start : of.start + of.size] for of in ranges)
    with target.open(path) as file:
        assert file.read() == expected
    assert requests == {
        "CreateMultipartUpload": 1,
        "UploadPart": sent,
        **({"UploadPartCopy": copied} if copied else {}),
        "CompleteMultipartUpload": 1,
    }


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize("is_nobody", [False, True])
def test_who_is_nobody_to_a_store_has_it_copy_nothing(
    s3_server: S3Server, *, is_nobody: bool
) -> None:
    filesystem = fs.S3FileSystem(
        anonymous=is_nobody, scheme="http", endpoint_override=s3_server.address
    )
    assert client_of(filesystem) is not None
    assert are_copied_by_store([filesystem], filesystem) is not is_nobody


def random_bytes() -> bytes:
    return random.Random(7).randbytes(13 << 20)


@pytest.mark.usefixtures("slow")
def test_a_store_has_the_sections_of_the_general_path(s3_server: S3Server, tmp_path: Path) -> None:
    sample, bucket = SAMPLES[1], s3_server.bucket("sections")
    folder = Path(sample.path)
    for file in folder.iterdir():
        s3_server.put(bucket, f"in/{file.name}", file.read_bytes())
    operator = Savepoint.open(s3_server.uri(bucket, "in"), uids=sample.uids).operator("stateful")
    sections, target = sections_in(operator), NewSnapshot.at(s3_server.uri(bucket, "out"))
    assert sections is not None
    assert sections.can_be_copied_to(target)
    assert not sections.can_be_copied_to(NewSnapshot.at(str(tmp_path / "out")))
    key_groups = KeyGroupRange.of_subtask(1, 3, operator.record.max_parallelism)
    path, made = sections.write(target, "keyed", header_of(operator), key_groups)
    with target.open(path) as stored:
        assert (stored.read(), made) == by_general_path(operator, key_groups)


def test_a_store_that_refuses_a_part_keeps_nothing(s3_server: S3Server) -> None:
    bucket = s3_server.bucket("refused-part")
    target = NewSnapshot.at(s3_server.uri(bucket, "out"))
    gone = StoredRange(Location(target.location.filesystem, f"{bucket}/gone"), 0, 12 << 20)
    with pytest.raises(
        SavepointError, match=r"refused-part/out/keyed-.* can't be written: .*UploadPartCopy"
    ):
        target.assembled("keyed", b"x" * (6 << 20), [gone])
    assert s3_server.keys(bucket) == set()
    assert "Uploads" not in s3_server.client.list_multipart_uploads(Bucket=bucket)
