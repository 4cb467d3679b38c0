"""Runs in files of a savepoint become the files that they would be if they were written in order."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.nightly import examples
from support.sample_rows import Sample

from savepoint_formats.errors import TruncatedError
from savepoint_formats.key_groups.ranges import KeyGroupRange
from savepoint_formats.new_snapshot.directory import NewSnapshot
from savepoint_formats.pass_through.copied_sections import PlacedRuns
from savepoint_formats.state_files.canonical_file import CanonicalFile
from savepoint_formats.state_files.header import KeyedBackendHeader
from savepoint_spark.writing.stored_types import StoredTypes

if TYPE_CHECKING:
    from collections.abc import Sequence

Run = tuple[int, bytes]
"""A key group, and the bytes of a run, which begin with the id of a state."""

RUNS = st.lists(st.tuples(st.integers(0, 9), st.binary(min_size=20, max_size=40)), max_size=8)


@pytest.fixture(scope="module")
def header() -> KeyedBackendHeader:
    types = StoredTypes.of(Sample("currency-2.2.1-hashmap-canonical").open().operator("summarize"))
    return KeyedBackendHeader(is_compressed=False, key_serializer=types.key, states=types.states)


def left_in(target: NewSnapshot, files: Sequence[Sequence[Run]]) -> PlacedRuns:
    """The runs, each list of them in a file, half of which is told by itself."""
    parts = []
    for runs in files:
        places = []
        with target.create("runs") as file:
            for key_group, run in runs:
                places.append((key_group, file.size, len(run)))
                file.write(run)
        middle = len(places) // 2
        for some in (places[:middle], places[middle:]):
            parts.append((file.path, np.array(some, np.int64).tobytes()))
    return PlacedRuns.of(parts)


@settings(max_examples=examples(30))
@given(files=st.lists(RUNS, max_size=3), start=st.integers(0, 9), count=st.integers(1, 10))
def test_a_file_is_as_if_its_runs_had_come_in_order(
    files: list[list[Run]],
    start: int,
    count: int,
    header: KeyedBackendHeader,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    files = [[(group, b"\0\0" + run) for group, run in runs] for runs in files]
    target = NewSnapshot.at(str(tmp_path_factory.mktemp("savepoint")))
    key_groups = KeyGroupRange(start, start + count - 1)
    by_group: dict[int, list[bytes]] = {}
    for group, run in sorted(
        ((group, run) for runs in files for group, run in runs), key=lambda one: one[0]
    ):
        if group in key_groups:
            by_group.setdefault(group, []).append(run)
    output = BytesIO()
    expected = CanonicalFile.write(output, header, key_groups, by_group.items())
    placed = left_in(target, files)
    assert (key_groups in placed) == bool(by_group)
    path, file = placed.write(target, "keyed", header, key_groups)
    assert Path(target.location.path, path).read_bytes() == output.getvalue()
    assert file == expected


def test_a_file_of_runs_that_lost_its_end_is_told(
    header: KeyedBackendHeader, tmp_path: Path
) -> None:
    target = NewSnapshot.at(str(tmp_path / "out"))
    placed = left_in(target, [[(0, bytes(20)), (1, bytes(30))]])
    (runs,) = (tmp_path / "out").iterdir()
    with runs.open("r+b") as file:
        file.truncate(45)
    with pytest.raises(TruncatedError, match=f"{runs.name} at byte 45: .* expected 5 bytes more"):
        placed.write(target, "keyed", header, KeyGroupRange(0, 1))
    assert [file.name for file in (tmp_path / "out").iterdir()] == [runs.name]
