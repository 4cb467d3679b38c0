"""Names the most important facts about the sizes of a savepoint's state, in a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.quantities import ByteCount, Share
from savepoint_formats.state_files import StateKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from savepoint_extensions.sizes.statistics import (
        KeyStatistics,
        SkewStatistics,
        StateStatistics,
        TimerStatistics,
    )

_LARGE_KEY = 0.1
_UNEVEN = 1.5
_LONGEST_KEY = 40


def verdict(
    states: Sequence[StateStatistics],
    timers: Sequence[TimerStatistics],
    skew: Sequence[SkewStatistics],
    largest_keys: Sequence[KeyStatistics],
    problems: Sequence[str],
) -> str:
    """Names the largest state, and conspicuous keys, subtasks, timers and expired values; all are sorted."""
    total = sum(state.size for state in states)
    parts = []
    if total:
        name = f"{states[0].operator}.{states[0].state}"
        share = Share(states[0].size / total).text
        parts.append(f"{name} has {share} of {ByteCount(total).text}")
    parts += _of_keys(largest_keys)
    parts += _of_subtasks(skew)
    overdue = sum(service.overdue or 0 for service in timers)
    if overdue:
        parts.append(f"{overdue:,} timers of processing time are overdue")
    expired = sum(state.expired or 0 for state in states)
    if expired:
        parts.append(f"{expired:,} values have expired")
    parts += _of_lists(states)
    if problems:
        parts.append(f"not everything could be counted: {problems[0]}")
    return "; ".join(parts) or "there is no state"


def _of_lists(states: Sequence[StateStatistics]) -> Iterator[str]:
    """Union lists whose elements repeat; in other lists of operators they may."""
    for state in states:
        if state.kind == StateKind.UNION_LIST.value and state.different != state.entries:
            yield (
                f"{state.operator}.{state.state} has {state.entries:,} elements, of which"
                f" {state.different:,} differ: if the others are copies, dedupe-list drops them"
            )


def _of_keys(largest_keys: Sequence[KeyStatistics]) -> Iterator[str]:
    for key in largest_keys[:1]:
        if key.share >= _LARGE_KEY:
            text = key.key if len(key.key) <= _LONGEST_KEY else f"{key.key[:_LONGEST_KEY]}…"
            yield f"key {text} has {Share(key.share).text} of operator {key.operator}"


def _of_subtasks(skew: Sequence[SkewStatistics]) -> Iterator[str]:
    for over in skew:
        times = over.size_max_over_mean or 0
        if over.over == "subtasks" and times >= _UNEVEN:
            yield f"the fullest subtask of {over.operator} has {times:.1f} times the mean"
