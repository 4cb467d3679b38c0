"""All state backends have the same after the same steps."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from support.backend_states import AVERAGE, BY_DAY, MOST, NAMES, TOTAL, switch
from support.nightly import examples

from savepoint_functions.functions.backends import state_backend
from savepoint_functions.functions.backends.rocksdb import RocksDbBackend
from state_processor import Types

STEPS = st.lists(
    st.tuples(
        st.integers(-2, 2),
        st.sampled_from(["update", "add", "put", "remove", "clear", "reduce", "gather"]),
        st.integers(-3, 3),
    ),
    max_size=40,
)


def contents(name: str, steps: list[tuple[int, str, int]]) -> dict[int, Any]:
    """Content of a backend after steps, each of a key."""
    with state_backend(name, Types.LONG().layout, lambda: 7) as backend:
        total: Any = backend.state(TOTAL)
        names: Any = backend.state(NAMES.with_ttl())
        by_day: Any = backend.state(BY_DAY)
        most: Any = backend.state(MOST)
        average: Any = backend.state(AVERAGE)
        found: dict[int, Any] = {}
        for key, step, number in steps:
            switch(backend, key)
            match step:
                case "update":
                    total.update((total.value() or 0) + number)
                case "add":
                    names.add(str(number))
                case "put":
                    by_day.put(str(number), number or None)
                case "remove":
                    by_day.remove(str(number))
                case "clear":
                    (total, names, by_day, most)[number % 4].clear()
                case "reduce":
                    most.add(number)
                case _:
                    average.add(number)
            values = backend.snapshot_current_key()
            values[2] = values[2] and sorted(values[2])
            found[key] = values
        return found


@settings(max_examples=examples(40))
@given(STEPS)
def test_all_backends_have_the_same_in_the_end(steps: list[tuple[int, str, int]]) -> None:
    in_order = sorted(steps, key=lambda step: step[0])
    assert contents("single_key", in_order) == contents("rocksdb", steps)


def test_the_backend_of_rocksdb_is_imported_by_its_name_alone() -> None:
    with state_backend("rocksdb", Types.LONG().layout) as backend:
        assert isinstance(backend, RocksDbBackend)
