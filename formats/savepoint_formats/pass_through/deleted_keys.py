"""Keys that are left out of a new savepoint, with all their entries.

Only the key of an entry is decoded. Keys are compared as ``Encoder`` writes them because a
serializer may have stored one key in several ways.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.entries.stored_entries import StoredEntries
from savepoint_formats.errors import within
from savepoint_formats.pass_through.new_key_groups import KeyPlaces
from savepoint_formats.program.assembly import program
from savepoint_formats.program.decode import decode
from savepoint_formats.program.encode import Encoder
from savepoint_formats.program.spans import spans_in
from savepoint_formats.state_files.state import key_layout

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from savepoint_formats.state_files.state_piece import StatePiece
    from savepoint_formats.values.kryo.dialect import KryoDialect


@dataclass(frozen=True, eq=False)
class DeletedKeys:
    """Keys of an operator, encoded and each once."""

    keys: pa.LargeBinaryArray

    def without(
        self, pieces: Iterable[StatePiece], kryo: KryoDialect | None
    ) -> Iterator[StatePiece]:
        """Removes the entries of these keys; errors as of ``encoded_keys``."""
        for piece in pieces:
            with within(f"state {piece.state.name!r}"):
                is_deleted = pc.is_in(encoded_keys(piece, kryo), self.keys)
            yield chosen(piece, ~is_deleted.to_numpy(zero_copy_only=False))


def chosen(piece: StatePiece, wanted: NDArray[np.bool_]) -> StatePiece:
    """The wanted entries."""
    mask = pa.array(wanted)
    entries = StoredEntries(piece.entries.keys.filter(mask), piece.entries.values.filter(mask))
    return replace(piece, entries=entries, key_groups=piece.key_groups[wanted])


def encoded_keys(piece: StatePiece, kryo: KryoDialect | None) -> pa.LargeBinaryArray:
    """The keys of entries, encoded again.

    Raises ``UnstableHashError`` if the end of a key is unknown, ``FormatError`` for a damaged key.
    """
    data, entries = spans_in(piece.entries.keys)
    chunk, layout = Chunk(data, "stored keys"), key_layout(piece.state)
    keys = KeyPlaces.of(piece.state, kryo).keys(chunk, entries)
    return Encoder(layout).encode(decode(program(layout, kryo), chunk, keys.starts, keys.ends))
