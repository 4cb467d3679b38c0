"""State of each kind, as functions register it with a backend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from state_processor import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from savepoint_functions.functions.backends import KeyedStateBackend

TOTAL = ValueStateDescriptor("total", Types.LONG())
NAMES = ListStateDescriptor("names", Types.STRING())
BY_DAY = MapStateDescriptor("by_day", Types.STRING(), Types.LONG())
MOST = ReducingStateDescriptor("most", Types.LONG(), max)
ALL_KINDS = (TOTAL, NAMES, BY_DAY, MOST)


class Average:
    """The average of numbers; the accumulator is their sum and count."""

    def create_accumulator(self) -> dict[str, int]:
        return {"f0": 0, "f1": 0}

    def add(self, value: int, accumulator: dict[str, int]) -> dict[str, int]:
        return {"f0": accumulator["f0"] + value, "f1": accumulator["f1"] + 1}

    def get_result(self, accumulator: dict[str, int]) -> float:
        return accumulator["f0"] / accumulator["f1"]

    def merge(self, one: Any, other: Any) -> tuple[int, ...]:
        return tuple(map(sum, zip(one, other, strict=True)))


AVERAGE = AggregatingStateDescriptor(
    "average", Types.TUPLE([Types.LONG(), Types.LONG()]), Average()
)


def switch(backend: KeyedStateBackend, key: int) -> None:
    """Makes a key the current one."""
    backend.set_current_key(key, key.to_bytes(8, "big", signed=True))


class AllKeys:
    """State of all keys: that of the current one is in a backend, that of others in snapshots."""

    def __init__(self, backend: KeyedStateBackend) -> None:
        self._backend = backend
        self._snapshots: dict[Any, list[Any]] = {}

    def switch(self, key: Any) -> None:
        """Makes a key the current one."""
        if key == self._backend.current_key:
            return
        if self._backend.key_bytes is not None:
            self._snapshots[self._backend.current_key] = self._backend.snapshot_current_key()
        self._backend.set_current_key(key, repr(key).encode())
        if key in self._snapshots:
            self._backend.restore_current_key(self._snapshots.pop(key))

    def contents(self) -> dict[Any, list[Any]]:
        """Key -> the contents of each state, for keys that have anything."""
        snapshots = dict(self._snapshots)
        if self._backend.key_bytes is not None:
            snapshots[self._backend.current_key] = self._backend.snapshot_current_key()
        return {
            key: snapshot
            for key, snapshot in snapshots.items()
            if any(contents is not None for contents in snapshot)
        }
