"""Options of functions over keyed rows, with the names of Flink's configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from savepoint_database.types.flink_units import milliseconds, size_in_bytes
from savepoint_functions.functions.backends import STATE_BACKENDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    Setting = bool | int | str

SINGLE_KEY = "single_key"
SORT_MEMORY = "execution.sorted-inputs.memory"
TIMERS_BETWEEN_ROWS = "execution.timers-between-rows.enabled"
STATE_BACKEND = "state.backend.type"
CHECKPOINT_INTERVAL = "execution.checkpointing.interval"

_GONE = {
    "execution.sorted-inputs.enabled": "rows always come sorted by key",
    "execution.batch-state-backend.enabled": f"{STATE_BACKEND} names the state backend",
    "execution.checkpointing.interval-during-backlog": (
        "a backlog is a batch, with no savepoint before its end; to have some, give a backlog of no"
        " rows, and stream the history together with the live rows"
    ),
}
"""Options that no longer exist -> the reason, or the way out."""


@dataclass(frozen=True, slots=True)
class ExecutionOptions:
    """Options of a function.

    Attributes:
        state_backend: The name of the state backend.
        sort_memory: The greatest size in bytes of a batch of sorted rows on its way to the
            function; None for Spark's own settings.
        checkpoint_interval_ms: How often a stream has savepoints; None for only when asked for.
        timers_between_rows: Whether timers fire between the rows of their key; by default they do
            in a function that begins with the state of a savepoint.
    """

    state_backend: str = SINGLE_KEY
    sort_memory: int | None = None
    checkpoint_interval_ms: int | None = None
    timers_between_rows: bool | None = None

    @classmethod
    def of(cls, settings: Mapping[str, Setting]) -> Self:
        """The options of these settings.

        Raises:
            ValueError: A setting is unknown, or has no such value.

        Example:
            >>> ExecutionOptions.of({"state.backend.type": "rocksdb"}).state_backend
            'rocksdb'
        """
        return cls(**dict(_option(name, value) for name, value in settings.items()))

    def fires_between_rows(self, *, has_initial: bool) -> bool:
        """Whether timers fire between the rows of their key, or after them all."""
        return has_initial if self.timers_between_rows is None else self.timers_between_rows


def _option(name: str, value: Setting) -> tuple[str, Any]:
    """The field of ``ExecutionOptions`` for a setting, and its value."""
    if name in _GONE:
        raise ValueError(f"option {name!r} is gone: {_GONE[name]}")
    if name not in _OPTIONS:
        raise ValueError(f"option {name!r}, expected one of {', '.join(_OPTIONS)}")
    field, parse = _OPTIONS[name]
    try:
        return field, parse(value)
    except ValueError as error:
        raise ValueError(f"{name}={error}") from None


def _state_backend(value: Setting) -> str:
    if value not in STATE_BACKENDS:
        raise ValueError(
            f"{value!r}, expected {SINGLE_KEY}, which has the state of the current key in memory, or"
            " rocksdb, which has it on disk"
        )
    return str(value)


def _memory(value: Setting) -> int:
    if not (size := size_in_bytes(value)):
        raise ValueError(f"{value!r}, expected some memory, such as 128mb")
    return size


def _interval(value: Setting) -> int:
    if not (interval_ms := milliseconds(value)):
        raise ValueError(f"{value!r}: leave it out for no savepoints")
    return interval_ms


def _boolean(value: Setting) -> bool:
    if value not in _BOOLEANS:
        raise ValueError(f"{value!r}, expected true or false")
    return _BOOLEANS[value]


_BOOLEANS: dict[Setting, bool] = {True: True, False: False, "true": True, "false": False}
_OPTIONS = {
    SORT_MEMORY: ("sort_memory", _memory),
    TIMERS_BETWEEN_ROWS: ("timers_between_rows", _boolean),
    STATE_BACKEND: ("state_backend", _state_backend),
    CHECKPOINT_INTERVAL: ("checkpoint_interval_ms", _interval),
}
"""Option -> its field, and its parser, which raises ``ValueError`` with the value in front."""
