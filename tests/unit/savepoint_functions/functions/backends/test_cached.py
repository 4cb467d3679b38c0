"""A cache of keys: nobody sees it, but the backend behind it, which is read and written less."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from savepoint_functions.functions.backends import CachedBackend, KeyedStateBackend, state_backend
from state_processor import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from savepoint_database.types.descriptors import StateDescriptor

LONG = Types.LONG()
DESCRIPTORS: dict[str, StateDescriptor] = {
    "total": ValueStateDescriptor("total", LONG),
    "seen": ValueStateDescriptor("seen", LONG).with_ttl(),
    "names": ListStateDescriptor("names", Types.STRING()),
    "by_day": MapStateDescriptor("by_day", Types.STRING(), LONG),
    "most": ReducingStateDescriptor("most", LONG, max),
}
WINDOWED = ("total", "names", "by_day")
DAYS = st.sampled_from(["mon", "tue", "wed"])
NUMBERS = st.integers(-5, 5)
NAMESPACES = st.sampled_from([1, 2, 3])


def steps() -> st.SearchStrategy[list[tuple[int, str, int, Any]]]:
    """Keys in any order, with what is done to one of their states, perhaps in a namespace."""
    actions = st.one_of(
        st.tuples(st.just("total"), NAMESPACES, st.none() | NUMBERS),
        st.tuples(st.just("seen"), NAMESPACES, st.none() | NUMBERS),
        st.tuples(st.just("names"), NAMESPACES, st.none() | DAYS),
        st.tuples(st.just("by_day"), NAMESPACES, st.none() | st.tuples(DAYS, st.none() | NUMBERS)),
        st.tuples(st.just("most"), NAMESPACES, st.none() | NUMBERS),
    )
    step = st.tuples(st.integers(0, 4), actions).map(lambda one: (one[0], *one[1]))
    return st.lists(step, max_size=40)


class Program:
    """Does steps to the states of a backend."""

    def __init__(self, backend: KeyedStateBackend, *, has_namespaces: bool) -> None:
        self.backend = backend
        self._windowed = WINDOWED if has_namespaces else ()
        self._states: dict[str, Any] = {
            name: backend.state(one, LONG.layout if name in self._windowed else None)
            for name, one in DESCRIPTORS.items()
        }

    def do(self, key: int, name: str, namespace: int, value: Any) -> None:
        switch(self.backend, key)
        if name in self._windowed:
            self.backend.set_current_namespace(name, namespace)
        state = self._states[name]
        match name, value:
            case _, None:
                state.clear()
            case "names" | "most", _:
                state.add(value)
            case "by_day", (day, number) if number is None:
                state.remove(day)
            case "by_day", _:
                state.put(*value)
            case _:
                state.update(value)

    def contents(self) -> dict[int, list[Any]]:
        """Key -> what it has in each state, in no order but that of lists."""
        return {key: list(map(plain, found)) for key, _, found in self.backend.entries()}


def plain(found: Any) -> Any:
    """What a state has, with the entries of maps and namespaces in order."""
    if isinstance(found, list) and found and isinstance(found[0], tuple):
        return sorted((key, plain(value)) for key, value in found)
    return found


def switch(backend: KeyedStateBackend, key: int) -> None:
    backend.set_current_key(key, key.to_bytes(8, "big", signed=True))


def clock() -> int:
    return 1000


@pytest.fixture(params=["heap", "rocksdb"])
def behind(request: pytest.FixtureRequest) -> Iterator[Callable[[], KeyedStateBackend]]:
    """Makes backends of all keys."""
    with ExitStack() as stack:

        def make() -> KeyedStateBackend:
            return stack.enter_context(state_backend(request.param, LONG.layout, clock))

        yield make


@pytest.mark.parametrize("name", ["heap", "rocksdb"])
@pytest.mark.parametrize("has_namespaces", [False, True])
@settings(max_examples=20)  # a database is made for each
@given(found=steps(), size=st.integers(1, 6), flushes=st.sets(st.integers(0, 40), max_size=3))
def test_state_is_what_it_is_without_a_cache(
    name: str, has_namespaces: bool, found: list[Any], size: int, flushes: set[int]
) -> None:
    with (
        state_backend("heap", LONG.layout, clock) as plain_backend,
        CachedBackend(state_backend(name, LONG.layout, clock), size) as cached_backend,
    ):
        uncached = Program(plain_backend, has_namespaces=has_namespaces)
        cached = Program(cached_backend, has_namespaces=has_namespaces)
        for number, step in enumerate(found):
            uncached.do(*step)
            cached.do(*step)
            if number in flushes:
                cached_backend.flush()
            snapshots = (one.backend.snapshot_current_key() for one in (uncached, cached))
            assert plain_all(next(snapshots)) == plain_all(next(snapshots))
        assert cached.contents() == uncached.contents()


def plain_all(snapshot: list[Any]) -> list[Any]:
    return list(map(plain, snapshot))


@given(keys=st.lists(st.integers(0, 20)))
def test_sorted_keys_are_read_once_and_written_once_by_a_cache_of_one(keys: list[int]) -> None:
    with CachedBackend(state_backend("heap", LONG.layout), 1) as backend:
        total: Any = backend.state(DESCRIPTORS["total"])
        for key in sorted(keys):
            switch(backend, key)
            total.update((total.value() or 0) + 1)
        # The last one is still held.
        assert backend.reads == len(set(keys))
        assert backend.writes == max(len(set(keys)) - 1, 0)
        backend.flush()
        assert backend.writes == len(set(keys))
        expected = Counter(keys)
        assert {key: found[0] for key, _, found in backend.entries()} == expected


@given(keys=st.lists(st.integers(0, 6)), size=st.integers(1, 7))
def test_a_key_is_read_if_it_is_none_of_those_used_last(keys: list[int], size: int) -> None:
    recent: list[int] = []
    misses = evictions = 0
    with CachedBackend(state_backend("heap", LONG.layout), size) as backend:
        total: Any = backend.state(DESCRIPTORS["total"])
        for key, _ in groupby(keys):
            if key not in recent:
                misses += 1
                evictions += len(recent) == size
                recent = recent[-size + 1 :] if size > 1 else []
            recent = [*(one for one in recent if one != key), key]
            switch(backend, key)
            total.update(1)
        assert (backend.reads, backend.writes) == (misses, evictions)


def test_a_key_without_state_is_not_written(behind: Callable[[], KeyedStateBackend]) -> None:
    backend = CachedBackend(behind(), 1)
    total: Any = backend.state(DESCRIPTORS["total"])
    for key in range(3):
        switch(backend, key)
        assert total.value() is None
    backend.flush()
    assert (backend.writes, list(backend.entries())) == (0, [])


def test_a_key_that_has_lost_its_state_loses_it_behind_the_cache(
    behind: Callable[[], KeyedStateBackend],
) -> None:
    backend = CachedBackend(behind(), 1)
    total: Any = backend.state(DESCRIPTORS["total"])
    switch(backend, 1)
    total.update(5)
    switch(backend, 2)
    switch(backend, 1)
    assert total.value() == 5
    total.clear()
    switch(backend, 2)
    switch(backend, 1)
    assert total.value() is None
    assert list(backend.entries()) == []


def test_a_cache_needs_room_and_a_backend_of_all_keys() -> None:
    with pytest.raises(ValueError, match="a cache of 0 keys in front of heap, expected at least 1"):
        CachedBackend(state_backend("heap", LONG.layout), 0)
    with pytest.raises(ValueError, match="in front of single_key"):
        CachedBackend(state_backend("single_key", LONG.layout), 1)


def test_a_backend_by_name_has_a_cache_where_one_is_asked_for() -> None:
    for name, size, kind in (("heap", 2, True), ("heap", 0, False), ("single_key", 1, False)):
        with state_backend(name, LONG.layout, cache_size=size) as backend:
            assert isinstance(backend, CachedBackend) is kind
