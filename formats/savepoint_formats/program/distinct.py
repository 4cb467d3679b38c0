"""Sets and maps of Java, which have no two elements, or keys, that are the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    import numpy.typing as npt

    from savepoint_formats.program.source_columns import SourceColumns

    Numbers = npt.NDArray[np.int64]

_INTEGERS = {1: pa.int8(), 2: pa.int16(), 4: pa.int32(), 8: pa.int64()}


def records_of_doubles(sources: SourceColumns) -> list[int]:
    """The records that may have something twice where they must not.

    What is not a single value is not looked at: a record that has two of such is one of them.
    """
    records: set[int] = set()
    for number, column in enumerate(sources.program.columns):
        if not column.is_distinct or number not in sources.columns:
            continue
        array = sources.columns[number].array
        keys = array.keys if pa.types.is_map(array.type) else array.values
        rows = _rows_of_doubles(array, keys)
        of_rows = sources.records(number, rows)
        records.update(of_rows[of_rows >= 0].tolist())
    return sorted(records)


def _rows_of_doubles(array: pa.Array, keys: pa.Array) -> Numbers:
    """The rows of a list with two elements that may be the same."""
    offsets = np.asarray(array.offsets).astype(np.int64)
    counts = np.diff(offsets)
    if not len(counts) or counts.max() <= 1:
        return np.empty(0, np.int64)
    if pa.types.is_nested(keys.type):
        return np.flatnonzero(counts > 1)
    keys = keys[offsets[0] : offsets[-1]]
    if pa.types.is_floating(keys.type):
        keys = keys.view(_INTEGERS[keys.type.byte_width])
    indexes = keys.dictionary_encode("encode").indices.to_numpy()
    rows = np.repeat(np.arange(len(counts)), counts)
    pairs = np.sort(rows * (int(indexes.max()) + 1) + indexes)
    return np.unique(pairs[1:][pairs[1:] == pairs[:-1]] // (int(indexes.max()) + 1))
