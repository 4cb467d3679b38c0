"""The state that is measured: an operator keyed by a long, with a long and a name per key.

Key k, of 0 to n, has the count k + 1 and the name ``customer-`` with the key's 11 digits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from state_processor import Savepoint, Types, ValueStateDescriptor

if TYPE_CHECKING:
    from pathlib import Path

    from peer.flink import Backend, Flink, Run

UID = "bench"
TABLE = f"{UID}.keyed_state"
NAME_SIZE = 20
MAX_PARALLELISM = 128

COUNT = ValueStateDescriptor("count", Types.LONG())
NAME = ValueStateDescriptor("name", Types.STRING())

# A prime above any number of keys, so that its multiples visit each key once, in no order.
_STRIDE = 2**31 - 1

_ROW_GROUP = 1 << 18

KINDS = LONG, STRING, STRUCT = "long", "string", "struct"
"""Forms of keys: a number, a text of 20 characters that ends with it, or a tuple of it and a short text."""

Totals = tuple[int, int, int]


def make_parquet(path: Path, keys: int, kind: str = LONG) -> None:
    """Writes all rows to a Parquet file, if it is not there."""
    if path.exists():
        return
    numbers = pa.array(np.arange(keys) * _STRIDE % keys)
    columns = {**_key_columns(numbers, kind), "count": pc.add(numbers, 1), "name": names(numbers)}
    draft = path.with_suffix(".draft")
    pq.write_table(pa.table(columns), draft, row_group_size=_ROW_GROUP)
    draft.rename(path)


def _key_columns(numbers: pa.Array, kind: str) -> dict[str, pa.Array]:
    """The columns that keys of a kind are made of."""
    if kind == STRING:
        return {"key": names(numbers)}
    regions = pc.binary_join_element_wise(
        "region-", pc.utf8_slice_codeunits(names(numbers), 17), ""
    )
    return {"key": numbers, "region": regions} if kind == STRUCT else {"key": numbers}


def key_columns(kind: str) -> tuple[str, ...]:
    """Their names; a tuple of Flink's is made of several."""
    return ("key", "region") if kind == STRUCT else ("key",)


def _numbers_of(keys: pa.Array) -> pa.Array:
    """The numbers that keys of any kind were made of."""
    if pa.types.is_struct(keys.type):
        return keys.field(0)
    if pa.types.is_string(keys.type) or pa.types.is_large_string(keys.type):
        return pc.utf8_slice_codeunits(keys, 9).cast(pa.int64())
    return keys


def names(keys: pa.Array) -> pa.Array:
    """The names that keys have."""
    digits = pc.utf8_lpad(keys.cast(pa.string()), 11, "0")
    return pc.binary_join_element_wise("customer-", digits, "")


def expected_totals(keys: int) -> Totals:
    """Rows, the sum of the counts, and the characters of all names: what a reader must find."""
    return keys, keys * (keys + 1) // 2, keys * NAME_SIZE


def expect_totals(totals: Totals, path: Path, keys: int) -> None:
    """Raises ``ValueError`` for others."""
    expected = expected_totals(keys)
    if totals != expected:
        raise ValueError(f"{path} gave {totals}, expected {expected}")


def read_by_flink(flink: Flink, path: Path, keys: int, backend: Backend, runs: int) -> Run:
    """Flink adds all rows up, several times.

    Raises:
        ValueError: A result differs from what is expected.
    """
    run = flink.run("ReadKeyedState", [path.as_uri(), str(runs)], backend)
    for rows, counts, characters, *_ in run.numbers:
        expect_totals((rows, counts, characters), path, keys)
    return run


def verify(path: Path, keys: int) -> None:
    """Raises ``ValueError`` unless the savepoint has each key once, with its count and name."""
    scan = Savepoint.open(str(path)).scan(TABLE)
    numbers_of_splits = []
    for split in scan.splits():
        for batch in scan.read(split):
            numbers = _numbers_of(batch["key"])
            of_count = pc.all(pc.equal(batch["count"], pc.add(numbers, 1)), skip_nulls=False)
            of_name = pc.all(pc.equal(batch["name"], names(numbers)), skip_nulls=False)
            if not (of_count.as_py() and of_name.as_py()):
                raise ValueError(f"{path} has a key with another count or name: {split}")
            numbers_of_splits.append(numbers.to_numpy())
    if not np.array_equal(np.sort(np.concatenate(numbers_of_splits)), np.arange(keys)):
        raise ValueError(f"{path} has other keys than those from 0 to {keys}")
