"""Entries that are taken out of canonical files: the rest is what the general path leaves, byte for byte."""

from __future__ import annotations

import random
import struct
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pytest
from support.sample_rows import SAMPLES

from savepoint_formats.key_groups.ranges import KeyGroupRange
from savepoint_formats.pass_through.deleted_keys import encoded_keys
from savepoint_formats.pass_through.divided_entries import DividedEntries
from savepoint_formats.pass_through.stored_states import StoredStates
from savepoint_spark.writing.stored_types import StoredTypes
from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from savepoint_database.snapshot.operator import Operator
    from savepoint_formats.state_files.state_piece import StatePiece


class Entry(NamedTuple):
    """An entry of a run; its key has the key group in front, without the bit of the last one."""

    state: int
    key_group: int
    key: bytes
    value: bytes


def entries_in(key_group: int, runs: bytes) -> Iterator[Entry]:
    """The entries of runs, one behind the other, as Flink reads them."""
    position = 0
    while position < len(runs):
        (state,) = struct.unpack_from(">h", runs, position)
        position, is_last = position + 2, False
        while not is_last:
            parts = []
            for _ in range(2):
                (size,) = struct.unpack_from(">i", runs, position)
                parts.append(runs[position + 4 : position + 4 + size])
                position += 4 + size
            key, value = parts
            is_last = bool(key[0] & 0x80)
            yield Entry(state, key_group, bytes([key[0] & 0x7F]) + key[1:], value)


def entries_of(batches: Iterable[pa.RecordBatch]) -> list[Entry]:
    return sorted(
        entry
        for batch in batches
        for key_group, runs in zip(*map(pa.Array.to_pylist, batch.columns[:2]), strict=True)
        for entry in entries_in(key_group, runs)
    )


def operators(path: str) -> Iterator[Operator]:
    """The operators of a savepoint."""
    savepoint = Savepoint.open(path)
    for record in savepoint.metadata.operators:
        yield savepoint.operator(record.operator_id.hex())


def keys_of(stored: StoredStates, names: frozenset[str], whole: KeyGroupRange) -> pa.Array:
    """All keys, as they are encoded, each once."""
    keys = [encoded_keys(piece, stored.kryo) for piece in stored.pieces(names, whole)]
    return pa.concat_arrays([pa.array([], pa.large_binary()), *keys]).unique()


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
@pytest.mark.parametrize(
    "path", sorted(SAMPLES.glob("*2.2.1-hashmap-canonical")), ids=lambda of: of.name
)
def test_what_stays_is_what_the_general_path_leaves(path: Path, share: float) -> None:
    dice = random.Random(7)
    for operator in operators(str(path)):
        states = [state.name for state in operator.catalog.states if state.kind.is_keyed]
        if not states:
            continue
        # One state is not asked for, as the function does not register it.
        names = frozenset(states[1:] or states)
        ids = {name: 300 + number for number, name in enumerate(sorted(names))}
        key = StoredTypes.of(operator).key.layout()
        stored = StoredStates(operator.directory, operator.record, key, operator.kryo)
        most = operator.record.max_parallelism
        whole = KeyGroupRange(0, most - 1)
        keys = keys_of(stored, names, whole)
        some = keys.filter(pa.array([dice.random() < share for _ in keys], pa.bool_()))
        divided = stored.divided(names, whole)
        general = DividedEntries(stored.pieces(names, whole), stored.kryo)
        assert taken(divided.take(some)) == taken(general.take(some))
        wanted = entries_of(general.rest(ids, most))
        assert bool(wanted) == (share < 1 and len(keys) > 0)
        assert entries_of(divided.rest(ids, most)) == wanted


def taken(pieces: Iterable[StatePiece]) -> list[tuple[str, int, bytes, bytes]]:
    return sorted(
        (piece.state.name, int(group), key, value)
        for piece in pieces
        for group, key, value in zip(
            piece.key_groups,
            piece.entries.keys.to_pylist(),
            piece.entries.values.to_pylist(),
            strict=True,
        )
    )
