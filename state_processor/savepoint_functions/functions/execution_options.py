"""Options of functions over keyed rows, with the names of Flink's configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from savepoint_database.types import milliseconds, size_in_bytes
from savepoint_functions.functions.backends import STATE_BACKENDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    Setting = bool | int | str

SINGLE_KEY = "single_key"
SORTED_INPUTS = "execution.sorted-inputs.enabled"
SORT_MEMORY = "execution.sorted-inputs.memory"
BATCH_STATE_BACKEND = "execution.batch-state-backend.enabled"
TIMERS_BETWEEN_ROWS = "execution.timers-between-rows.enabled"
STATE_BACKEND = "state.backend.type"
CHECKPOINT_INTERVAL = "execution.checkpointing.interval"

BACKLOG_INTERVAL = "execution.checkpointing.interval-during-backlog"


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
        sorted_inputs: Whether the rows of a key come in the order of their timestamps; if not, they
            come in the order of arrival.
        batch_state_backend: Whether a key ends as in Flink's batch mode, where timers that timers
            register then are dropped; by default with sorted inputs.
        backlog_interval_ms: How often a backlog has savepoints. With 0 it has none, and is a batch.
    """

    state_backend: str = SINGLE_KEY
    sort_memory: int | None = None
    checkpoint_interval_ms: int | None = None
    timers_between_rows: bool | None = None
    sorted_inputs: bool = True
    batch_state_backend: bool | None = None
    backlog_interval_ms: int = 0

    def __post_init__(self) -> None:
        if self.batch_state_backend and not self.sorted_inputs:
            raise ValueError(
                f"{BATCH_STATE_BACKEND}=true needs sorted inputs, in Flink as well: leave it out, or"
                f" leave out {SORTED_INPUTS}=false"
            )

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

    @property
    def ends_as_batch(self) -> bool:
        """See ``batch_state_backend``."""
        given = self.batch_state_backend
        return self.sorted_inputs if given is None else given


def _option(name: str, value: Setting) -> tuple[str, Any]:
    """The field of ``ExecutionOptions`` for a setting, and its value."""
    if name not in _OPTIONS:
        raise ValueError(f"option {name!r}, expected one of {', '.join(_OPTIONS)}")
    field, parse = _OPTIONS[name]
    try:
        return field, parse(value)
    except ValueError as error:
        raise ValueError(f"{name}={error}") from None


def _state_backend(value: Setting) -> str:
    if value == "hashmap":
        return SINGLE_KEY
    if value not in STATE_BACKENDS:
        raise ValueError(
            f"{value!r}, expected hashmap or {SINGLE_KEY}, which have the state of the current key"
            " in memory, or rocksdb, which has it on disk"
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
    SORTED_INPUTS: ("sorted_inputs", _boolean),
    BATCH_STATE_BACKEND: ("batch_state_backend", _boolean),
    BACKLOG_INTERVAL: ("backlog_interval_ms", milliseconds),
}
"""Option -> its field, and its parser, which raises ``ValueError`` with the value in front."""
