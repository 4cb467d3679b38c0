"""The buffers of Spark's aggregates: which each aggregate has, and the column that they become.

The state of an aggregation has the buffers of all aggregates in the order of the query. Several
buffers have equal names (an average has ``sum`` and ``count``), so they are found by position.

Spark: ``aggBufferAttributes`` of each ``AggregateFunction``.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BinaryType,
    DataType,
    DecimalType,
    DoubleType,
    LongType,
    StructField,
    StructType,
)

from savepoint_extensions.spark_streams.collected_arrays import DECIMAL, element_type
from savepoint_formats.errors import ColumnTypeError, RefusedError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column

    from savepoint_extensions.spark_streams.stored_fields import StoredFields


@dataclass(frozen=True, slots=True)
class AggregateKind:
    """The buffers of an aggregate, and the fields of the struct that several of them become.

    The last of ``is_flagged`` ones says if the first has a value. The user names the elements of an array
    that ``is_collected``.
    """

    buffers: tuple[str, ...]
    fields: tuple[str, ...] = ()
    is_flagged: bool = False
    is_collected: bool = False


_SUM = AggregateKind(("sum",))
_FLAGGED_SUM = AggregateKind(("sum", "isEmpty"))  # of decimals, and of try_sum
_AVERAGE = AggregateKind(("sum", "count"), ("sum", "count"))
_MOMENTS = ("n", "avg", "m2", "m3", "m4")
_KINDS = {
    "sum": _SUM,
    "avg": _AVERAGE,
    **{f"bit_{it}": AggregateKind((f"bit_{it}",)) for it in ("and", "or", "xor")},
    **{it: AggregateKind((it, "valueSet"), is_flagged=True) for it in ("first", "last")},
    "count count_if": AggregateKind(("count",)),
    "min bool_and": AggregateKind(("min",)),
    "max bool_or": AggregateKind(("max",)),
    "max_by min_by": AggregateKind(
        ("valueWithExtremumOrdering", "extremumOrdering"), ("value", "ordering")
    ),
    "stddev stddev_pop variance var_pop": AggregateKind(_MOMENTS[:3], _MOMENTS[:3]),
    "skewness": AggregateKind(_MOMENTS[:4], _MOMENTS[:4]),
    "kurtosis": AggregateKind(_MOMENTS, _MOMENTS),
    "covar_pop covar_samp": AggregateKind(
        ("n", "xAvg", "yAvg", "ck"), ("n", "x_avg", "y_avg", "ck")
    ),
    "collect_list collect_set": AggregateKind(("buf",), is_collected=True),
}
AGGREGATES = {name: kind for names, kind in _KINDS.items() for name in names.split()}
"""The name of an aggregate in SQL -> its buffers."""

_SKETCH = "MS["
_WHOLE, _FRACTIONS = ("tinyint", "smallint", "int", "bigint"), ("float", "double")
_SUMS: dict[str, tuple[dict[str, DataType], int]] = {
    "sum": ({**dict.fromkeys(_WHOLE, LongType()), **dict.fromkeys(_FRACTIONS, DoubleType())}, 8),
    "avg": (dict.fromkeys((*_WHOLE, *_FRACTIONS), DoubleType()), 11),
}
"""Aggregate -> how Spark sums numbers; decimals of up to so many digits are whole ones, without their point."""
_WITHOUT_POINT = ": Spark stores averages of decimals of few digits like those of other numbers, without the point"
_MORE_DIGITS, _MOST_DIGITS = 10, 38  # of a sum of decimals, and of any decimal


def columns_of_aggregates(
    buffers: StoredFields, aggregates: Mapping[str, str]
) -> tuple[dict[str, Column], dict[str, pa.DataType]]:
    """A column per aggregate; and of arrays that are still bytes, the type of their elements.

    Raises ``ColumnTypeError`` if the aggregates, see ``SparkCheckpoint.aggregation``, have other buffers.
    Columns of sums and averages raise ``RefusedError`` for those that have overflowed to null: Flink would begin
    them anew with the next row.
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
        columns[name] = _joined(name, kind, own)
        if element and not kind.is_collected:
            columns[name] = _scaled(name, declared, own, columns[name])
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
    return _FLAGGED_SUM if kind is _SUM and following == ("isEmpty",) else kind


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


def _scaled(name: str, declared: str, own: StoredFields, column: Column) -> Column:
    """A sum or an average of numbers of a known type; Spark may store decimals without their point.

    Spark sums decimals of few digits as numbers: ``DecimalAggregates`` of its optimizer.
    """
    word, _, type_name = declared.strip().lower().partition(" ")
    decimal = DECIMAL.fullmatch(type_name.strip())
    sums, most = _SUMS.get(word, ({}, 0))
    wanted = expected = sums.get(type_name.strip())
    precision, scale = map(int, decimal.groups()) if decimal else (0, 0)
    if decimal and sums and scale <= precision <= _MOST_DIGITS:
        wanted = DecimalType(min(precision + _MORE_DIGITS, _MOST_DIGITS), scale)
        expected = sums["bigint"] if precision <= most else wanted
    if wanted is None or expected is None:
        types = f", or with {', '.join(sums).upper()} or DECIMAL(p, s)" if sums else ""
        raise ColumnTypeError(f"{name}={declared!r}, expected {word!r} alone{types}")
    stored = own.fields[0].dataType
    if stored != expected:
        raise ColumnTypeError(
            f"{name}={declared!r} has a sum of {expected.simpleString()}, but the state has"
            f" {stored.simpleString()}: name the type of the query's column"
        )
    if stored == wanted or not isinstance(wanted, DecimalType):
        return column
    whole = own.columns[0].cast(DecimalType(wanted.precision, 0))
    total = (whole * F.lit(Decimal(1).scaleb(-wanted.scale))).cast(wanted)
    return total if word == "sum" else F.struct(total.alias("sum"), own.columns[1].alias("count"))


def unscaled_sums(buffers: Sequence[StructField], aggregates: Mapping[str, str]) -> list[str]:
    """The sums without a type, among the columns of the buffers, that may be of decimals without their point.

    Raises ``ColumnTypeError`` for such an average: Flink's own may be of fractions, too, and would not tell.
    """
    types = {it.name: it.dataType for it in buffers}
    # Without aggregates the columns have the names of buffers, such as sum and sum_2.
    words = {name: word.strip().lower() for name, word in aggregates.items()}
    words = words or {name: name.partition("_")[0] for name in types}
    for name, word in words.items():
        average = types[name]
        if word != "avg" or not isinstance(average, StructType):
            continue
        if average["sum"].dataType == DoubleType():
            raise ColumnTypeError(
                f"{name}='avg' lacks the type of the query's column{_WITHOUT_POINT}. Write 'avg BIGINT',"
                " 'avg DOUBLE' or, of decimals, such as 'avg DECIMAL(5, 2)'"
            )
    for first, second in pairwise([] if aggregates else types):
        if (words[first], words[second]) == _AVERAGE.buffers and types[first] == DoubleType():
            raise ColumnTypeError(
                f"{first}, {second} may be an average{_WITHOUT_POINT}. Name all aggregates of the query in"
                " their order by aggregates= (--aggregate), such as mean='avg DOUBLE'"
            )
    return [name for name, word in words.items() if word == "sum" and types[name] == LongType()]


def _joined(name: str, kind: AggregateKind, own: StoredFields) -> Column:
    first, *others = own.columns
    if kind is _FLAGGED_SUM:
        return F.when(~others[0], F.coalesce(first, _overflow(name)))
    if kind is _AVERAGE and isinstance(own.fields[0].dataType, DecimalType):
        first = F.when(others[0] > 0, F.coalesce(first, _overflow(name))).otherwise(first)
    if kind.is_flagged:
        return F.when(others[0], first)
    if not kind.fields:
        return first
    named = zip(kind.fields, (first, *others), strict=True)
    return F.struct(*(buffer.alias(field) for field, buffer in named))


def _overflow(name: str) -> Column:
    """Fails the job of a row whose sum has more digits than its type."""
    # Spark puts its own words in front. On a line of its own, typed_errors finds the message.
    return F.raise_error(
        F.lit(
            f"\n{RefusedError.__module__}.{RefusedError.__qualname__}: {name}: a sum has overflowed in"
            " the query, which gives null from then on. Flink would begin it anew with the next row:"
            " filter such keys by table(), which shows null sums, and let the new query have wider"
            " numbers\n"
        )
    )
