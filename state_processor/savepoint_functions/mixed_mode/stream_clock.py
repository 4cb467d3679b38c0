"""Actions of the clock while a stream runs: savepoints at an interval, and keys that wake up."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING
from uuid import uuid4

from pyarrow import fs

from savepoint_formats.locations.location import Location
from savepoint_functions.mixed_mode.wake_ups import wake_up

if TYPE_CHECKING:
    from savepoint_functions.mixed_mode.stream_function import StreamFunction
    from savepoint_functions.mixed_mode.stream_query import StreamQuery

# As good as due: what timers there are is not known before a look at the state.
_UNKNOWN = 0


class StreamClock:
    """Does what is due when ``tick`` is called; ``savepoints`` has the last savepoint of the interval alone."""

    def __init__(
        self,
        function: StreamFunction,
        query: StreamQuery,
        savepoints: str,
        interval_ms: int | None,
        now: int,
    ) -> None:
        self.last_savepoint: str | None = None
        self._function = function
        self._query = query
        self._savepoints = savepoints
        self._interval_ms = interval_ms
        self._next_savepoint = now + (interval_ms or 0)
        self._saved_batch: int | None = None
        # Set by the listener's thread, and looked at by another one.
        self._lock = threading.Lock()
        self._next_due: int | None = _UNKNOWN

    def expect(self, due: int | None) -> None:
        """Takes notice of a timer of processing time, in ms."""
        with self._lock:
            if due is not None:
                self._next_due = due if self._next_due is None else min(due, self._next_due)

    def tick(self, now: int) -> None:
        """Does what is due at a time, in ms. Raises ``SavepointError`` if a savepoint can't be written."""
        if self._is_due(now):
            self._wake_up(now)
        if self._interval_ms is not None and now >= self._next_savepoint:
            self._next_savepoint = now + self._interval_ms
            self._save()

    def _is_due(self, now: int) -> bool:
        with self._lock:
            return self._next_due is not None and self._next_due <= now

    def _wake_up(self, now: int) -> None:
        batch = self._query.last_batch()
        if batch is None:
            return
        with self._lock:
            # What is expected while the state is looked at has come behind it.
            self._next_due = None
        keys = self._query.keys(batch.batch_id)
        self.expect(wake_up(keys, self._query.wake_ups, now).next_due)

    def _save(self) -> None:
        batch = self._query.last_batch()
        if batch is None or batch.batch_id == self._saved_batch:
            return
        name = f"savepoint-{batch.batch_id}-{uuid4().hex[:8]}"
        path = f"{self._savepoints}/{name}"
        self._function.write_savepoint(self._query.keys(batch.batch_id), path)
        batch.write_beside(path)
        self.last_savepoint, self._saved_batch = path, batch.batch_id
        self._remove_all_but(name)

    def _remove_all_but(self, name: str) -> None:
        location = Location.of(self._savepoints)
        for info in location.filesystem.get_file_info(fs.FileSelector(location.path)):
            if info.base_name != name:
                location.filesystem.delete_dir(info.path)
