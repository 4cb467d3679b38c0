"""Keys of an operator that a sample takes, or that an erasure leaves out."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from savepoint_formats.errors import KeyTypeError
from savepoint_formats.pass_through import ListedKeys, encoded_visible_keys, sample_hashes
from savepoint_formats.scan import keys_of
from savepoint_formats.state_files import key_layout
from savepoint_formats.values import arrow_type, visible_key_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from savepoint_database.snapshot import Operator
    from savepoint_formats.state_files import StateChunk
    from savepoint_formats.values import KryoDialect


def listed_keys(operator: Operator, keys: Sequence[Any], *, is_excluded: bool) -> ListedKeys:
    """The keys that an operator's type of keys admits; texts as ``savepoint key`` takes them.

    Raises ``KeyTypeError`` if it admits none of them.
    """
    layout = key_layout(next(state for state in operator.catalog.states if state.kind.is_keyed))
    key_type = visible_key_type(arrow_type(layout))
    wanted, error = [pa.array([], key_type)], None
    for key in keys:
        try:
            wanted.append(keys_of((key,), key_type))
        except KeyTypeError as refused:
            error = refused
    values = pa.concat_arrays(wanted)
    if error is not None and not len(values):
        raise error
    encoded = encoded_visible_keys(values, layout, operator.kryo)
    return ListedKeys(encoded.unique(), is_excluded)


def lowest_hashes(
    state_chunks: Iterable[StateChunk], kryo: KryoDialect | None, count: int
) -> dict[int, list[int]]:
    """The lowest hashes of keys in each key group, ``count`` of them at most."""
    lowest: dict[int, list[int]] = {}
    for state_chunk in state_chunks:
        hashes = sample_hashes(state_chunk, kryo)
        for key_group in np.unique(state_chunk.key_groups).tolist():
            mine = np.unique(hashes[state_chunk.key_groups == key_group])[:count]
            lowest[key_group] = _joined([lowest.get(key_group, []), mine.tolist()], count)
    return lowest


def limits_of(of_splits: Iterable[Mapping[int, list[int]]], count: int) -> dict[int, int]:
    """For each key group, the limit below which the hashes of ``count`` keys are."""
    joined: dict[int, list[int]] = {}
    for lowest in of_splits:
        for key_group, hashes in lowest.items():
            joined[key_group] = _joined([joined.get(key_group, []), hashes], count)
    most = int(np.iinfo(np.uint64).max)
    return {key_group: min(hashes[-1] + 1, most) for key_group, hashes in joined.items()}


def _joined(lists: Iterable[list[int]], count: int) -> list[int]:
    """The lowest numbers of sorted lists, each once."""
    chosen: list[int] = []
    for number in _in_order(lists):
        if len(chosen) == count:
            break
        chosen.append(number)
    return chosen


def _in_order(lists: Iterable[list[int]]) -> Iterator[int]:
    last = None
    for number in heapq.merge(*lists):
        if number != last:
            yield number
        last = number
