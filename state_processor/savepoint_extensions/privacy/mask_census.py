"""Counts of masked values, and keys that masks would make equal: a pass over the state before writing.

Each task reads splits, masks their keys, and gives counts by state and field, and hashes of old
and new keys. Values are masked only as far as the counts need it. Spark finds new keys with several old ones.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F

from savepoint_extensions.privacy.masked_entries import Tally
from savepoint_formats.entries import distinct_hashes
from savepoint_formats.errors import MaskError
from savepoint_formats.pass_through import encoded_keys
from savepoint_spark.changing import element_arrays, operator_states
from savepoint_spark.session import rows_of_tasks, typed_errors
from savepoint_spark.writing import HASH_SIZE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray
    from pyspark.sql import SparkSession

    from savepoint_database.snapshot import Operator
    from savepoint_extensions.privacy.masked_entries import MaskedOperator, Tallies
    from savepoint_formats.pass_through import KeyChoice
    from savepoint_formats.state_files import StateChunk
    from savepoint_spark.changing import MadeEntries, MadeRows, StoredKeyedRows, StoredSplit

KEY, ENTRY = "$key", "$entry"
"""Fields of rows with the hashes of keys, and of whole keys of entries with keys of maps."""

_ROWS = (
    "state STRING, field STRING, `values` BIGINT, changed BIGINT, unmatched BIGINT,"
    " old BINARY, new BINARY"
)
_SCHEMA = pa.schema(
    {
        "state": pa.string(),
        "field": pa.string(),
        "values": pa.int64(),
        "changed": pa.int64(),
        "unmatched": pa.int64(),
        "old": pa.binary(),
        "new": pa.binary(),
    }
)


def mask_census(
    spark: SparkSession,
    operator: Operator,
    masked: MaskedOperator,
    rows: StoredKeyedRows | None,
    made: Sequence[MadeRows],
    removed: frozenset[str],
) -> Tallies:
    """Counts of an operator's masked fields, or ``MaskError`` if two keys would become one.

    ``rows`` are its keyed states, and ``made`` those that the same write makes.
    """
    tallies: Tallies = {}
    if rows is not None:
        _count_keyed(spark, masked, rows, made, tallies)
    known = {state.name: state for state in operator.catalog.states}
    for name, state in operator_states(operator).items():
        if name in masked.rules and name not in removed:
            for elements in element_arrays(operator, state):
                masked.elements(elements, known[name], tallies)
    return tallies


def _count_keyed(
    spark: SparkSession,
    masked: MaskedOperator,
    rows: StoredKeyedRows,
    made: Sequence[MadeRows],
    tallies: Tallies,
) -> None:
    reading = replace(rows, spark=None)  # a session can't go to tasks
    tasks = rows_of_tasks(spark, partial(_census, masked, reading), rows.splits(), _ROWS)
    for others in made:
        source = others.source()
        entries = partial(_census_of_made, masked, others.entries(source.make), rows.choices)
        tasks = tasks.unionAll(source.data.mapInArrow(entries, _ROWS))
    counts = [F.sum(name).alias(name) for name in ("values", "changed", "unmatched")]
    of_several = F.when(F.col("keys") > 1, F.col("keys")).otherwise(0)
    by_key = tasks.groupBy("state", "field", "new").agg(
        *counts, F.countDistinct("old").alias("keys")
    )
    by_field = by_key.groupBy("state", "field").agg(*counts, F.sum(of_several).alias("equal"))
    with typed_errors():
        counted = by_field.collect()
    for row in counted:
        if row["equal"]:
            raise _equal_keys(masked, row["state"], row["field"], row["equal"])
        if row["field"] not in (KEY, ENTRY):
            counted_of = row["values"], row["changed"], row["unmatched"]
            tallies[row["state"], row["field"]] = Tally(*counted_of)


def _equal_keys(masked: MaskedOperator, state: str, field: str, count: int) -> MaskError:
    what = f"keys of the map in state {state!r}" if field == ENTRY else "keys"
    states = masked.rules.values() if field == KEY else [masked.rules[state]]
    rules = {
        str(rule) for of in states for name, rule in of.items() if not name.startswith("value")
    }
    return MaskError(
        f"{count} {what} of operator {masked.name} would become equal to others, and their states one:"
        f" {', '.join(sorted(rules))}; take a method that keeps values different, such as hash"
    )


def _census(
    masked: MaskedOperator, rows: StoredKeyedRows, split: StoredSplit
) -> Iterator[pa.RecordBatch]:
    yield from _counted(masked, rows.state_chunks(split))


def _census_of_made(
    masked: MaskedOperator,
    entries: MadeEntries,
    choices: tuple[KeyChoice, ...],
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    state_chunks = entries.state_chunks(batches)
    for choice in choices:
        state_chunks = choice.chosen(state_chunks, entries.kryo)
    yield from _counted(masked, state_chunks)


def _counted(
    masked: MaskedOperator, state_chunks: Iterable[StateChunk]
) -> Iterator[pa.RecordBatch]:
    tallies: Tallies = {}
    for state_chunk in state_chunks:
        if state_chunk.state.name not in masked.rules or not len(state_chunk.entries):
            continue
        new = replace(state_chunk, entries=masked.counted(state_chunk, tallies))
        yield from _hashed(masked, state_chunk, new)
    columns = [
        [state for state, _ in tallies],
        [field for _, field in tallies],
        [tally.values for tally in tallies.values()],
        [tally.changed for tally in tallies.values()],
        [tally.unmatched for tally in tallies.values()],
        [None] * len(tallies),
        [None] * len(tallies),
    ]
    arrays = [pa.array(column, of.type) for column, of in zip(columns, _SCHEMA, strict=True)]
    yield pa.RecordBatch.from_arrays(arrays, schema=_SCHEMA)


def _hashed(masked: MaskedOperator, old: StateChunk, new: StateChunk) -> Iterator[pa.RecordBatch]:
    """Rows with the hashes of old and new keys, each pair once."""
    columns = {name.partition(".")[0] for name in masked.rules[old.state.name]}
    if "key" in columns:
        keys = (encoded_keys(state_chunk, masked.kryo) for state_chunk in (old, new))
        yield _pairs("", KEY, *keys)
    if columns & {"map_key", "namespace"}:
        yield _pairs(old.state.name, ENTRY, old.entries.keys, new.entries.keys)


def _pairs(
    state: str, field: str, old: pa.LargeBinaryArray, new: pa.LargeBinaryArray
) -> pa.RecordBatch:
    pairs = np.unique(np.hstack([distinct_hashes(old), distinct_hashes(new)]), axis=0)
    zeros = pa.array(np.zeros(len(pairs), np.int64))
    names = [pa.array([name] * len(pairs)) for name in (state, field)]
    columns = [*names, zeros, zeros, zeros, _binary(pairs[:, :2]), _binary(pairs[:, 2:])]
    return pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)


def _binary(hashes: NDArray[np.uint64]) -> pa.Array:
    data = [None, pa.py_buffer(np.ascontiguousarray(hashes))]
    of_16 = pa.FixedSizeBinaryArray.from_buffers(pa.binary(HASH_SIZE), len(hashes), data)
    return of_16.cast(pa.binary())
