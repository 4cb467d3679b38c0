"""Operators that go together: those without state, and all but some."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.longs_by_text import savepoint_of_longs
from support.sample_rows import SAMPLES

from savepoint_extensions.lifecycle.removed_operators import removed_operators, restores_nothing
from savepoint_formats.errors import OperatorNotFoundError
from savepoint_formats.metadata import SubtaskState
from savepoint_spark.changing import operator_states
from savepoint_spark.changing.stored_operator_state import StoredElements
from savepoint_spark.writing.operator_plan import OperatorPlan
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

SAMPLE = "states-2.2.1-rocksdb-native"


def names(
    savepoint: Savepoint, *uids: str, empty: bool = False, all_but: tuple[str, ...] = ()
) -> set[str]:
    gone = removed_operators(savepoint.writer(), uids, empty=empty, all_but=all_but)
    return {planned.name for planned in gone}


def test_those_go_that_are_named_or_empty_or_not_kept() -> None:
    savepoint = Savepoint.open(SAMPLES / SAMPLE)
    every = {operator.name for operator in savepoint.operators()}
    rows = {row.operator for row in savepoint.stats().states if row.entries}
    empty = names(savepoint, empty=True)
    assert empty
    # Operators with nothing in any state, except for sources, whose coordinators have some.
    assert empty <= every - rows
    assert all(not savepoint.operator(name).catalog.states for name in empty)
    assert names(savepoint, "stateful", empty=True) == empty | {"stateful"}
    assert names(savepoint, all_but=("stateful", "buffer")) == every - {"stateful", "buffer"}
    with pytest.raises(OperatorNotFoundError):
        names(savepoint, all_but=("statefull",))
    with pytest.raises(ValueError, match="no operator is named"):
        names(savepoint)
    left = savepoint.remove_operator(empty=True).operators
    assert {planned.name for planned in left} == every - empty
    # Changes of all operators hide none, and give none of them state.
    left = savepoint.rescale(parallelism=4).remove_operator(empty=True).operators
    assert {planned.name for planned in left} == every - empty


def test_an_operator_that_got_state_by_a_change_stays() -> None:
    savepoint = Savepoint.open(SAMPLES / SAMPLE)
    name = min(names(savepoint, empty=True))
    buffer = savepoint.operator("buffer")
    state = next(iter(operator_states(buffer).values()))
    added = OperatorPlan(operator_states=(StoredElements(None, buffer, state),))
    writer = savepoint.writer()
    planned = writer.operator(name)
    writer = writer.replaced(
        planned, planned.changed(lambda operator: replace(operator, added=added))
    )
    gone = removed_operators(writer, (), empty=True, all_but=())
    assert {it.name for it in gone} == names(savepoint, empty=True) - {name}


def test_a_table_of_no_keys_is_no_state_and_one_key_is(tmp_path: Path) -> None:
    for name, totals in (("none", {}), ("one", {"a": 1})):
        (operator,) = Savepoint.open(savepoint_of_longs(tmp_path / name, totals)).operators()
        assert restores_nothing(operator) == (not totals)


def test_an_operator_that_has_ended_stays(tmp_path: Path) -> None:
    """Without it the job would run it again from the beginning."""
    (operator,) = Savepoint.open(savepoint_of_longs(tmp_path / "none", {})).operators()
    ended = replace(operator.record, is_finished=True, subtasks=())
    partly = replace(operator.record, subtasks=(SubtaskState(0, is_finished=True),))
    assert not restores_nothing(replace(operator, record=ended))
    assert not restores_nothing(replace(operator, record=partly))
