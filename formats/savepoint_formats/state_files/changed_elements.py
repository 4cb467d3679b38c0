"""A file of operator state with other elements in one of its list states.

The header and all other states are copied as they are. A compressed file becomes one that is not
compressed, which every Flink restores.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.metadata import InlineStream, OperatorStateHandle, OperatorStateOffsets
from savepoint_formats.state_files.operator_state import read_elements

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_formats.locations.state_file import StateFile
    from savepoint_formats.state_files.header import OperatorBackendHeader


def with_elements(
    file: StateFile,
    handle: OperatorStateHandle,
    header: OperatorBackendHeader,
    state: str,
    change: Callable[[bytes], bytes | None],
) -> OperatorStateHandle:
    """A handle whose file lies in ``_metadata`` and has the changed elements.

    Args:
        file: The file.
        handle: Its handle.
        header: Its header.
        state: The list state.
        change: Returns other bytes for an element, in the order of the file; None drops it.

    Raises:
        SavepointError: The file is gone or damaged.
    """
    view = DataOutputView()
    replace(header, is_compressed=False).write(view)
    written: dict[str, OperatorStateOffsets] = {}
    for entry in sorted(handle.states, key=lambda entry: entry.offsets):
        offsets = []
        for data in _elements(file, handle, entry.name, is_compressed=header.is_compressed):
            changed = change(data) if entry.name == state else data
            if changed is not None:
                offsets.append(view.position)
                view.write_bytes(changed)
        written[entry.name] = replace(entry, offsets=tuple(offsets))
    states = tuple(written[entry.name] for entry in handle.states)
    name = f"{file.path.rpartition('/')[2]}-changed"
    return OperatorStateHandle(states, InlineStream(name, view.to_bytes()))


def byte_array(content: bytes) -> bytes:
    """An element of a state of byte arrays: i32 size, the bytes."""
    return len(content).to_bytes(4, "big") + content


def _elements(
    file: StateFile, handle: OperatorStateHandle, state: str, *, is_compressed: bool
) -> list[bytes]:
    return [
        elements.data[start:end].tobytes()
        for elements in read_elements(
            file, handle, state, is_compressed=is_compressed, size=file.length()
        )
        for start, end in zip(elements.starts, elements.ends, strict=True)
    ]
