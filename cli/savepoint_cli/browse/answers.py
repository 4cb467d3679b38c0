"""Answers that take their time, while the browser goes on drawing and listening."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


async def answer(call: Callable[[], T]) -> T:
    """What a call gives, which runs in a thread of its own.

    Nobody waits for a thread whose answer is no longer wanted: the browser ends at once, even while
    a file of many GiB is read.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def tell(result: T | None, error: BaseException | None) -> None:
        if future.cancelled():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]  # a result of None is one, too

    def run() -> None:
        result, raised = None, None
        try:
            result = call()
        except BaseException as error:  # it is raised where the answer is awaited
            raised = error
        # The loop may be closed by now.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(tell, result, raised)

    Thread(target=run, daemon=True).start()
    return await future
