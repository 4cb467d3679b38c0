"""The loop: damage, read, keep what breaks a promise or ends where no input ended before."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random
from typing import TYPE_CHECKING

from fuzz.mutations import mutated
from fuzz.promises import is_broken, outcome, place

if TYPE_CHECKING:
    from collections.abc import Callable

    from fuzz.target import Seed, Target

_MOST_KEPT = 400
_MOST_SHRINKING = 300


@dataclass(frozen=True)
class Failure:
    """An input that breaks a promise.

    Attributes:
        place: What was raised, and where.
        message: What it says.
        seed: The input that it was made of.
        data: The input.
    """

    place: str
    message: str
    seed: Seed
    data: bytes

    def __str__(self) -> str:
        pairs = zip(self.seed.data, self.data, strict=False)
        changed = [
            f"{at}: {was:02x} {now:02x}" for at, (was, now) in enumerate(pairs) if was != now
        ]
        sizes = f"{len(self.data)} of {len(self.seed.data)} bytes"
        return f"{self.place}: {self.message[:300]}\n    {self.seed.name} {sizes}, {changed[:8]}"


@dataclass
class Report:
    """Inputs that a run of a target has tried.

    Attributes:
        target: Its name.
        inputs: How many were read.
        accepted: How many of them were read without an error.
        refused: By the places of errors of our tree, how many.
        failures: By their places, the first input of each.
        seconds: How long it took.
        slowest: The longest time that one input took, in seconds.
    """

    target: str
    inputs: int = 0
    accepted: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    failures: dict[str, Failure] = field(default_factory=dict)
    seconds: float = 0.0
    slowest: float = 0.0

    def __str__(self) -> str:
        refused = f"{self.refused.total():,} refused at {len(self.refused)} places"
        rate = self.inputs / self.seconds if self.seconds else 0
        return (
            f"{self.target:20} {self.inputs:>10,} inputs  {self.accepted:>9,} read  {refused}"
            f"  {rate:,.0f}/s  slowest {self.slowest * 1000:.0f} ms  {len(self.failures)} failures"
        )


def run(
    target: Target,
    seed: int,
    *,
    seconds: float = float("inf"),
    inputs: float = float("inf"),
    before: Callable[[bytes], None] = lambda _: None,
) -> Report:
    """Tries a target, until the time or the number of inputs is used up.

    Args:
        target: The target.
        seed: Of chance; a run of so many inputs is the same again.
        seconds: How long.
        inputs: How many.
        before: Is given each input before it is read, so that one that crashes is known.
    """
    chance, report, pool = Random(f"{seed} {target.name}"), Report(target.name), list(target.seeds)
    started = time.monotonic()
    while pool and report.inputs < inputs and time.monotonic() - started < seconds:
        seed_input = chance.choice(pool)
        others = [chance.choice(pool).data] if seed_input.places is None else []
        data = mutated(seed_input.data, others, chance, seed_input.places)
        if seed_input.mend is not None and chance.random() < 0.9:
            data = seed_input.mend(data)
        before(data)
        began = time.perf_counter()
        raised = outcome(partial(_read, target, seed_input), data)
        report.slowest = max(report.slowest, time.perf_counter() - began)
        report.inputs += 1
        if raised is None:
            report.accepted += 1
            continue
        where = place(raised)
        if is_broken(raised):
            if where not in report.failures:
                small = shrunk(target, seed_input, data, where)
                report.failures[where] = Failure(where, str(raised), seed_input, small)
            continue
        # A new place is as good as a new branch: what led there leads on from there.
        is_new = where not in report.refused and len(pool) < len(target.seeds) + _MOST_KEPT
        if is_new and seed_input.places is None:
            pool.append(replace(seed_input, data=data))
        report.refused[where] += 1
    report.seconds = time.monotonic() - started
    return report


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

    def still(smaller: bytes) -> bool:
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
