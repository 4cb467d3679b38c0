"""Runs a function over keyed rows, key after key.

Rows are sorted, so those of a key come one after the other. At the end of the key its timers fire,
and its state is passed on.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Any, TypeVar

from savepoint_database.types import OutputRows, Place, user_frames_first
from savepoint_functions.functions.backends import state_backend
from savepoint_functions.functions.backends.timers import MAX_WATERMARK
from savepoint_functions.functions.broadcast_functions import KeyedBroadcastContext
from savepoint_functions.functions.function_calls import FunctionCalls
from savepoint_functions.functions.initial_keys import InitialKeys
from savepoint_functions.functions.keyed_runtime_context import KeyedRuntimeContext
from savepoint_functions.functions.outputs import SideOutputs
from savepoint_functions.functions.process_functions import KeyedContext

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pyarrow as pa

    from savepoint_database.types import StateDescriptor, TypeInformation
    from savepoint_formats.layout import Layout
    from savepoint_functions.functions.backends import KeyedStateBackend
    from savepoint_functions.functions.broadcast_run import HeldBroadcast
    from savepoint_functions.functions.execution_options import ExecutionOptions
    from savepoint_functions.functions.initial_state import InitialTask
    from savepoint_functions.functions.process_functions import KeyedFunction
    from savepoint_functions.functions.rows_by_key import RowsOfKey, RowTypes

    Ended = tuple[Place, list[Any]]

LoopT = TypeVar("LoopT", bound="KeyLoop")

_COLLECTED = 50_000
"""Surplus of new objects over dead ones at which Python looks for cycles."""


@dataclass(frozen=True)
class FunctionTask:
    """A function over keyed rows, and how it is run.

    If ``keeps_state``, a key leaves its state when it ends, timers included; if not, its timers
    fire. With a ``watermark``, in ms, event-time timers up to it fire at the end of a key that
    leaves state. With ``out_of_orderness_ms``, timers also fire between rows, see ``KeyLoop``.
    """

    function: KeyedFunction
    rows: RowTypes
    options: ExecutionOptions
    keeps_state: bool
    initial: InitialTask | None = None
    broadcast: HeldBroadcast | None = None
    watermark: int | None = None
    out_of_orderness_ms: int | None = None

    @property
    def last_watermark(self) -> int | None:
        """The event time in ms at the end of a key; None if no timers fire."""
        return self.watermark if self.keeps_state else MAX_WATERMARK

    @user_frames_first
    def output_batches(
        self, schema: pa.Schema, batches: Iterable[pa.RecordBatch]
    ) -> Iterator[pa.RecordBatch]:
        """The rows that the function gives; its state and side outputs are dropped."""
        rows = OutputRows(schema, type(self.function).__name__)
        yield from rows.batches(self.outputs(batches))

    def outputs(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[Place, Any]]:
        """The rows that the function gives, each with its key."""
        with self.running(KeyLoop) as loop:
            for _ in loop.steps(loop.by_key(batches)):
                if loop.given:
                    place = Place(loop.backend.current_key)
                    yield from zip(repeat(place), loop.given, strict=False)
                    loop.given.clear()
                loop.side_outputs.clear()

    def states(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Ended]:
        """The state that each key leaves; the rows that the function gives are dropped."""
        with self.running(KeyLoop) as loop:
            for _ in loop.steps(loop.by_key(batches)):
                loop.given.clear()
                loop.side_outputs.clear()
                yield from loop.ended
                loop.ended.clear()

    @contextmanager
    def running(self, kind: Callable[[FunctionTask, KeyedStateBackend], LoopT]) -> Iterator[LoopT]:
        """The function at work, open until the end."""
        name = self.options.state_backend
        with state_backend(name, self.rows.key) as backend, _seldom_collected():
            loop = kind(self, backend)
            try:
                self.function.open(KeyedRuntimeContext(backend))
                yield loop
            except BaseException as error:
                error.add_note(f"in {type(self.function).__name__} for key {backend.current_key!r}")
                raise
            finally:
                self.function.close()


@contextmanager
def _seldom_collected() -> Iterator[None]:
    """Lets Python look for cycles less often.

    Rows and the state of ended keys are thousands of objects, which die by themselves. By default
    the collector walks all of them after every 700 new ones, which takes longer than everything
    else.
    """
    count, *generations = gc.get_threshold()
    # A threshold of 0 means never.
    gc.set_threshold(count and max(count, _COLLECTED), *generations)
    try:
        yield
    finally:
        gc.set_threshold(count, *generations)


class KeyLoop:
    """A function at work, key after key.

    ``given`` and ``side_outputs`` have the rows that the function has given, and ``ended`` the
    state of ended keys, until the caller empties them.

    Timers that fire between rows do so by the event time that each row brings: its timestamp, less
    the out-of-orderness, less 1 ms. Each key has its own event time, which never goes back. Timers
    up to it fire before the row.
    """

    def __init__(self, task: FunctionTask, backend: KeyedStateBackend) -> None:
        self.backend = backend
        self.ended: list[Ended] = []
        self._task = task
        self._fires_between = (
            task.out_of_orderness_ms is not None and task.last_watermark is not None
        )
        self._timers = task.function._make_timer_service(backend, flows=self._fires_between)
        self._timers.last_watermark = task.last_watermark
        self._timers.drops_at_end &= task.options.ends_as_batch
        self.side_outputs = SideOutputs(task.function)
        if task.broadcast is None:
            self._context = KeyedContext(self._timers, self.side_outputs)
        else:
            states = task.broadcast.states()
            self._context = KeyedBroadcastContext(self._timers, self.side_outputs, states)
        self._calls = FunctionCalls.of(task.function, self._context)
        self.given = self._calls.given
        self._key_group: int | None = None
        self._initial: InitialKeys | None = None
        if task.initial is not None:
            self._initial = InitialKeys(task.initial, task.rows)

    def by_key(self, batches: Iterable[pa.RecordBatch]) -> Iterator[RowsOfKey]:
        return (self._initial or self._task.rows).by_key(batches)

    def passed(self) -> Iterator[pa.RecordBatch]:
        """Runs of the initial state that the function has not touched so far."""
        if self._initial is not None:
            yield from self._initial.splits.drained()

    def steps(self, keys: Iterable[RowsOfKey]) -> Iterator[None]:
        """Calls the function for all rows; the caller may empty the results after each step."""
        backend, process = self.backend, self._calls.process
        for of_key in keys:
            if of_key.key_bytes != backend.key_bytes:
                if backend.key_bytes is not None:
                    self._end()
                self._begin(of_key)
            process(self._rows(of_key))
            yield
        if backend.key_bytes is not None:
            self._end()
            yield

    def _rows(self, of_key: RowsOfKey) -> Iterator[tuple[int | None, Any]]:
        rows = zip(of_key.timestamps, of_key.rows, strict=False)
        return self._in_event_time(rows) if self._fires_between else rows

    def _in_event_time(
        self, rows: Iterable[tuple[int | None, Any]]
    ) -> Iterator[tuple[int | None, Any]]:
        """The rows of a key; before each, timers fire up to the event time that it brings."""
        timers, out_of_orderness = self._timers, self._task.out_of_orderness_ms
        last = self._task.last_watermark
        assert out_of_orderness is not None  # or no timers would fire between rows
        assert last is not None
        for row in rows:
            timestamp = row[0]
            if timestamp is not None:
                watermark = min(timestamp - out_of_orderness - 1, last)
                if watermark > timers.current_watermark():
                    self._calls.fire(timers.due(watermark=watermark))
                    timers.set_watermark(watermark)
            yield row

    def _begin(self, of_key: RowsOfKey) -> None:
        self.backend.set_current_key(of_key.key, of_key.key_bytes)
        self._context.current_key = of_key.key
        self._key_group = of_key.key_group
        contents = None if self._initial is None else self._initial.take(of_key.key_bytes)
        if contents is not None:
            self.backend.restore_current_key(contents)
        self._timers.begun(is_restored=contents is not None)

    def _end(self) -> None:
        watermark = self._task.last_watermark
        if not self._task.keeps_state:
            is_batch = self._task.options.ends_as_batch
            now = MAX_WATERMARK if is_batch else self.backend.clock()
            self._calls.fire(self._timers.due(watermark=watermark, processing_time=now))
            return
        if watermark is not None:
            self._calls.fire(self._timers.due(watermark=watermark))
        self._keep()

    def _keep(self) -> None:
        snapshot = self.backend.snapshot_current_key()
        for value in snapshot:
            if value is not None:
                break
        else:
            return
        row = [self.backend.key_bytes, self._key_group, *snapshot]
        self.ended.append((Place(self.backend.current_key), row))


def registered(
    function: KeyedFunction, key: Layout
) -> tuple[tuple[StateDescriptor, TypeInformation | None], ...]:
    """The states that a function registers, timers first, each with the type of its namespaces."""
    with state_backend("single_key", key) as backend:
        function._make_timer_service(backend, flows=False)
        context = KeyedRuntimeContext(backend)
        try:
            function.open(context)
        finally:
            function.close()
        return tuple(
            (descriptor, context.namespaces.get(descriptor.name))
            for descriptor in backend.descriptors
        )
