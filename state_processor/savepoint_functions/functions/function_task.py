"""Runs a function over keyed rows, key after key.

Sorted, all rows of a key come one behind the other: at its end its timers fire, its state is
given away, and nothing of it stays. Not sorted, the state backend keeps all keys of the task, and
they end when all rows have come, each in its turn.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from savepoint_database.rows.place import Place
from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.values.value_writer import write_value
from savepoint_functions.functions.backends import TimerService, state_backend
from savepoint_functions.functions.broadcast_functions import KeyedBroadcastContext
from savepoint_functions.functions.execution_options import SORTED_INPUTS
from savepoint_functions.functions.function_calls import FunctionCalls
from savepoint_functions.functions.initial_keys import InitialKeys
from savepoint_functions.functions.keyed_runtime_context import KeyedRuntimeContext
from savepoint_functions.functions.process_functions import KeyedContext
from savepoint_functions.functions.side_outputs import SideOutputs

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
    from savepoint_functions.functions.key_spans import RowTypes, Span
    from savepoint_functions.functions.process_functions import KeyedFunction

RunT = TypeVar("RunT", bound="FunctionRun")

_COLLECTED = 50_000
"""Python looks for cycles when so many more objects were made than have died."""


@dataclass(frozen=True)
class FunctionTask:
    """A function, and how it is run.

    Attributes:
        function: The function.
        rows: What it is given.
        options: How it is run.
        keeps_state: Whether a key leaves its state when it ends, timers among it, and not rows; if
            not, its timers fire.
        initial: The state with which it begins, if not with nothing.
        broadcast: The broadcast states, of rows that were connected with broadcast rows.
    """

    function: KeyedFunction
    rows: RowTypes
    options: ExecutionOptions
    keeps_state: bool
    initial: InitialTask | None = None
    broadcast: HeldBroadcast | None = None

    def outputs(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[Place, Any]]:
        """The rows that the function gives, each with its key."""
        with self.running(FunctionRun) as run:
            for _ in run.steps(run.spans(batches)):
                if run.given:
                    place = Place(run.backend.current_key)
                    yield from ((place, row) for row in run.given)
                    run.given.clear()
                run.side_outputs.clear()

    def states(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[Place, list[Any]]]:
        """The bytes of each key, and what it has in each state when it ends."""
        with self.running(FunctionRun) as run:
            for _ in run.steps(run.spans(batches)):
                run.forget_rows()
                yield from run.ended
                run.ended.clear()

    @contextmanager
    def running(self, kind: Callable[[FunctionTask, KeyedStateBackend], RunT]) -> Iterator[RunT]:
        """The function at work, open until the end."""
        name = self.options.state_backend
        with state_backend(name, self.rows.key) as backend, _seldom_collected():
            run = kind(self, backend)
            try:
                self.function.open(KeyedRuntimeContext(backend))
                yield run
            except BaseException as error:
                error.add_note(f"in {type(self.function).__name__} for key {backend.current_key!r}")
                raise
            finally:
                self.function.close()


@contextmanager
def _seldom_collected() -> Iterator[None]:
    """Python's collector of cycles, at work less often.

    Rows and the state of ended keys are thousands of objects, which die by themselves, batch by
    batch. By default the collector goes through all of them every 700, which takes longer than all else.
    """
    count, *generations = gc.get_threshold()
    # 0 switches it off.
    gc.set_threshold(count and max(count, _COLLECTED), *generations)
    try:
        yield
    finally:
        gc.set_threshold(count, *generations)


class FunctionRun:
    """A function at work.

    Attributes:
        timer_service: What keeps its timers.
        backend: Has the state.
        given: The rows that the function has given.
        ended: What keys had when they ended.
        side_outputs: The rows that it has given to side outputs.
        initial: What keys begin with, if not with nothing.
    """

    timer_service: ClassVar[type[TimerService]] = TimerService

    def __init__(self, task: FunctionTask, backend: KeyedStateBackend) -> None:
        self.backend = backend
        self.ended: list[tuple[Place, list[Any]]] = []
        self._function = task.function
        self._key = task.rows.key
        self._is_sorted = task.options.is_sorted
        self._keeps_state = task.keeps_state
        self._timers = self.timer_service(backend)
        self.side_outputs = SideOutputs(task.function)
        self._context = self._made_context(task.broadcast)
        self._calls = FunctionCalls(task.function, self._context)
        self.given, self._left = self._calls.given, self._calls.left
        self._row_types = task.rows
        self._has_key_groups = task.rows.has_key_groups
        # Those that are given, of keys that have not ended.
        self._key_groups: dict[bytes, int] = {}
        self.initial: InitialKeys | None = None
        if task.initial is not None:
            self.initial = InitialKeys(task.initial, task.rows, is_sorted=self._is_sorted)

    def spans(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Span]:
        """The rows of a partition."""
        return (self.initial or self._row_types).spans(batches)

    @property
    def has_passed(self) -> bool:
        """Whether ``passed`` has any."""
        return self.initial is not None and bool(self.initial.stretches.passed)

    def passed(self) -> Iterator[pa.RecordBatch]:
        """Runs of what keys began with that the function has not touched, as far as it is known."""
        if self.initial is not None:
            yield from self.initial.stretches.drained()

    def forget_rows(self) -> None:
        """Drops the rows that the function has given."""
        self.given.clear()
        self.side_outputs.clear()

    def _made_context(self, broadcast: HeldBroadcast | None) -> KeyedContext:
        if broadcast is None:
            return KeyedContext(self._timers, self._switch_key, self.side_outputs)
        return KeyedBroadcastContext(
            self._timers, self._switch_key, self.side_outputs, broadcast.states()
        )

    def steps(self, spans: Iterable[Span]) -> Iterator[None]:
        """Calls the function for all rows; what it has made may be emptied after a step."""
        backend, call = self.backend, self._calls.process
        for span in spans:
            if span.key_bytes != backend.key_bytes:
                if self._is_sorted:
                    self._end_before(span)
                self._begin(span.key, span.key_bytes)
                if span.key_group is not None:
                    self._key_groups[span.key_bytes] = span.key_group
            rows = self._rows(span)
            while call(rows):
                self._return_to(span, rows)
            yield
        for _ in self._ends():
            yield

    def _rows(self, span: Span) -> Iterator[tuple[int | None, Any]]:
        """The rows, each with its timestamp."""
        return zip(span.timestamps, span.rows, strict=False)

    def _begin(self, key: Any, key_bytes: bytes) -> None:
        self.backend.set_current_key(key, key_bytes)
        self._context.current_key = key
        contents = None if self.initial is None else self.initial.take(key_bytes)
        if contents is not None:
            self.backend.restore_current_key(contents)
            self._timers.restored()

    def _switch_key(self, key: Any) -> None:
        """What ``KeyedContext.set_current_key`` does."""
        view = DataOutputView()
        write_value(self._key, key, view)
        if view.to_bytes() == self.backend.key_bytes:
            return
        if self._has_key_groups and view.to_bytes() not in self._key_groups:
            raise TypeError(
                f"the key group of key {key!r} is not known: where a column gives the key groups, or"
                " a function goes on from a savepoint, it goes to no key that has had no row"
            )
        self._left.append(self.backend.key_bytes)
        if self._is_sorted:
            self._end()
        self._begin(key, view.to_bytes())

    def _return_to(self, span: Span, rows: Iterator[Any]) -> None:
        """Goes on with the rows of a key after the function has left it.

        Raises:
            TypeError: The key has ended with that, as rows are sorted, and has more rows.
        """
        if not self._is_sorted:
            self._left.clear()
            self._begin(span.key, span.key_bytes)
        elif next(rows, None) is not None:
            raise self._refusal(span)

    def _refusal(self, span: Span) -> TypeError:
        return TypeError(
            f"key {span.key!r} has ended, because the function went on to key"
            f" {self._context.current_key!r}, but has more rows: sorted input comes key by key,"
            f" and each has one end; set {SORTED_INPUTS}=false"
        )

    def _end_before(self, span: Span) -> None:
        """Ends the current key, if there is one, since another one comes."""
        if self._left:
            if span.key_bytes in self._left:
                raise self._refusal(span)
            self._left.clear()
        if self.backend.key_bytes is not None:
            self._end()

    def _end(self) -> None:
        """Ends the current key."""
        if self._keeps_state:
            self._keep()
        else:
            self._calls.fire(self._timers.due())

    def _keep(self) -> None:
        """Gives away what the current key has."""
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
        """Ends the keys that have not ended yet."""
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
    """The states that a function registers, after those of its timers, as snapshots have them.

    Each comes with the type of its namespaces, if it has any.
    """
    with state_backend("single_key", key) as backend:
        TimerService(backend)
        context = KeyedRuntimeContext(backend)
        try:
            function.open(context)
        finally:
            function.close()
        return tuple(
            (descriptor, context.namespaces.get(descriptor.name))
            for descriptor in backend.descriptors
        )
