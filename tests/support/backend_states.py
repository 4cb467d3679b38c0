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
    from collections.abc import Iterator

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


def entries(backend: KeyedStateBackend) -> Iterator[tuple[Any, bytes, list[Any]]]:
    """Each key with state, its bytes and a snapshot; the key becomes the current one."""
    for key, key_bytes in backend.keys():  # noqa: SIM118  # it is no dict
        backend.set_current_key(key, key_bytes)
        snapshot = backend.snapshot_current_key()
        if any(state is not None for state in snapshot):
            yield key, key_bytes, snapshot
