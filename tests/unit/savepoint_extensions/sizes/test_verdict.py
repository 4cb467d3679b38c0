"""The line that names what is most important about the sizes of state."""

from __future__ import annotations

import pytest

from savepoint_extensions.sizes.statistics import KeyStatistics, SkewStatistics
from savepoint_extensions.sizes.verdict import verdict


def test_without_state_there_is_nothing_to_name() -> None:
    assert verdict([], [], [], [], []) == "there is no state"
    problem = "not everything could be counted: orders is damaged"
    assert verdict([], [], [], [], ["orders is damaged", "another"]) == problem


@pytest.mark.parametrize(("share", "is_named"), [(0.1, True), (0.09, False)])
def test_a_key_is_named_if_it_has_a_tenth_of_its_operator(share: float, is_named: bool) -> None:
    key = KeyStatistics("orders", "k" * 41, 0, 0, 1, 10, share)
    named = f"key {'k' * 40}… has 10.0% of operator orders"
    assert verdict([], [], [], [key, key], []) == (named if is_named else "there is no state")


@pytest.mark.parametrize(
    ("over", "times", "is_named"),
    [("subtasks", 1.5, True), ("subtasks", 1.4, False), ("key groups", 9.0, False)],
)
def test_a_subtask_is_named_if_it_has_half_as_much_again_as_the_mean(
    over: str, times: float, is_named: bool
) -> None:
    skew = SkewStatistics("orders", over, 2, None, None, times, None)
    named = "the fullest subtask of orders has 1.5 times the mean"
    assert verdict([], [], [skew], [], []) == (named if is_named else "there is no state")
