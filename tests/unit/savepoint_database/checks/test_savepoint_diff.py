"""The differences of savepoints are those that pandas finds in the rows of both."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.commands import run
from support.longs_by_text import savepoint_of_longs
from support.slow_cases import slow_unless

from savepoint_database.checks.savepoint_diff import DifferenceKind, SavepointDiff
from savepoint_formats.errors import OperatorNotFoundError, TableNotFoundError
from savepoint_formats.savepoint_warnings import UnknownUidWarning
from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

TABLE = "a.keyed_state"
PAIRS = [
    ("currency-1.20.5-hashmap-canonical", "currency-2.2.1-rocksdb-native"),
    ("currency-2.2.1-hashmap-native", "currency-2.2.1-rocksdb-native"),
    ("states-1.20.5-hashmap-native", "states-2.2.1-rocksdb-heaptimers/chk-2"),
    ("states-1.20.5-rocksdb-canonical", "states-1.20.5-hashmap-changelog/chk-2"),
    ("windows-1.20.5-hashmap-canonical", "windows-2.2.1-rocksdb-native"),
    ("sql-2.2.1-hashmap-canonical", "sql-1.20.5-rocksdb-native"),
]
FAST = [(*PAIRS[0], 1 << 6), (*PAIRS[0], 1 << 26)]


def opened(path: Path | str) -> Savepoint:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownUidWarning)
        return Savepoint.open(str(path), uids=["a", "b"])


@pytest.mark.parametrize(
    ("before", "after", "bucket_size"),
    slow_unless(
        lambda case: case in FAST,
        [*((*pair, 1 << 26) for pair in PAIRS), (*PAIRS[0], 1 << 6), (*PAIRS[1], 1 << 6)],
    ),
)
def test_the_same_state_is_equal_in_all_forms(
    samples: Path, before: str, after: str, bucket_size: int
) -> None:
    first, second = opened(samples / before), opened(samples / after)
    found = SavepointDiff(first, second, bucket_size=bucket_size)
    assert found.is_equal
    assert {one.kind for one in found.differences} <= {DifferenceKind.SETTING}
    counted = {table.table: table.unchanged for table in found.tables}
    assert {table.not_compared for table in found.tables} == {()}
    for name, rows in counted.items():
        assert rows == first.scan(name).to_arrow().num_rows, name
    assert all(found.to_arrow(name).num_rows == 0 for name in counted)


def test_another_job_has_other_operators(samples: Path) -> None:
    found = opened(samples / PAIRS[0][0]).diff(str(samples / PAIRS[4][0]))
    assert not found.is_equal
    kinds = {one.kind for one in found.differences}
    assert DifferenceKind.OPERATOR in kinds


totals = st.dictionaries(st.text("abcdef", min_size=1, max_size=3), st.integers(0, 3), max_size=30)


@pytest.mark.usefixtures("slow")
@given(
    before=totals,
    after=totals,
    parallelism=st.sampled_from([128, 5]),
    size=st.sampled_from([50, 1 << 26]),
)
def test_changes_are_those_of_pandas(
    tmp_path_factory: pytest.TempPathFactory,
    before: Mapping[str, int],
    after: Mapping[str, int],
    parallelism: int,
    size: int,
) -> None:
    folder = tmp_path_factory.mktemp("diff")
    first = opened(savepoint_of_longs(folder / "before", before))
    second = opened(savepoint_of_longs(folder / "after", after, parallelism))
    found = SavepointDiff(first, second, TABLE, bucket_size=size)
    frames = (one.scan(TABLE).to_pandas() for one in (first, second))
    both = next(frames).merge(next(frames), on="key", how="outer", indicator=True)
    is_both = both["_merge"] == "both"
    is_other = is_both & (both["total_x"] != both["total_y"])
    expected = {
        "delete": both[both["_merge"] == "left_only"][["key", "total_x"]],
        "insert": both[both["_merge"] == "right_only"][["key", "total_y"]],
        "update_preimage": both[is_other][["key", "total_x"]],
        "update_postimage": both[is_other][["key", "total_y"]],
    }
    changes = found.to_arrow().to_pandas()
    for kind, rows in expected.items():
        rows = rows.set_axis(["key", "total"], axis=1).astype({"total": np.int64})  # noqa: PLW2901
        seen = changes[changes["change_type"] == kind][["key", "total"]]
        pd.testing.assert_frame_equal(
            *(one.sort_values("key").reset_index(drop=True) for one in (seen, rows)),
            check_dtype=False,
        )
    (counts,) = found.tables
    assert counts.inserted == len(expected["insert"])
    assert counts.deleted == len(expected["delete"])
    assert counts.updated == is_other.sum()
    unchanged = (is_both & ~is_other).sum()
    # Rows that need not be read are not counted, unless all are asked for.
    assert counts.unchanged in (None, unchanged)
    (all_counts,) = first.diff(second, TABLE, full=True).tables
    assert all_counts.unchanged == unchanged
    assert found.is_equal == counts.is_equal == (before == after)


def test_the_images_of_an_update_follow_each_other(tmp_path: Path) -> None:
    keys = [f"key {number}" for number in range(500)]
    before = savepoint_of_longs(tmp_path / "before", dict.fromkeys(keys, 1))
    after = savepoint_of_longs(tmp_path / "after", dict.fromkeys(keys, 2))
    rows = [row for batch in opened(before).diff(str(after)).changes() for row in batch.to_pylist()]
    assert len(rows) == 1000
    for old, new in zip(rows[::2], rows[1::2], strict=True):
        assert (old["change_type"], new["change_type"]) == ("update_preimage", "update_postimage")
        assert (old["key"], old["total"], new["total"]) == (new["key"], 1, 2)


def test_samples_are_the_first_changes(tmp_path: Path) -> None:
    before = savepoint_of_longs(tmp_path / "before", {})
    after = savepoint_of_longs(tmp_path / "after", {f"key {one}": one for one in range(50)})
    found = opened(after).diff(str(before))
    assert found.samples(TABLE, 7).num_rows == 7
    assert found.samples(TABLE, 0).num_rows == 0
    assert found.to_arrow(TABLE).num_rows == 50


@pytest.mark.parametrize(("rows", "shown"), [(1, 2), (2, 2), (3, 4), (4, 4)])
def test_a_sample_does_not_end_between_the_images_of_an_update(
    tmp_path: Path, rows: int, shown: int
) -> None:
    before, after = (
        savepoint_of_longs(tmp_path / name, {"a": value, "b": value, "c": value})
        for value, name in enumerate(("before", "after"))
    )
    sample = opened(before).diff(str(after)).samples(TABLE, rows)
    assert sample["change_type"].to_pylist() == ["update_preimage", "update_postimage"] * (
        shown // 2
    )


def test_the_command_says_how_many_changes_it_leaves_out(tmp_path: Path) -> None:
    before, after = (
        savepoint_of_longs(tmp_path / name, {"a": value, "b": value, "c": value})
        for value, name in enumerate(("before", "after"))
    )
    _, printed = run("diff", before, after, "--rows", "2", "--uid", "a")
    assert f"Changes of {TABLE}: 1 of 3 shown" in printed


def test_what_is_not_there_cannot_be_compared(tmp_path: Path) -> None:
    before = opened(savepoint_of_longs(tmp_path / "before", {"a": 1}))
    after = opened(savepoint_of_longs(tmp_path / "after", {"a": 1}, uid="b"))
    found = before.diff(after)
    assert [(one.kind, one.name) for one in found.differences] == [
        ("operator", "a"),
        ("operator", "b"),
    ]
    assert (found.tables, found.is_equal) == ((), False)
    with pytest.raises(TableNotFoundError, match="these can: none"):
        found.to_arrow()
    with pytest.raises(OperatorNotFoundError, match="nobody"):
        before.diff(after, "nobody.keyed_state")
