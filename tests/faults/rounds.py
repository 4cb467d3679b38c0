"""Rounds: a write, a death at a random point of its life, and what must be true afterwards.

| what dies | how                                                                          |
|-----------|------------------------------------------------------------------------------|
| worker    | a Python process of a task, or all of them                                   |
| workers   | all of them, again and again, until the write ends                           |
| driver    | the Python process of the driver, then the jobs that it has left in its Java |
| machine   | the driver, its Java and all workers at once                                 |
| executor  | a Java process of a cluster, and its workers with it                         |
| source    | a data file of the savepoint that is read                                    |
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from support.spark_processes import executors_of, workers_of

from faults.process import Driver
from faults.ways import SOURCE_FACTOR, WAYS, Place, Way, digests

if TYPE_CHECKING:
    from collections.abc import Iterable

LOCAL = {
    "bootstrap": ("worker", "workers", "driver", "machine"),
    "rescale": ("worker", "workers", "driver", "machine", "source"),
    "double": ("worker", "workers", "driver", "machine", "source"),
    "change": ("worker", "workers", "driver", "machine", "source"),
    "copy": ("driver", "machine", "source"),
    "overwrite": ("worker", "workers", "driver", "machine"),
    "mixed": ("worker", "workers", "driver", "machine"),
}
"""Way -> what dies in a Spark of one process."""

CLUSTER = {way: ("executor", "worker") for way in WAYS if way != "copy"}
"""Way -> what dies in a cluster."""

_KILLED = "killed"


@dataclass(frozen=True)
class Round:
    """How a round went.

    Attributes:
        way: How it wrote.
        death: What was to die.
        is_struck: Whether that died before the write had ended.
        end: ``done``, the name of an error, or ``killed``.
        faults: What is not as it must be.
    """

    way: str
    death: str
    is_struck: bool
    end: str
    faults: tuple[str, ...]


class Rounds:
    """A driver, a source, and rounds with them.

    Args:
        folder: Where all of it lies.
        master: As Spark has it.
        seed: The same seed draws the same moments.
    """

    def __init__(self, folder: Path, master: str, seed: int) -> None:
        self._folder = folder
        self._master = master
        self._chance = random.Random(seed)
        self._source = folder / "source"
        self._seconds: dict[str, float] = {}
        self._number = 0
        self._driver = Driver(master, folder)
        self._write_here("bootstrap", Place("", str(self._source), SOURCE_FACTOR))

    def close(self) -> None:
        """Ends the driver."""
        self._driver.kill()

    def run(self, name: str, death: str) -> Round:
        """A round."""
        if name not in self._seconds:
            self._measure(name)
        way, place = WAYS[name], self._place(name, has_own_source=death == "source")
        before = digests(place.source), digests(place.target)
        is_struck, end, faults = self._struck(name, death, place)
        if death == "source":
            shutil.copytree(self._source, place.source, dirs_exist_ok=True)
        faults += faults_after(way, place, before, end)
        if end != "done":
            faults += self._faults_of_next_write(name, place)
        shutil.rmtree(Path(place.target).parent)
        return Round(name, death, is_struck, end, tuple(faults))

    def _measure(self, name: str) -> None:
        """How long a write takes, if nothing dies, and what it loads was loaded before."""
        self._write_here(name, self._place(name))
        place = self._place(name)
        start = time.monotonic()
        self._driver.order(name, "error", place)
        self._driver.answer()
        end, message = self._end()
        self._seconds[name] = time.monotonic() - start
        if end != "done":
            raise RuntimeError(f"{name} fails, though nothing dies: {end}: {message}")

    def _write_here(self, name: str, place: Place) -> None:
        """Writes in the process that others are forked from, which have then what that has loaded."""
        self._driver.order(name, "here", place)
        end, message = self._end()
        if end != "done":
            raise RuntimeError(f"{name} fails, though nothing dies: {end}: {message}")

    def _place(self, name: str, *, has_own_source: bool = False) -> Place:
        self._number += 1
        folder = self._folder / str(self._number)
        folder.mkdir()
        source, target = self._source, folder / "target"
        if has_own_source:
            source = shutil.copytree(source, folder / "source")
        if WAYS[name].is_replacing:
            shutil.copytree(self._source, target)
        return Place(str(source), str(target), SOURCE_FACTOR + self._number)

    def _struck(self, name: str, death: str, place: Place) -> tuple[bool, str, list[str]]:
        """Has something die; returns whether it did in time, how the write ended, and faults."""
        self._driver.order(name, "error", place)
        pid = self._driver.answer()["pid"]
        moment = time.monotonic() + self._chance.random() * self._seconds[name]
        while time.monotonic() < moment and not self._driver.has_answered:
            time.sleep(0.002)
        is_struck = not self._driver.has_answered and self._kill(death, pid, place)
        if death == "machine" and is_struck:
            self._driver = Driver(self._master, self._folder)
            return True, _KILLED, []
        end, message = self._end()
        is_clear = end in ("done", _KILLED) or (message and "\n" not in message)
        return is_struck, end, [] if is_clear else [f"{end}: {message}"]

    def _kill(self, death: str, pid: int, place: Place) -> bool:
        """Has something die now; returns whether there was any."""
        if death == "machine":
            self._driver.kill()
            return True
        if death == "driver":
            return _killed([pid])
        if death == "source":
            files = sorted(Path(place.source).glob("keyed-*"))
            self._chance.choice(files).unlink()
            return True
        if death == "executor":
            return _killed(self._some(executors_of(self._driver.pid))[:1])
        is_struck = _killed(self._some(workers_of(self._driver.pid)))
        while death == "workers" and not self._driver.has_answered:
            _killed(workers_of(self._driver.pid))
            time.sleep(0.05)
        return is_struck

    def _some(self, pids: Iterable[int]) -> list[int]:
        """One of them, or all."""
        pids = sorted(pids)
        self._chance.shuffle(pids)
        return pids if self._chance.random() < 0.5 else pids[:1]

    def _end(self) -> tuple[str, str]:
        """How the write has ended, once no task runs any more; what it has said of that."""
        end, message = _KILLED, ""
        while "idle" not in (answer := self._driver.answer()):
            end, message = answer["ended"], answer["message"]
        return end, message

    def _faults_of_next_write(self, name: str, place: Place) -> list[str]:
        """Faults after it was written again."""
        self._driver.order(name, "overwrite", place)
        self._driver.answer()
        end, message = self._end()
        if end != "done":
            return [f"the next write: {end}: {message}"]
        return [f"the next write: {fault}" for fault in _faults_of(WAYS[name], place)]


def _killed(pids: Iterable[int]) -> bool:
    """Kills processes; returns whether there were any."""
    number = 0
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            number += 1
    return number > 0


def faults_after(
    way: Way, place: Place, before: tuple[dict[str, str], dict[str, str]], end: str
) -> list[str]:
    """Faults after a write that may have died."""
    of_source, of_target = before
    faults = [] if digests(place.source) == of_source else ["the source is another one"]
    after = digests(place.target)
    if end == "done":
        return faults + _faults_of(way, place)
    old = of_target.get(way.marker)
    if old is not None and after.get(way.marker) == old:
        if not of_target.items() <= after.items():
            faults.append("the old savepoint has lost files, or they are others")
        if end != _KILLED and after != of_target:
            faults.append(f"left over: {sorted(after.keys() - of_target.keys())}")
    elif any(Path(file).name == way.marker for file in after):
        faults += filter(None, [way.fault(place)])
        if end != _KILLED:
            faults.append(f"the savepoint is complete, but the write has ended with {end}")
    elif old is not None:
        faults.append("the old savepoint is gone, and no new one is there")
    elif end != _KILLED and after and not way.is_of_runs:
        faults.append(f"left over: {sorted(after)}")
    return faults


def _faults_of(way: Way, place: Place) -> list[str]:
    """Faults of a complete savepoint."""
    return [fault for fault in (way.fault(place), way.left_over(place)) if fault]
