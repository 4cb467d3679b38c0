"""A process per reader, so that an input that ends its process, or never ends, is a find like others."""

from __future__ import annotations

import mmap
import multiprocessing
import os
import signal
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fuzz.guarded import guarded_buffers
from fuzz.kinds import inputs_of
from fuzz.loop import Failure, Loop, Report, warm_up
from fuzz.promises import peak_memory, watched
from fuzz.targets import TARGETS
from savepoint_formats.program.kernel.code.machine_code import Kernel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.connection import Connection
    from pathlib import Path

_ROOM = 1 << 20
_HEAD = 8
_SECONDS_OF_A_REPORT = 5.0
_LONGEST = 300.0
"""Seconds of no answer after which a process is ended. Other limits end Python; only this one machine code."""

_MOST_DEATHS = 20
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["fuzz.targets"])


class LastInput:
    """A file that has the input that is being read, even if that ends the process.

    Its first bytes are the number of inputs so far, and the size of this one.

    Args:
        path: The file, which is there already or made anew.
    """

    def __init__(self, path: Path) -> None:
        path.touch()
        with path.open("r+b") as file:
            file.truncate(_ROOM)
            self._memory = mmap.mmap(file.fileno(), _ROOM)

    def keep(self, data: bytes) -> None:
        """Writes an input into the file."""
        head = (self.count + 1).to_bytes(4, "big") + len(data).to_bytes(4, "big")
        self._memory[: _HEAD + len(data)] = head + data

    @property
    def count(self) -> int:
        """Inputs so far."""
        return int.from_bytes(self._memory[:4], "big")

    @property
    def data(self) -> bytes:
        """The last one."""
        return self._memory[_HEAD : _HEAD + int.from_bytes(self._memory[4:_HEAD], "big")]


@dataclass(frozen=True)
class Work:
    """Inputs that a reader gets.

    Attributes:
        reader: Its name.
        seed: Of chance; the same seed tries the same inputs.
        inputs: How many.
        is_guarded: Whether buffers lie in front of pages that nobody may touch.
        is_interpreted: Whether the kernel runs as plain Python.
        kind: Of the savepoints, see ``fuzz.kinds``; empty for all.
    """

    reader: str
    seed: str
    inputs: int
    is_guarded: bool = False
    is_interpreted: bool = False
    kind: str = ""


def tried(work: Work, folder: Path, tell: Callable[[Failure], None]) -> tuple[Report, int]:
    """What came of the inputs, and the bytes of memory that reading them took besides.

    A process that dies, or gives no answer, is a find; another one goes on with other inputs.

    Args:
        work: The reader and its inputs.
        folder: Where the input is kept that is being read.
        tell: Is given each failure of a new place as soon as it is known.
    """
    total, memory, deaths = Report(work.reader), 0, 0
    path = folder / f"{work.reader}-last"
    while total.inputs < work.inputs:
        path.unlink(missing_ok=True)
        last = LastInput(path)
        seed = f"{work.seed} after {total.inputs}" if deaths else work.seed
        left = replace(work, seed=seed, inputs=work.inputs - total.inputs)
        receiver, sender = CONTEXT.Pipe(duplex=False)
        process = CONTEXT.Process(target=_work, args=(left, path, sender))
        process.start()
        sender.close()
        before = total.inputs
        for report, grown in answers(receiver, process.pid or 0):
            new = [it for place, it in report.failures.items() if place not in total.failures]
            total.add(report)
            memory = max(memory, grown)
            for failure in new:
                tell(failure)
        process.join()
        if process.exitcode == 0 and total.inputs == before:
            break  # there are no inputs of this kind
        if process.exitcode == 0:
            continue
        if not last.count or (process.exitcode or 0) > 0:
            raise RuntimeError(f"the process of {work.reader} ended by an error of its own")
        deaths += 1
        total.inputs = max(total.inputs, before + last.count)
        place = f"ended by {signal.Signals(-(process.exitcode or -1)).name}"
        if place not in total.failures:
            total.failures[place] = Failure(place, "", "", b"", last.data)
            tell(total.failures[place])
        if deaths == _MOST_DEATHS:
            break
    path.unlink(missing_ok=True)
    return total, memory


def answers(receiver: Connection, process: int) -> Iterator[Any]:
    """Reports of a process until it ends; one that gives none for long is ended."""
    while True:
        if not receiver.poll(_LONGEST):
            os.kill(process, signal.SIGKILL)
        try:
            yield receiver.recv()
        except EOFError:
            return


def _work(work: Work, path: Path, sender: Connection) -> None:
    """Reads the inputs, and sends a report every few seconds."""
    Kernel.is_python_wanted = work.is_interpreted
    last, left = LastInput(path), work.inputs
    with guarded_buffers() if work.is_guarded else nullcontext():
        reader = TARGETS[work.reader](inputs_of(work.kind))
        if not reader.seeds:
            sender.close()
            return
        warm_up(reader)
        before, loop = peak_memory(), Loop(reader, work.seed)
        with watched(reader.memory):
            while left > 0:
                report = loop.run(left, _SECONDS_OF_A_REPORT, last.keep)
                left -= report.inputs
                sender.send((report, peak_memory() - before))
    sender.close()
