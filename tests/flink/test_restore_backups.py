"""Backups whose snapshots are gone, restored by Flink: each finds its files in the shared directory."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.backed_up import aged
from support.flink_restore import FlinkRestore, RestoreError
from support.sample_operators import BUFFER, STATEFUL
from support.sample_rows import SAMPLES, Sample, in_order

from savepoint_formats.metadata import RelativeFile, streams_of
from state_processor import Savepoint, prune_backups

NAMES = [
    "states-2.2.1-rocksdb-incremental",
    "states-2.2.1-rocksdb-filemerging",
    "states-1.20.5-hashmap-changelog",
    "states-1.20.5-rocksdb-native",
]


def backed_up(sample: Sample, folder: Path) -> tuple[Path, list[str]]:
    """Two backups of a snapshot, in a directory that was moved afterwards; the snapshot is gone."""
    source, onto, moved = folder / "job", folder / "backups", folder / "other" / "place"
    shutil.copytree(SAMPLES / sample.name, source)
    (snapshot,) = (path.parent for path in source.rglob("_metadata"))
    first = Savepoint.open(snapshot).backup(onto)
    second = Savepoint.open(snapshot).backup(onto)
    assert second.copied_files == 0
    shutil.rmtree(source)
    moved.parent.mkdir()
    onto.rename(moved)
    return moved, [Path(first.path).name, Path(second.path).name]


def config_of(sample: Sample, folder: Path) -> dict[str, str]:
    if "changelog" not in sample.name:
        return {}
    return {
        "state.changelog.enabled": "true",
        "state.changelog.storage": "filesystem",
        "state.changelog.dstl.dfs.base-path": folder.as_uri(),
    }


@pytest.mark.parametrize("name", NAMES)
def test_flink_restores_a_backup_whose_snapshot_and_elder_are_gone(
    flink_restore: FlinkRestore, tmp_path: Path, name: str
) -> None:
    sample = Sample(name)
    onto, (first, second) = backed_up(sample, tmp_path)
    aged(onto, first, "20200101T000000Z")
    assert sum(row.is_deleted for row in prune_backups(onto, "7d").backups) == 1
    files = list(streams_of(Savepoint.open(onto / second).metadata))
    assert any(isinstance(it, RelativeFile) and it.path.startswith("../shared/") for it in files)
    restored = flink_restore(
        onto / second,
        STATEFUL,
        BUFFER,
        flink=sample.facts["flink"],
        backend=sample.facts["backend"],
        config=config_of(sample, tmp_path),
    )
    assert restored.keyed_state("stateful") == in_order(sample.keyed_state("stateful"))
    assert restored.timers("stateful") == in_order(sample.operators()["stateful"]["timers"])
    assert sorted(restored.elements("buffer", "elements")) == sorted(
        sample.elements("buffer", "elements")
    )


def test_flink_misses_a_shared_file_that_is_gone(
    flink_restore: FlinkRestore, tmp_path: Path
) -> None:
    """So what it reads above is in the shared directory, and nowhere else."""
    onto, (first, _) = backed_up(Sample(NAMES[0]), tmp_path)
    for file in (onto / "shared").iterdir():
        file.unlink()
    with pytest.raises(RestoreError, match=r"does not exist|No such file"):
        flink_restore(onto / first, STATEFUL, backend="rocksdb")
