"""Subtasks that share key groups are of one family, and no others are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from savepoint_formats.key_groups.families import Family, families
from savepoint_formats.key_groups.ranges import KeyGroupRange


@given(data=st.data(), before=st.integers(1, 40), times=st.integers(1, 6))
def test_a_family_shares_its_key_groups_with_no_other(
    data: st.DataObject, before: int, times: int
) -> None:
    after = before * times
    parallelism = data.draw(st.integers(1, after))
    members = families(before, after, parallelism)
    assert sorted(subtask for family in members for subtask in family.subtasks) == list(
        range(parallelism)
    )
    needed = {
        subtask: {group % before for group in KeyGroupRange.of_subtask(subtask, parallelism, after)}
        for subtask in range(parallelism)
    }
    for family in members:
        own = [group for key_groups in family.key_groups for group in key_groups]
        assert own == sorted(set().union(*(needed[subtask] for subtask in family.subtasks)))
        reached = {family.subtasks[0]}
        for _ in family.subtasks:
            held = set().union(*(needed[subtask] for subtask in reached))
            reached |= {subtask for subtask in needed if needed[subtask] & held}
        assert reached == set(family.subtasks)


def test_twice_as_many_key_groups_have_families_of_two() -> None:
    assert families(128, 256, 4) == (
        Family((0, 2), (KeyGroupRange(0, 63),)),
        Family((1, 3), (KeyGroupRange(64, 127),)),
    )


@given(data=st.data(), after=st.integers(1, 40), times=st.integers(2, 6))
def test_where_key_groups_become_fewer_each_subtask_is_alone(
    data: st.DataObject, after: int, times: int
) -> None:
    parallelism = data.draw(st.integers(1, after))
    members = families(after * times, after, parallelism)
    assert [family.subtasks for family in members] == [(number,) for number in range(parallelism)]
    for number, family in enumerate(members):
        own = [group for key_groups in family.key_groups for group in key_groups]
        needed = KeyGroupRange.of_subtask(number, parallelism, after)
        assert own == [group for group in range(after * times) if group % after in needed]


def test_what_is_no_multiple_is_refused() -> None:
    with pytest.raises(ValueError, match="100 key groups, expected a multiple or a divisor of 30"):
        families(30, 100, 2)
