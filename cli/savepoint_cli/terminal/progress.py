"""Bars for long work while a person watches; they disappear at its end."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, nullcontext
from functools import partial
from threading import Event, Lock, Thread, Timer
from typing import TYPE_CHECKING, ClassVar

import click

from savepoint_cli.terminal.output import escape
from savepoint_formats.errors import JobError
from savepoint_formats.lazy_modules import LazyModule
from savepoint_formats.printable import printable, without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from rich import console as rich_console
    from rich import live as rich_live
    from rich import progress as rich_bars

    from savepoint_spark.session import TaskCount
else:
    rich_console = LazyModule("rich.console")
    rich_live = LazyModule("rich.live")
    rich_bars = LazyModule("rich.progress")

_POLL_SECONDS = 0.25
_PATIENCE_SECONDS = 2.0


@contextmanager
def writing(
    title: str, size: int, tasks: Callable[[], TaskCount] | None = None
) -> Iterator[Callable[[int], None]]:
    """A bar for copied bytes, and one for Spark tasks if there are any.

    Yields a function that takes the number of bytes copied since its last call.
    """
    label, bar = rich_bars.TextColumn("{task.description}"), rich_bars.BarColumn()
    copies = rich_bars.Progress(
        label, bar, rich_bars.DownloadColumn(), rich_bars.TransferSpeedColumn()
    )
    jobs = rich_bars.Progress(
        label, bar, rich_bars.MofNCompleteColumn(), rich_bars.TextColumn("tasks")
    )
    text = escape(without_secrets(title))
    with _shown(copies, jobs):
        copying = copies.add_task(text, total=size, visible=size > 0)
        with nullcontext() if tasks is None else _polled(jobs, text, tasks):
            yield lambda done: copies.advance(copying, done)


@contextmanager
def steps(title: str, count: int) -> Iterator[Callable[[], None]]:
    """A bar for a known number of steps; yields a function to call after each."""
    with _bar(title, count, rich_bars.MofNCompleteColumn()) as advance:
        yield lambda: advance(1)


def counting(title: str, unit: str) -> AbstractContextManager[Callable[[int], None]]:
    """A bar without an end; yields a function that takes the number of new steps."""
    return _bar(
        title, None, rich_bars.TextColumn("{task.completed:,.0f}"), rich_bars.TextColumn(unit)
    )


@contextmanager
def _bar(
    title: str, total: int | None, *columns: rich_bars.ProgressColumn
) -> Iterator[Callable[[int], None]]:
    shown = rich_bars.Progress(
        rich_bars.TextColumn("{task.description}"), rich_bars.BarColumn(), *columns
    )
    with _shown(shown):
        task = shown.add_task(escape(without_secrets(title)), total=total)
        yield lambda done: shown.advance(task, done)


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Shows what is being read if that takes longer than people wait."""
    if not sys.stderr.isatty():
        yield
        return
    say = partial(click.echo, f"Reading {printable(path)} ...", err=True)
    timer = Timer(_PATIENCE_SECONDS, say)
    timer.daemon = True
    _waiting.add(timer)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        _waiting.discard(timer)


def hush() -> None:
    """Keeps ``reading`` silent: the terminal shows something else now."""
    while _waiting:
        _waiting.pop().cancel()


_waiting: set[Timer] = set()


@contextmanager
def _meanwhile(watch: Callable[[Event], None]) -> Iterator[None]:
    """Runs ``watch`` in a thread; the event tells it that the block is over."""
    is_over = Event()
    thread = Thread(target=watch, args=(is_over,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


class _Screen:
    """The visible bars: a terminal has one place for all of them."""

    lock = Lock()
    bars: ClassVar[list[rich_bars.Progress]] = []
    live: rich_live.Live | None = None


@contextmanager
def _shown(*bars: rich_bars.Progress) -> Iterator[None]:
    hush()
    # Programs read stdout, so bars are shown on stderr.
    console = rich_console.Console(stderr=True)
    if not console.is_terminal or os.environ.get("CI"):
        yield
        return
    with _Screen.lock:
        _Screen.bars += bars
        if _Screen.live is None:
            _Screen.live = rich_live.Live(
                console=console,
                transient=True,
                get_renderable=lambda: rich_console.Group(*_Screen.bars),
            )
            _Screen.live.start()
    try:
        yield
    finally:
        with _Screen.lock:
            last = _Screen.live if len(_Screen.bars) == len(bars) else None
            if last is not None:
                last.stop()
                _Screen.live = None
            _Screen.bars[:] = [bar for bar in _Screen.bars if bar not in bars]


def _polled(
    bars: rich_bars.Progress, title: str, tasks: Callable[[], TaskCount]
) -> AbstractContextManager[None]:
    """Asks for the number of tasks now and then, while another thread waits for them."""
    task = bars.add_task(title, total=None)

    def poll(is_over: Event) -> None:
        while not is_over.wait(_POLL_SECONDS):
            try:
                count = tasks()
            except JobError:
                # The thread that waits for the tasks reports it.
                return
            bars.update(task, completed=count.done, total=count.total or None)

    return _meanwhile(poll)
