"""Timers in namespaces: each once for its key, namespace and timestamp."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from savepoint_functions.functions.backends import (
    STATE_BACKENDS,
    InternalTimerService,
    KeyedStateBackend,
    TimerService,
    state_backend,
)
from savepoint_functions.functions.backends.timers import MIN_WATERMARK
from savepoint_functions.functions.keyed_runtime_context import KeyedRuntimeContext
from savepoint_spark.reading.functions import TimeWindow
from state_processor import Types

if TYPE_CHECKING:
    from collections.abc import Iterator

FIRST, SECOND = TimeWindow(0, 10), TimeWindow(10, 20)


@pytest.fixture(params=STATE_BACKENDS)
def backend(request: pytest.FixtureRequest) -> Iterator[KeyedStateBackend]:
    """One of each, whose clock stands at 1000 ms."""
    with state_backend(request.param, Types.LONG().layout, lambda: 1000) as found:
        yield found


@pytest.fixture
def timers(backend: KeyedStateBackend) -> InternalTimerService:
    """Timers of the key 1, beside those that have no namespaces."""
    TimerService(backend)
    found = KeyedRuntimeContext(backend).get_internal_timer_service()
    backend.set_current_key(1, bytes(8))
    return found


def test_timers_are_a_set_for_each_window(timers: InternalTimerService) -> None:
    for timestamp in (30, -10, 20, 30):
        timers.register_event_time_timer(FIRST, timestamp)
    timers.register_event_time_timer(SECOND, 20)
    timers.register_processing_time_timer(SECOND, 5)
    timers.delete_event_time_timer(FIRST, 20)
    timers.delete_event_time_timer(SECOND, 21)
    assert timers.event_time_timers(FIRST) == [-10, 30]
    assert timers.event_time_timers(SECOND) == [20]
    assert timers.processing_time_timers(FIRST) == []
    assert timers.processing_time_timers(SECOND) == [5]
    timers.delete_processing_time_timer(SECOND, 5)
    assert timers.processing_time_timers(SECOND) == []


def test_timers_are_state_in_namespaces_under_flinks_names(
    backend: KeyedStateBackend, timers: InternalTimerService
) -> None:
    timers.register_event_time_timer(FIRST, 9)
    timers.register_processing_time_timer(SECOND, 19)
    names = [one.name for one in backend.descriptors]
    assert names[2:] == [
        "_timer_state/event_window-timers",
        "_timer_state/processing_window-timers",
    ]
    found = dict(zip(names, backend.snapshot_current_key(), strict=True))
    assert found[names[2]] == [((0, 10), [(9, None)])]
    assert found[names[3]] == [((10, 20), [(19, None)])]


def test_timers_are_those_of_the_current_key(
    backend: KeyedStateBackend, timers: InternalTimerService
) -> None:
    timers.register_event_time_timer(FIRST, 1)
    backend.set_current_key(2, b"\x01" * 8)
    assert timers.event_time_timers(FIRST) == []
    if backend.name == "rocksdb":
        backend.set_current_key(1, bytes(8))
        assert timers.event_time_timers(FIRST) == [1]


def test_time_is_that_of_a_key_whose_rows_come(timers: InternalTimerService) -> None:
    assert timers.current_processing_time() == 1000
    assert timers.current_watermark() == MIN_WATERMARK


def test_a_timer_without_a_namespace_is_refused(timers: InternalTimerService) -> None:
    with pytest.raises(ValueError, match=r"not None; .* context\.timer_service"):
        timers.register_event_time_timer(None, 1)


@pytest.mark.parametrize(
    ("name", "namespace", "message"),
    [
        ("user-timers", Types.TIME_WINDOW(), "is registered as"),
        ("window-timers", Types.LONG(), "is registered as"),
        ("others", Types.VOID(), "the same for all"),
    ],
)
def test_a_service_has_namespaces_of_one_type(
    backend: KeyedStateBackend, name: str, namespace: Any, message: str
) -> None:
    TimerService(backend)
    context = KeyedRuntimeContext(backend)
    context.get_internal_timer_service()
    with pytest.raises(ValueError, match=message):
        context.get_internal_timer_service(name, namespace)
    assert context.get_internal_timer_service() is not None
