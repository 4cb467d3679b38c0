"""A sorted file gives the rows of a value, and of a range of values, whatever blocks they lie in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.nightly import examples

from savepoint_extensions.mixed_mode import sorted_file
from savepoint_extensions.mixed_mode.sorted_file import SortedFile, write_sorted

if TYPE_CHECKING:
    from pathlib import Path

KEYS = st.binary(max_size=2)
TIMES = st.integers(-5, 5)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks so small that a value may fill several."""
    monkeypatch.setattr(sorted_file, "_BLOCK_ROWS", 3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sorted")


@settings(max_examples=examples(60))
@given(keys=st.lists(KEYS, max_size=20), wanted=st.lists(KEYS, max_size=5))
def test_rows_of_a_key_are_all_that_there_are(
    folder: Path, keys: list[bytes], wanted: list[bytes]
) -> None:
    path = str(folder / "keys")
    numbers = pa.array(range(len(keys)), pa.int64())
    write_sorted(path, pa.table({"key": pa.array(keys, pa.binary()), "number": numbers}))
    file = SortedFile.open(path)
    for key in wanted + keys:
        expected = [(key, number) for number, other in enumerate(keys) if other == key]
        assert list(file.rows_of(key)) == expected


@settings(max_examples=examples(60))
@given(times=st.lists(TIMES, max_size=20), low=TIMES, high=TIMES)
def test_a_range_of_times_has_those_above_its_low_end(
    folder: Path, times: list[int], low: int, high: int
) -> None:
    path = str(folder / "times")
    write_sorted(path, pa.table({"time": pa.array(times, pa.int64())}))
    file = SortedFile.open(path)
    times_between = pa.Table.from_batches(file.between(low, high), file.reader.schema).column(0)
    assert times_between.to_pylist() == sorted(time for time in times if low < time <= high)
    assert file.first_above(low) == min((time for time in times if time > low), default=None)
