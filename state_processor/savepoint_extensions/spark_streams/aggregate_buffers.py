"""The buffers of Spark's aggregates: which each aggregate has, and the column that they become.

The state of an aggregation has the buffers of all aggregates in the order of the query. Several
buffers have equal names (an average has ``sum`` and ``count``), so they are found by position.

Spark: ``aggBufferAttributes`` of each ``AggregateFunction``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType

from savepoint_extensions.spark_streams.collected_arrays import element_type
from savepoint_formats.errors import ColumnTypeError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column
    from pyspark.sql.types import DataType

    from savepoint_extensions.spark_streams.stored_fields import StoredFields


@dataclass(frozen=True, slots=True)
class AggregateKind:
    """The buffers of an aggregate, by the names that Spark gives them.

    Attributes:
        buffers: Names of the buffers. A sum of decimals has one more, ``isEmpty``.
        fields: Names of the fields of the struct that they become; a single buffer needs none.
        is_flagged: Whether the last buffer says if the first one has a value.
        is_collected: Whether the buffer is an array whose element type the user names.
    """

    buffers: tuple[str, ...]
    fields: tuple[str, ...] = ()
    is_flagged: bool = False
    is_collected: bool = False


_SUM = AggregateKind(("sum",))
_SUM_OF_DECIMALS = AggregateKind(("sum", "isEmpty"))
_MOMENTS = AggregateKind(("n", "avg", "m2"), ("n", "avg", "m2"))
_COVARIANCE = AggregateKind(("n", "xAvg", "yAvg", "ck"), ("n", "x_avg", "y_avg", "ck"))
_EXTREMUM = AggregateKind(("valueWithExtremumOrdering", "extremumOrdering"), ("value", "ordering"))
_COLLECTED = AggregateKind(("buf",), is_collected=True)

AGGREGATES: dict[str, AggregateKind] = {
    "sum": _SUM,
    "count": AggregateKind(("count",)),
    "count_if": AggregateKind(("count",)),
    "avg": AggregateKind(("sum", "count"), ("sum", "count")),
    "min": AggregateKind(("min",)),
    "max": AggregateKind(("max",)),
    "bool_and": AggregateKind(("min",)),
    "bool_or": AggregateKind(("max",)),
    "bit_and": AggregateKind(("bit_and",)),
    "bit_or": AggregateKind(("bit_or",)),
    "bit_xor": AggregateKind(("bit_xor",)),
    "first": AggregateKind(("first", "valueSet"), is_flagged=True),
    "last": AggregateKind(("last", "valueSet"), is_flagged=True),
    "max_by": _EXTREMUM,
    "min_by": _EXTREMUM,
    "stddev": _MOMENTS,
    "stddev_pop": _MOMENTS,
    "variance": _MOMENTS,
    "var_pop": _MOMENTS,
    "skewness": AggregateKind(("n", "avg", "m2", "m3"), ("n", "avg", "m2", "m3")),
    "kurtosis": AggregateKind(("n", "avg", "m2", "m3", "m4"), ("n", "avg", "m2", "m3", "m4")),
    "covar_pop": _COVARIANCE,
    "covar_samp": _COVARIANCE,
    "collect_list": _COLLECTED,
    "collect_set": _COLLECTED,
}
"""The name of an aggregate in SQL -> its buffers."""

_SKETCH = "MS["


def columns_of_aggregates(
    buffers: StoredFields, aggregates: Mapping[str, str]
) -> tuple[dict[str, Column], dict[str, pa.DataType]]:
    """A column per aggregate; and of arrays that are still bytes, the type of their elements.

    Args:
        buffers: The buffers, in the order of the query.
        aggregates: Name of the column -> the aggregate, in that order: a name of ``AGGREGATES``.
            ``collect_list`` and ``collect_set`` are followed by the type of their elements, as
            ``collect_list BIGINT``.

    Raises:
        ColumnTypeError: The aggregates have other buffers than the state.
    """
    columns, collected, place = dict[str, "Column"](), dict[str, "pa.DataType"](), 0
    for name, declared in aggregates.items():
        word, _, element = declared.strip().partition(" ")
        kind = _kind(name, word.lower(), buffers.names[place + 1 : place + 2])
        own = buffers.between(place, place + len(kind.buffers))
        if own.names != kind.buffers:
            raise ColumnTypeError(
                f"{name}={declared!r} has the buffers {', '.join(kind.buffers)}, but the state has"
                f" {', '.join(own.names) or 'no more'} there. Name the aggregates in the order of the"
                f" query; all buffers: {buffers.words}"
            )
        if kind.is_collected:
            collected[name] = _element(name, declared, element, own.fields[0].dataType)
        elif element:
            raise ColumnTypeError(f"{name}={declared!r}, expected {word!r} alone")
        columns[name] = _joined(kind, own.columns)
        place += len(kind.buffers)
    if place < len(buffers.fields):
        raise ColumnTypeError(
            f"the state has more buffers than the aggregates {', '.join(aggregates)}:"
            f" {', '.join(buffers.names[place:])}. Name each aggregate of the query, also those that"
            f" the new job lacks: {buffers.words}"
        )
    return columns, collected


def has_sketches(buffers: StoredFields) -> bool:
    """Whether some buffers are the registers of an approximate count."""
    return any(name.startswith(_SKETCH) for name in buffers.names)


def _kind(name: str, word: str, following: tuple[str, ...]) -> AggregateKind:
    """The kind with a name; ``following`` is the name of the buffer after its first one."""
    kind = AGGREGATES.get(word)
    if kind is None:
        raise ColumnTypeError(
            f"{name}={word!r} is no aggregate whose buffers are carried; these are:"
            f" {', '.join(AGGREGATES)}"
        )
    return _SUM_OF_DECIMALS if kind is _SUM and following == ("isEmpty",) else kind


def _element(name: str, declared: str, element: str, stored: DataType) -> pa.DataType:
    if not element:
        raise ColumnTypeError(
            f"{name}={declared!r} lacks the type of the elements, which Spark doesn't store: write"
            f" {declared.strip()!r} and a type, such as '{declared.strip()} BIGINT'"
        )
    if not isinstance(stored, BinaryType):
        raise ColumnTypeError(f"{name}={declared!r}, but the buffer is {stored.simpleString()}")
    known = element_type(element)
    if pa.types.is_binary(known) and declared.strip().lower().startswith("collect_set"):
        # Spark compares bytes as arrays of numbers, whose header would become part of each element.
        raise ColumnTypeError(
            f"{name}={declared!r}, but Spark stores the bytes of collect_set in another form, which is"
            " not read: collect them as text in the query, such as by hex(…)"
        )
    return known


def _joined(kind: AggregateKind, buffers: Sequence[Column]) -> Column:
    if kind.is_flagged:
        return F.when(buffers[1], buffers[0])
    if kind is _SUM_OF_DECIMALS:
        return F.when(~buffers[1], buffers[0])
    if not kind.fields:
        return buffers[0]
    named = zip(kind.fields, buffers, strict=True)
    return F.struct(*(buffer.alias(name) for name, buffer in named))
