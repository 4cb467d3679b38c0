"""Sends rows to the partitions whose numbers are in a column.

``repartition`` divides the hash of a column by the number of partitions. The hash of an ``INT`` can be
inverted: this finds the ``INT`` whose hash is the number of a partition. ``repartitionById`` does
the same, but only since Spark 4.1.

Source: Spark's ``HashPartitioning`` is ``pmod(hash(column), partitions)``, and ``hash`` is the 32-bit
Murmur3 of the four bytes with seed 42; bucketed tables depend on both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_BITS = 32
_SIZE = 1 << _BITS
_SEED = 42
_BYTES_OF_INT = 4


def routed(rows: DataFrame, partitions: int, partition: Column) -> DataFrame:
    """The rows, each in the partition whose number, from 0, a column has."""
    # One text, because each literal would be a call to Java; Spark evaluates it once.
    texts = F.split(F.lit(",".join(str(hashed_to(number)) for number in range(partitions))), ",")
    return rows.repartition(partitions, texts.cast("array<int>")[partition])


def hashed_to(wanted: int) -> int:
    """The signed 32-bit number whose hash in Spark SQL is ``wanted``."""
    mixed = _unshifted(wanted, 16)
    mixed = _unshifted(_quotient(mixed, 0xC2B2AE35), 13)
    mixed = _unshifted(_quotient(mixed, 0x85EBCA6B), 16) ^ _BYTES_OF_INT
    mixed = _rotated(_quotient(mixed - 0xE6546B64, 5), _BITS - 13) ^ _SEED
    number = _quotient(_rotated(_quotient(mixed, 0x1B873593), _BITS - 15), 0xCC9E2D51)
    return number - _SIZE if number >= _SIZE // 2 else number


def _quotient(product: int, factor: int) -> int:
    return product * pow(factor, -1, _SIZE) % _SIZE


def _rotated(number: int, bits: int) -> int:
    return (number << bits | number >> (_BITS - bits)) % _SIZE


def _unshifted(number: int, bits: int) -> int:
    """The number that became ``number`` by ``^ (it >> bits)``."""
    before = number
    for _ in range(_BITS // bits):
        before = number ^ (before >> bits)
    return before
