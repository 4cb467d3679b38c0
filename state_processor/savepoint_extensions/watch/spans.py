"""Windows of checkpoints in which growth is judged."""

from __future__ import annotations

from dataclasses import dataclass

LEAST_POINTS = 6
"""Checkpoints that a window needs."""


def is_limit(number: object) -> bool:
    """Whether it is a number of 0 or more; a truth value, or no number (NaN), is none."""
    return isinstance(number, int | float) and not isinstance(number, bool) and number >= 0


@dataclass(frozen=True, slots=True)
class Span:
    """A number of checkpoints, or of seconds; ``ValueError`` for both, neither, or no such number."""

    checkpoints: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        numbers = [it for it in (self.checkpoints, self.seconds) if it is not None]
        if len(numbers) != 1 or not is_limit(numbers[0]):
            raise ValueError(f"{self!r}, expected either checkpoints or seconds, 0 or more")

    def __str__(self) -> str:
        if self.checkpoints is not None:
            return f"{self.checkpoints} checkpoints"
        return f"{self.seconds or 0:,.0f} s"


OVER = Span(checkpoints=10)
"""Window of the line through sizes."""

AFTER = Span(checkpoints=10)
"""Time in which a job fills its state."""
