"""Which releases can have written a version of ``_metadata``, and which can read it."""

from __future__ import annotations

from itertools import pairwise

import pytest

from savepoint_extensions.upgrade.compatibility.rules import Crossing, is_too_new
from savepoint_formats.metadata import CheckpointMetadata, FlinkVersionRange, MetadataVersion
from savepoint_formats.metadata.flink_versions import TARGETS

VERSIONS = range(MetadataVersion.OLDEST, MetadataVersion.NEWEST + 1)


def written(version: int) -> FlinkVersionRange:
    return FlinkVersionRange.of(CheckpointMetadata(version, 1, ()))


def test_2_1_to_2_3_write_version_6() -> None:
    assert str(written(6)) == "2.1 to 2.3"


def test_every_release_writes_one_version() -> None:
    ranges = [written(version) for version in VERSIONS]
    for before, after in pairwise(ranges):
        assert before.newest < after.oldest


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_release_reads_what_releases_up_to_it_write(
    version: int, target: tuple[int, int]
) -> None:
    of = written(version)
    assert is_too_new(Crossing(of, version, target)) == (target < of.oldest)


def test_2_3_does_not_read_version_7() -> None:
    assert is_too_new(Crossing(written(7), 7, (2, 3)))
    assert not is_too_new(Crossing(written(6), 6, (2, 3)))
