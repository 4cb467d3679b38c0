"""Session windows of a key never overlap or touch, because Flink would have merged them."""

from __future__ import annotations

import pyarrow as pa
import pytest

from savepoint_formats.errors import OverlappingWindowsError
from savepoint_spark.writing.grouped_rows import expect_apart

WINDOW = pa.struct([("start", pa.int64()), ("end", pa.int64())])
SETS = pa.list_(pa.struct([("f0", WINDOW), ("f1", WINDOW)]))
KEYS = pa.array(["a", "b", "c"])


def sets(*of_keys: list[tuple[int, int]] | None) -> pa.Array:
    """Windows of each key, each with its own state."""
    pairs = [
        None if spans is None else [{"f0": span, "f1": span} for span in map(window, spans)]
        for spans in of_keys
    ]
    return pa.array(pairs, SETS)


def window(span: tuple[int, int]) -> dict[str, int]:
    return {"start": span[0], "end": span[1]}


def test_windows_of_a_key_may_lie_apart_and_those_of_two_keys_overlap() -> None:
    apart = sets([(90, 95), (0, 10)], None, [(5, 6)])
    for start in range(4):
        expect_apart(KEYS[start:], apart[start:])


@pytest.mark.parametrize(
    ("windows", "told"),
    [
        ([(0, 10), (10, 20)], r"\[0, 10\) and \[10, 20\)"),
        ([(50, 60), (0, 100)], r"\[0, 100\) and \[50, 60\)"),
        ([(0, 100), (200, 300), (20, 30)], r"\[0, 100\) and \[20, 30\)"),
        ([(0, 100), (1, 2), (90, 95)], r"\[0, 100\) and \[1, 2\)"),
        ([(5, 6), (5, 6)], r"\[5, 6\) and \[5, 6\)"),
    ],
)
def test_windows_of_a_key_that_overlap_or_touch_are_refused(
    windows: list[tuple[int, int]], told: str
) -> None:
    with pytest.raises(OverlappingWindowsError, match=f"{told} of key 'c'"):
        expect_apart(KEYS, sets(None, [(0, 1)], windows))
    with pytest.raises(OverlappingWindowsError, match=f"{told} of key 'c'"):
        expect_apart(KEYS[2:], sets(None, [(0, 1)], windows)[2:])
