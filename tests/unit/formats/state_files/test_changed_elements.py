"""Elements of one list state change; all else in the file stays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from savepoint_formats.state_files.header import OperatorBackendHeader
from savepoint_formats.state_files.operator_state import element_arrays, with_elements
from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from savepoint_database.snapshot.operator import Operator
    from savepoint_formats.metadata import OperatorStateHandle


def handles(savepoint: Savepoint) -> Iterator[tuple[Operator, OperatorStateHandle]]:
    for operator in savepoint.operators():
        for subtask in operator.record.subtasks:
            if subtask.managed_operator_state is not None:
                yield operator, subtask.managed_operator_state


class Others:
    """Gives the next of some elements for each that it is asked about."""

    def __init__(self, others: list[bytes | None]) -> None:
        self._others = iter(others)

    def __call__(self, _: bytes) -> bytes | None:
        return next(self._others)


def elements(operator: Operator, handle: OperatorStateHandle) -> dict[str, list[bytes]]:
    return {
        state.name: [
            element
            for data in element_arrays(operator.directory, handle, state.name)
            for element in data.to_pylist()
        ]
        for state in handle.states
    }


@pytest.mark.parametrize(
    "sample", ["states-1.20.5-hashmap-compressed", "states-2.2.1-hashmap-canonical"]
)
def test_every_other_element_goes_and_the_first_changes(samples: Path, sample: str) -> None:
    changed_states = 0
    for operator, handle in handles(Savepoint.open(samples / sample)):
        before = elements(operator, handle)
        for state, data in before.items():
            wanted = [b"first" + data[0], *data[2::2]] if data else []
            others = [None if place % 2 else wanted[place // 2] for place in range(len(data))]
            changed = with_elements(operator.directory, handle, state, Others(others))
            assert not OperatorBackendHeader.of_handle(operator.directory, changed).is_compressed
            assert elements(operator, changed) == {**before, state: wanted}
            assert [entry.mode for entry in changed.states] == [
                entry.mode for entry in handle.states
            ]
            changed_states += bool(data)
    assert changed_states > 2
