"""Estimates from samples are within their errors nearly always, and exact if nothing is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from support.longs_by_text import savepoint_of_longs
from support.nightly import examples
from support.watched_jobs import incremental

from savepoint_extensions.watch import operator_memory
from savepoint_extensions.watch.checkpoint_measures import CheckpointMemory, Measuring
from savepoint_extensions.watch.estimates import skew
from savepoint_extensions.watch.key_sample import OPERAND, VALUE, Sample
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

    from savepoint_extensions.watch.checkpoint_measures import Measures

KEYS, JOBS = 1500, examples(40)


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Savepoint, int]]:
    """Savepoints of keys of several sizes, and the bytes of their state."""
    folder = tmp_path_factory.mktemp("jobs")
    return [made(folder / str(job), job) for job in range(JOBS)]


def made(folder: Path, job: int) -> tuple[Savepoint, int]:
    keys = {f"{'key' * (key % 9)} {job} {key}": 1 for key in range(KEYS)}
    path = savepoint_of_longs(folder, keys)
    # A letter is a byte, with one for the number of letters, the namespace, and the long.
    size = sum(len(key) + 1 + 1 + 8 for key in keys)
    return Savepoint.open(path, uids=["a"]), size


def sampled(savepoint: Savepoint, sample_size: int) -> tuple[Measures, CheckpointMemory]:
    memory = CheckpointMemory(Measuring(sample_size, {}, 3))
    return memory.measured(savepoint, 0), memory


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize(
    ("most", "sample_size"), [(300, 1 << 30), (1 << 15, 20_000), (150, 20_000)]
)
def test_a_size_is_within_its_error_in_nearly_all_jobs(
    jobs: list[tuple[Savepoint, int]],
    monkeypatch: pytest.MonkeyPatch,
    most: int,
    sample_size: int,
) -> None:
    monkeypatch.setattr(operator_memory, "MOST_SAMPLED", most)
    within, errors = 0, []
    for savepoint, size in jobs:
        measures = sampled(savepoint, sample_size)[0]
        (state,), (operator,) = measures.states, measures.operators
        within += abs(state.size - size) <= state.error * size
        errors.append(state.error)
        assert (operator.seen_share < 0.9) == (sample_size == 20_000)
    # 95 of 100 are meant; so few jobs may be a little below.
    assert within >= 0.8 * JOBS
    assert 0 < np.mean(errors) < 0.5


def test_a_sample_keeps_its_keys_from_one_checkpoint_to_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that growth is seen although each size alone is off."""
    monkeypatch.setattr(operator_memory, "MOST_SAMPLED", 300)
    savepoint, _ = made(tmp_path / "job", 0)
    measures, memory = sampled(savepoint, 1 << 30)
    assert memory.measured(savepoint, 0).states == measures.states


def versions(*rows: tuple[int, int, int, int]) -> Sample:
    """Versions of keys: hash, sequence number, type, and bytes of the value; a key has 10 bytes."""
    columns = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    hashes, sequences, types, sizes = columns
    count = len(rows)
    return Sample(
        hashes.astype(np.uint64),
        (sequences << 8 | types).astype(np.uint64),
        np.full(count, 10),
        10 + sizes,
        np.zeros(count, np.int64),
        hashes.astype(np.uint64),
        np.zeros(count, np.uint16),
        pa.array([b"key"] * count, pa.large_binary()),
    )


@pytest.mark.parametrize(
    ("rows", "living"),
    [
        ([(1, 5, VALUE, 8), (1, 3, VALUE, 80)], {1: 18}),
        ([(1, 5, 0, 0), (1, 3, VALUE, 80)], {}),
        ([(1, 5, 7, 0), (2, 3, VALUE, 80)], {2: 90}),
        ([(1, 3, 0, 0), (1, 5, VALUE, 8)], {1: 18}),
        ([(1, 3, OPERAND, 4), (1, 5, OPERAND, 6)], {1: 10 + 4 + 1 + 6}),
        ([(1, 3, VALUE, 4), (1, 5, OPERAND, 6), (1, 1, VALUE, 99)], {1: 10 + 4 + 1 + 6}),
        ([(1, 3, 0, 0), (1, 5, OPERAND, 6), (1, 1, VALUE, 99)], {1: 16}),
    ],
)
def test_versions_of_a_key_merge_as_rocksdb_merges_them(
    rows: list[tuple[int, int, int, int]], living: dict[int, int]
) -> None:
    sample = versions(*rows).living()
    assert dict(zip(sample.hashes.tolist(), sample.sizes.tolist(), strict=True)) == living


def test_skew_is_the_fullest_as_a_multiple_of_the_mean() -> None:
    assert skew([1, 2, 3]) == pytest.approx(1.5)
    assert skew([0, 0]) is None
    assert skew([]) is None


def test_a_state_that_the_sample_has_nothing_of_is_not_called_exact(tmp_path: Path) -> None:
    """All of it may be in a key group that is not sampled."""
    savepoint = Savepoint.open(savepoint_of_longs(tmp_path / "hot", {"k0": 1}), uids=["a"])
    (state,) = sampled(savepoint, 0)[0].states
    assert (state.size, state.error) == (0, 1.0)
    (whole,) = sampled(savepoint, 1 << 30)[0].states
    assert (whole.size, whole.error) == (12, 0.0)
    empty = Savepoint.open(savepoint_of_longs(tmp_path / "empty", {}), uids=["a"])
    (nothing,) = sampled(empty, 1 << 30)[0].states
    assert (nothing.size, nothing.error) == (0, 0.0)


def test_state_that_outgrows_its_sample_is_sampled_less(tmp_path: Path) -> None:
    small = Savepoint.open(savepoint_of_longs(tmp_path / "small", {"k": 1}), uids=["a"])
    large, size = made(tmp_path / "large", 0)
    first, memory = sampled(small, 8000)
    assert first.operators[0].seen_share == 1
    whole, less = memory.measured(large, 0), memory.measured(large, 0)
    (state,), (operator,) = less.states, less.operators
    assert whole.operators[0].seen_share == 1
    assert operator.seen_share < 0.5
    # Both read all of _metadata, in which this state is.
    assert less.read_size - less.metadata_size < (whole.read_size - whole.metadata_size) / 2
    assert abs(state.size - size) <= state.error * size
    assert less.states == sampled(large, 8000)[0].states


def test_tables_that_were_read_for_more_key_groups_are_sampled_less(tmp_path: Path) -> None:
    savepoint = Savepoint.open(incremental(tmp_path, 5))
    _, memory = sampled(savepoint, 1 << 30)
    memory.measuring = Measuring(1000, {}, 3)
    memory.measured(savepoint, 0)
    less = memory.measured(savepoint, 0)
    fresh = sampled(savepoint, 1000)[0]
    seen = {it.operator: it.seen_share for it in less.operators}
    assert min(seen.values()) < 1
    assert less.states == fresh.states
