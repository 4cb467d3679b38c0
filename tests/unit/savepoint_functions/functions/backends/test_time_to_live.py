"""State whose time to live has run out is not seen, on every backend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.sum_function import Sum

from savepoint_database.types.descriptors import StateTtlConfig, StateVisibility, UpdateType
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
    from collections.abc import Iterator

LIFE = StateTtlConfig(100)
READ = StateTtlConfig(100, UpdateType.ON_READ_AND_WRITE)
SHOWN = StateTtlConfig(100, state_visibility=StateVisibility.RETURN_EXPIRED_IF_NOT_CLEANED_UP)

TOTAL = ValueStateDescriptor("total", Types.LONG())
NAMES = ListStateDescriptor("names", Types.STRING())
BY_DAY = MapStateDescriptor("by_day", Types.STRING(), Types.LONG())
MOST = ReducingStateDescriptor("most", Types.LONG(), max)


SUM = AggregatingStateDescriptor("sum", Types.LONG(), Sum())


class Clock:
    """A clock that is set by hand.

    Attributes:
        now: What it says, in ms.
    """

    def __init__(self) -> None:
        self.now = 1000

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=STATE_BACKENDS)
def backend(request: pytest.FixtureRequest, clock: Clock) -> Iterator[KeyedStateBackend]:
    with state_backend(request.param, Types.LONG().layout, clock) as found:
        yield found


def state(backend: KeyedStateBackend, descriptor: Any, ttl: StateTtlConfig | None) -> Any:
    """State of the key 1."""
    found = backend.state(descriptor.with_ttl(ttl))
    backend.set_current_key(1, (1).to_bytes(8, "big"))
    return found


def test_a_value_lives_until_its_time_has_run_out(backend: KeyedStateBackend, clock: Clock) -> None:
    total = state(backend, TOTAL, LIFE)
    total.update(5)
    clock.now = 1099
    assert total.value() == 5
    clock.now = 1100
    assert total.value() is None
    assert backend.snapshot_current_key() == [None]


def test_writing_prolongs_life(backend: KeyedStateBackend, clock: Clock) -> None:
    total = state(backend, TOTAL, LIFE)
    total.update(5)
    clock.now = 1099
    total.update(6)
    clock.now = 1198
    assert total.value() == 6


def test_reading_prolongs_life_where_the_descriptor_says_so(
    backend: KeyedStateBackend, clock: Clock
) -> None:
    total = state(backend, TOTAL, READ)
    total.update(5)
    for clock.now in (1099, 1198, 1297):
        assert total.value() == 5
    assert backend.snapshot_current_key() == [(1297, 5)]


def test_an_expired_value_is_shown_once_more_where_the_descriptor_says_so(
    backend: KeyedStateBackend, clock: Clock
) -> None:
    total = state(backend, TOTAL, SHOWN)
    total.update(5)
    clock.now = 1100
    assert [total.value(), total.value()] == [5, None]


def test_without_a_time_to_live_values_live_for_ever(
    backend: KeyedStateBackend, clock: Clock
) -> None:
    total = state(backend, TOTAL, None)
    total.update(5)
    clock.now = 10**15
    assert total.value() == 5


def test_each_element_of_a_list_has_a_time_of_its_own(
    backend: KeyedStateBackend, clock: Clock
) -> None:
    names = state(backend, NAMES, LIFE)
    names.add("old")
    clock.now = 1050
    names.add("new")
    clock.now = 1100
    assert names.get() == ["new"]
    assert backend.snapshot_current_key() == [[(1050, "new")]]
    clock.now = 1150
    assert names.get() == []
    assert backend.snapshot_current_key() == [None]


def test_reading_a_list_prolongs_the_life_of_its_elements(
    backend: KeyedStateBackend, clock: Clock
) -> None:
    names = state(backend, NAMES, READ)
    names.add_all(["a", "b"])
    for clock.now in (1099, 1198):
        assert list(names) == ["a", "b"]


def test_each_entry_of_a_map_has_a_time_of_its_own(
    backend: KeyedStateBackend, clock: Clock
) -> None:
    by_day = state(backend, BY_DAY, LIFE)
    by_day.put("mon", 1)
    clock.now = 1050
    by_day.put("tue", 2)
    clock.now = 1100
    assert not by_day.contains("mon")
    assert (by_day.get("mon"), by_day.get("tue"), "tue" in by_day) == (None, 2, True)
    assert by_day.items() == [("tue", 2)]
    clock.now = 1150
    assert by_day.is_empty()
    assert backend.snapshot_current_key() == [None]


def test_reading_an_entry_prolongs_the_life_of_that_entry(
    backend: KeyedStateBackend, clock: Clock
) -> None:
    by_day = state(backend, BY_DAY, READ)
    by_day.put_all({"mon": 1, "tue": 2})
    clock.now = 1099
    assert by_day.get("mon") == 1
    clock.now = 1100
    assert by_day.keys() == ["mon"]


@pytest.mark.parametrize(("descriptor", "after"), [(MOST, 9), (SUM, 9 + 3)])
def test_what_is_added_finds_nothing_of_what_has_expired(
    backend: KeyedStateBackend, clock: Clock, descriptor: Any, after: int
) -> None:
    folded = state(backend, descriptor, LIFE)
    folded.add(10)
    clock.now = 1100
    folded.add(9)
    folded.add(3)
    assert folded.get() == after


def test_namespaces_expire_one_by_one(backend: KeyedStateBackend, clock: Clock) -> None:
    total: Any = backend.state(TOTAL.with_ttl(LIFE), Types.LONG().layout)
    backend.set_current_key(1, (1).to_bytes(8, "big"))
    for namespace in (1, 2):
        clock.now += 50
        total.set_current_namespace(namespace)
        total.update(namespace)
    clock.now = 1150
    assert total.value() == 2
    total.set_current_namespace(1)
    assert total.value() is None


def test_a_time_to_live_is_some_time() -> None:
    with pytest.raises(ValueError, match="time to live of 0 ms, expected at least 1 ms"):
        StateTtlConfig(0)
