"""The ``hashCode`` of a class, inferred from keys whose key groups a savepoint has.

A key lies in the key group that its hash code says. So a guess at a ``hashCode`` can be proved: a
wrong one explains the key group of one key with a chance of 1 to max parallelism, and those of all
keys with that chance to the power of their number. All shapes of ``hash_shapes`` are tried, over
all fields and some of them, in all orders, of many as many as takes seconds; one is taken only if it explains every key.

A first look at few keys is taken for many candidates at once; few stand it.
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
    product_of,
)
from savepoint_formats.hashing.java_hash import is_case_class, is_tuple
from savepoint_formats.hashing.shape_columns import field_hashes, shape_hashes, structure
from savepoint_formats.key_groups.ranges import key_groups_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from savepoint_formats.layout import Layout

    Hashes = NDArray[np.int32]

SAMPLE_SIZE = 20_000
"""Keys that are enough for a guess; all others must then agree with it."""

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

    Attributes:
        shape: What the hash code is made of.
        layout: That of the keys.
        keys: How many keys of different hash codes it was proved by.
        max_parallelism: The number of key groups among which they lie.
    """

    shape: HashShape
    layout: Layout
    keys: int
    max_parallelism: int

    def __call__(self, keys: pa.Array) -> Hashes:
        """The hash codes of keys, as the column ``key`` shows them."""
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
    """The ``hashCode`` of a class of keys.

    Args:
        layout: That of the keys, a POJO or another structure.
        keys: Keys of a savepoint, as the column ``key`` shows them.
        key_groups: The key group of each.
        max_parallelism: The number of key groups.

    Raises:
        UnstableHashError: No shape explains all keys, several do, or the keys are too few.
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
        # Flink's tuples are chained as records are; a class within may have booleans of its own.
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
    """That of a case class whose name is known."""
    match layout:
        case layouts.Nullable(inner):
            return _named_product(inner)
        case layouts.Pojo(class_name):
            return product_of(re.split(r"[.$]", class_name.rstrip("$"))[-1])
        case layouts.Struct(names) if is_case_class(names):
            return product_of(f"Tuple{len(names)}")
    return None


def _choices(blank: HashShape, layout: Layout, column: pa.Array) -> Iterator[_Choice]:
    """The fields whose hash codes can be computed; several ones of a nested structure."""
    fields = structure(layout) or {}
    for index, (name, field) in enumerate(fields.items()):
        values = pc.struct_field(column, name)
        for shape in _nested_shapes(_nested_blanks(blank, layout, field), field):
            try:
                yield _Choice(index, name, shape, field_hashes(blank, field, values, shape))
            except UnstableHashError:
                # An enum or an array: a hashCode that is stable leaves it out.
                continue


def _nested_blanks(blank: HashShape, owner: Layout, layout: Layout) -> Iterator[HashShape]:
    """The families of a structure within a key: that of the key, but any within a tuple."""
    if _is_tuple(owner):
        for family in _families(layout):
            if blank.booleans in (*family.booleans, BOXED):
                yield replace(blank, family=family)
    elif blank.family.mix is Mix.MURMUR and blank.family not in FAMILIES:
        yield replace(blank, family=_named_product(layout) or blank.family)
    else:
        yield blank


def _nested_shapes(blanks: Iterator[HashShape], layout: Layout) -> Iterator[HashShape | None]:
    """What a structure within a key may have for a shape; None is that of its type."""
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
    """A tuple hashes all its fields, in their order."""
    by_field: dict[int, list[int]] = {}
    for index, choice in enumerate(choices):
        by_field.setdefault(choice.field, []).append(index)
    if by_field:
        yield from product(*by_field.values())


def _orders(choices: Sequence[_Choice]) -> Iterator[tuple[int, ...]]:
    """Which fields are hashed, and in which order: all fields first, then fewer.

    Of many fields not all orders are tried: those of few of them, and the order that they have.
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
    """Candidates of one length each, some thousands at a time."""
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
    """The shape that was found.

    Raises:
        UnstableHashError: There is none, there are several, or it may be so by chance.
    """
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
    """The first of those that mean the same; booleans are left out where there are none."""
    return min(shapes, key=lambda shape: shape.booleans != BOXED)
