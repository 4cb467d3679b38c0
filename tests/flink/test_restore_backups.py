"""Backups whose snapshots are gone, restored by Flink: each finds its files in the shared directory."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.backed_up import aged, broken, complete, spare
from support.flink_restore import FlinkRestore, KeyedState, Operator, RestoreError, TimerService
from support.nightly import nightly
from support.order_chain import state_of
from support.sample_operators import BUFFER, CENTURY_MS, STATEFUL
from support.sample_rows import SAMPLES, Sample, in_order

from savepoint_formats.metadata import RelativeFile, streams_of
from state_processor import Savepoint, prune_backups

if TYPE_CHECKING:
    from collections.abc import Sequence

    from support.flink_restore import Restored
    from support.order_chain import OrderChain, State

NAMES = [
    "states-2.2.1-rocksdb-incremental",
    "states-2.2.1-rocksdb-filemerging",
    "states-1.20.5-hashmap-changelog",
    "states-1.20.5-rocksdb-native",
]


ORDERS = Operator(
    "orders",
    key="LONG",
    states=(
        KeyedState.value("latest", "STRING"),
        *(KeyedState.map(name, "LONG", "STRING") for name in ("open", "closed")),
        # Flink shows no value that has expired.
        KeyedState.map("fading", "LONG", "STRING").with_ttl(CENTURY_MS),
    ),
    timers=(TimerService(),),
)


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


def seen_by_flink(restored: Restored) -> State:
    """State of the keys as ``state_of`` has it."""
    state: State = {}
    for row in restored.keyed_state("orders"):
        if row["latest"] is not None:
            state["latest", row["key"], None] = row["latest"]
        for name in ("open", "closed", "fading"):
            state |= {(name, row["key"], entry): value for entry, value in row[name] or ()}
    for row in restored.timers("orders"):
        state["timers", row["key"], row["timestamp"]] = True
    return state


@pytest.mark.parametrize(
    ("rule", "kept"), [("3d", (2, 5, 8)), pytest.param("3d,72h", range(9), marks=nightly)]
)
def test_flink_restores_each_backup_of_a_chain_that_is_kept(
    flink_restore: FlinkRestore,
    order_chain: OrderChain,
    tmp_path: Path,
    rule: str,
    kept: Sequence[int],
) -> None:
    """Incremental checkpoints, three a day, are backed up and pruned one after the other."""
    chain, onto, names = order_chain.paths(), tmp_path / "backups", []
    copied = []
    for number, path in enumerate(chain):
        made = Savepoint.open(path).backup(onto)
        copied.append(made.copied_size / made.file_size)
        time = datetime(2026, 1, 1 + number // 3, number % 3, tzinfo=UTC)
        names.append(aged(onto, Path(made.path).name, f"{time:%Y%m%dT%H%M%SZ}"))
        prune_backups(onto, rule, now=time)
    # Tables of the checkpoint before are there already.
    assert (copied[0], min(copied) < 0.5) == (1, True)
    assert complete(onto) == [names[number] for number in kept]
    assert broken(onto) == spare(onto) == []
    expected = {number: state_of(chain[number]) for number in kept}
    moved = onto.rename(tmp_path / "moved")
    away = order_chain.target.rename(order_chain.folder / "away")
    try:
        for number, state in expected.items():
            restored = flink_restore(moved / names[number], ORDERS, backend="rocksdb")
            assert seen_by_flink(restored) == state, number
    finally:
        away.rename(order_chain.target)
    assert all(ours != theirs for ours, theirs in combinations(expected.values(), 2))
