"""Elements of list states of byte arrays, in which connectors store their own data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from savepoint_formats.bytes import DataInputView
from savepoint_formats.scan import ReadOptions, operator_splits
from savepoint_formats.state_files import StateKind, byte_array, element_arrays, with_elements

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from savepoint_database.snapshot import Operator
    from savepoint_formats.layout import KryoClass
    from savepoint_formats.metadata import OperatorState, SubtaskState


@dataclass(frozen=True, slots=True)
class ByteElement:
    """An element of an operator state.

    Attributes:
        state: The state.
        subtask: Subtask that has it.
        data: The bytes of a byte array, without the size in front; else all bytes.
        is_sized: Whether the element is a byte array.
    """

    state: str
    subtask: int
    data: bytes
    is_sized: bool = True

    def written(self, data: bytes | None) -> bytes | None:
        """Other data, as the file has it."""
        return byte_array(data) if self.is_sized and data is not None else data


def byte_elements(
    operator: Operator, states: Sequence[str], *, is_sized: bool = True
) -> Iterator[ByteElement]:
    """Elements of some states, state by state, as the files have them.

    Args:
        operator: The operator.
        states: Names of the states.
        is_sized: Whether the elements are byte arrays.

    Raises:
        SavepointError: A file is gone or damaged, or an element is not a byte array.
    """
    for split in operator_splits(operator.record):
        filled = {state.name for state in split.handle.states if state.offsets}
        for name in filter(filled.__contains__, states):
            for elements in element_arrays(operator.directory, split.handle, name):
                for data in elements.to_pylist():
                    content = _content(data, name) if is_sized else data
                    yield ByteElement(name, split.subtask, content, is_sized)


def element_values(
    operator: Operator, state: str, classes: tuple[KryoClass, ...] = ()
) -> Iterator[tuple[int, Any]]:
    """Values of the elements of a list state, by subtask; none without a table of it.

    ``classes`` are known classes of a connector that no savepoint describes.
    """
    if classes and operator.kryo is not None:
        known = replace(operator.kryo, classes=(*operator.kryo.classes, *classes))
        operator = replace(operator, kryo=known)
    kinds = (StateKind.OPERATOR_LIST, StateKind.UNION_LIST)
    if not any(known.name == state and known.kind in kinds for known in operator.catalog.states):
        return
    table = next(
        (table for table in operator.readable_tables if table.states[0].name == state), None
    )
    if table is None:
        return
    scan = operator.scan(table, ReadOptions(with_subtask=True))
    for batch in scan.batches():
        yield from zip(
            batch.column("subtask").to_pylist(), batch.column("value").to_pylist(), strict=True
        )


def _content(data: bytes, path: str) -> bytes:
    view = DataInputView(data, path)
    content = view.read_bytes(view.read_count())
    view.expect_end()
    return content


def with_byte_elements(
    operator: Operator, changes: Iterable[tuple[ByteElement, bytes | None]]
) -> OperatorState:
    """The record of an operator with other elements.

    Args:
        operator: The operator.
        changes: All elements that ``byte_elements`` gave, with their replacements; None drops
                an element.

    Raises:
        SavepointError: A file is gone or damaged.
    """
    places: dict[tuple[str, int], list[tuple[bytes | None, bytes | None]]] = {}
    for element, other in changes:
        pair = element.written(element.data), element.written(other)
        places.setdefault((element.state, element.subtask), []).append(pair)
    subtasks = list(operator.record.subtasks)
    for (state, index), elements in places.items():
        if all(data == other for data, other in elements):
            continue
        at = next(at for at, subtask in enumerate(subtasks) if subtask.index == index)
        others = [other for _, other in elements]
        subtasks[at] = _with_state(operator, subtasks[at], state, others)
    return replace(operator.record, subtasks=tuple(subtasks))


def _with_state(
    operator: Operator, subtask: SubtaskState, state: str, elements: list[bytes | None]
) -> SubtaskState:
    handle = subtask.managed_operator_state
    if handle is None:
        return subtask
    others = iter(elements)
    changed = with_elements(operator.directory, handle, state, lambda _: next(others))
    return replace(subtask, managed_operator_state=changed)
