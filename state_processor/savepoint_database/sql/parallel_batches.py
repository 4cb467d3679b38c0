"""Batches of splits that several threads decode, in the order of the splits.

Machine code decodes without Python's lock, so threads use all cores. Each reads a split ahead of
the consumer, but only some batches, so the first row comes at once and memory is bounded.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from queue import Full, Queue
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    BatchT = TypeVar("BatchT")
    SplitT = TypeVar("SplitT")

THREAD = "savepoint split"
"""Name of the threads."""

_AHEAD = 4
_PATIENCE_SECONDS = 0.1
_END = object()


@dataclass(frozen=True, slots=True)
class _Failed:
    """The error that ended the reading of a split."""

    error: BaseException


def cores() -> int:
    """Number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def parallel_batches(
    splits: Sequence[SplitT], read: Callable[[SplitT], Iterator[BatchT]], threads: int
) -> Iterator[BatchT]:
    """Batches of all splits, split by split. An error is raised where its batch would come.

    Threads end when all is taken, or when the iterator is closed.
    """
    if min(len(splits), threads) < 2:
        for split in splits:
            yield from read(split)
        return
    is_over = Event()
    reading: list[Queue[Any]] = []
    try:
        for split in splits:
            reading.append(_started(split, read, is_over))
            if len(reading) == threads:
                yield from _taken(reading.pop(0))
        for queue in reading:
            yield from _taken(queue)
    finally:
        is_over.set()


def _started(
    split: SplitT, read: Callable[[SplitT], Iterator[BatchT]], is_over: Event
) -> Queue[Any]:
    """The batches of a split, or the error that ends them, which a thread puts there."""
    queue: Queue[Any] = Queue(_AHEAD)

    def fill() -> None:
        try:
            for batch in read(split):
                if not _put(queue, batch, is_over):
                    return
        except BaseException as error:  # raised where the batch would come
            _put(queue, _Failed(error), is_over)
        else:
            _put(queue, _END, is_over)

    # A daemon, so that the program can end while rows are left.
    Thread(target=fill, name=THREAD, daemon=True).start()
    return queue


def _put(queue: Queue[Any], item: object, is_over: Event) -> bool:
    """Puts an item when there is room; False if the consumer has stopped."""
    while not is_over.is_set():
        try:
            queue.put(item, timeout=_PATIENCE_SECONDS)
        except Full:
            continue
        return True
    return False


def _taken(queue: Queue[Any]) -> Iterator[Any]:
    while (item := queue.get()) is not _END:
        if isinstance(item, _Failed):
            raise item.error
        yield item
