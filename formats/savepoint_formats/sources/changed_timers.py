"""The timers of one priority queue after the changes of a changelog.

| operation      | payload                |
|----------------|------------------------|
| ADD_ELEMENT    | i32 n, n timers to add |
| REMOVE_ELEMENT | a timer to remove      |

A queue is a set: a timer that is added twice is there once.

Flink: ``PriorityQueueStateChangeApplier``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from savepoint_formats.errors import UndecodableError
from savepoint_formats.state_files.changelog import StateChangeOperation
from savepoint_formats.tables.timer_rows import TimerRows
from savepoint_formats.values.arrow_types import arrow_type
from savepoint_formats.values.kinds.equality import comparable
from savepoint_formats.values.values import ValueReader

if TYPE_CHECKING:
    from savepoint_formats.bytes.data_view import DataInputView
    from savepoint_formats.state_files.changelog import KeyedChange
    from savepoint_formats.state_files.state import State
    from savepoint_formats.values.kinds.codec import Value
    from savepoint_formats.values.kryo.dialect import KryoDialect

TIMESTAMP = "timestamp"


class ChangedTimers:
    """A queue, and changes of it in order.

    Args:
        state: The queue.
        kryo: What is known of the Kryo that wrote object graphs.
    """

    def __init__(self, state: State, kryo: KryoDialect | None) -> None:
        self._state = state
        self._kryo = kryo
        self._values: list[Value] = []
        self._is_added: list[bool] = []
        self._key_groups: list[int] = []

    def add(self, change: KeyedChange) -> None:
        """Another change.

        Raises:
            FormatError: It is damaged, or of an operation that queues have not.
            UndecodableError: It cannot be told where a timer in it ends.
        """
        view, operation = change.body, change.operation
        is_added = operation is StateChangeOperation.ADD_ELEMENT
        if not is_added and operation is not StateChangeOperation.REMOVE_ELEMENT:
            raise view.error(f"a change {operation.name} of the timers {self._state.name!r}")
        count = view.read_count() if is_added else 1
        for _ in range(count):
            self._values.append(self._timer(view))
            self._is_added.append(is_added)
            self._key_groups.append(change.key_group)
        view.expect_end()

    def _timer(self, view: DataInputView) -> Value:
        reader = ValueReader(view, self._kryo)
        timer = reader.read(self._state.stored)
        if reader.is_lost:
            message = f"timers {self._state.name!r} cannot be read: {reader.reason}"
            raise view.error(message, UndecodableError)
        return timer

    def added(self) -> TimerRows:
        """The timers that are there after the changes, of those that were changed."""
        timers = self._changed()
        last = {timer: index for index, timer in enumerate(comparable(timers))}
        is_last = np.zeros(len(timers), np.bool_)
        is_last[list(last.values())] = True
        rows = TimerRows(self._state.name, timers, np.array(self._key_groups, np.int32))
        return rows.chosen(is_last & np.array(self._is_added, np.bool_))

    def untouched(self, rows: TimerRows) -> TimerRows:
        """Timers of before without those that were changed."""
        timers, before = self._changed(), rows.timers
        changed = set(comparable(timers))
        candidates = np.arange(len(before))
        if _is_timer(before.type) and _is_timer(timers.type):
            # Few timers have the time of a changed one, and only they need a closer look.
            has_such_time = pc.is_in(before.field(TIMESTAMP), value_set=timers.field(TIMESTAMP))
            candidates = np.flatnonzero(has_such_time)
        is_kept = np.ones(len(before), np.bool_)
        suspects = comparable(before.take(pa.array(candidates)))
        is_kept[candidates] = [timer not in changed for timer in suspects]
        return rows.chosen(is_kept)

    def _changed(self) -> pa.Array:
        return pa.array(self._values, arrow_type(self._state.stored))


def _is_timer(timer_type: pa.DataType) -> bool:
    return bool(pa.types.is_struct(timer_type)) and timer_type.get_field_index(TIMESTAMP) >= 0
