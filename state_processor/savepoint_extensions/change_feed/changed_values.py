"""Rows of a table that differ become changes of its states, in bulk.

A row of ``keyed_state`` has a column per state, and one of them may have changed. So each state gets
its own changes. Hashes decide which values are equal, as for ``diff``.

| state                      | a change is of                | ``before`` and ``after``            |
|----------------------------|-------------------------------|-------------------------------------|
| map                        | an entry, by ``map_key``      | its values                          |
| list                       | a key                         | whole lists; an empty one is absent |
| another keyed state        | a key, and its namespace      | values; null is absent              |
| broadcast                  | an entry, by ``key``          | its values                          |
| timers, operator lists     | a timer or element            | the same in one of both             |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from savepoint_database.checks.table_diff import CHANGE_TYPE, POSTIMAGE, PREIMAGE
from savepoint_formats.checks.entry_digests import are_same, value_hashes
from savepoint_formats.values import Collections

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from savepoint_formats.checks.entry_digests import Hashes

ADDED, REMOVED, CHANGED = "added", "removed", "changed"

Places: TypeAlias = NDArray[np.int64]
"""Numbers of rows; ``ABSENT`` where a side has none."""

ABSENT = -1
_KINDS = pa.array([ADDED, REMOVED, CHANGED])
_BATCH_ROWS = 1 << 14


@dataclass(frozen=True, slots=True)
class RowPairs:
    """Rows of a table before and after, each pair with the same key.

    Attributes:
        rows: Columns of both sides.
        before: The row of each pair before; ``ABSENT`` for an added one.
        after: The row of each pair after; ``ABSENT`` for a removed one.
    """

    rows: pa.RecordBatch
    before: Places
    after: Places

    @classmethod
    def of_diff(cls, rows: pa.RecordBatch) -> RowPairs:
        """The pairs in rows that differ; both rows of an update must be there."""
        kinds = rows.column(CHANGE_TYPE)
        is_pair = pc.not_equal(kinds, POSTIMAGE).to_numpy(zero_copy_only=False)
        places = np.flatnonzero(is_pair)
        kinds = kinds.filter(pa.array(is_pair))
        is_insert = pc.equal(kinds, "insert").to_numpy(zero_copy_only=False)
        is_update = pc.equal(kinds, PREIMAGE).to_numpy(zero_copy_only=False)
        before = np.where(is_insert, ABSENT, places)
        after = np.where(is_insert, places, np.where(is_update, places + 1, ABSENT))
        return cls(rows, before, after)

    @classmethod
    def of_side(cls, rows: pa.RecordBatch, kind: str) -> RowPairs:
        """Rows that only one side has: ``ADDED`` or ``REMOVED``."""
        every = np.arange(len(rows), dtype=np.int64)
        absent = np.full(len(rows), ABSENT, np.int64)
        return cls(rows, absent, every) if kind == ADDED else cls(rows, every, absent)

    @property
    def places(self) -> Places:
        """A row of each pair, for its keys."""
        return np.where(self.before == ABSENT, self.after, self.before)


def whole_updates(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows, with both rows of an update in the same batch."""
    rest: pa.RecordBatch | None = None
    for batch in batches:
        rows = batch if rest is None else pa.concat_batches([rest, batch])
        rest = None
        if len(rows) and rows.column(CHANGE_TYPE)[-1].as_py() == PREIMAGE:
            rest, rows = rows.slice(len(rows) - 1), rows.slice(0, len(rows) - 1)
        if len(rows):
            yield rows


def value_changes(
    pairs: RowPairs,
    keys: Sequence[str],
    values: pa.Array,
    schema: pa.Schema,
    is_there: NDArray[np.bool_],
) -> Iterator[pa.RecordBatch]:
    """The changes of a column; ``is_there`` says which rows have a value."""
    before, after = (_present(places, is_there) for places in (pairs.before, pairs.after))
    chosen = _changed(before, after, value_hashes(values))
    columns = [pairs.rows.column(name) for name in keys]
    sides = (before[chosen], after[chosen])
    yield from _batches(schema, pairs.places[chosen], columns, [], values, sides)


def entry_changes(
    pairs: RowPairs, keys: Sequence[str], maps: pa.Array, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """The changes of the entries of a column of maps."""
    collections = Collections(maps)
    user_keys, items = collections.elements.flatten()
    first = np.concatenate([[0], np.cumsum(collections.lengths)])
    sides = [_entries(places, first) for places in (pairs.before, pairs.after)]
    item_hashes = value_hashes(items)
    before, after, owner = _paired(sides, value_hashes(user_keys), item_hashes)
    chosen = _changed(before, after, item_hashes)
    before, after = before[chosen], after[chosen]
    map_keys = [(user_keys, np.where(before == ABSENT, after, before))]
    columns = [pairs.rows.column(name) for name in keys]
    places = pairs.places[owner[chosen]]
    yield from _batches(schema, places, columns, map_keys, items, (before, after))


def _present(places: Places, is_there: NDArray[np.bool_]) -> Places:
    """The places whose row has a value; a place of -1 is absent already."""
    return (
        np.where((places != ABSENT) & is_there[places], places, ABSENT) if len(is_there) else places
    )


def _changed(before: Places, after: Places, hashes: Hashes) -> Places:
    """Numbers of the pairs whose sides differ."""
    is_both = (before != ABSENT) & (after != ABSENT)
    is_any = (before != ABSENT) | (after != ABSENT)
    is_same = np.zeros(len(before), bool)
    is_same[is_both] = are_same(hashes[before[is_both]], hashes[after[is_both]])
    return np.flatnonzero(is_any & ~is_same)


def _entries(rows: Places, first: Places) -> tuple[Places, Places]:
    """The entries of the maps of rows, and for each the number of its pair."""
    pairs = np.flatnonzero(rows != ABSENT)
    starts, ends = first[rows[pairs]], first[rows[pairs] + 1]
    lengths = ends - starts
    within = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return np.repeat(starts, lengths) + within, np.repeat(pairs, lengths)


def _paired(
    sides: Sequence[tuple[Places, Places]], keys: Hashes, items: Hashes
) -> tuple[Places, Places, Places]:
    """Entries before and after with the same key in the same pair of rows, and the number of that pair.

    Keys of a map are distinct. If they are equal as a reader sees them, their values decide.
    """
    entries = np.concatenate([entries for entries, _ in sides])
    owners = np.concatenate([owners for _, owners in sides])
    is_after = np.repeat([0, 1], [len(entries) for entries, _ in sides])
    low, high, value = keys[entries, 0], keys[entries, 1], items[entries, 0]
    order = np.lexsort((value, is_after, high, low, owners))
    names = np.column_stack([owners[order].astype(np.uint64), low[order], high[order]])
    number = _numbers(np.column_stack([names, is_after[order].astype(np.uint64)]))
    again = np.lexsort((is_after[order], number, names[:, 2], names[:, 1], names[:, 0]))
    order, names, number = order[again], names[again], number[again]
    is_first = _is_new(np.column_stack([names, number.astype(np.uint64)]))
    group = np.cumsum(is_first) - 1
    count = int(group[-1]) + 1 if len(group) else 0
    paired = np.full((2, count), ABSENT, np.int64)
    paired[is_after[order], group] = entries[order]
    return paired[0], paired[1], owners[order][is_first]


def _is_new(rows: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Whether each row differs from the row in front of it."""
    is_new = np.ones(len(rows), bool)
    is_new[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    return is_new


def _numbers(rows: NDArray[np.uint64]) -> Places:
    """The number of each of sorted rows among those that are equal to it."""
    starts = np.flatnonzero(_is_new(rows))
    lengths = np.diff(np.append(starts, len(rows)))
    return np.arange(len(rows)) - np.repeat(starts, lengths)


def _batches(
    schema: pa.Schema,
    places: Places,
    keys: Sequence[pa.Array],
    map_keys: Sequence[tuple[pa.Array, Places]],
    values: pa.Array,
    sides: tuple[Places, Places],
) -> Iterator[pa.RecordBatch]:
    """Changes, some thousands at a time, because the key is repeated for each entry of a map."""
    is_before, is_after = (rows != ABSENT for rows in sides)
    kinds = np.where(is_before & is_after, 2, np.where(is_after, 0, 1))
    columns = [*((key, places) for key in keys), *map_keys]
    columns += [*((values, rows) for rows in sides), (_KINDS, kinds)]
    for start in range(0, len(places), _BATCH_ROWS):
        part = slice(start, start + _BATCH_ROWS)
        arrays = [
            _at(array, rows[part], field.type)
            for (array, rows), field in zip(columns, schema, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _at(values: pa.Array, rows: Places, wanted: pa.DataType) -> pa.Array:
    """The values of rows; a side that has none of them may have another type."""
    is_absent = rows == ABSENT
    if is_absent.all():
        return pa.nulls(len(rows), wanted)
    return values.take(pa.array(rows, mask=is_absent))
