"""Hash codes of keys with a ``hashCode`` of their own: given by the user, or inferred."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from savepoint_formats.errors import UnstableHashError, within
from savepoint_formats.hashing import (
    SAMPLE_SIZE,
    HashShape,
    inferred_hash_code,
    key_hashes,
    shape_hashes,
    structure,
)
from savepoint_formats.key_groups import key_groups_of
from savepoint_formats.scan import ReadOptions
from savepoint_formats.tables import KEY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from savepoint_database.snapshot import Operator
    from savepoint_formats.hashing import HashKeys
    from savepoint_formats.layout import Layout

_KEY_GROUP = "key_group"


@dataclass(frozen=True, slots=True)
class GivenShape:
    """Computes hash codes by a shape that the user has named."""

    shape: HashShape
    layout: Layout

    def __call__(self, keys: pa.Array) -> NDArray[np.int32]:
        return shape_hashes(self.shape, self.layout, keys)

    def __str__(self) -> str:
        return f"{self.shape}, as given"


def hash_code_of(operator: Operator, asked: HashKeys | str | None) -> HashKeys | None:
    """The function for the hash codes of an operator's keys; None if they follow from the type.

    ``asked`` is the user's function, or the text of a shape. ``UnstableHashError`` says that hash codes
    don't follow from the type, and could not be inferred.
    """
    layout = _key_layout(operator)
    if layout is None or callable(asked):
        return asked if callable(asked) else None
    if asked is not None:
        return GivenShape(HashShape.parse(asked), layout)
    if structure(layout) is None:
        return None
    keys, key_groups = _sample(operator)
    max_parallelism = operator.record.max_parallelism
    if not len(keys) or _follows(layout, keys, key_groups, max_parallelism):
        return None
    with within(f"operator {operator.name}"):
        try:
            return inferred_hash_code(layout, keys, key_groups, max_parallelism)
        except UnstableHashError as error:
            raise UnstableHashError(
                f"{error}; name the fields that its keys are hashed by, such as"
                " Objects.hash(id, name), or give a function that computes the hash codes"
            ) from error


def _key_layout(operator: Operator) -> Layout | None:
    keys = (state.key for state in operator.catalog.states if state.kind.is_keyed)
    return next((key for key in keys if key is not None), None)


def _follows(
    layout: Layout, keys: pa.Array, key_groups: NDArray[np.uint16], max_parallelism: int
) -> bool:
    try:
        return np.array_equal(key_groups_of(key_hashes(layout, keys), max_parallelism), key_groups)
    except UnstableHashError:
        return False


def _sample(operator: Operator) -> tuple[pa.Array, NDArray[np.uint16]]:
    batches: list[pa.RecordBatch] = []
    count = 0
    for batch in _key_batches(operator):
        batches.append(batch)
        count += batch.num_rows
        if count >= SAMPLE_SIZE:
            break
    if not batches:
        return pa.nulls(0), np.empty(0, np.uint16)
    table = pa.Table.from_batches(batches).slice(0, SAMPLE_SIZE).combine_chunks()
    groups = table.column(_KEY_GROUP).to_numpy().astype(np.uint16)
    return table.column(KEY).combine_chunks(), groups


def _key_batches(operator: Operator) -> Iterator[pa.RecordBatch]:
    options = ReadOptions(columns=(KEY, _KEY_GROUP), with_key_group=True)
    for table in operator.readable_tables:
        if not table.states[0].kind.is_keyed or KEY not in {
            column.name for column in table.columns
        }:
            continue
        yield from operator.scan(table, options).batches()
