"""Reads operator state: a row per element of a list, or per entry of a broadcast map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.errors import within
from savepoint_formats.layout import Layout, Repeated, Struct
from savepoint_formats.program.assembly import program
from savepoint_formats.program.decode import decode
from savepoint_formats.state_files.header import OperatorBackendHeader
from savepoint_formats.state_files.operator_state import read_elements
from savepoint_formats.state_files.state import State, StateKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_formats.locations.file_io import SnapshotDirectory
    from savepoint_formats.metadata import OperatorStateHandle
    from savepoint_formats.values.hidden_ends import Hides
    from savepoint_formats.values.kryo.dialect import KryoDialect

PIECE_SIZE = 16 << 20
"""Bytes of a file that make one batch, unless a single element is larger."""


@dataclass(frozen=True, slots=True, repr=False)
class OperatorStateSplit:
    """Elements of a state in one subtask."""

    subtask: int
    handle: OperatorStateHandle

    def __repr__(self) -> str:
        return f"OperatorStateSplit(subtask {self.subtask})"

    def element_count(self, state: str) -> int:
        """Number of elements of a list or union list state."""
        return sum(len(listed.offsets) for listed in self.handle.states if listed.name == state)


def read_operator_state(
    directory: SnapshotDirectory,
    split: OperatorStateSplit,
    state: State,
    kryo: KryoDialect | None,
    hides: Hides = "nothing",
) -> Iterator[list[pa.Array]]:
    """Columns of the state's table, batch by batch: ``value``, or ``key`` and ``value``.

    Raises ``FormatError`` for a damaged file, and ``StateFileNotFoundError``; both name the state.
    """
    file = directory.file(split.handle.stream)
    header = OperatorBackendHeader.of_handle(directory, split.handle)
    decoder = program(_stored(state), kryo, hides=hides)
    pieces = read_elements(
        file, split.handle, state.name, is_compressed=header.is_compressed, size=PIECE_SIZE
    )
    with within(f"state {state.name!r}"):
        for piece in pieces:
            chunk = Chunk(piece.data, file.path, piece.base)
            values = decode(decoder, chunk, piece.starts, piece.ends)
            if state.kind is StateKind.BROADCAST:
                yield pc.list_flatten(values).flatten()
            else:
                yield [values]


def _stored(state: State) -> Layout:
    """Layout of an element of a list, or of the whole map of broadcast state."""
    if state.kind is StateKind.BROADCAST and state.key is not None:
        return Repeated(Struct(("key", "value"), (state.key, state.stored)))
    return state.stored
