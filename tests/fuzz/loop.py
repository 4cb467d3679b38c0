"""The loop: damage, read, keep what breaks a promise or ends where no input ended before."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

from fuzz.mutations import mutated
from fuzz.promises import is_broken, outcome, place

if TYPE_CHECKING:
    from collections.abc import Callable

    from fuzz.target import Seed, Target

_MOST_KEPT = 400
_MOST_SHRINKING = 300
_SECONDS_OF_SHRINKING = 60.0


@dataclass(frozen=True)
class Failure:
    """An input that breaks a promise.

    Attributes:
        place: What was raised, and where.
        message: What it says.
        name: The name of the input that it was made of.
        original: That input.
        data: The input.
    """

    place: str
    message: str
    name: str
    original: bytes
    data: bytes

    def __str__(self) -> str:
        pairs = zip(self.original, self.data, strict=False)
        changed = [
            f"{at}: {was:02x} {now:02x}" for at, (was, now) in enumerate(pairs) if was != now
        ]
        sizes = f"{len(self.data)} of {len(self.original)} bytes"
        return f"{self.place}: {self.message[:300]}\n    {self.name} {sizes}, {changed[:8]}"


@dataclass
class Report:
    """Inputs that a run of a target has tried.

    Attributes:
        target: Its name.
        inputs: How many were read.
        equal: How many of them have the meaning of the input that they were made of.
        different: How many of them have another meaning, without an error.
        refused: By the places of errors of our tree, how many.
        failures: By their places, the first input of each.
        seconds: CPU time that it took.
        slowest: The longest CPU time that one input took, in seconds.
    """

    target: str
    inputs: int = 0
    equal: int = 0
    different: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    failures: dict[str, Failure] = field(default_factory=dict)
    seconds: float = 0.0
    slowest: float = 0.0

    def add(self, other: Report) -> None:
        """Adds another run of the same target."""
        self.inputs += other.inputs
        self.equal += other.equal
        self.different += other.different
        self.refused += other.refused
        self.failures = {**other.failures, **self.failures}
        self.seconds += other.seconds
        self.slowest = max(self.slowest, other.slowest)

    def __str__(self) -> str:
        refused = f"{self.refused.total():>9,} refused at {len(self.refused):>3} places"
        rate = self.inputs / self.seconds if self.seconds else 0
        return (
            f"{self.target:20} {self.inputs:>9,} inputs {refused} {self.equal:>8,} equal"
            f" {self.different:>8,} different {rate:>7,.0f}/s of CPU  slowest {self.slowest * 1000:.0f} ms"
            f"  {len(self.failures)} failures"
        )


class Loop:
    """A reader that gets damaged inputs, run by run.

    Args:
        target: The reader.
        seed: Of chance; the same seed tries the same inputs.
    """

    def __init__(self, target: Target, seed: str) -> None:
        self._target, self._chance = target, Random(f"{seed} {target.name}")
        self._pool = [(seed, seed.data) for seed in target.seeds]
        self._seen: set[str] = set()
        self._meanings: dict[Seed, tuple[Any, ...]] = {}

    def run(
        self,
        inputs: float = float("inf"),
        seconds: float = float("inf"),
        before: Callable[[bytes], None] = lambda _: None,
    ) -> Report:
        """Tries inputs until the time or their number is used up.

        Args:
            inputs: How many.
            seconds: How long.
            before: Is given each input before it is read, so that one that crashes is known.
        """
        report, started = Report(self._target.name), time.monotonic()
        used = time.process_time()
        while self._pool and report.inputs < inputs and time.monotonic() - started < seconds:
            seed, data = self._damaged()
            before(data)
            began = time.process_time()
            raised = self._outcome(report, seed, data)
            report.slowest = max(report.slowest, time.process_time() - began)
            report.inputs += 1
            if raised is not None:
                self._note(report, seed, data, raised)
        report.seconds = time.process_time() - used
        return report

    def _damaged(self) -> tuple[Seed, bytes]:
        chance = self._chance
        seed, data = chance.choice(self._pool)
        if seed.change is not None and chance.random() < 0.5:
            return seed, seed.change(data, chance)
        others = [chance.choice(self._pool)[1]] if seed.places is None else []
        damaged = mutated(data, others, chance, seed.places)
        if seed.mend is not None and chance.random() < 0.9:
            damaged = seed.mend(damaged)
        return seed, damaged

    def _outcome(self, report: Report, seed: Seed, data: bytes) -> BaseException | None:
        """The error of a read; a meaning is counted."""

        def read(data: bytes) -> None:
            meaning.append(self._target.read(data, seed.context))

        meaning: list[Any] = []
        raised = outcome(read, data)
        if raised is None:
            is_equal = self._has_meaning(seed, meaning[0])
            report.equal += is_equal
            report.different += not is_equal
        return raised

    def _has_meaning(self, seed: Seed, meaning: Any) -> bool:
        if seed not in self._meanings:
            read: list[Any] = []
            outcome(lambda data: read.append(self._target.read(data, seed.context)), seed.data)
            self._meanings[seed] = tuple(read)
        return any(bool(meaning == known) for known in self._meanings[seed])

    def _note(self, report: Report, seed: Seed, data: bytes, raised: BaseException) -> None:
        where = place(raised)
        if is_broken(raised):
            if where not in report.failures:
                small = shrunk(self._target, seed, data, where)
                report.failures[where] = Failure(where, str(raised), seed.name, seed.data, small)
            return
        # A new place is as good as a new branch: what led there leads on from there.
        is_new = where not in self._seen and len(self._seen) < _MOST_KEPT
        if is_new and seed.places is None:
            self._seen.add(where)
            self._pool.append((seed, data))
        report.refused[where] += 1


def run(
    target: Target, seed: int, *, seconds: float = float("inf"), inputs: float = float("inf")
) -> Report:
    """Tries a target once, until the time or the number of inputs is used up."""
    return Loop(target, str(seed)).run(inputs, seconds)


def _read(target: Target, seed: Seed, data: bytes) -> object:
    return target.read(data, seed.context)


def warm_up(target: Target, seconds: float = 10) -> None:
    """Has everything imported and compiled that inputs need, right ones and damaged ones.

    Args:
        target: The target.
        seconds: How long either may take.
    """
    started = time.monotonic()
    for seed in target.seeds:
        outcome(partial(_read, target, seed), seed.data)
        if time.monotonic() - started > seconds:
            break
    run(target, 0, inputs=100, seconds=seconds)


def shrunk(target: Target, seed: Seed, data: bytes, where: str) -> bytes:
    """A smaller input that breaks the same promise, or one that differs in less from its seed."""

    end = time.monotonic() + _SECONDS_OF_SHRINKING

    def still(smaller: bytes) -> bool:
        if time.monotonic() > end:
            return False
        raised = outcome(partial(_read, target, seed), smaller)
        return raised is not None and is_broken(raised) and place(raised) == where

    tries, size = 0, max(len(data) // 2, 1)
    if seed.places is None:
        while size and tries < _MOST_SHRINKING:
            start = 0
            while start < len(data) and tries < _MOST_SHRINKING:
                smaller = data[:start] + data[start + size :]
                tries += 1
                if still(smaller):
                    data = smaller
                else:
                    start += size
            size //= 2
    elif len(data) == len(seed.data):
        for at in [at for at in range(len(data)) if data[at] != seed.data[at]]:
            smaller = data[:at] + seed.data[at : at + 1] + data[at + 1 :]
            if still(smaller):
                data = smaller
    return data
