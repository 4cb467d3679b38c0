"""Processes that answer the questions of pages, so that a deadline ends the work itself.

A thread can't be stopped while it decodes a value or waits for a store. So the process sets an alarm
before each answer, and the system ends it when the time is over. This holds for machine code, too,
and if the server has died.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe
from threading import BoundedSemaphore, Lock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from savepoint_extensions.serving.pages import Answer, Pages, Question

_RUN = "import sys; from savepoint_extensions.serving.workers import run; run(*sys.argv[1:])"
# Each may take a share of the memory of the machine; more questions wait.
_MOST_AT_ONCE = 4


class NoAnswerError(Exception):
    """A question whose process has ended; the message says why, and what to do."""


class OverdueError(NoAnswerError):
    """The time for the answer was over."""


@dataclass(frozen=True, slots=True)
class Task:
    """What a process answers, and the seconds that each answer may take."""

    pages: Pages
    seconds: int


class Worker:
    """A process that answers one question after the other. ``TMPDIR`` is a folder of its own."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._folder = tempfile.TemporaryDirectory(prefix="savepoint-serve-")
        self._end, other = Pipe()
        with other:
            self._process = subprocess.Popen(
                # Without -P, modules of the current directory, which may be a stranger's, come first.
                [sys.executable, "-P", "-c", _RUN, str(other.fileno()), self._folder.name],
                pass_fds=[other.fileno()],
                stdin=subprocess.DEVNULL,
                env={**os.environ, "TMPDIR": self._folder.name},
                # Ctrl-C ends the server, which ends this process.
                process_group=0,
            )
        # A process that has ended already reports it at its first question.
        with suppress(OSError):
            self._end.send(task)

    def answer(self, question: Question) -> Answer:
        """Raises ``NoAnswerError`` if the process ends before its answer."""
        try:
            self._end.send(question)
            answer: Answer = self._end.recv()
        except (EOFError, OSError):
            code = self._process.wait()
            if code == -signal.SIGALRM:
                raise OverdueError(
                    f"no answer within {self._task.seconds} s: ask about one table, one key or fewer"
                    " rows, or start savepoint serve with more --seconds"
                ) from None
            raise NoAnswerError(
                f"the process that reads the savepoint has ended with code {code}: the terminal of"
                " savepoint serve may say why"
            ) from None
        return answer

    def close(self) -> None:
        """Ends the process, and removes its files."""
        self._process.kill()
        self._process.wait()
        self._end.close()
        self._folder.cleanup()


class Workers:
    """Processes for questions that are asked at once. One stays, ready for the next question."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._places, self._lock = BoundedSemaphore(_MOST_AT_ONCE), Lock()
        self._idle: list[Worker] = []
        self._all: set[Worker] = set()
        self._is_closed = False
        self._idle.append(self._new())

    def answer(self, question: Question) -> Answer:
        """Raises ``NoAnswerError`` if the time is over, or the process has ended."""
        with self._places:
            worker = self._taken()
            is_kept = False
            try:
                answer = worker.answer(question)
                is_kept = True
            finally:
                self._give_back(worker, is_kept=is_kept)
            return answer

    def close(self) -> None:
        """Ends all processes, also in the middle of an answer."""
        with self._lock:
            self._is_closed = True
            for worker in self._all:
                worker.close()
            self._all.clear()

    def _taken(self) -> Worker:
        with self._lock:
            return self._idle.pop() if self._idle else self._new()

    def _give_back(self, worker: Worker, *, is_kept: bool) -> None:
        with self._lock:
            if is_kept and not self._idle and not self._is_closed:
                self._idle.append(worker)
                return
            self._all.discard(worker)
            worker.close()
            if not self._idle and not self._is_closed:
                # It imports its modules before somebody asks.
                self._idle.append(self._new())

    def _new(self) -> Worker:
        worker = Worker(self._task)
        self._all.add(worker)
        return worker


def run(descriptor: str, folder: str) -> None:
    """Answers the questions of a server until it closes its end of the pipe, then removes ``folder``."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    try:
        with Connection(int(descriptor)) as end:
            task = _received(end)
            while question := _received(end):
                signal.setitimer(signal.ITIMER_REAL, task.seconds)
                answer = task.pages.answer(question)
                signal.setitimer(signal.ITIMER_REAL, 0)
                with suppress(OSError):
                    end.send(answer)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _received(end: Connection) -> Any:
    """The next task or question, or None if the server has ended."""
    try:
        return end.recv()
    except (EOFError, OSError):
        return None
