"""Types are read out of the source of a job, which is never run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from savepoint_formats.errors import DescriptionError
from savepoint_formats.python_state.job_source import job_types
from savepoint_formats.savepoint_warnings import UnreadStateWarning

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = """
raise SystemExit("this must not run")
ITEM = Types.ROW_NAMED(["name"], [Types.STRING()])

class Orders(KeyedProcessFunction):
    def open(self, context):
        self.item = context.get_state(ValueStateDescriptor("item", ITEM))
        self.seen = context.get_list_state(ListStateDescriptor("seen", elem_type_info=Types.LONG()))
        self.sum = context.get_reducing_state(ReducingStateDescriptor("sum", Sum(), Types.LONG()))
        self.by_day = context.get_map_state(
            MapStateDescriptor("by_day", Types.SQL_DATE(), Types.LONG()))
        self.computed = context.get_state(ValueStateDescriptor("computed", type_of("x")))

class Other(KeyedProcessFunction):
    def open(self, context):
        self.n = context.get_state(ValueStateDescriptor("n", Types.INT()))

events.key_by(lambda e: e[0], key_type=Types.STRING()).process(Orders(), OUT).uid("orders").map(f).uid("m")
"""


@pytest.mark.filterwarnings("ignore::savepoint_formats.savepoint_warnings.UnreadStateWarning")
def test_states_belong_to_the_operator_of_their_function() -> None:
    types = job_types(SOURCE, "job.py")
    assert types == {
        "orders": {
            "key": "Types.STRING()",
            "item": "ValueState(Types.ROW_NAMED(['name'], [Types.STRING()]))",
            "seen": "ListState(Types.LONG())",
            "sum": "ReducingState(Types.LONG())",
            "by_day": "MapState(Types.SQL_DATE(), Types.LONG())",
        },
        "Other": {"n": "ValueState(Types.INT())"},
    }


@pytest.mark.parametrize("source", ["", "x = 1", "def", "\0", "(" * 10_000])
def test_a_source_without_descriptors_is_refused(source: str, tmp_path: Path) -> None:
    with pytest.raises(DescriptionError):
        job_types(source, str(tmp_path / "job.py"))


@pytest.mark.filterwarnings("ignore::savepoint_formats.savepoint_warnings.UnreadStateWarning")
def test_names_that_stand_for_each_other_end() -> None:
    source = "A = B\nB = A\nclass F:\n    d = ValueStateDescriptor('x', A)\n"
    with pytest.raises(DescriptionError):
        job_types(source, "job.py")


def test_states_whose_names_or_types_only_a_run_tells_are_named() -> None:
    source = """
NAME = "seen"
class Function:
    def open(self, context):
        context.get_state(ValueStateDescriptor(NAME, Types.LONG()))
        context.get_state(ValueStateDescriptor(f"{self.prefix}-total", Types.LONG()))
        context.get_state(ValueStateDescriptor("made", make_type()))
"""
    with pytest.warns(UnreadStateWarning) as found:
        types = job_types(source, "job.py")
    assert types == {"Function": {"seen": "ValueState(Types.LONG())"}}
    assert [str(one.message) for one in found] == [
        "job.py, line 6: a ValueStateDescriptor is left out, because only a run tells its name",
        "job.py, line 7: a ValueStateDescriptor is left out, because only a run tells its type",
    ]
