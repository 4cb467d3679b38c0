"""Stats, verify and diff tell of savepoints what pandas tells of the rows that a job put into them."""

from __future__ import annotations

import string
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from support.longs_by_text import savepoint_of_longs

from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

KEY_GROUPS = 128


def java_string_hash(text: str) -> int:
    """``String.hashCode``, as Java's documentation has it."""
    found = 0
    for letter in text:
        found = (31 * found + ord(letter)) & 0xFFFFFFFF
    return found


def murmur(code: int) -> int:
    """MurmurHash3 of four bytes with the seed 0, made positive as Flink does."""
    mask = 0xFFFFFFFF
    code = code * 0xCC9E2D51 & mask
    code = (code << 15 | code >> 17) & mask
    code = code * 0x1B873593 & mask
    code = (code << 13 | code >> 19) & mask
    code = (code * 5 + 0xE6546B64 & mask) ^ 4
    code = (code ^ code >> 16) * 0x85EBCA6B & mask
    code = (code ^ code >> 13) * 0xC2B2AE35 & mask
    code ^= code >> 16
    signed = code - (1 << 32) if code >> 31 else code
    return 0 if signed == -(1 << 31) else abs(signed)


@pytest.fixture
def job() -> pd.DataFrame:
    """Totals by key; lengths of keys differ by far, as those of a skewed job do."""
    random = np.random.default_rng(20261122)
    lengths = np.minimum(random.pareto(1.5, 400).astype(int) + 3, 500)
    letters = np.array(list(string.ascii_letters))
    keys = {"".join(random.choice(letters, length)) for length in lengths}
    frame = pd.DataFrame({"key": sorted(keys)})
    frame["total"] = random.integers(-(1 << 40), 1 << 40, len(frame))
    lengths = frame["key"].str.len()
    # A text has its length plus one in front, in seven bits a byte; behind it comes the mark of the
    # namespace that there is not, and the value has eight bytes.
    frame["size"] = lengths + np.where(lengths + 1 < 128, 1, 2) + 1 + 8
    frame["key_group"] = frame["key"].map(lambda key: murmur(java_string_hash(key)) % KEY_GROUPS)
    return frame


@pytest.fixture
def savepoint(job: pd.DataFrame, tmp_path: Path) -> Savepoint:
    return taken(job, tmp_path / "job")


def taken(job: pd.DataFrame, path: Path, max_parallelism: int = KEY_GROUPS) -> Savepoint:
    totals = {str(key): int(total) for key, total in zip(job["key"], job["total"], strict=True)}
    return Savepoint.open(str(savepoint_of_longs(path, totals, max_parallelism)), uids=["a"])


def test_what_a_state_weighs_is_what_the_job_put_in(
    job: pd.DataFrame, savepoint: Savepoint
) -> None:
    report = savepoint.stats(top=5)
    (state,) = report.states
    assert (state.keys, state.rows, state.entries) == (len(job),) * 3
    sizes = job["size"]
    assert state.sizes is not None
    assert (state.size, state.sizes.total, report.size) == (sizes.sum(),) * 3
    assert (state.sizes.min, state.sizes.max) == (sizes.min(), sizes.max())
    assert state.sizes.mean == pytest.approx(sizes.mean())
    ordered = np.quantile(sizes, [0.5, 0.99], method="inverted_cdf")
    assert (state.sizes.p50, state.sizes.p99) == tuple(ordered)
    largest = job.nlargest(5, "size", keep="all")
    assert {one.key for one in report.largest_keys} <= set(largest["key"])
    assert [one.size for one in report.largest_keys] == largest["size"].tolist()[:5]


def test_key_groups_are_as_uneven_as_the_keys_of_the_job(
    job: pd.DataFrame, savepoint: Savepoint
) -> None:
    report = savepoint.stats()
    groups = job.groupby("key_group").agg(keys=("key", "size"), size=("size", "sum"))
    told = {one.key_group: (one.keys, one.size) for one in report.key_groups}
    assert told == {group: tuple(row) for group, row in groups.iterrows()}
    keys = groups["keys"].reindex(range(KEY_GROUPS), fill_value=0)
    (skew,) = (one for one in report.skew if one.over == "key groups")
    assert skew.keys_max_over_mean == pytest.approx(keys.max() / keys.mean())
    apart = np.abs(np.subtract.outer(keys.to_numpy(), keys.to_numpy())).mean()
    assert skew.keys_gini == pytest.approx(apart / (2 * keys.mean()))


def test_verify_finds_every_entry_and_nothing_wrong(
    job: pd.DataFrame, savepoint: Savepoint
) -> None:
    found = savepoint.verify()
    assert (found.is_whole, found.faults, found.entries) == (True, (), len(job))


@pytest.mark.parametrize("max_parallelism", [KEY_GROUPS, 5])
def test_the_changes_are_those_of_the_job(
    job: pd.DataFrame, savepoint: Savepoint, tmp_path: Path, max_parallelism: int
) -> None:
    later = job[["key", "total"]].iloc[20:].copy()
    later.loc[later.index % 7 == 0, "total"] += 1
    later = pd.concat([later, pd.DataFrame({"key": ["new", "newer"], "total": [1, 2]})])
    diff = savepoint.diff(taken(later, tmp_path / "later", max_parallelism), full=True)
    (counts,) = diff.tables
    both = job[["key", "total"]].merge(later, on="key", how="outer", indicator=True)
    is_kept = both["_merge"] == "both"
    is_updated = is_kept & (both["total_x"] != both["total_y"])
    told = counts.deleted, counts.inserted, counts.updated, counts.unchanged
    assert told == (20, 2, is_updated.sum(), (is_kept & ~is_updated).sum())
    expected = {
        "delete": both.loc[both["_merge"] == "left_only", ["key", "total_x"]],
        "insert": both.loc[both["_merge"] == "right_only", ["key", "total_y"]],
        "update_preimage": both.loc[is_updated, ["key", "total_x"]],
        "update_postimage": both.loc[is_updated, ["key", "total_y"]],
    }
    feed = diff.to_arrow().to_pandas().groupby("change_type")
    assert set(feed.groups) == set(expected)
    for change, rows in feed:
        totals = dict(zip(rows["key"], rows["total"], strict=True))
        assert totals == dict(expected[str(change)].itertuples(index=False, name=None))
