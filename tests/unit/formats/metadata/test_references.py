from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.commands import lines

from savepoint_formats.metadata import FileStream, InlineStream, RelativeFile, SegmentStream
from savepoint_formats.metadata.references import size_of
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path


def segment(start: int, size: int) -> SegmentStream:
    return SegmentStream(start, size, 0, "file:/merged", "")


@pytest.mark.parametrize(
    ("streams", "size"),
    [
        ([], 0),
        ([FileStream(10, "a"), FileStream(10, "a"), RelativeFile("b", 5)], 15),
        ([FileStream(10, "a"), FileStream(12, "a")], 12),
        ([segment(0, 10), segment(5, 10), segment(20, 1), segment(21, 2)], 18),
        ([InlineStream("a", b"abc"), InlineStream("a", b"abc")], 6),
        ([FileStream(-1, "a")], 0),
    ],
)
def test_each_byte_of_a_file_counts_once(streams: list[FileStream], size: int) -> None:
    assert size_of(streams) == size


def test_state_in_metadata_may_be_left_out() -> None:
    assert size_of([InlineStream("a", b"abc"), RelativeFile("b", 5)], with_inline=False) == 5


def test_sizes_of_a_checkpoint_are_those_of_its_files(cases: Path) -> None:
    folder = cases / "08-sizes-shared-by-handles"
    files = [path for name in ("chk-1", "shared") for path in (folder / name).rglob("*")]
    size = sum(path.stat().st_size for path in files if path.is_file())
    described = Savepoint.open(folder / "chk-1").describe()
    assert described.size == size == 127_596
    assert described.kind == "unaligned checkpoint"
    assert described.in_flight_size is not None
    assert 0 < described.in_flight_size < size
    assert [snapshot["size"] for snapshot in lines("snapshots", folder)] == [size]


def test_a_file_of_many_change_sets_counts_once(samples: Path) -> None:
    sample = samples / "states-1.20.5-hashmap-changelog"
    (metadata,) = sample.rglob("_metadata")
    described = Savepoint.open(metadata.parent).describe()
    files = [path for path in sample.rglob("*") if path.name != "expected.json"]
    size = sum(path.stat().st_size for path in files if path.is_file())
    # The handle of a changelog's file leaves out its first byte.
    assert described.size == pytest.approx(size, abs=16)
    assert described.in_flight_size is None
