"""State backends: they differ in where state is, and in nothing that a function sees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import Row
from support.backend_states import ALL_KINDS, AVERAGE, BY_DAY, MOST, NAMES, TOTAL, switch

from savepoint_database.types.records import record_maker
from savepoint_formats.errors import UnencodableError
from savepoint_functions.functions.backends import STATE_BACKENDS, KeyedStateBackend, state_backend
from state_processor import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(params=STATE_BACKENDS)
def backend(request: pytest.FixtureRequest) -> Iterator[KeyedStateBackend]:
    """One of each, whose clock stands at 1000 ms."""
    with state_backend(request.param, Types.LONG().layout, lambda: 1000) as found:
        yield found


def test_a_value_is_what_it_was_updated_to(backend: KeyedStateBackend) -> None:
    total: Any = backend.state(TOTAL)
    switch(backend, 1)
    assert total.value() is None
    total.update(3)
    assert total.value() == 3
    total.update(None)
    assert total.value() is None
    total.update(4)
    total.clear()
    assert backend.snapshot_current_key() == [None]


def test_a_list_has_its_elements_in_order(backend: KeyedStateBackend) -> None:
    names: Any = backend.state(NAMES)
    switch(backend, 1)
    assert names.get() == []
    names.add("a")
    names.add_all(["c", "b"])
    assert list(names) == ["a", "c", "b"]
    names.update(["x"])
    assert backend.snapshot_current_key() == [["x"]]
    names.update([])
    assert backend.snapshot_current_key() == [None]
    with pytest.raises(ValueError, match="null cannot be added to state 'names'"):
        names.add(None)


def test_a_map_has_what_was_put(backend: KeyedStateBackend) -> None:
    by_day: Any = backend.state(BY_DAY)
    switch(backend, 1)
    assert by_day.is_empty()
    by_day.put("mon", 1)
    by_day.put_all({"tue": None})
    by_day.put_all([("wed", 3)])
    assert (by_day.get("mon"), by_day.get("tue"), by_day.get("sun")) == (1, None, None)
    assert by_day.contains("tue")
    assert "sun" not in by_day
    by_day.remove("mon")
    by_day.remove("sun")
    assert sorted(by_day.keys()) == ["tue", "wed"]
    assert set(by_day.values()) == {None, 3}
    assert sorted(backend.snapshot_current_key()[0]) == [("tue", None), ("wed", 3)]
    by_day.clear()
    assert backend.snapshot_current_key() == [None]


def test_a_map_takes_keys_that_python_cannot_hash(backend: KeyedStateBackend) -> None:
    user_key = Types.ROW_NAMED(["id", "day"], [Types.LONG(), Types.STRING()])
    state: Any = backend.state(MapStateDescriptor("visits", user_key, Types.LONG()))
    switch(backend, 1)
    state.put({"id": 1, "day": "mon"}, 5)
    assert state.get({"id": 1, "day": "mon"}) == 5
    assert state.get({"id": 2, "day": "mon"}) is None


def test_a_map_tells_zero_from_minus_zero_and_finds_nan(backend: KeyedStateBackend) -> None:
    state: Any = backend.state(MapStateDescriptor("m", Types.DOUBLE(), Types.LONG()))
    switch(backend, 1)
    for number, key in enumerate((0.0, -0.0, float("nan"))):
        state.put(key, number)
    assert [state.get(key) for key in (0.0, -0.0, float("nan"))] == [0, 1, 2]


def test_a_reducing_state_reduces_by_the_function_of_its_descriptor(
    backend: KeyedStateBackend,
) -> None:
    most: Any = backend.state(MOST)
    switch(backend, 1)
    assert most.get() is None
    for number in (3, 5, 4):
        most.add(number)
    assert most.get() == 5
    most.clear()
    assert most.get() is None


def test_an_aggregating_state_shows_the_result_and_stores_the_accumulator(
    backend: KeyedStateBackend,
) -> None:
    average: Any = backend.state(AVERAGE)
    switch(backend, 1)
    assert average.get() is None
    average.add(3)
    average.add(4)
    assert average.get() == 3.5
    assert backend.snapshot_current_key() == [(7, 2)]


def test_state_with_ttl_is_stored_with_the_time_of_the_last_access(
    backend: KeyedStateBackend,
) -> None:
    states: list[Any] = [backend.state(one.with_ttl()) for one in ALL_KINDS]
    switch(backend, 1)
    total, names, by_day, most = states
    total.update(1)
    names.update(["a"])
    names.add("b")
    by_day.put_all({"mon": 7})
    most.add(2)
    most.add(9)
    assert (total.value(), names.get(), by_day.items(), most.get()) == (
        1,
        ["a", "b"],
        [("mon", 7)],
        9,
    )
    assert by_day.contains("mon")
    assert backend.snapshot_current_key() == [
        (1000, 1),
        [(1000, "a"), (1000, "b")],
        [("mon", (1000, 7))],
        (1000, 9),
    ]
    for state in states:
        state.clear()
    assert by_day.is_empty()
    assert backend.snapshot_current_key() == [None] * len(states)


def test_another_key_has_state_of_its_own(backend: KeyedStateBackend) -> None:
    states: list[Any] = [backend.state(one) for one in ALL_KINDS]
    switch(backend, 1)
    for state, value in zip(states, (1, "a", None, 2), strict=True):
        if value is not None:
            getattr(state, "add" if state is not states[0] else "update")(value)
    states[2].put("mon", 1)
    switch(backend, 2)
    assert backend.snapshot_current_key() == [None] * len(states)


def test_the_same_key_again_changes_nothing(backend: KeyedStateBackend) -> None:
    total: Any = backend.state(TOTAL)
    switch(backend, 1)
    total.update(1)
    switch(backend, 1)
    assert total.value() == 1


def test_one_key_is_all_that_the_backend_of_one_key_has() -> None:
    with state_backend("single_key", Types.LONG().layout) as backend:
        total: Any = backend.state(TOTAL)
        for key in (1, 2):
            switch(backend, key)
            total.update(key)
        switch(backend, 1)
        assert total.value() is None


def test_rocksdb_has_all_keys() -> None:
    with state_backend("rocksdb", Types.LONG().layout) as backend:
        total: Any = backend.state(TOTAL)
        names: Any = backend.state(NAMES)
        for key in (3, -1, 2, 3, -1):
            switch(backend, key)
            total.update((total.value() or 0) + 1)
            names.add(str(key))
        switch(backend, 2)
        total.clear()
        names.clear()
        for key, wanted in {3: [2, ["3", "3"]], -1: [2, ["-1", "-1"]], 2: [None, None]}.items():
            switch(backend, key)
            assert backend.snapshot_current_key() == wanted


@pytest.mark.parametrize("descriptor", [TOTAL, NAMES, BY_DAY, MOST.with_ttl()])
def test_each_namespace_has_state_of_its_own(
    backend: KeyedStateBackend, descriptor: ValueStateDescriptor
) -> None:
    state: Any = backend.state(descriptor, Types.LONG().layout)

    def change(value: int) -> None:
        match descriptor:
            case ValueStateDescriptor():
                state.update(value)
            case ListStateDescriptor():
                state.add(str(value))
            case MapStateDescriptor():
                state.put("d", value)
            case _:
                state.add(value)

    for key in (1, 2):
        switch(backend, key)
        for namespace in (10, None, 20):
            state.set_current_namespace(namespace)
            change(key * (namespace or 1))
    (found,) = backend.snapshot_current_key()
    values = {10: 20, None: 2, 20: 40}
    wanted: Callable[[int], Any] = {
        "total": lambda value: value,
        "names": lambda value: [str(value)],
        "by_day": lambda value: [("d", value)],
        "most": lambda value: (1000, value),
    }[descriptor.name]
    assert dict(found) == {namespace: wanted(value) for namespace, value in values.items()}


def test_a_name_is_that_of_one_state(backend: KeyedStateBackend) -> None:
    total = backend.state(TOTAL)
    assert backend.state(TOTAL) is total
    assert backend.descriptors == (TOTAL,)
    with pytest.raises(ValueError, match="'total' is registered as ValueStateDescriptor"):
        backend.state(ListStateDescriptor("total", Types.LONG()))


def test_state_is_not_registered_once_a_key_is_processed(backend: KeyedStateBackend) -> None:
    switch(backend, 1)
    with pytest.raises(ValueError, match="ask for it in open"):
        backend.state(TOTAL)


@pytest.mark.parametrize(
    ("descriptor", "message"),
    [
        (ValueStateDescriptor("v"), "has no value_type"),
        (ListStateDescriptor("v"), "has no element_type"),
        (MapStateDescriptor("v", Types.LONG()), "has no value_type"),
        (ReducingStateDescriptor("v", Types.LONG()), "has no reduce_function"),
        (AggregatingStateDescriptor("v", Types.LONG()), "has no aggregate_function"),
    ],
)
def test_a_descriptor_says_all_that_changing_needs(
    backend: KeyedStateBackend, descriptor: ValueStateDescriptor, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        backend.state(descriptor)


def test_an_unknown_backend_is_told_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="'disk', expected one of single_key, rocksdb"):
        state_backend("disk", Types.LONG().layout)


def test_a_value_that_is_none_of_the_type_is_an_error_of_rocksdb() -> None:
    with state_backend("rocksdb", Types.LONG().layout) as backend:
        total: Any = backend.state(TOTAL)
        switch(backend, 1)
        with pytest.raises(UnencodableError, match="'x' is no value of state 'total'"):
            total.update("x")


def test_a_key_is_restored_from_its_snapshot(backend: KeyedStateBackend) -> None:
    states: list[Any] = [backend.state(descriptor) for descriptor in (*ALL_KINDS, AVERAGE)]
    windows: Any = backend.state(ListStateDescriptor("windows", Types.LONG()), Types.LONG().layout)
    switch(backend, 1)
    snapshot = [
        3,
        ["b", "a"],
        [("mon", 1), ("tue", None)],
        7,
        record_maker(("f0", "f1"))((6, 3)),
        [(4, [1, 1]), (5, [2])],
    ]
    windows.set_current_namespace(5)
    backend.restore_current_key(snapshot)
    assert backend.snapshot_current_key() == snapshot
    assert (states[0].value(), list(states[1]), states[2].get("mon")) == (3, ["b", "a"], 1)
    assert (states[3].get(), states[4].get(), windows.get()) == (7, 2.0, [2])
    switch(backend, 2)
    assert backend.snapshot_current_key() == [None] * 6
    backend.restore_current_key([None, ["c"], None, None, None, None])
    states[1].add("d")
    assert backend.snapshot_current_key() == [None, ["c", "d"], None, None, None, None]


@pytest.mark.parametrize("value", [(1, "a"), {"f0": 1, "f1": "a"}, Row(f0=1, f1="a")])
def test_a_tuple_has_one_form_whoever_made_it(backend: KeyedStateBackend, value: Any) -> None:
    pair = Types.TUPLE([Types.LONG(), Types.STRING()])
    one: Any = backend.state(ValueStateDescriptor("one", pair))
    timed: Any = backend.state(ValueStateDescriptor("timed", pair).with_ttl())
    many: Any = backend.state(ListStateDescriptor("many", pair))
    by_pair: Any = backend.state(MapStateDescriptor("by_pair", pair, pair))
    last: Any = backend.state(
        ReducingStateDescriptor("last", pair, lambda held, new: (held.f0 + new.f0, new["f1"]))
    )
    nested: Any = backend.state(ValueStateDescriptor("nested", Types.LIST(Types.LIST(pair))))
    switch(backend, 1)
    for state in (one, timed):
        state.update(value)
    many.add(value)
    many.update([*many.get(), value])
    by_pair.put(value, value)
    last.add(value)
    last.add(value)
    nested.update([[value]])
    found = [one.value(), timed.value(), *many.get(), *by_pair.keys(), by_pair.get(value)]
    for record in [*found, nested.value()[0][0]]:
        assert (record[0], record.f0, record["f0"], record.f1) == (1, 1, 1, "a")
    assert last.get() == (2, "a")
    assert last.get()["f0"] == 2
    assert by_pair.contains((1, "a"))
    assert by_pair.contains({"f0": 1, "f1": "a"})


def test_a_struct_with_other_fields_is_refused_with_its_state(backend: KeyedStateBackend) -> None:
    pair = Types.TUPLE([Types.LONG(), Types.STRING()])
    state: Any = backend.state(ValueStateDescriptor("pair", pair))
    switch(backend, 1)
    for value, message in [
        ((1,), "it has 1 values, expected 2: f0, f1"),
        ({"f2": 1}, "no field 'f2'; missing: 'f0', 'f1'"),
        (7, "a int is not a tuple, dict or Row"),
    ]:
        with pytest.raises(UnencodableError, match=f"is no value of state 'pair': {message}"):
            state.update(value)
