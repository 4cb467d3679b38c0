"""The state store keeps all state of a key."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.nightly import examples

from savepoint_extensions.mixed_mode.stored_backend import (
    KeyRow,
    StoredBackend,
    decoded,
    encoded,
    state_columns,
)
from savepoint_functions.functions.backends import TimerService
from savepoint_functions.windows.window_state import WindowTimer, WindowTimerService
from state_processor import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from savepoint_database.types.descriptors import StateDescriptor

LONGS = st.integers(-(2**63), 2**63 - 1)
DOUBLES = st.floats(allow_nan=False)
PAIR = Types.TUPLE([Types.LONG(), Types.STRING()])
DESCRIPTORS: list[tuple[StateDescriptor, st.SearchStrategy[Any]]] = [
    (ValueStateDescriptor("value", Types.STRING()), st.text(max_size=5)),
    (
        ValueStateDescriptor("pair", PAIR),
        st.builds(lambda n, text: (n, text), LONGS, st.text(max_size=3)),
    ),
    (ReducingStateDescriptor("most", Types.DOUBLE(), max), DOUBLES),
    (ListStateDescriptor("list", Types.LONG()), st.lists(LONGS, min_size=1, max_size=4)),
    (
        MapStateDescriptor("map of it", Types.STRING(), Types.LONG()),
        st.dictionaries(st.text(max_size=3), st.none() | LONGS, min_size=1, max_size=4),
    ),
    (ValueStateDescriptor("timed", Types.LONG()).with_ttl(), LONGS),
    (ListStateDescriptor("timed list", Types.LONG()).with_ttl(), st.lists(LONGS, min_size=1)),
]


def backend() -> tuple[StoredBackend, list[Any], TimerService]:
    """A backend with a state of each descriptor, and timers."""
    made = StoredBackend(Types.LONG().layout, lambda: 1_000)
    return made, [made.state(one) for one, _ in DESCRIPTORS], TimerService(made)


def put(states: list[Any], values: list[Any]) -> None:
    """Gives each state what it is to hold; nothing for None."""
    for (descriptor, _), state, value in zip(DESCRIPTORS, states, values, strict=True):
        state.clear()
        match descriptor:
            case _ if value is None:
                pass
            case MapStateDescriptor():
                state.put_all(value)
            case ReducingStateDescriptor():
                state.add(value)
            case _:
                state.update(value)


def seen(states: list[Any]) -> list[Any]:
    """Content of each state; None if it is empty."""
    found: list[Any] = []
    for (descriptor, _), state in zip(DESCRIPTORS, states, strict=True):
        match descriptor:
            case MapStateDescriptor():
                found.append(dict(state.items()) or None)
            case ListStateDescriptor():
                found.append(list(state.get()) or None)
            case ReducingStateDescriptor():
                found.append(state.get())
            case _:
                found.append(state.value())
    return found


VALUES = st.tuples(*(st.none() | strategy for _, strategy in DESCRIPTORS)).map(list)


@settings(max_examples=examples(50))
@given(VALUES, VALUES, st.sets(LONGS, max_size=4), st.sets(LONGS, max_size=4))
def test_a_key_has_again_what_was_stored(
    one: list[Any], other: list[Any], event: set[int], processing: set[int]
) -> None:
    made, states, timers = backend()
    made.load(1, b"1", None)
    put(states, one)
    for timestamp in event:
        timers.register_event_time_timer(timestamp)
    for timestamp in processing:
        timers.register_processing_time_timer(timestamp)
    row = made.stored()
    made.load(2, b"2", None)
    assert seen(states) == [None] * len(states)
    assert timers.event_time_timers() == []
    put(states, other)
    made.load(1, b"1", KeyRow.of(row.to_row()))
    assert seen(states) == one
    assert timers.event_time_timers() == sorted(event)
    assert timers.processing_time_timers() == sorted(processing)
    assert made.stored() == row
    assert row.is_empty == (not any((event, processing)) and one == [None] * len(one))


@settings(max_examples=examples(50))
@given(VALUES)
def test_its_bytes_are_those_of_the_serializers_of_a_savepoint(values: list[Any]) -> None:
    made, states, _ = backend()
    made.load(1, b"1", None)
    put(states, values)
    for (descriptor, _), data in zip(DESCRIPTORS, made.stored().states, strict=True):
        layout = descriptor.stored.layout()
        column = pa.array([None, data, data], pa.binary())
        assert encoded(layout, decoded(layout, column)).equals(column)


def test_columns_have_names_that_spark_takes_in_a_schema_of_the_store() -> None:
    assert list(state_columns(["total", "by kind", "größe", "Total"]).values()) == [
        "state_0_total",
        "state_1_by_kind",
        "state_2_gr__e",
        "state_3_Total",
    ]


@pytest.mark.parametrize("namespace", [Types.TIME_WINDOW(), Types.GLOBAL_WINDOW()])
def test_state_and_timers_with_namespaces_are_kept(namespace: Any) -> None:
    made, layout = StoredBackend(Types.LONG().layout, lambda: 1_000), namespace.layout
    timers = WindowTimerService(made, "window-timers", layout)
    states = [made.state(descriptor, layout) for descriptor, _ in DESCRIPTORS]
    windows = [(0, 10), (5, 15)] if namespace == Types.TIME_WINDOW() else [None]
    values = ["a", (1, "b"), 2.5, [1, 2], {"x": 1, "y": None}, 5, [6]]
    made.load(1, b"1", None)
    timers.begun(is_restored=True)
    for window in windows:
        for state in states:
            state.set_current_namespace(window)
        put(states, values)
        timers.register_event_time_timer(WindowTimer(7, window))
    timers.register_processing_time_timer(WindowTimer(9, windows[0]))
    row = made.stored()
    assert row.timers == ((7,) * len(windows), (9,))
    assert not row.is_empty
    made.load(2, b"2", None)
    timers.begun(is_restored=True)
    assert made.stored().is_empty
    parts = [replace(row, timers=((), ())), KeyRow((None,) * len(row.states), row.timers)]
    for again in (row, KeyRow.merged([KeyRow.of(part.to_row()) for part in parts])):
        made.load(1, b"1", again)
        timers.begun(is_restored=True)
        assert made.stored() == row
        for window in windows:
            for state in states:
                state.set_current_namespace(window)
            assert seen(states) == values
        assert timers.event_time_timers() == [WindowTimer(7, window) for window in windows]
        made.load(2, b"2", None)
