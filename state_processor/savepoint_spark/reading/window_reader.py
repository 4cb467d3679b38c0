"""Runs a ``WindowReaderFunction``.

Windows that merge, such as sessions, have state in two places: the contents stay under the first
window, the rest moves to the merged window. ``merging-window-set``, a list state of the key, maps
merged windows to windows of contents.

Flink: ``WindowOperator``, ``MergingWindowSet``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from savepoint_database.types import Place, python_values, state_values
from savepoint_formats.state_files import State, StateKind
from savepoint_formats.values import arrow_type
from savepoint_spark.reading.functions import (
    GlobalWindow,
    TimeWindow,
    WindowReaderContext,
    WindowReaderFunction,
)
from savepoint_spark.reading.per_key import OtherTables, PerKeyJob, ReaderPlan, Visit
from savepoint_spark.reading.states import hashable

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence

    from savepoint_database.types import Record
    from savepoint_spark.reading.per_key import KeyGroupRows, TimersOf

CONTENTS = "window-contents"
MERGING_WINDOW_SET = "merging-window-set"

_TIME_WINDOW = pa.struct([("start", pa.int64()), ("end", pa.int64())])


@dataclass(frozen=True)
class WindowReaderJob(PerKeyJob):
    """A function, and the state of windows that it reads."""

    reader: WindowReaderFunction

    @classmethod
    def of(cls, plan: ReaderPlan, schema: pa.Schema) -> Self:
        """The job, or an error if the function is of another kind, or its states don't fit."""
        reader = plan.reader
        if not isinstance(reader, WindowReaderFunction):
            raise TypeError(
                f"{type(reader).__name__} is no WindowReaderFunction, which reads windows"
            )
        registered = plan.registered()
        windows = _window_states(plan, registered)
        of_keys = [
            state
            for state in plan.states()
            if state.namespace is None and (state in registered or _is_merging_window_set(state))
        ]
        return cls(
            reader=reader,
            operator=plan.operator.name,
            states=plan.states(),
            scan=plan.scan(windows),
            others=OtherTables.of(
                plan.savepoint,
                plan.operator,
                windows[0].namespace,
                plan.scan(of_keys) if of_keys else None,
            ),
            schema=schema,
        )

    def visits(self, batch: pa.RecordBatch, others: KeyGroupRows) -> Iterator[Visit]:
        namespace_type = batch.column("namespace").type
        for key, namespace, values in self._windows(batch, others):
            place = Place(key, _window(namespace, namespace_type))
            elements = self._elements(values.get(CONTENTS))
            yield Visit(place, namespace, {**others.states(key), **values}, elements)

    def call(self, visit: Visit, timers: TimersOf) -> Iterable[Any]:
        context = WindowReaderContext(timers, visit.place.window)
        return self.reader.read_window(visit.place.key, context, visit.elements)

    def _windows(
        self, batch: pa.RecordBatch, others: KeyGroupRows
    ) -> Iterable[tuple[Any, Any, dict[str, Any]]]:
        """Key, namespace and states of each window, joined from its rows."""
        windows: dict[Hashable, tuple[Any, Any, dict[str, Any]]] = {}
        keys, namespaces = (python_values(batch.column(name)) for name in ("key", "namespace"))
        rows = state_values(self.scan.table, batch)
        for key, stored, values in zip(keys, namespaces, rows, strict=True):
            merging_window_set = others.states(key).get(MERGING_WINDOW_SET)
            namespace = _merged_window(stored, merging_window_set or ())
            place = (hashable(key), hashable(namespace))
            _, _, window = windows.setdefault(place, (key, namespace, {}))
            window.update({name: value for name, value in values.items() if value is not None})
        return windows.values()

    def _elements(self, contents: Any) -> Sequence[Any]:
        if contents is None:
            return []
        state = next(other for other in self.scan.table.states if other.name == CONTENTS)
        if state.kind is not StateKind.LIST:
            return [contents]
        # With an evictor the elements are records; Flink, too, passes on only their values.
        is_record = state.timed_value != state.stored
        return [element["value"] for element in contents] if is_record else contents


def _window_states(plan: ReaderPlan, registered: Sequence[State]) -> list[State]:
    """The states of windows that a function reads: its own, and the contents of the windows."""
    name = type(plan.reader).__name__
    states = [state for state in registered if state.namespace is not None]
    if any(state.namespace != states[0].namespace for state in states):
        names = ", ".join(state.name for state in states)
        raise ValueError(f"{name} reads states of windows of several types at once: {names}")
    for state in plan.states():
        is_contents = state.name == CONTENTS and state.namespace is not None
        is_same = not states or state.namespace == states[0].namespace
        if is_contents and is_same and state not in states:
            states.append(state)
    if not states:
        known = ", ".join(state.name for state in plan.states() if state.namespace is not None)
        raise ValueError(
            f"{plan.operator.name} has no {CONTENTS!r}, and {name} registers no state of windows"
            f" in open; it has: {known or 'none'}"
        )
    return states


def _is_merging_window_set(state: State) -> bool:
    """Whether a state lists merged windows, as pairs of time windows."""
    if state.name != MERGING_WINDOW_SET or state.kind is not StateKind.LIST:
        return False
    pair = arrow_type(state.stored).value_type
    return pa.types.is_struct(pair) and [field.type for field in pair] == [_TIME_WINDOW] * 2


def _merged_window(stored: Any, merging_window_set: Iterable[Record]) -> Any:
    """The merged window whose contents are stored under a window, or the window itself."""
    for window, state_window in merging_window_set:
        if state_window == stored:
            return window
    return stored


def _window(namespace: Any, namespace_type: pa.DataType) -> Any:
    if pa.types.is_null(namespace_type):
        return GlobalWindow()
    return TimeWindow(*namespace) if namespace_type == _TIME_WINDOW else namespace
