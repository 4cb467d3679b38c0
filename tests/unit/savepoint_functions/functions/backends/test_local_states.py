"""Local state of a running function: instances that are merged on the first access."""

from __future__ import annotations

import operator
from typing import Any

import pytest

from savepoint_formats.errors import MergeError
from savepoint_formats.layout import Text
from savepoint_functions.functions.backends import STATE_BACKENDS, KeyedStateBackend, state_backend
from savepoint_functions.functions.backends.local_states import instances_of, local_state
from state_processor import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    Types,
    ValueStateDescriptor,
)

BACKENDS = tuple(STATE_BACKENDS)
COUNT = ReducingStateDescriptor("count", Types.LONG(), operator.add)


class Mean:
    """The mean of all that was added."""

    def create_accumulator(self) -> Any:
        return {"f0": 0, "f1": 0}

    def add(self, value: Any, accumulator: Any) -> Any:
        return {"f0": accumulator["f0"] + value, "f1": accumulator["f1"] + 1}

    def get_result(self, accumulator: Any) -> Any:
        return accumulator["f0"] / accumulator["f1"]

    def merge(self, one: Any, other: Any) -> Any:
        return {name: one[name] + other[name] for name in one}


def restored(backend: KeyedStateBackend, descriptor: Any, instances: Any) -> Any:
    """The local state of a key that has these instances."""
    state = local_state(backend, descriptor)
    held: Any = backend.state(instances_of(descriptor))
    backend.set_current_key("a", b"\x02a")
    held.put_all(instances) if isinstance(instances, dict) else held.update(instances)
    return state


@pytest.mark.parametrize("name", BACKENDS)
def test_a_reducing_state_merges_once_and_goes_on_with_one_instance(name: str) -> None:
    with state_backend(name, Text()) as backend:
        count = restored(backend, COUNT, [2, 3, 4])
        assert backend.snapshot_current_key() == [[2, 3, 4]]
        assert count.get() == 9
        assert backend.snapshot_current_key() == [[9]]
        count.add(1)
        assert backend.snapshot_current_key() == [[10]]
        count.clear()
        assert count.get() is None


@pytest.mark.parametrize("name", BACKENDS)
def test_adding_merges_what_there_was_before(name: str) -> None:
    with state_backend(name, Text()) as backend:
        descriptor = AggregatingStateDescriptor(
            "mean", Types.TUPLE([Types.LONG(), Types.LONG()]), Mean()
        )
        mean = restored(backend, descriptor, [{"f0": 1, "f1": 1}, {"f0": 5, "f1": 2}])
        mean.add(2)
        assert mean.get() == 2
        assert backend.snapshot_current_key() == [[{"f0": 8, "f1": 4}]]


@pytest.mark.parametrize("name", BACKENDS)
def test_a_list_has_the_elements_of_all_instances(name: str) -> None:
    with state_backend(name, Text()) as backend:
        memos = restored(backend, ListStateDescriptor("memos", Types.STRING()), [["x"], ["y", "z"]])
        assert memos.get() == ["x", "y", "z"]
        memos.add_all(["v", "w"])
        assert memos.get() == ["x", "y", "z", "v", "w"]
        memos.update(["u"])
        assert backend.snapshot_current_key() == [[["u"]]]
        memos.update([])
        assert memos.get() == []


@pytest.mark.parametrize("name", BACKENDS)
def test_the_values_of_a_map_merge_one_by_one(name: str) -> None:
    descriptor = MapStateDescriptor("best", Types.STRING(), Types.LONG(), merge_function=max)
    with state_backend(name, Text()) as backend:
        best = restored(backend, descriptor, {"x": [1, 7], "y": [3], "z": None})
        assert best.get("x") == 7
        assert dict(backend.snapshot_current_key()[0]) == {"x": [7], "y": [3], "z": None}
        assert dict(best.items()) == {"x": 7, "y": 3, "z": None}
        best.put("y", 4)
        best.remove("x")
        assert sorted(best.keys()) == ["y", "z"]
        assert best.contains("z")
        assert best.get("x") is None
        best.put_all({"v": 1})
        assert best.get("v") == 1
        best.clear()
        assert best.is_empty()


@pytest.mark.parametrize("descriptor", [COUNT, ValueStateDescriptor("last", Types.LONG())])
def test_time_to_live_is_that_of_the_latest_merge(descriptor: Any) -> None:
    with state_backend("single_key", Text(), lambda: 7) as backend:
        state = restored(backend, descriptor.with_ttl(), [2])
        assert (state.value if hasattr(state, "value") else state.get)() == 2
        assert backend.snapshot_current_key() == [[{"timestamp": 7, "value": 2}]]


def test_a_value_needs_a_function_once_it_has_several_instances() -> None:
    with state_backend("single_key", Text()) as backend:
        last = restored(backend, ValueStateDescriptor("last", Types.LONG()), [2])
        assert last.value() == 2
        backend.state(ListStateDescriptor("last", Types.LONG())).add(3)  # type: ignore[attr-defined]
        with pytest.raises(MergeError, match="'last' is local and has 2 instances"):
            last.value()
        last.update(5)
        assert last.value() == 5
        last.update(None)
        assert last.value() is None


def test_a_map_needs_a_function_for_those_of_its_values_that_have_several() -> None:
    with state_backend("single_key", Text()) as backend:
        descriptor = MapStateDescriptor("best", Types.STRING(), Types.LONG())
        best = restored(backend, descriptor, {"x": [1, 7], "y": [3]})
        assert best.get("y") == 3
        with pytest.raises(MergeError, match="merge_function"):
            best.items()
