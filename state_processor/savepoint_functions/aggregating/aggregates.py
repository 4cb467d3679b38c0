"""Aggregates of rows by key that can combine partial results: Count, Sum, Avg, Min, Max, TopN.

These work on columns, without a call of Python per row. ``Reducing`` and ``Aggregating`` take the
functions of state descriptors. Nulls are left out, as in SQL. A key with only nulls has the result
null (``Count``: 0, ``TopN``: an empty array).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    IntegralType,
    NumericType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from savepoint_database.types import (
    SPARK,
    AggregateFunction,
    AggregatingStateDescriptor,
    ReducingStateDescriptor,
    Types,
    expect_type,
    given,
    python_values,
)
from savepoint_formats.errors import ColumnTypeError, NotMergeableError
from savepoint_functions.aggregating.accumulators import (
    Aggregated,
    Counted,
    Extreme,
    Mean,
    Reduced,
    Summed,
    Top,
)
from savepoint_functions.aggregating.bound_aggregate import (
    BoundAggregate,
    accumulated,
    grouped_sum,
    sum_type,
    summed_column,
    wider,
)
from savepoint_spark.columns import (
    arrow_type_of,
    column_of,
    fitted,
    natural_type,
    spark_type_of,
)
from savepoint_spark.session import expect_release

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from savepoint_database.types import StateDescriptor, TypeInformation

_ORDERED = (
    NumericType,
    StringType,
    BinaryType,
    BooleanType,
    DateType,
    TimestampType,
    TimestampNTZType,
)
_EXACT = (StringType(), BooleanType(), BinaryType(), DateType())
_EXACT_KINDS = (IntegralType, DecimalType, TimestampType, TimestampNTZType)


class Aggregate(Protocol):
    """An aggregate of the rows of a key."""

    def bind(self, name: str, data: DataFrame) -> BoundAggregate:
        """The aggregate of the rows of a DataFrame, with results in the column ``name``.

        Raises:
            ColumnNotFoundError: A column is missing.
            ColumnTypeError: The aggregate doesn't take the type of a column.
            NotMergeableError: Partial results can't be combined.
        """


@dataclass(frozen=True, slots=True)
class Count:
    """The number of rows, or of values that are not null; a ``BIGINT``.

    Attributes:
        column: The column of the values; by default rows are counted.

    Example:
        >>> rows.local_key_by("word").aggregate(count=Count()).key_by("word").rows()
    """

    column: str | None = None

    def bind(self, name: str, data: DataFrame) -> BoundAggregate:
        values = F.lit(True)
        if self.column is not None:
            values = F.when(column_of(data, self.column)[0].isNotNull(), values)
        state = partial(ReducingStateDescriptor, name, Types.LONG())
        return BoundAggregate(name, values, Counted(), accumulated, state, grouped=F.count(values))


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum: a ``BIGINT`` for whole numbers, a ``DOUBLE`` for floats, a ``DECIMAL`` for decimals.

    A sum of whole numbers that no ``BIGINT`` holds is an error, even for a partial sum, as in
    Spark. If ``spark.sql.ansi.enabled`` is off, it wraps as in Java. Sums of decimals are exact. A
    sum of floats depends on their order, so its last digits differ from run to run.

    Attributes:
        column: The column.

    Example:
        >>> rows.local_key_by("shop").aggregate(cents=Sum("cents")).key_by("shop").rows()
    """

    column: str

    def bind(self, name: str, data: DataFrame) -> BoundAggregate:
        values, _, summed = summed_column(self.column, data)

        def state() -> StateDescriptor:
            return ReducingStateDescriptor(name, sum_type(self.column, summed))

        grouped = grouped_sum(values, summed)
        return BoundAggregate(name, values, summed, accumulated, state, grouped=grouped)


@dataclass(frozen=True, slots=True)
class Avg:
    """The average: a ``DOUBLE``; for decimals a ``DECIMAL`` with four more digits after the point.

    Its accumulators are tuples of sum and count. The sum of whole numbers is exact; Spark's ``avg``
    has a ``DOUBLE``. A sum that no ``BIGINT`` holds is an error.

    Attributes:
        column: The column.

    Example:
        >>> rows.local_key_by("shop").aggregate(mean=Avg("cents")).key_by("shop").rows()
    """

    column: str

    def bind(self, name: str, data: DataFrame) -> BoundAggregate:
        values, data_type, summed = summed_column(self.column, data)
        mean = Mean(Summed(summed.type, summed.what))

        def state() -> StateDescriptor:
            total = sum_type(self.column, summed)
            return AggregatingStateDescriptor(name, Types.TUPLE([total, Types.LONG()]))

        def result(column: Column) -> Column:
            if isinstance(data_type, DecimalType):
                count = column["f1"].cast(DecimalType(20, 0))
                return (column["f0"] / count).cast(wider(data_type, 4, 4))
            return column["f0"].cast(DoubleType()) / column["f1"]

        total, count = grouped_sum(values, mean.sum), F.count(values)
        both = F.when(count > 0, F.struct(total.alias("f0"), count.alias("f1")))
        return BoundAggregate(name, values, mean, result, state, grouped=both)


@dataclass(frozen=True, slots=True)
class _Extreme:
    column: str

    is_greatest: ClassVar[bool]

    def bind(self, name: str, data: DataFrame) -> BoundAggregate:
        values, data_type = _ordered(self.column, data)
        extreme = Extreme(arrow_type_of(data_type), self.is_greatest)

        def state() -> StateDescriptor:
            return ReducingStateDescriptor(name, natural_type(self.column, data_type))

        # Spark takes either of two values that it considers equal, such as -0.0 and 0.0.
        is_exact = data_type in _EXACT or isinstance(data_type, _EXACT_KINDS)
        grouped = (F.max if self.is_greatest else F.min)(values) if is_exact else None
        return BoundAggregate(name, values, extreme, accumulated, state, grouped=grouped)


@dataclass(frozen=True, slots=True)
class Min(_Extreme):
    """The least value; NaN is the greatest of all floats.

    Attributes:
        column: The column: numbers, strings, times, booleans or bytes.

    Example:
        >>> rows.local_key_by("shop").aggregate(first=Min("sold_at")).key_by("shop").rows()
    """

    is_greatest = False


@dataclass(frozen=True, slots=True)
class Max(_Extreme):
    """The greatest value; see ``Min``.

    Attributes:
        column: The column.

    Example:
        >>> rows.local_key_by("shop").aggregate(last=Max("sold_at")).key_by("shop").rows()
    """

    is_greatest = True


@dataclass(frozen=True, slots=True)
class TopN:
    """The greatest values, as an ``ARRAY`` with the greatest first.

    Attributes:
        limit: The greatest number of values.
        column: The column, of a type that ``Min`` takes.

    Raises:
        ValueError: The limit is less than 1.

    Example:
        >>> rows.local_key_by("shop").aggregate(best=TopN(3, "cents")).key_by("shop").rows()
    """

    limit: int
    column: str

    def __post_init__(self) -> None:
        if self.limit < 1:
            raise ValueError(f"the {self.limit} greatest values, expected 1 or more")

    def bind(self, name: str, data: DataFrame) -> BoundAggregate:
        values, data_type = _ordered(self.column, data)

        def state() -> StateDescriptor:
            element = natural_type(self.column, data_type)
            return AggregatingStateDescriptor(name, Types.LIST(element))

        top = Top(arrow_type_of(data_type), self.limit)
        return BoundAggregate(name, values, top, accumulated, state)

    def merge(self, accumulator: list[Any], other: list[Any]) -> list[Any]:
        """The accumulator of two, for ``merge_local`` and for readers of local keyed state."""
        # NaN is the greatest, but comparisons with it are false.
        whole = sorted(accumulator + other, key=lambda value: (value != value, value), reverse=True)  # noqa: PLR0124
        return whole[: self.limit]


@dataclass(frozen=True, slots=True)
class Reducing:
    """The values of a column, reduced by the function of a reducing state with a call for each.

    Attributes:
        column: The column; its type fits that of the state.
        descriptor: The state, with its type and its ``reduce_function``.

    Example:
        >>> most = ReducingStateDescriptor("most", Types.LONG(), max)
        >>> rows.local_key_by("shop").aggregate(most=Reducing("cents", most)).key_by("shop").rows()
    """

    column: str
    descriptor: ReducingStateDescriptor

    def __post_init__(self) -> None:
        _expect_descriptor(self.descriptor, ReducingStateDescriptor)

    def bind(self, name: str, data: DataFrame) -> BoundAggregate:
        """See ``Aggregate``. Raises ``ValueError`` if the descriptor lacks its type or function."""
        function, wanted = self.descriptor.reduce_function, self.descriptor.value_type
        if function is None or wanted is None:
            raise _incomplete(self.descriptor, "value_type", "reduce_function")
        what = f"state {self.descriptor.name!r}"
        values = fitted(data, self.column, wanted.layout, what)
        reduced = Reduced(SPARK["refuse"].type(wanted.arrow_type), function)
        return BoundAggregate(name, values, reduced, accumulated, lambda: self.descriptor)


@dataclass(frozen=True, slots=True)
class Aggregating:
    """The values of a column, gathered by the function of an aggregating state with a call for each.

    Attributes:
        column: The column.
        descriptor: The state, with its type and its ``aggregate_function``.
        result_type: The type of the function's results; by default accumulators are the results.

    Example:
        >>> mean = AggregatingStateDescriptor("mean", Types.TUPLE([Types.LONG()] * 2), Average())
        >>> aggregate = Aggregating("cents", mean, Types.DOUBLE())
        >>> rows.local_key_by("shop").aggregate(mean=aggregate).key_by("shop").rows()
    """

    column: str
    descriptor: AggregatingStateDescriptor
    result_type: TypeInformation | None = None

    def __post_init__(self) -> None:
        _expect_descriptor(self.descriptor, AggregatingStateDescriptor)
        if self.result_type is not None:
            expect_type(self.result_type, f"result_type of state {self.descriptor.name!r}")

    def bind(self, name: str, data: DataFrame) -> BoundAggregate:
        """See ``Aggregate``. Raises ``ValueError`` if the descriptor lacks its type or function."""
        function, wanted = self.descriptor.aggregate_function, self.descriptor.accumulator_type
        if function is None or wanted is None:
            raise _incomplete(self.descriptor, "accumulator_type", "aggregate_function")
        _expect_merge(function, self.descriptor)
        aggregated = Aggregated(SPARK["refuse"].type(wanted.arrow_type), function)
        values = column_of(data, self.column)[0]
        result = accumulated if self.result_type is None else _results(function, self.result_type)
        return BoundAggregate(name, values, aggregated, result, lambda: self.descriptor)


def _expect_descriptor(descriptor: object, wanted: type[StateDescriptor]) -> None:
    if not isinstance(descriptor, wanted):
        raise TypeError(f"a {type(descriptor).__name__} is no {wanted.__name__}, expected one")


def _incomplete(descriptor: StateDescriptor, *names: str) -> ValueError:
    missing = [name for name in names if getattr(descriptor, name) is None]
    return ValueError(
        f"the descriptor of state {descriptor.name!r} has no {' and no '.join(missing)}, which"
        " aggregating needs"
    )


def _expect_merge(function: AggregateFunction, descriptor: StateDescriptor) -> None:
    merge = getattr(type(function), "merge", None) or getattr(function, "merge", None)
    # A class that inherits from the protocol has a merge that does nothing.
    if not callable(merge) or merge is AggregateFunction.merge:
        raise NotMergeableError(
            f"{type(function).__name__} of state {descriptor.name!r} has no merge: each partition"
            " has an accumulator of its own for a key, and these must become one; add"
            " merge(self, one, other), or add values to an AggregatingState in"
            " key_by(…).process(…)"
        )


def _results(function: AggregateFunction, wanted: TypeInformation) -> Any:
    """A function that makes results of a column of accumulators, by a function of Python."""
    expect_release("4.1", "a function's own get_result needs")
    from pyspark.sql.pandas.functions import arrow_udf  # noqa: PLC0415  # older releases lack it

    arrow_type = SPARK["refuse"].type(wanted.arrow_type)
    convert = given(arrow_type)

    def results(accumulators: pa.Array) -> pa.Array:
        outputs = [
            None if value is None else function.get_result(value)
            for value in python_values(accumulators)
        ]
        return pa.array(
            [None if output is None else convert(output) for output in outputs], arrow_type
        )

    results.__annotations__ = {"accumulators": pa.Array, "return": pa.Array}
    # Its stubs require the kind of function, which the annotations give.
    column_function: Any = arrow_udf
    return column_function(results, spark_type_of(wanted.arrow_type))


def _ordered(name: str, data: DataFrame) -> tuple[Column, DataType]:
    column, data_type = column_of(data, name)
    if isinstance(data_type, _ORDERED):
        return column, data_type
    raise ColumnTypeError(
        f"column {name!r} is {data_type.simpleString()}, whose values can't be compared: take a column"
        " of numbers, strings, times, booleans or bytes"
    )
