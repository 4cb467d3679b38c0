"""Arguments of process functions: states that they can change, and the current key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.sum_function import Sum

from savepoint_functions.functions.backends import (
    KeyedStateBackend,
    OperatorStateStore,
    TimerService,
    state_backend,
)
from savepoint_functions.functions.keyed_runtime_context import KeyedRuntimeContext
from savepoint_functions.functions.process_functions import (
    BroadcastContext,
    KeyedContext,
    OperatorRuntimeContext,
)
from state_processor import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

TOTAL = ValueStateDescriptor("total", Types.LONG())
RATES = MapStateDescriptor("rates", Types.STRING(), Types.DOUBLE())


@pytest.fixture
def backend() -> Iterator[KeyedStateBackend]:
    with state_backend("single_key", Types.LONG().layout) as found:
        yield found


def test_states_come_from_the_backend(backend: KeyedStateBackend) -> None:
    context = KeyedRuntimeContext(backend)
    total = context.get_state(TOTAL)
    names = context.get_list_state(ListStateDescriptor("names", Types.STRING()))
    rates = context.get_map_state(RATES)
    most = context.get_reducing_state(ReducingStateDescriptor("most", Types.LONG(), max))
    all_in_all = context.get_aggregating_state(
        AggregatingStateDescriptor("sum", Types.LONG(), Sum())
    )
    backend.set_current_key(1, bytes(8))
    total.update(1)
    names.add("a")
    rates.put("EUR", 1.5)
    most.add(2)
    all_in_all.add(3)
    assert list(context.registered) == ["total", "names", "rates", "most", "sum"]
    assert backend.snapshot_current_key() == [1, ["a"], [("EUR", 1.5)], 2, 3]


def test_a_state_is_asked_for_by_a_descriptor_of_its_kind(backend: KeyedStateBackend) -> None:
    wrong: Any = RATES
    with pytest.raises(TypeError, match="a MapStateDescriptor is no descriptor of a ValueState"):
        KeyedRuntimeContext(backend).get_state(wrong)


def test_a_function_goes_to_no_other_key(backend: KeyedStateBackend) -> None:
    with pytest.raises(TypeError, match=r"give each key that a row concerns a row of its own"):
        KeyedContext(TimerService(backend)).set_current_key(5)


def test_nothing_applies_to_all_keys(backend: KeyedStateBackend) -> None:
    with pytest.raises(TypeError, match="each done before the next one begins"):
        KeyedContext(TimerService(backend)).apply_to_all_keys(TOTAL, print)


def test_operator_state_comes_from_the_store() -> None:
    store = OperatorStateStore()
    context = OperatorRuntimeContext(store)
    context.get_list_state(ListStateDescriptor("names", Types.STRING())).add("a")
    context.get_union_list_state(ListStateDescriptor("offsets", Types.LONG())).add_all([1, 2])
    broadcast = BroadcastContext(lambda: 1000, store)
    broadcast.get_broadcast_state(RATES).put("EUR", 1.5)
    broadcast.get_broadcast_state(RATES).put("USD", 1.0)
    assert [values for *_, values in store.contents()] == [
        ["a"],
        [1, 2],
        [("EUR", 1.5), ("USD", 1.0)],
    ]
    assert broadcast.current_processing_time() == 1000
