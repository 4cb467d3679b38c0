"""Losses: writes on a cluster lose an executor, or have tasks that stand still while others overtake them.

Several writes run at once, so that one executor that dies strikes all of them: a new one takes seconds of a core.
Spark's own log says which of them lost tasks, or had some overtaken.

| loss       | how                                                                                     |
|------------|-----------------------------------------------------------------------------------------|
| executor   | one executor dies, or both do                                                           |
| executors  | an executor dies, and the next one when it works                                        |
| held       | an executor stands still until it has a task of the writes, and dies                    |
| straggler  | an executor stands still for up to four seconds, while its tasks are begun elsewhere    |
| sleepers   | the Python workers of an executor stand still in the same way                           |

    PYTHONPATH=…:tests python -m faults.losses --writes 1000 --seed 1
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from support.spark_processes import executor_id, executors_of, workers_of
from support.standalone_cluster import standalone

from faults.process import Driver
from faults.rounds import faults_after
from faults.spark_events import LOST, OVERTAKEN, OVERTAKING, SparkEvents
from faults.ways import SOURCE_FACTOR, WAYS, Place, digests

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_CORES = 4
_SETTINGS = {
    "spark__speculation__interval": "50ms",
    "spark__speculation__minTaskRuntime": "50ms",
    "spark__speculation__quantile": "0.5",
    "spark__executorEnv__PYTHONPATH": os.pathsep.join(sys.path),
    "spark__python__daemon__module": "faults.ready_daemon",
    # An executor lives for a few writes, which machine code of the second compiler does not pay for.
    "spark__executor__extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}
_AT_ONCE = 4
_LONGEST_SLEEP = 4.0
LOSSES = ("executor", "executors", "held", "straggler", "sleepers")

_WAYS = {"rescale": 6, "double": 6, "bootstrap": 3, "change": 3, "overwrite": 3, "mixed": 1}
"""Way -> how often it is drawn: less often if it takes longer."""


@dataclass(frozen=True)
class Written:
    """How a write went.

    Attributes:
        way: How it wrote.
        loss: What happened meanwhile.
        strikes: What happened to its tasks: ``LOST``, ``OVERTAKING`` or ``OVERTAKEN``.
        end: ``done``, or the name of an error.
        faults: What is not as it must be.
    """

    way: str
    loss: str
    strikes: frozenset[str]
    end: str
    faults: tuple[str, ...]


class Losses:
    """A cluster that loses executors, and what it writes.

    Args:
        folder: Where all of it lies.
        seed: The same seed draws the same moments.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        self._folder, self._chance = folder, random.Random(seed)
        self._events = SparkEvents(folder / "events")
        self._cluster = ExitStack()
        master = self._cluster.enter_context(standalone(folder, _CORES))
        self._driver = Driver(master, folder, {**_SETTINGS, **self._events.settings()})
        self._source, self._number = folder / "source", 0
        # Way -> how long tasks run, from the first job on.
        self._seconds: dict[str, float] = {}
        self._driver.order("bootstrap", "here", Place("", str(self._source), SOURCE_FACTOR))
        self._ends()

    def close(self) -> None:
        """Ends the cluster."""
        self._driver.kill()
        self._cluster.close()

    def write(self, name: str, loss: str) -> Iterator[Written]:
        """Writes in one way to several places at once, while something is lost."""
        if name not in self._seconds:
            self._measure(name)
        places = [self._place(name) for _ in range(_AT_ONCE)]
        before = {place: (digests(place.source), digests(place.target)) for place in places}
        ends = self._written(name, "error", places, loss)
        for place, (end, message, strikes) in zip(places, ends, strict=True):
            is_clear = end == "done" or (message and "\n" not in message)
            faults = [] if is_clear else [f"{end}: {message}"]
            faults += faults_after(WAYS[name], place, before[place], end)
            if end != "done":
                faults += self._faults_of_next_write(name, place)
            shutil.rmtree(Path(place.target).parent)
            yield Written(name, loss, strikes, end, tuple(faults))

    def _measure(self, name: str) -> None:
        places = [self._place(name) for _ in range(_AT_ONCE)]
        for end, message, _ in self._written(name, "error", places):
            if end != "done":
                raise RuntimeError(f"{name} fails, though nothing is lost: {end}: {message}")
        for place in places:
            shutil.rmtree(Path(place.target).parent)

    def _written(
        self, name: str, mode: str, places: Sequence[Place], loss: str = ""
    ) -> list[tuple[str, str, frozenset[str]]]:
        """Writes; returns the end of each, the message, and what happened to its tasks."""
        targets = [place.target for place in places]
        held = self._held() if loss == "held" else None
        self._driver.order(name, mode, *places)
        if held is not None:
            self._lose_held(held, targets)
        elif loss:
            self._lose(name, loss, targets)
        ends = self._ends()
        self._events.settle(*targets)
        # What is loaded once is there the next time, which takes less.
        seconds = self._events.seconds(*targets)
        self._seconds[name] = min(self._seconds.get(name, seconds), seconds)
        kinds = (LOST, OVERTAKING, OVERTAKEN)
        return [
            (*ends[target], frozenset(kind for kind in kinds if self._events.count(target, kind)))
            for target in targets
        ]

    def _ends(self) -> dict[str, tuple[str, str]]:
        """Target -> how the write ended, and the message."""
        ends = {}
        while "idle" not in (answer := self._driver.answer()):
            if "ended" in answer:
                ends[answer["target"]] = answer["ended"], answer["message"]
        return ends

    def _lose(self, name: str, loss: str, targets: Sequence[str]) -> None:
        # Looked for now, because that takes longer than a task.
        workers = {executor: [*workers_of(executor)] for executor in executors_of(os.getpid())}
        busy = [one for one in workers if workers[one]] or [*workers]
        self._chance.shuffle(busy)
        while not self._events.has_begun(*targets) and not self._driver.has_ended:
            time.sleep(0.01)
        self._wait(self._chance.random() * self._seconds[name])
        if loss.startswith("executor"):
            _signal(busy if self._chance.random() < 0.25 else busy[:1], signal.SIGKILL)
            if loss == "executors":
                self._wait(self._chance.random() * self._seconds[name])
                _signal(busy[1:], signal.SIGKILL)
            return
        asleep = (
            busy[:1] if loss == "straggler" else [pid for one in busy[:1] for pid in workers[one]]
        )
        _signal(asleep, signal.SIGSTOP)
        self._wait(self._chance.uniform(0.1, 1) * _LONGEST_SLEEP)
        _signal(asleep, signal.SIGCONT)

    def _held(self) -> int:
        """Stops an executor that Spark gives tasks to; a new one has to come first, if all have died."""
        while True:
            for executor in executors_of(os.getpid()):
                if self._events.has_executor(executor_id(executor)):
                    os.kill(executor, signal.SIGSTOP)
                    return executor
            time.sleep(0.1)

    def _lose_held(self, executor: int, targets: Sequence[str]) -> None:
        """Kills an executor that stands still, once Spark has given it a task of these writes.

        It strikes in any case: where Spark's log lags behind, others have overtaken the task meanwhile.
        """
        name = executor_id(executor)
        while not self._events.has_task(name, *targets) and not self._driver.has_ended:
            time.sleep(0.01)
        os.kill(executor, signal.SIGKILL)

    def _wait(self, seconds: float) -> None:
        """Waits, unless all writes end before."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and not self._driver.has_ended:
            time.sleep(0.005)

    def _faults_of_next_write(self, name: str, place: Place) -> list[str]:
        ((end, message, _),) = self._written(name, "overwrite", [place])
        if end != "done":
            return [f"the next write: {end}: {message}"]
        way = WAYS[name]
        return [
            f"the next write: {fault}"
            for fault in (way.fault(place), way.left_over(place))
            if fault
        ]

    def _place(self, name: str) -> Place:
        self._number += 1
        target = self._folder / str(self._number) / "target"
        target.parent.mkdir()
        if WAYS[name].is_replacing:
            shutil.copytree(self._source, target)
        return Place(str(self._source), str(target), SOURCE_FACTOR + self._number)


def _signal(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def main() -> int:
    """Writes, and loses; returns how many writes had faults."""
    parser = argparse.ArgumentParser(prog="python -m faults.losses", description=__doc__)
    parser.add_argument("--writes", type=int, default=100, help="how many")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="at most")
    parser.add_argument("--seed", type=int, default=1, help="the same seed draws the same moments")
    parser.add_argument("--loss", action="append", choices=LOSSES, help="all by default")
    parser.add_argument("--way", action="append", choices=_WAYS, help="all by default")
    options = parser.parse_args()
    # A cluster that nobody closes runs on.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    end = time.monotonic() + options.minutes * 60
    chance, done = random.Random(options.seed), list[Written]()
    ways = options.way or [*_WAYS]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        losses = Losses(Path(folder), options.seed)
        try:
            while len(done) < options.writes and time.monotonic() < end:
                (way,) = chance.choices(ways, [_WAYS[way] for way in ways])
                written = list(losses.write(way, chance.choice(options.loss or LOSSES)))
                for one in written:
                    for fault in one.faults:
                        print(f"{one.way}, {one.loss}: {one.end}: {fault}", flush=True)
                done += written
        finally:
            # Also of writes that were interrupted.
            _summarize(done)
            losses.close()
    return min(100, sum(bool(one.faults) for one in done))


def _summarize(done: Sequence[Written]) -> None:
    counts = Counter(
        (one.loss, one.way, kind, one.end)
        for one in done
        for kind in one.strikes or ("not struck",)
    )
    for (loss, way, kind, end), number in sorted(counts.items()):
        print(f"{number:5} {loss:10} {way:10} {kind:10} {end}")
    struck = sum(bool(one.strikes) for one in done)
    faulty = sum(bool(one.faults) for one in done)
    print(f"{len(done)} writes, {struck} struck, {faulty} with faults", flush=True)


if __name__ == "__main__":
    sys.exit(main())
