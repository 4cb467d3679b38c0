"""Timers: each once, in the order of their timestamps, those of a key at its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from savepoint_formats.errors import EndlessTimersError
from savepoint_functions.functions.backends import (
    STATE_BACKENDS,
    KeyedStateBackend,
    TimerService,
    state_backend,
)
from savepoint_functions.functions.backends.timers import MAX_WATERMARK
from state_processor import Types

if TYPE_CHECKING:
    from collections.abc import Iterator

EVENT, PROCESSING = "EVENT_TIME", "PROCESSING_TIME"


@pytest.fixture(params=STATE_BACKENDS)
def backend(request: pytest.FixtureRequest) -> Iterator[KeyedStateBackend]:
    """One of each, whose clock stands at 1000 ms."""
    with state_backend(request.param, Types.LONG().layout, lambda: 1000) as found:
        yield found


@pytest.fixture
def timers(backend: KeyedStateBackend) -> TimerService:
    """Timers of the key 1."""
    found = TimerService(backend)
    backend.set_current_key(1, bytes(8))
    return found


def test_timers_are_a_set_in_the_order_of_time(timers: TimerService) -> None:
    for timestamp in (30, -10, 20, 30):
        timers.register_event_time_timer(timestamp)
    timers.register_processing_time_timer(5)
    timers.delete_event_time_timer(20)
    timers.delete_event_time_timer(21)
    assert timers.event_time_timers() == [-10, 30]
    assert timers.processing_time_timers() == [5]
    timers.delete_processing_time_timer(5)
    assert timers.processing_time_timers() == []


def test_timers_are_those_of_the_current_key(
    backend: KeyedStateBackend, timers: TimerService
) -> None:
    timers.register_event_time_timer(1)
    backend.set_current_key(2, b"\x01" * 8)
    assert timers.event_time_timers() == []
    timers.register_event_time_timer(2)
    if backend.name == "rocksdb":
        backend.set_current_key(1, bytes(8))
        assert timers.event_time_timers() == [1]


def test_event_time_fires_first_and_new_timers_come_in_their_turn(timers: TimerService) -> None:
    timers.register_processing_time_timer(1)
    for timestamp in (30, 10, 20):
        timers.register_event_time_timer(timestamp)
    fired = []
    for domain, timestamp in timers.due(watermark=100, processing_time=100):
        fired.append((domain, timestamp))
        if (domain, timestamp) == (EVENT, 10):
            timers.register_event_time_timer(15)
            timers.register_event_time_timer(15)
            timers.delete_event_time_timer(20)
        if domain == PROCESSING:
            timers.register_event_time_timer(99)
    assert fired[:4] == [(EVENT, 10), (EVENT, 15), (EVENT, 30), (PROCESSING, 1)]
    assert fired[4:] == [(EVENT, 99)]
    assert timers.event_time_timers() == timers.processing_time_timers() == []


def test_the_watermark_is_the_least_until_timers_fire_and_the_most_then(
    timers: TimerService,
) -> None:
    assert timers.current_watermark() == -(2**63)
    timers.register_event_time_timer(0)
    assert [
        timers.current_watermark()
        for _ in timers.due(watermark=MAX_WATERMARK, processing_time=MAX_WATERMARK)
    ] == [2**63 - 1]
    assert timers.current_watermark() == -(2**63)


def test_processing_time_is_that_of_the_clock(timers: TimerService) -> None:
    assert timers.current_processing_time() == 1000


def test_a_key_without_timers_has_none_due(timers: TimerService) -> None:
    assert list(timers.due(watermark=MAX_WATERMARK, processing_time=MAX_WATERMARK)) == []


def test_timers_are_state_that_a_snapshot_has(
    backend: KeyedStateBackend, timers: TimerService
) -> None:
    timers.register_event_time_timer(9)
    timers.register_event_time_timer(-9)
    assert [one.name for one in backend.descriptors] == [timers.EVENT, timers.PROCESSING]
    event, processing = map(timers.timestamps, backend.snapshot_current_key())
    assert (event, processing) == ([-9, 9], None)


def test_timers_fire_up_to_a_watermark_and_those_behind_it_stay(timers: TimerService) -> None:
    for timestamp in (30, 10, 20):
        timers.register_event_time_timer(timestamp)
    timers.register_processing_time_timer(5)
    fired = []
    for domain, timestamp in timers.due(watermark=20):
        fired.append((domain, timestamp, timers.current_watermark()))
        if timestamp == 10:
            timers.register_event_time_timer(15)
            timers.register_event_time_timer(25)
    assert fired == [(EVENT, 10, 20), (EVENT, 15, 20), (EVENT, 20, 20)]
    assert (timers.event_time_timers(), timers.processing_time_timers()) == ([25, 30], [5])


def test_the_clock_fires_timers_and_leaves_the_watermark(timers: TimerService) -> None:
    timers.set_watermark(7)
    timers.register_event_time_timer(1)
    for timestamp in (6, 5):
        timers.register_processing_time_timer(timestamp)
    assert [(*one, timers.current_watermark()) for one in timers.due(processing_time=5)] == [
        (PROCESSING, 5, 7)
    ]
    assert (timers.event_time_timers(), timers.processing_time_timers()) == ([1], [6])
    assert list(timers.due(watermark=0, processing_time=10)) == [(PROCESSING, 6)]
    assert timers.current_watermark() == 7


def test_at_the_end_of_a_batch_new_timers_are_dropped_as_flink_does(timers: TimerService) -> None:
    timers.register_event_time_timer(1)
    fired = []
    for domain, timestamp in timers.due(watermark=MAX_WATERMARK, processing_time=MAX_WATERMARK):
        fired.append((domain, timestamp))
        timers.register_event_time_timer(timestamp + 1)
        timers.register_processing_time_timer(timestamp + 1)
    assert fired == [(EVENT, 1)]
    assert timers.event_time_timers() == timers.processing_time_timers() == []
    timers.register_event_time_timer(2)
    assert timers.event_time_timers() == [2]


@pytest.mark.parametrize(("watermark", "step"), [(MAX_WATERMARK, 1), (50, 0), (50, -1)])
def test_timers_that_register_each_other_without_end_are_refused(
    backend: KeyedStateBackend, watermark: int, step: int
) -> None:
    timers = TimerService(backend, flows=True)
    backend.set_current_key(1, bytes(8))
    timers.register_event_time_timer(1)

    def fire() -> None:
        for _, timestamp in timers.due(watermark=watermark):
            timers.register_event_time_timer(timestamp + step)

    with pytest.raises(EndlessTimersError, match="has registered 10000 timers that are due"):
        fire()


def test_a_timer_may_register_itself_up_to_the_watermark_as_often_as_it_likes(
    timers: TimerService,
) -> None:
    timers.register_event_time_timer(1)
    for fired, (_, timestamp) in enumerate(timers.due(watermark=20_000), 1):
        assert timestamp == fired
        timers.register_event_time_timer(timestamp + 1)
    assert fired == 20_000
    assert timers.event_time_timers() == [20_001]


def test_timers_of_another_key_are_looked_for_when_it_begins(
    backend: KeyedStateBackend, timers: TimerService
) -> None:
    timers.register_event_time_timer(5)
    assert timers.is_due(EVENT, 5)
    backend.set_current_key(2, b"\x01" * 8)
    timers.begun()
    assert not timers.is_due(EVENT, 5)
    for timestamp in (9, 8, 9):
        timers.register_event_time_timer(timestamp)
    timers.delete_event_time_timer(8)
    timers.register_event_time_timer(8)
    assert list(timers.due(watermark=9)) == [(EVENT, 8), (EVENT, 9)]
    if backend.name == "rocksdb":
        backend.set_current_key(1, bytes(8))
        timers.begun()
        assert list(timers.due(watermark=9)) == [(EVENT, 5)]


def test_event_time_that_flows_goes_from_timer_to_timer_and_never_back(
    backend: KeyedStateBackend,
) -> None:
    timers = TimerService(backend, flows=True)
    backend.set_current_key(1, bytes(8))
    timers.set_watermark(15)
    for timestamp in (10, 20, 30):
        timers.register_event_time_timer(timestamp)
    assert [timers.current_watermark() for _ in timers.due(watermark=25)] == [15, 20]
    assert [timers.current_watermark() for _ in timers.due(watermark=MAX_WATERMARK)] == [
        MAX_WATERMARK
    ]
