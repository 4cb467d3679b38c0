"""Stored entries of some keys, decoded as columns with a row per key."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from savepoint_formats.errors import within
from savepoint_formats.key_groups.ranges import prefix_size
from savepoint_formats.program.encode import Encoder
from savepoint_formats.sources.state_rows import EntryDecoders
from savepoint_formats.state_files.state_piece import part_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from savepoint_formats.pass_through.stored_states import StoredStates
    from savepoint_formats.state_files.state_piece import StatePiece


class InitialColumns:
    """What keys have in stored entries, as columns.

    Args:
        stored: Where the entries are from.
        types: State -> the type of its column.
    """

    def __init__(self, stored: StoredStates, types: Mapping[str, pa.DataType]) -> None:
        self._settings = stored.settings
        self._prefix_size = prefix_size(stored.record.max_parallelism)
        self._types = types
        self._key = Encoder(stored.key)

    def columns(
        self, keys: pa.LargeBinaryArray, pieces: Iterable[StatePiece]
    ) -> dict[str, pa.Array]:
        """The columns of states that have any entry, null where a key has none.

        Args:
            keys: The keys, as ``Encoder`` encodes them, in the order of the rows.
            pieces: Their entries, a piece for each state.

        Raises:
            FormatError: An entry is damaged.
        """
        columns = {}
        for piece in pieces:
            with within(f"state {piece.state.name!r}"):
                columns[piece.state.name] = self._column(keys, piece)
        return columns

    def _column(self, keys: pa.LargeBinaryArray, piece: StatePiece) -> pa.Array:
        name, part = piece.state.name, part_of([piece], self._prefix_size)
        decoders = EntryDecoders([piece.state], self._settings)
        joined = decoders.batch(part[0], decoders.rows(part)).joined({name: self._types[name]})
        with_state = self._key.encode(joined.keys.field("key"))
        return joined.columns[name].take(pc.index_in(keys, with_state))
