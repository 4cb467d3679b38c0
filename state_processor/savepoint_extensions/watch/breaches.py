"""Compares a round of a watch with thresholds."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from savepoint_extensions.watch.shown_times import seconds_of
from savepoint_formats.printable import did_you_mean, printable
from savepoint_formats.quantities import ByteCount, Share

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from savepoint_extensions.watch.threshold_file import Thresholds
    from savepoint_extensions.watch.watch_round import WatchedState, WatchRound


@dataclass(frozen=True, slots=True)
class Breach:
    """A number that is above its threshold, or a problem of the round.

    Attributes:
        word: Word of the file of thresholds; ``problem`` for what could not be read.
        subject: The state, operator or key; the checkpoint otherwise.
        value: The number: bytes, seconds, a share, or a count; None for a problem.
        limit: The threshold.
        text: All of it in a line.
    """

    word: str
    subject: str
    value: float | None
    limit: float | None
    text: str


def breaches(answer: WatchRound, thresholds: Thresholds) -> tuple[Breach, ...]:
    """What is above its threshold in a round, and what could not be read."""
    problems = [Breach("problem", answer.path, None, None, printable(it)) for it in answer.problems]
    above = (_above(*number, thresholds) for number in _numbers(answer))
    return (*problems, *(breach for breach in above if breach is not None))


def unjudged(answer: WatchRound, thresholds: Thresholds) -> tuple[str, ...]:
    """States whose growth has a threshold, but can't be judged yet, and why."""
    return tuple(
        f"{state.operator}.{state.state}: {state.missing}"
        for state in answer.states
        if state.missing
        and thresholds.limit("growth-per-day", f"{state.operator}.{state.state}") is not None
    )


def uncompared(answer: WatchRound, thresholds: Thresholds) -> tuple[str, ...]:
    """Thresholds that no number of a measured checkpoint is compared with, and why: they could never be breached."""
    if answer.id is None:
        return ()
    states = {f"{state.operator}.{state.state}": state for state in answer.states}
    texts = []
    for name, own in thresholds.states.items():
        state = states.get(name)
        if state is None:
            hint = did_you_mean(name, states)
            texts.append(f"checkpoint {answer.id} has no state {printable(name)}{hint}")
        else:
            missing = [
                it for it in _MISSING if it in own and getattr(state, _MISSING[it][0]) is None
            ]
            texts += [f"{printable(name)} has no {_MISSING[it][1]}" for it in missing]
    if "expired-share" in thresholds.limits and not any(map(_has_times, answer.states)):
        texts.append(f"checkpoint {answer.id} has no state with a known time to live (--ttl)")
    return tuple(texts)


def idle_lives(answer: WatchRound, ttl: Iterable[str]) -> tuple[str, ...]:
    """Names of states with a time to live that no value of a measured checkpoint is compared with."""
    timed = {state.state for state in answer.states if _has_times(state)}
    return () if answer.id is None else tuple(name for name in ttl if name not in timed)


def _has_times(state: WatchedState) -> bool:
    return state.expired_share is not None


def _above(
    word: str, subject: str, value: float | None, what: str, thresholds: Thresholds
) -> Breach | None:
    limit = thresholds.limit(word, subject if word in _OF_STATE else "")
    if limit is None or value is None or value <= limit:
        return None
    shown = _SHOWN.get(word, _count)
    if value == float("inf"):
        return Breach(word, subject, value, limit, f"no checkpoint is intact, above {shown(limit)}")
    name = f"{printable(subject)} " if subject else ""
    return Breach(word, subject, value, limit, f"{name}{what} {shown(value)}, above {shown(limit)}")


def _numbers(answer: WatchRound) -> Iterator[tuple[str, str, float | None, str]]:
    """Word, subject, number, and what it is."""
    checkpoint = f"checkpoint {answer.id}"
    yield "size", "", answer.size, f"{checkpoint} has"
    yield "in-flight", "", answer.in_flight_size, f"{checkpoint} has in flight"
    yield "age", "", answer.age_seconds, f"{checkpoint} is the newest, and is old by"
    yield "intact-age", "", _intact_age(answer), "the newest intact checkpoint is old by"
    for state in answer.states:
        name = f"{state.operator}.{state.state}"
        yield "size", name, state.size, "has"
        yield "growth-per-day", name, state.steady_growth_per_day, "grows in a day by at least"
        yield "expired-share", name, state.expired_share, "has past its time to live"
        yield "overdue-timers", name, state.overdue, "has overdue timers:"
    for operator in answer.operators:
        name = operator.operator
        yield (
            "subtask-skew",
            name,
            operator.subtask_skew,
            "has in its fullest subtask, of the mean,",
        )
        yield (
            "key-group-skew",
            name,
            operator.key_group_skew,
            ("has in its fullest key group, of the mean,"),
        )
    for key in answer.keys:
        name = f"key {key.key} of {key.operator}"
        yield "key-entries", name, key.entries, "has entries:"
        yield "key-size", name, key.size, "has"


def _intact_age(answer: WatchRound) -> float:
    """Seconds since the newest intact checkpoint was written; endless if there is none."""
    if answer.intact_time is None:
        return float("inf")
    return max(time.time() - seconds_of(answer.intact_time), 0.0)


def _bytes(value: float) -> str:
    return ByteCount(int(value)).text


def _duration(value: float) -> str:
    return str(
        timedelta(days=min(int(value // _DAY), timedelta.max.days), seconds=round(value % _DAY))
    )


def _count(value: float) -> str:
    return f"{value:,.2f}".rstrip("0").rstrip(".")


_DAY = 86_400
_OF_STATE = ("size", "growth-per-day", "expired-share", "overdue-timers")
_MISSING = {
    "expired-share": ("expired_share", "known time to live (--ttl)"),
    "overdue-timers": ("overdue", "timers of processing time"),
}
"""Word -> the attribute of a state that may be None, and what the state lacks then."""

_SHOWN: dict[str, Callable[[float], str]] = {
    **dict.fromkeys(("size", "growth-per-day", "key-size", "in-flight"), _bytes),
    **dict.fromkeys(("age", "intact-age"), _duration),
    "expired-share": lambda value: Share(value).text,
}
