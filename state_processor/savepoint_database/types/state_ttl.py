"""Time to live of state after its last access.

A savepoint has the time of the last access of each value, but not how long values live, nor which
access counts. The job decides that, and a function that runs with a time to live.

Flink: ``StateTtlConfig``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from savepoint_formats.printable import call_text


class UpdateType(Enum):
    """Access that prolongs the life of a value."""

    ON_CREATE_AND_WRITE = auto()
    ON_READ_AND_WRITE = auto()


class StateVisibility(Enum):
    """Whether an expired value is visible until it is removed, which reading it does."""

    NEVER_RETURN_EXPIRED = auto()
    RETURN_EXPIRED_IF_NOT_CLEANED_UP = auto()


@dataclass(frozen=True, slots=True, repr=False)
class StateTtlConfig:
    """How long values live, in processing time.

    Attributes:
        time_to_live_ms: How long after its last access a value lives, in ms.
        update_type: Access that prolongs its life.
        state_visibility: Whether an expired value is visible.

    Raises:
        ValueError: The time to live is less than 1 ms.

    Example:
        >>> day = StateTtlConfig(86_400_000, update_type=UpdateType.ON_READ_AND_WRITE)
    """

    time_to_live_ms: int
    update_type: UpdateType = UpdateType.ON_CREATE_AND_WRITE
    state_visibility: StateVisibility = StateVisibility.NEVER_RETURN_EXPIRED

    def __repr__(self) -> str:
        return call_text(self)

    def __post_init__(self) -> None:
        if self.time_to_live_ms <= 0:
            raise ValueError(f"time to live of {self.time_to_live_ms} ms, expected at least 1 ms")

    @property
    def reads_prolong(self) -> bool:
        """Whether reading a value prolongs its life."""
        return self.update_type is UpdateType.ON_READ_AND_WRITE

    @property
    def shows_expired(self) -> bool:
        """Whether an expired value is visible once more."""
        return self.state_visibility is StateVisibility.RETURN_EXPIRED_IF_NOT_CLEANED_UP

    def is_expired(self, last_access: int, now: int) -> bool:
        """Whether a value has expired; all times in ms."""
        return last_access + self.time_to_live_ms <= now
