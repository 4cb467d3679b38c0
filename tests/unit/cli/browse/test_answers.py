"""An answer is awaited without a stop of the loop, and nobody waits for one that is not wanted."""

from __future__ import annotations

import asyncio
from threading import Event

import pytest

from savepoint_cli.browse.app import answer


def test_the_loop_goes_on_while_a_call_runs() -> None:
    async def run() -> str:
        event = Event()
        awaited = asyncio.create_task(answer(lambda: "so" if event.wait(60) else "stopped"))
        await asyncio.sleep(0)
        event.set()
        return await awaited

    assert asyncio.run(run()) == "so"


def test_errors_are_raised_where_the_answer_is_awaited() -> None:
    def fail() -> None:
        raise ValueError("of a call")

    with pytest.raises(ValueError, match="of a call"):
        asyncio.run(answer(fail))


def test_an_answer_that_is_not_wanted_holds_nobody_up() -> None:
    event, is_done = Event(), Event()

    def call() -> None:
        event.wait(60)
        is_done.set()

    async def run() -> None:
        awaited = asyncio.create_task(answer(call))
        await asyncio.sleep(0)
        awaited.cancel()
        with pytest.raises(asyncio.CancelledError):
            await awaited

    asyncio.run(run())
    assert not is_done.is_set()
    event.set()
    assert is_done.wait(60)
