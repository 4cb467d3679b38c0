"""Infers the ``hashCode`` of a class from keys whose key groups are known.

A key's hash code decides its key group. So a guess at a ``hashCode`` can be proved: a
wrong guess explains the key group of one key with a chance of 1 to max parallelism, and the key groups
of n keys with the n-th power of that chance. All shapes of ``hash_shapes`` are tried, over all or some
fields, in all orders as far as seconds allow. A shape is taken only if it explains every key.

All candidates are first tried with few keys, because most of them fail there.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from itertools import chain, combinations, islice, permutations, product
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from savepoint_formats import layout as layouts
from savepoint_formats.errors import UnstableHashError
from savepoint_formats.hashing.hash_shapes import (
    BOXED,
    FAMILIES,
    HashFamily,
    HashShape,
    Mix,
    field_hashes,
    product_of,
    shape_hashes,
    structure,
)
from savepoint_formats.hashing.key_hash import is_case_class, is_tuple
from savepoint_formats.key_groups import key_groups_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from savepoint_formats.layout import Layout

    Hashes = NDArray[np.int32]

SAMPLE_SIZE = 20_000
"""Keys that are enough for a guess; all other keys must agree with it."""

_RECORD = next(family for family in FAMILIES if family.name == "record")
_GREATEST_CHANCE_LOG10 = -9
_FIRST_LOOK = 8
_CANDIDATES_AT_ONCE = 20_000
_ALL_ORDERS_FIELDS = 8
_SOME_ORDERS_SIZE = 4
_NESTED_ORDERS_FIELDS = 4
_MOST_SUBSETS = 1 << 14
_MOST_ORDERS = 1 << 17
_MOST_SURVIVORS = 64


@dataclass(frozen=True, slots=True)
class InferredHashCode:
    """A ``hashCode`` that explains the key groups of keys; it computes hash codes.

    ``keys`` is the number of different hash codes that prove it.
    """

    shape: HashShape
    layout: Layout
    keys: int
    max_parallelism: int

    def __call__(self, keys: pa.Array) -> Hashes:
        """The hash codes of values of the column ``key``."""
        return shape_hashes(self.shape, self.layout, keys)

    def __str__(self) -> str:
        return (
            f"{self.shape}, inferred from {self.keys:,} keys in {self.max_parallelism} key groups"
        )


@dataclass(frozen=True, slots=True)
class _Choice:
    """A field, with one way to hash it."""

    field: int
    name: str
    shape: HashShape | None
    hashes: Hashes


def inferred_hash_code(
    layout: Layout, keys: pa.Array, key_groups: NDArray[np.uint16], max_parallelism: int
) -> InferredHashCode:
    """The ``hashCode`` of a class of keys, which are values of the column ``key``.

    Raises ``UnstableHashError`` if no shape explains all keys, several do, or the keys are too few.
    """
    if structure(layout) is None:
        raise UnstableHashError("only the hashCode of a class with known fields can be inferred")
    tried, shapes = 0, []
    for blank in _blanks(layout):
        choices = list(_choices(blank, layout, keys))
        orders = _tuple_orders(choices) if _is_tuple(layout) else _orders(choices)
        for candidates in _batches(islice(orders, _MOST_ORDERS)):
            tried += len(candidates)
            for order in _survivors(blank.family, choices, candidates, key_groups, max_parallelism):
                fields = tuple((choices[shape].name, choices[shape].shape) for shape in order)
                shapes.append(replace(blank, fields=fields))
            if len(shapes) > _MOST_SURVIVORS:
                raise UnstableHashError(
                    f"{len(keys):,} keys in {max_parallelism} key groups are too few to tell one"
                    " shape of hashCode from another"
                )
    return _proved(shapes, tried, layout, keys, max_parallelism)


def _blanks(layout: Layout) -> Iterator[HashShape]:
    if _is_tuple(layout):
        # Flink chains tuples like records; a class within may have booleans of its own.
        kinds = chain([BOXED], *(family.booleans for family in FAMILIES))
        yield from (HashShape(_RECORD, (), booleans) for booleans in dict.fromkeys(kinds))
        return
    for family in _families(layout):
        for booleans in dict.fromkeys((*family.booleans, BOXED)):
            yield HashShape(family, (), booleans)


def _is_tuple(layout: Layout) -> bool:
    if isinstance(layout, layouts.Nullable):
        return _is_tuple(layout.inner)
    return isinstance(layout, layouts.Struct) and is_tuple(layout.names)


def _families(layout: Layout) -> tuple[HashFamily, ...]:
    named = _named_product(layout)
    return FAMILIES if named is None else (*FAMILIES, named)


def _named_product(layout: Layout) -> HashFamily | None:
    """The rule of a case class whose name is known."""
    match layout:
        case layouts.Nullable(inner):
            return _named_product(inner)
        case layouts.Pojo(class_name):
            return product_of(re.split(r"[.$]", class_name.rstrip("$"))[-1])
        case layouts.Struct(names) if is_case_class(names):
            return product_of(f"Tuple{len(names)}")
    return None


def _choices(blank: HashShape, layout: Layout, column: pa.Array) -> Iterator[_Choice]:
    """Ways to hash each field; there are several for a nested structure."""
    fields = structure(layout) or {}
    for index, (name, field) in enumerate(fields.items()):
        values = pc.struct_field(column, name)
        for shape in _nested_shapes(_nested_blanks(blank, layout, field), field):
            try:
                yield _Choice(index, name, shape, field_hashes(blank, field, values, shape))
            except UnstableHashError:
                # An enum or an array: a stable hashCode leaves it out.
                continue


def _nested_blanks(blank: HashShape, owner: Layout, layout: Layout) -> Iterator[HashShape]:
    """Shapes without fields for a structure in a key: the key's own family, or any in a tuple."""
    if _is_tuple(owner):
        for family in _families(layout):
            if blank.booleans in (*family.booleans, BOXED):
                yield replace(blank, family=family)
    elif blank.family.mix is Mix.MURMUR and blank.family not in FAMILIES:
        yield replace(blank, family=_named_product(layout) or blank.family)
    else:
        yield blank


def _nested_shapes(blanks: Iterator[HashShape], layout: Layout) -> Iterator[HashShape | None]:
    """Shapes that a structure in a key may have; None is the hash code of its type."""
    yield None
    fields = structure(layout)
    if fields is None or any(structure(field) is not None for field in fields.values()):
        return
    names = list(fields)
    orders: Iterable[tuple[str, ...]] = (tuple(names),)
    if len(names) <= _NESTED_ORDERS_FIELDS:
        orders = permutations(names)
    for blank, order in product(blanks, orders):
        yield replace(blank, fields=tuple((name, None) for name in order))


def _tuple_orders(choices: Sequence[_Choice]) -> Iterator[tuple[int, ...]]:
    """The only order for a tuple, which hashes all its fields in their order."""
    by_field: dict[int, list[int]] = {}
    for index, choice in enumerate(choices):
        by_field.setdefault(choice.field, []).append(index)
    if by_field:
        yield from product(*by_field.values())


def _orders(choices: Sequence[_Choice]) -> Iterator[tuple[int, ...]]:
    """Orders of hashed fields: all fields first, then fewer.

    With many fields, only few of them are tried in all orders.
    """
    by_field: dict[int, list[int]] = {}
    for index, choice in enumerate(choices):
        by_field.setdefault(choice.field, []).append(index)
    fields = list(by_field)
    for size in range(len(fields), 0, -1):
        if len(fields) <= _ALL_ORDERS_FIELDS or size <= _SOME_ORDERS_SIZE:
            chosen: Iterable[tuple[int, ...]] = permutations(fields, size)
        else:
            subsets = list(islice(combinations(fields, size), _MOST_SUBSETS))
            chosen = chain(subsets, (subset[::-1] for subset in subsets))
        for order in chosen:
            yield from product(*(by_field[field] for field in order))


def _batches(orders: Iterator[tuple[int, ...]]) -> Iterator[list[tuple[int, ...]]]:
    """Batches of candidates of one length."""
    batch: list[tuple[int, ...]] = []
    for order in orders:
        if batch and (len(batch) == _CANDIDATES_AT_ONCE or len(order) != len(batch[0])):
            yield batch
            batch = []
        batch.append(order)
    if batch:
        yield batch


def _survivors(
    family: HashFamily,
    choices: Sequence[_Choice],
    candidates: list[tuple[int, ...]],
    key_groups: NDArray[np.uint16],
    max_parallelism: int,
) -> Iterator[tuple[int, ...]]:
    """The candidates that explain the key groups of all keys."""
    if not len(key_groups):
        return
    first = np.linspace(0, len(key_groups) - 1, _FIRST_LOOK).astype(np.int64)
    few = np.stack([choice.hashes[first] for choice in choices])
    orders = np.array(candidates)
    hashes = family.combined([few[orders[:, place]] for place in range(orders.shape[1])])
    groups = key_groups_of(hashes, max_parallelism)
    for index in np.flatnonzero((groups == key_groups[first]).all(axis=1)):
        order = candidates[index]
        all_hashes = family.combined([choices[shape].hashes for shape in order])
        if np.array_equal(key_groups_of(all_hashes, max_parallelism), key_groups):
            yield order


def _proved(
    fitting: list[HashShape], tried: int, layout: Layout, keys: pa.Array, max_parallelism: int
) -> InferredHashCode:
    """The only shape; raises ``UnstableHashError`` if there are others, or chance explains it."""
    if not fitting:
        raise UnstableHashError(
            f"none of {tried:,} usual shapes of hashCode explains the key groups of its"
            f" {len(keys):,} keys"
        )
    codes = [shape_hashes(shape, layout, keys) for shape in fitting]
    if any(not np.array_equal(codes[0], code) for code in codes[1:]):
        shapes = "; ".join(map(str, fitting[:3]))
        raise UnstableHashError(f"several shapes of hashCode explain the key groups: {shapes}")
    distinct = len(np.unique(codes[0]))
    if math.log10(tried) - distinct * math.log10(max_parallelism) > _GREATEST_CHANCE_LOG10:
        raise UnstableHashError(
            f"{fitting[0]} explains the key groups, but {distinct} keys in {max_parallelism} key"
            " groups are too few to prove it"
        )
    return InferredHashCode(_plainest(fitting), layout, distinct, max_parallelism)


def _plainest(shapes: list[HashShape]) -> HashShape:
    """The first of equivalent shapes, preferably with usual booleans."""
    return min(shapes, key=lambda shape: shape.booleans != BOXED)
