"""Writers of Spark on a real file system that is full: an error, nothing left behind, and a next write."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from faults.ways import SOURCE_FACTOR, WAYS, Place, digests
from support.nightly import nightly

from savepoint_formats.errors import SavepointError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

_LITTLE, _ENOUGH = 48, "64m"
"""Kilobytes of room for a write, and all that it needs."""


@pytest.fixture(scope="module")
def source(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = str(tmp_path_factory.mktemp("source") / "savepoint")
    WAYS["bootstrap"].write(spark, Place("", folder, SOURCE_FACTOR), "error")
    return folder


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own in memory."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = _mount(folder, _ENOUGH)
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def _mount(folder: Path, size: str, *options: str) -> subprocess.CompletedProcess[str]:
    words = ["mount", "-t", "tmpfs", "-o", ",".join([*options, f"size={size}"]), "tmpfs"]
    return subprocess.run([*words, str(folder)], check=False, capture_output=True, text=True)


@pytest.mark.parametrize(
    "name",
    [
        "change",
        "overwrite",
        *(pytest.param(name, marks=nightly) for name in ("bootstrap", "rescale", "copy")),
    ],
)
def test_a_full_disk_is_an_error_and_the_next_write_succeeds(
    name: str, spark: SparkSession, source: str, disk: Path
) -> None:
    way, target = WAYS[name], disk / "target"
    if way.is_replacing:
        shutil.copytree(source, target)
    place = Place(source, str(target), SOURCE_FACTOR + 1)
    before = digests(str(target))
    used = sum(path.stat().st_size for path in target.rglob("*"))
    # A file fills whole pages of memory.
    size = (used >> 10) + 4 * len(before) + _LITTLE
    assert not _mount(disk, f"{size}k", "remount").returncode
    with pytest.raises(SavepointError, match="No space left on device") as raised:
        way.write(spark, place, "overwrite" if way.is_replacing else "error")
    assert "\n" not in str(raised.value)
    assert digests(str(target)) == before
    assert not _mount(disk, _ENOUGH, "remount").returncode
    way.write(spark, place, "overwrite" if way.is_replacing else "error")
    assert (way.fault(place), way.left_over(place)) == ("", "")
