"""A function that goes on from a savepoint leaves what it would have left in one run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.run_by_hand import entries_of, left_by

from savepoint_database.types.descriptors import StateTtlConfig
from savepoint_formats.errors import KeyTypeError, StateTypeError, WriteError
from savepoint_functions.functions.backends import backend as backends
from savepoint_functions.functions.execution_options import ExecutionOptions
from savepoint_functions.functions.initial_state import InitialState, expect_same_state
from savepoint_functions.functions.result_table import FunctionState
from state_processor import (
    AggregatingStateDescriptor,
    KeyedStateBootstrapFunction,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from savepoint_functions.functions.keyed_runtime_context import KeyedRuntimeContext
    from savepoint_functions.functions.process_functions import KeyedContext

WAYS = [
    ExecutionOptions(),
    ExecutionOptions(state_backend="rocksdb"),
]
LONG = Types.LONG()
LIFE = StateTtlConfig(100)


class Clock:
    """A clock that rows set.

    Attributes:
        now: What it says, in ms.
    """

    now = 0

    def __call__(self) -> int:
        return self.now


CLOCK = Clock()


class Steps(KeyedStateBootstrapFunction):
    """Does what each row asks for, at the time that it says."""

    def open(self, runtime_context: KeyedRuntimeContext) -> None:
        context, window = runtime_context, Types.TIME_WINDOW()
        self.value = context.get_state(ValueStateDescriptor("value", LONG))
        self.text = context.get_state(ValueStateDescriptor("text", Types.STRING()).with_ttl(LIFE))
        self.list = context.get_list_state(ListStateDescriptor("list", LONG).with_ttl(LIFE))
        self.map = context.get_map_state(MapStateDescriptor("map", LONG, LONG).with_ttl(LIFE))
        self.most = context.get_reducing_state(ReducingStateDescriptor("most", LONG, max))
        self.sum = context.get_aggregating_state(AggregatingStateDescriptor("sum", LONG, Total()))
        self.windows = context.get_reducing_state(
            ReducingStateDescriptor("windows", LONG, lambda one, other: one + other), window
        )
        self.names = context.get_list_state(ListStateDescriptor("names", Types.STRING()), LONG)
        self.timers = context.get_internal_timer_service()

    def process_element(self, value: Any, context: KeyedContext) -> None:
        CLOCK.now, number = value.now, value.number
        window = (number * 10, number * 10 + 10)
        match value.does:
            case "value":
                self.value.update(number + (self.value.value() or 0))
            case "text":
                self.text.update(f"{self.text.value()}, {number}"[-9:])
            case "list":
                self.list.update([*self.list.get()[-2:], number])
            case "map":
                self.map.put(number, (self.map.get(number) or 0) + 1)
            case "remove":
                self.map.remove(number)
            case "fold":
                self.most.add(number)
                self.sum.add(number)
            case "window":
                self.windows.set_current_namespace(window)
                self.windows.add(number)
                self.timers.register_event_time_timer(window, window[1] - 1)
                self.names.set_current_namespace(number)
                self.names.add(str(number))
            case "leave":
                self.windows.set_current_namespace(window)
                self.windows.clear()
                self.timers.delete_event_time_timer(window, window[1] - 1)
            case "clear":
                for state in (self.value, self.list, self.map, self.most):
                    state.clear()
            case "timer":
                context.timer_service.register_event_time_timer(number)
                context.timer_service.register_processing_time_timer(-number)
            case "delete":
                context.timer_service.delete_event_time_timer(number)


class Total:
    """The sum of numbers, from 100 on."""

    def create_accumulator(self) -> int:
        return 100

    def add(self, value: int, accumulator: int) -> int:
        return accumulator + value

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, one: int, other: int) -> int:
        return one + other


DOES = ["value", "text", "list", "map", "remove", "fold", "window", "leave", "clear", "timer"]
ROWS = st.fixed_dictionaries(
    {
        "key": st.integers(0, 30),
        "does": st.sampled_from([*DOES, "delete"]),
        "number": st.integers(-3, 3),
        "now": st.sampled_from([0, 60, 150]),
    }
)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "processing_time", CLOCK)


@pytest.mark.usefixtures("slow")
@settings(
    max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(
    first=st.lists(ROWS, min_size=1, max_size=60),
    second=st.lists(ROWS, max_size=40),
    way=st.sampled_from(WAYS),
    tasks=st.integers(1, 3),
)
def test_two_runs_leave_what_one_does(
    tmp_path_factory: pytest.TempPathFactory,
    first: list[Mapping[str, Any]],
    second: list[Mapping[str, Any]],
    way: ExecutionOptions,
    tasks: int,
) -> None:
    folder = tmp_path_factory.getbasetemp()
    # Time goes on, and the clock of the second run does not go back.
    later = [{**row, "now": row["now"] + 200} for row in second]
    whole = left_by(Steps(), [*first, *later], way, folder)
    before = left_by(Steps(), first, ExecutionOptions(), folder)
    after = left_by(Steps(), later, way, folder, before, tasks)
    assert entries_of(after) == entries_of(whole)


POJO = Types.POJO("a.Order", {"id": LONG, "note": Types.STRING()})
COLOURS = Types.ENUM("a.Colour", ["RED", "BLUE"])


@pytest.mark.parametrize(
    ("is_now", "message"),
    [
        (ListStateDescriptor("a", POJO), "state 'a' is value state in the savepoint, and .* list"),
        (ValueStateDescriptor("a", POJO).with_ttl(), "one of them has a time to live"),
        (ValueStateDescriptor("a", Types.LONG()), "Flink refuses it"),
        (
            ValueStateDescriptor("a", Types.POJO("a.Order", {"id": LONG, "at": LONG})),
            "Flink would migrate it, of which fields at are new and note gone: write it with add",
        ),
        (
            ValueStateDescriptor("a", Types.POJO("a.Order", {"id": Types.STRING()})),
            "field 'id' has another type, which Flink refuses",
        ),
    ],
)
def test_a_state_of_another_type_is_refused_as_flink_would(is_now: Any, message: str) -> None:
    was = FunctionState.of(ValueStateDescriptor("a", POJO), LONG.snapshot)
    with pytest.raises(StateTypeError, match=message):
        expect_same_state(FunctionState.of(is_now, LONG.snapshot), was.new.info)
    expect_same_state(was, was.new.info)


def test_new_constants_and_other_namespaces_are_refused() -> None:
    was = FunctionState.of(ValueStateDescriptor("a", COLOURS), LONG.snapshot)
    more = Types.ENUM("a.Colour", ["RED", "BLUE", "GREEN"])
    with pytest.raises(StateTypeError, match="Flink would take new constants"):
        expect_same_state(
            FunctionState.of(ValueStateDescriptor("a", more), LONG.snapshot), was.new.info
        )
    windowed = FunctionState.of(ValueStateDescriptor("a", COLOURS), LONG.snapshot, LONG)
    with pytest.raises(StateTypeError, match="has namespaces none in the savepoint, and of Long"):
        expect_same_state(windowed, was.new.info)


def test_keys_of_another_type_are_refused(tmp_path: Path) -> None:
    row = {"key": 1, "does": "value", "number": 1, "now": 0}
    before = left_by(Steps(), [row], ExecutionOptions(), tmp_path)
    with pytest.raises(KeyTypeError, match="keys of operator a are Long"):
        InitialState.of(before, Types.STRING().snapshot, ())


class TooLarge(KeyedStateBootstrapFunction):
    """Gives a state a number that it can't have."""

    def open(self, runtime_context: KeyedRuntimeContext) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", LONG))

    def process_element(self, value: Any, context: KeyedContext) -> None:
        self.total.update(2**70)


@pytest.mark.parametrize("options", WAYS, ids=str)
def test_a_number_that_does_not_fit_is_told_with_its_key_and_state(
    tmp_path: Path, options: ExecutionOptions
) -> None:
    with pytest.raises(WriteError, match=f"{2**70} .*state 'total'") as raised:
        left_by(TooLarge(), [{"key": 7}], options, tmp_path)
    notes = getattr(raised.value, "__notes__", [])
    assert "key 7" in " ".join([str(raised.value), *notes])
    assert "\n" not in str(raised.value)
