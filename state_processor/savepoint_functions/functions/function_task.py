"""Runs a function over keyed rows, key after key.

Sorted rows of a key come one after the other: at the end of the key its timers fire, its state is
passed on, and the backend forgets it. With unsorted rows the backend keeps all keys of the task,
and they end one after the other when all rows have come.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from savepoint_database.types.python_values import OutputRows, Place
from savepoint_database.types.user_frames import user_frames_first
from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.values.value_writer import write_value
from savepoint_functions.functions.backends import state_backend
from savepoint_functions.functions.backends.timers import MAX_WATERMARK, MIN_WATERMARK
from savepoint_functions.functions.broadcast_functions import KeyedBroadcastContext
from savepoint_functions.functions.execution_options import SORTED_INPUTS
from savepoint_functions.functions.function_calls import FunctionCalls
from savepoint_functions.functions.initial_keys import InitialKeys
from savepoint_functions.functions.keyed_runtime_context import KeyedRuntimeContext
from savepoint_functions.functions.outputs import SideOutputs
from savepoint_functions.functions.process_functions import KeyedContext

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pyarrow as pa

    from savepoint_database.types.descriptors import StateDescriptor
    from savepoint_database.types.types import TypeInformation
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
                    yield from ((place, row) for row in loop.given)
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
    the out-of-orderness, less 1 ms. Each key has its own event time; with unsorted rows, the task
    has one. It never goes back. Timers up to it fire before the row.
    """

    def __init__(self, task: FunctionTask, backend: KeyedStateBackend) -> None:
        self.backend = backend
        self.ended: list[Ended] = []
        self._task = task
        self._is_sorted = task.options.is_sorted
        self._fires_between = (
            task.out_of_orderness_ms is not None and task.last_watermark is not None
        )
        self._timers = task.function._make_timer_service(backend, flows=self._fires_between)
        self.side_outputs = SideOutputs(task.function)
        if task.broadcast is None:
            self._context = KeyedContext(self._timers, self._switch_key, self.side_outputs)
        else:
            self._context = KeyedBroadcastContext(
                self._timers, self._switch_key, self.side_outputs, task.broadcast.states()
            )
        self._calls = FunctionCalls.of(task.function, self._context)
        self.given, self._left = self._calls.given, self._calls.left
        # The given key groups of keys that have not ended.
        self._key_groups: dict[bytes, int] = {}
        self._initial: InitialKeys | None = None
        if task.initial is not None:
            self._initial = InitialKeys(task.initial, task.rows, is_sorted=self._is_sorted)

    def by_key(self, batches: Iterable[pa.RecordBatch]) -> Iterator[RowsOfKey]:
        return (self._initial or self._task.rows).by_key(batches)

    def passed(self) -> Iterator[pa.RecordBatch]:
        """Runs of the initial state that the function has not touched so far."""
        if self._initial is not None:
            yield from self._initial.splits.drained()

    def steps(self, keys: Iterable[RowsOfKey]) -> Iterator[None]:
        """Calls the function for all rows; the caller may empty the results after each step."""
        backend, call = self.backend, self._calls.process
        for of_key in keys:
            if of_key.key_bytes != backend.key_bytes:
                if self._is_sorted:
                    self._end_before(of_key)
                self._begin(of_key.key, of_key.key_bytes)
                if of_key.key_group is not None:
                    self._key_groups[of_key.key_bytes] = of_key.key_group
            rows = self._rows(of_key)
            while call(rows):
                self._return_to(of_key, rows)
            yield
        for _ in self._ends():
            yield

    def _rows(self, of_key: RowsOfKey) -> Iterator[tuple[int | None, Any]]:
        rows = zip(of_key.timestamps, of_key.rows, strict=False)
        return self._in_event_time(of_key, rows) if self._fires_between else rows

    def _in_event_time(
        self, of_key: RowsOfKey, rows: Iterable[tuple[int | None, Any]]
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
                    self._fire_between(of_key, timers.due(watermark=watermark))
                    timers.set_watermark(watermark)
            yield row

    def _fire_between(self, of_key: RowsOfKey, due: Iterable[tuple[str, int]]) -> None:
        self._calls.fire(due)
        if self._left and self._is_sorted:
            raise self._refusal(of_key)
        if self._left:
            self._left.clear()
            self._begin(of_key.key, of_key.key_bytes)

    def _begin(self, key: Any, key_bytes: bytes) -> None:
        self.backend.set_current_key(key, key_bytes)
        self._context.current_key = key
        contents = None if self._initial is None else self._initial.take(key_bytes)
        if contents is not None:
            self.backend.restore_current_key(contents)
        self._timers.begun(is_restored=contents is not None)
        if self._is_sorted and self._fires_between:
            self._timers.set_watermark(MIN_WATERMARK)

    def _switch_key(self, key: Any) -> None:
        view = DataOutputView()
        write_value(self._task.rows.key, key, view)
        if view.to_bytes() == self.backend.key_bytes:
            return
        if self._task.rows.has_key_groups and view.to_bytes() not in self._key_groups:
            raise TypeError(
                f"the key group of key {key!r} is not known: where a column gives the key groups, or"
                " a function goes on from a savepoint, it goes to no key that has had no row"
            )
        self._left.append(self.backend.key_bytes)
        if self._is_sorted:
            self._end()
        self._begin(key, view.to_bytes())

    def _return_to(self, of_key: RowsOfKey, rows: Iterator[Any]) -> None:
        """Goes on with a key that the function has left.

        Raises ``TypeError`` if rows are sorted and the key has more, because it has ended.
        """
        if not self._is_sorted:
            self._left.clear()
            self._begin(of_key.key, of_key.key_bytes)
        elif next(rows, None) is not None:
            raise self._refusal(of_key)

    def _refusal(self, of_key: RowsOfKey) -> TypeError:
        return TypeError(
            f"key {of_key.key!r} has ended, because the function went on to key"
            f" {self._context.current_key!r}, but has more rows: sorted input comes key by key,"
            f" and each has one end; set {SORTED_INPUTS}=false"
        )

    def _end_before(self, of_key: RowsOfKey) -> None:
        if self._left:
            if of_key.key_bytes in self._left:
                raise self._refusal(of_key)
            self._left.clear()
        if self.backend.key_bytes is not None:
            self._end()

    def _end(self) -> None:
        watermark = self._task.last_watermark
        if not self._task.keeps_state:
            self._calls.fire(self._timers.due(watermark=watermark, processing_time=MAX_WATERMARK))
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
        key_bytes = self.backend.key_bytes
        assert key_bytes is not None  # a key is current
        row = [key_bytes, self._key_groups.pop(key_bytes, None), *snapshot]
        self.ended.append((Place(self.backend.current_key), row))

    def _ends(self) -> Iterator[None]:
        if self._is_sorted and self.backend.key_bytes is not None:
            self._end()
            yield
        elif not self._is_sorted:
            for key, key_bytes in self.backend.keys():  # noqa: SIM118  # it is no dict
                self._begin(key, key_bytes)
                self._end()
                yield


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
