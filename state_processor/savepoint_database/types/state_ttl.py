"""Time to live: how long a job's state is seen after its last access.

A savepoint has the time of the last access of each value, but not how long values live, nor what
counts as access: that is the job's, and a function's that runs with a time to live.

Flink: ``StateTtlConfig``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from savepoint_formats.printable import call_text


class UpdateType(Enum):
    """Which access of a value prolongs its life."""

    ON_CREATE_AND_WRITE = auto()
    ON_READ_AND_WRITE = auto()


class StateVisibility(Enum):
    """Whether a value whose time has run out is seen until it is removed, which reading it does."""

    NEVER_RETURN_EXPIRED = auto()
    RETURN_EXPIRED_IF_NOT_CLEANED_UP = auto()


@dataclass(frozen=True, slots=True, repr=False)
class StateTtlConfig:
    """How long values live, in processing time.

    Attributes:
        time_to_live_ms: How long after its last access a value lives, in ms.
        update_type: Which access prolongs its life.
        state_visibility: Whether it is seen afterwards.

    Raises:
        ValueError: It is no time.

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
        """Whether a value is seen once more when its time has run out."""
        return self.state_visibility is StateVisibility.RETURN_EXPIRED_IF_NOT_CLEANED_UP

    def is_expired(self, last_access: int, now: int) -> bool:
        """Whether the time of a value has run out; all times in ms."""
        return last_access + self.time_to_live_ms <= now
