"""Keys that are left out of a new savepoint, with all entries that they have.

Of an entry nothing is decoded but its key. Keys are compared by the bytes that they are encoded to,
which need not be those that are stored: a serializer may have several ways to write a key.
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

    from savepoint_formats.state_files.state_piece import StatePiece
    from savepoint_formats.values.kryo.dialect import KryoDialect


@dataclass(frozen=True, eq=False)
class DeletedKeys:
    """Some keys of an operator.

    Attributes:
        keys: As ``Encoder`` encodes them, each once.
    """

    keys: pa.LargeBinaryArray

    def without(
        self, pieces: Iterable[StatePiece], kryo: KryoDialect | None
    ) -> Iterator[StatePiece]:
        """The pieces without the entries of these keys.

        Raises:
            UnstableHashError: Nobody can tell where a key ends.
            FormatError: A key is damaged.
        """
        for piece in pieces:
            with within(f"state {piece.state.name!r}"):
                is_kept = pc.invert(pc.is_in(encoded_keys(piece, kryo), self.keys))
            entries = StoredEntries(
                piece.entries.keys.filter(is_kept), piece.entries.values.filter(is_kept)
            )
            groups = piece.key_groups[is_kept.to_numpy(zero_copy_only=False)]
            yield replace(piece, entries=entries, key_groups=groups)


def encoded_keys(piece: StatePiece, kryo: KryoDialect | None) -> pa.LargeBinaryArray:
    """The keys of entries, encoded anew.

    Raises:
        UnstableHashError: Nobody can tell where a key ends.
        FormatError: A key is damaged.
    """
    data, entries = spans_in(piece.entries.keys)
    chunk, layout = Chunk(data, "stored keys"), key_layout(piece.state)
    keys = KeyPlaces.of(piece.state, kryo).keys(chunk, entries)
    return Encoder(layout).encode(decode(program(layout, kryo), chunk, keys.starts, keys.ends))
