"""Options of functions over keyed rows, with the names of Flink's configuration."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self, TypeVar

from savepoint_database.types.flink_units import milliseconds, size_in_bytes
from savepoint_functions.functions.backends import STATE_BACKENDS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from savepoint_functions.functions.process_functions import KeyedFunction

    Setting = bool | int | str

ParsedT = TypeVar("ParsedT")
DefaultT = TypeVar("DefaultT")

SORTED_INPUTS = "execution.sorted-inputs.enabled"
SORT_MEMORY = "execution.sorted-inputs.memory"
TIMERS_BETWEEN_ROWS = "execution.timers-between-rows.enabled"
STATE_BACKEND = "state.backend.type"
CHECKPOINT_INTERVAL = "execution.checkpointing.interval"
BACKLOG_INTERVAL = "execution.checkpointing.interval-during-backlog"
BATCH_BACKEND = "execution.batch-state-backend.enabled"
_KNOWN = (
    SORTED_INPUTS,
    SORT_MEMORY,
    TIMERS_BETWEEN_ROWS,
    BATCH_BACKEND,
    STATE_BACKEND,
    CHECKPOINT_INTERVAL,
    BACKLOG_INTERVAL,
)

_BOOLEANS = {True: True, False: False, "true": True, "false": False}

SINGLE_KEY, HEAP = "single_key", "heap"
_FLINKS_NAMES = {"hashmap": HEAP}


@dataclass(frozen=True, slots=True)
class ExecutionOptions:
    """Options of a function.

    Attributes:
        is_sorted: Whether rows come sorted by key, so that a key is over when the next one comes.
        state_backend: The name of the state backend.
        sort_memory: The greatest size in bytes of a batch of sorted rows on its way to the
            function; None for Spark's own settings.
        checkpoint_interval_ms: How often a stream has savepoints; None for only when asked for.
        backlog_interval_ms: How often a backlog has savepoints; with 0 it has none and runs in
            batch mode.
        timers_between_rows: Whether timers fire between the rows of their key; by default they do
            in a function that begins with the state of a savepoint.
    """

    is_sorted: bool = True
    state_backend: str = SINGLE_KEY
    sort_memory: int | None = None
    checkpoint_interval_ms: int | None = None
    backlog_interval_ms: int = 0
    timers_between_rows: bool | None = None

    @classmethod
    def of(cls, settings: Mapping[str, Setting]) -> Self:
        """The options of these settings.

        Raises:
            ValueError: A setting is unknown, has no such value, or contradicts another.

        Example:
            >>> ExecutionOptions.of({"state.backend.type": "rocksdb"}).is_sorted
            True
        """
        unknown = [name for name in settings if name not in _KNOWN]
        if unknown:
            raise ValueError(f"option {unknown[0]!r}, expected one of {', '.join(_KNOWN)}")
        is_sorted = _parsed(settings, SORTED_INPUTS, _boolean, default=True)
        options = cls(
            is_sorted,
            _backend(settings, is_sorted=is_sorted),
            _parsed(settings, SORT_MEMORY, size_in_bytes, default=None),
            _parsed(settings, CHECKPOINT_INTERVAL, milliseconds, default=None),
            _parsed(settings, BACKLOG_INTERVAL, milliseconds, default=0),
            _parsed(settings, TIMERS_BETWEEN_ROWS, _boolean, default=None),
        )
        options._check()
        return options

    @property
    def is_mixed(self) -> bool:
        """Whether a backlog runs in batch mode; if not, it is the beginning of the stream."""
        return self.backlog_interval_ms == 0

    def fires_between_rows(self, *, has_initial: bool) -> bool:
        """Whether timers fire between the rows of their key, or behind them all."""
        return has_initial if self.timers_between_rows is None else self.timers_between_rows

    def for_function(self, function: KeyedFunction) -> Self:
        """The options for a function; rows of one that sorts by itself are not sorted."""
        if not self.is_sorted or not function.is_internal_sorter_supported:
            return self
        if self.state_backend == SINGLE_KEY:
            return replace(self, is_sorted=False, state_backend=HEAP)
        return replace(self, is_sorted=False)

    def _check(self) -> None:
        if self.state_backend == SINGLE_KEY and not self.is_sorted:
            raise ValueError(
                f"{STATE_BACKEND}={SINGLE_KEY} keeps the state of one key, but the rows of a key"
                f" lie anywhere with {SORTED_INPUTS}=false: take heap or rocksdb, or sort"
            )
        if self.sort_memory == 0:
            raise ValueError(f"{SORT_MEMORY}=0, expected some memory, such as 128mb")
        if self.checkpoint_interval_ms == 0:
            raise ValueError(f"{CHECKPOINT_INTERVAL}=0: leave it out for no savepoints")
        # Flink: ``CheckpointCoordinatorConfiguration``, which has the same rule.
        if 0 < self.backlog_interval_ms < (self.checkpoint_interval_ms or 0):
            raise ValueError(
                f"{BACKLOG_INTERVAL} of {self.backlog_interval_ms} ms is less than"
                f" {CHECKPOINT_INTERVAL}, {self.checkpoint_interval_ms} ms: expected 0, or at least"
                " as much"
            )


def _backend(settings: Mapping[str, Setting], *, is_sorted: bool) -> str:
    """The state backend, ``single_key`` by default for sorted rows; may raise ``ValueError``."""
    is_batch = _parsed(settings, BATCH_BACKEND, _boolean, default=None)
    default = SINGLE_KEY if (is_sorted if is_batch is None else is_batch) else HEAP
    setting = settings.get(STATE_BACKEND, default)
    name = _FLINKS_NAMES.get(str(setting), str(setting))
    if name not in STATE_BACKENDS:
        names = ", ".join((*STATE_BACKENDS, *_FLINKS_NAMES))
        raise ValueError(f"{STATE_BACKEND}={setting!r}, expected one of {names}")
    if is_batch is not None and is_batch != (name == SINGLE_KEY):
        raise ValueError(
            f"{BATCH_BACKEND}={str(is_batch).lower()}, but {STATE_BACKEND}={setting}: leave one out"
        )
    return name


def _boolean(value: Setting) -> bool:
    try:
        return _BOOLEANS[value]
    except KeyError:
        raise ValueError(f"{value!r}, expected true or false") from None


def _parsed(
    settings: Mapping[str, Setting],
    name: str,
    parse: Callable[[Any], ParsedT],
    *,
    default: DefaultT,
) -> ParsedT | DefaultT:
    if name not in settings:
        return default
    try:
        return parse(settings[name])
    except ValueError as error:
        raise ValueError(f"{name}={error}") from None
