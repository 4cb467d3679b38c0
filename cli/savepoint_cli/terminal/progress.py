"""Bars for what takes long, where a person watches; they go when it is done."""

from __future__ import annotations

import os
from contextlib import contextmanager, nullcontext
from functools import partial
from threading import Event, Lock, Thread, Timer
from typing import TYPE_CHECKING, ClassVar

import click
from rich.console import Console, Group
from rich.live import Live
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TransferSpeedColumn,
)

from savepoint_cli.terminal.output import escape
from savepoint_formats.errors import JobError
from savepoint_formats.printable import printable, without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from savepoint_formats.program.kernel.machine_code import Compilation
    from savepoint_spark.session.session import TaskCount

_POLL_SECONDS = 0.25
_PATIENCE_SECONDS = 2.0


@contextmanager
def writing(
    title: str, size: int, tasks: Callable[[], TaskCount] | None = None
) -> Iterator[Callable[[int], None]]:
    """A bar for so many bytes that are copied, and one for the tasks of Spark.

    Args:
        title: What is done.
        size: The bytes; gives what is to be called at each step.
        tasks: Says how many tasks there are now, and how many of them are done.
    """
    label, bar = TextColumn("{task.description}"), BarColumn()
    copies = Progress(label, bar, DownloadColumn(), TransferSpeedColumn())
    jobs = Progress(label, bar, MofNCompleteColumn(), TextColumn("tasks"))
    with _shown(copies, jobs):
        copying = copies.add_task(escape(without_secrets(title)), total=size, visible=size > 0)
        with _polled(jobs, escape(without_secrets(title)), tasks):
            yield lambda done: copies.advance(copying, done)


@contextmanager
def steps(title: str, count: int) -> Iterator[Callable[[], None]]:
    """A bar for so many steps; gives what is to be called after each."""
    shown = Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with _shown(shown):
        task = shown.add_task(escape(without_secrets(title)), total=count)
        yield lambda: shown.advance(task)


@contextmanager
def counting(title: str, unit: str) -> Iterator[Callable[[int], None]]:
    """A bar for what nobody has counted before; gives what is to be told how many more are done."""
    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed:,.0f}")
    shown = Progress(*columns, TextColumn(unit))
    with _shown(shown):
        task = shown.add_task(escape(without_secrets(title)), total=None)
        yield lambda done: shown.advance(task, done)


@contextmanager
def compiling(
    compilation: Compilation, tell: Callable[[str], None] | None = None
) -> Iterator[None]:
    """Shows how far machine code is, where it takes longer than a person waits silently.

    Args:
        compilation: Says what is compiled, and how far that is.
        tell: Is told that as a text, again and again, from a thread of its own; by default a bar on
            stderr shows it, if that is a terminal.
    """
    is_over = Event()

    def show() -> None:
        while not is_over.wait(_PATIENCE_SECONDS):
            if compilation.has_begun:
                _tell_of(compilation, is_over, tell)

    thread = Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def _tell_of(compilation: Compilation, is_over: Event, tell: Callable[[str], None] | None) -> None:
    """Shows a compilation until it is over."""
    title = f"Compiling machine code once per machine ({compilation.function})"
    if tell is not None:
        while not is_over.wait(_POLL_SECONDS):
            tell(f"{title}: {compilation.done} of {compilation.total} functions ...")
        return
    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("functions")
    )
    with _shown(bar):
        task = bar.add_task(title, total=compilation.total)
        while not is_over.wait(_POLL_SECONDS):
            bar.update(task, completed=compilation.done)


def reading(path: str) -> AbstractContextManager[None]:
    """Says what is read, where that takes longer than a person waits silently."""
    return _said(f"Reading {printable(path)} ...")


def hush() -> None:
    """Says nothing more of what takes long: there is something else to be seen now."""
    while _WAITING:
        _WAITING.pop().cancel()


_WAITING: set[Timer] = set()


def _said(text: str) -> AbstractContextManager[None]:
    is_seen = Console(stderr=True).is_terminal
    return _delayed(partial(click.echo, text, err=True)) if is_seen else nullcontext()


@contextmanager
def _delayed(say: Callable[[], None]) -> Iterator[None]:
    timer = Timer(_PATIENCE_SECONDS, say)
    timer.daemon = True
    _WAITING.add(timer)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        _WAITING.discard(timer)


class _Screen:
    """All bars that are shown now: a terminal has one place for them."""

    lock = Lock()
    bars: ClassVar[list[Progress]] = []
    live: Live | None = None


@contextmanager
def _shown(*bars: Progress) -> Iterator[None]:
    hush()
    # What programs read is stdout, so the bars are not there.
    console = Console(stderr=True)
    if not console.is_terminal or os.environ.get("CI"):
        yield
        return
    with _Screen.lock:
        _Screen.bars += bars
        if _Screen.live is None:
            _Screen.live = Live(
                console=console, transient=True, get_renderable=lambda: Group(*_Screen.bars)
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


@contextmanager
def _polled(bars: Progress, title: str, tasks: Callable[[], TaskCount] | None) -> Iterator[None]:
    """Asks for the tasks now and then, while something else waits for them."""
    if tasks is None:
        yield
        return
    is_over, task = Event(), bars.add_task(title, total=None)

    def poll() -> None:
        while not is_over.wait(_POLL_SECONDS):
            try:
                count = tasks()
            except JobError:
                # What waits for the tasks tells why.
                return
            bars.update(task, completed=count.done, total=count.total or None)

    thread = Thread(target=poll, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
