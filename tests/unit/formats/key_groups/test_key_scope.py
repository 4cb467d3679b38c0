"""Local key groups are redistributed in order and evenly, each to one new subtask."""

from __future__ import annotations

from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from savepoint_formats.key_groups.ranges import KeyGroupRange
from savepoint_formats.key_groups.scope import KeyScope, LocalKeyGroups, redistributed


def groups(subtask: int, start: int, end: int) -> LocalKeyGroups:
    return LocalKeyGroups(subtask, KeyGroupRange(start, end))


def test_the_36_local_key_groups_of_three_tasks_go_to_two_as_the_design_draws_them() -> None:
    # The handle of the task in the middle is split into two parts of six.
    assert redistributed(3, 2, 12) == (
        (groups(0, 0, 11), groups(1, 0, 5)),
        (groups(1, 6, 11), groups(2, 0, 11)),
    )


def test_two_tasks_become_five_whose_shares_differ_by_one_at_most() -> None:
    assert redistributed(2, 5, 12) == (
        (groups(0, 0, 4),),
        (groups(0, 5, 9),),
        (groups(0, 10, 11), groups(1, 0, 2)),
        (groups(1, 3, 7),),
        (groups(1, 8, 11),),
    )


def test_five_tasks_become_one_that_has_five_instances_of_each_key_group() -> None:
    (only,) = redistributed(5, 1, 12)
    assert only == tuple(groups(subtask, 0, 11) for subtask in range(5))


def test_nothing_moves_where_the_parallelism_stays() -> None:
    assert redistributed(4, 4, 12) == tuple((groups(subtask, 0, 11),) for subtask in range(4))


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 300))
def test_each_local_key_group_goes_to_one_task_in_order_and_evenly(
    subtasks: int, parallelism: int, max_parallelism: int
) -> None:
    found = redistributed(subtasks, parallelism, max_parallelism)
    assert len(found) == parallelism
    numbers = [
        (part.subtask, key_group)
        for part in chain.from_iterable(found)
        for key_group in part.key_groups
    ]
    assert numbers == [(one, group) for one in range(subtasks) for group in range(max_parallelism)]
    sizes = [sum(map(len, parts)) for parts in found]
    assert max(sizes) - min(sizes) <= 1
    # No handle goes to a task in more parts than one.
    assert all(len({part.subtask for part in parts}) == len(parts) for parts in found)


@pytest.mark.parametrize("numbers", [(0, 1, 12), (1, 0, 12), (1, 1, 0)])
def test_numbers_that_no_job_has_are_refused(numbers: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="at least one of each"):
        redistributed(*numbers)


def test_a_scope_says_whether_it_is_local() -> None:
    assert KeyScope.LOCAL.is_local
    assert not KeyScope.KEYED.is_local
