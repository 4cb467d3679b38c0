"""Times of last access of values, elements and entries that change.

| state | whose time a new value takes                                                            |
|-------|-----------------------------------------------------------------------------------------|
| value | that of the value before                                                                |
| list  | that of the element before: of the equal one if elements are added, removed or put into |
|       | another order, else of the one at the same place                                        |
| map   | that of the entry with the same key                                                     |

What had no time before gets the time that the user gives, or else the time of writing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, LongType, MapType, TimestampType

from savepoint_formats.errors import ColumnTypeError, SchemaChangeError
from savepoint_formats.layout import Layout, MapOf, Nullable, Repeated, Ttl, without_ttl
from savepoint_spark.columns import column_of, fits

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

TIMESTAMP, VALUE = "timestamp", "value"

_UNTOLD = (
    "elements with maps in them can't be compared, so nothing tells their times of last access"
    " where a list gets more or fewer of them: give last_access, an array with a time per element"
)
# Spark puts its own words in front. On a line of its own, typed_errors finds the message.
_RAISED = f"\n{SchemaChangeError.__module__}.{SchemaChangeError.__qualname__}: {_UNTOLD}\n"


def has_times(stored: Layout) -> bool:
    """Whether values have the time of their last access."""
    return without_ttl(stored) != stored


def without_times(column: Column, stored: Layout) -> Column:
    """Values with TTL as the job sees them."""
    match stored:
        case Ttl():
            return column.getField(VALUE)
        case Repeated(Ttl()):
            return F.transform(column, lambda timed: timed.getField(VALUE))
        case MapOf(_, Ttl() | Nullable(Ttl())):
            return F.transform_values(column, lambda _key, timed: timed.getField(VALUE))
        case _:
            return column


@dataclass(frozen=True)
class NewTimes:
    """The times of new values: ``given`` by the user, of this type, or else ``now_ms``.

    An array or a map of times gives one per element or entry, also to those that had one.
    """

    now_ms: int
    given: Column | None = None
    given_type: DataType | None = None

    @classmethod
    def of(cls, data: DataFrame, name: str, now_ms: int, stored: Layout) -> NewTimes:
        """The times in a column of this name, if there is one.

        Raises ``ColumnTypeError`` if its type is none of times of such a state.
        """
        if name not in data.columns:
            return cls(now_ms)
        given, given_type = column_of(data, name)
        times = cls(now_ms, given, given_type)
        each = times._each
        is_for_each = each is not given_type
        is_fitting = isinstance(stored, Repeated if isinstance(given_type, ArrayType) else MapOf)
        is_time = isinstance(each, TimestampType) or (each is not None and fits(each, LongType()))
        if not is_time or (is_for_each and not is_fitting):
            raise ColumnTypeError(
                f"last_access is {given_type.simpleString()}, expected a timestamp or milliseconds"
                " as bigint; for a list an array of them, for a map a map of them by its keys"
            )
        return times

    @property
    def _each(self) -> DataType | None:
        match self.given_type:
            case ArrayType():
                return self.given_type.elementType
            case MapType():
                return self.given_type.valueType
            case _:
                return self.given_type

    def time(self, own: Column, given: Column | None = None) -> Column:
        """The time of a value that may have had one; ``given`` is its own in an array or map."""
        now = F.timestamp_millis(F.lit(self.now_ms))
        if self.given is None:
            return F.coalesce(own, now)
        if given is None:
            return F.coalesce(own, self._timestamp(self.given), now)
        return F.coalesce(self._timestamp(given), own, now)

    def _timestamp(self, given: Column) -> Column:
        if isinstance(self._each, TimestampType):
            return given
        return F.timestamp_millis(given.cast("bigint"))

    def of_element(self, place: Column) -> Column | None:
        is_array = self.given is not None and isinstance(self.given_type, ArrayType)
        return F.get(self.given, place) if self.given is not None and is_array else None

    def of_entry(self, key: Column) -> Column | None:
        is_map = self.given is not None and isinstance(self.given_type, MapType)
        return F.try_element_at(self.given, key) if self.given is not None and is_map else None


def with_times(
    column: Column, column_type: DataType, before: Column, stored: Layout, times: NewTimes
) -> Column:
    """New values with their times of last access; ``before`` has those and the values before."""

    def timed(value: Column, time: Column) -> Column:
        return F.struct(time.alias(TIMESTAMP), value.alias(VALUE))

    match stored:
        case Ttl():
            new = timed(column, times.time(before.getField(TIMESTAMP)))
            # A null that Flink stored with its time stays.
            is_null = before.isNotNull() & before.getField(VALUE).isNull()
            return F.when(column.isNotNull() | is_null, new)
        case Repeated(Ttl()):
            own = _own_times(column, column_type, before)

            def element(value: Column, place: Column) -> Column:
                return timed(value, times.time(F.get(own, place), times.of_element(place)))

            return F.transform(column, element)
        case MapOf(_, Ttl() | Nullable(Ttl())):

            def entry(key: Column, value: Column) -> Column:
                old = F.try_element_at(before, key)
                # Not even a time is stored of an entry that is null itself.
                is_nothing = F.map_contains_key(before, key) & old.isNull() & value.isNull()
                time = times.time(old.getField(TIMESTAMP), times.of_entry(key))
                return F.when(F.coalesce(~is_nothing, F.lit(True)), timed(value, time))

            return F.transform_values(column, entry)
        case _:
            return column


def _own_times(new: Column, new_type: DataType, before: Column) -> Column:
    """The times that the elements of a list had; null for new ones."""
    by_place = F.transform(new, lambda _, place: F.get(before, place).getField(TIMESTAMP))
    if not _is_comparable(new_type):
        is_told = (F.size(new) == F.size(before)) | (F.coalesce(F.size(before), F.lit(0)) <= 0)
        return F.when(is_told, by_place).otherwise(
            F.raise_error(F.lit(_RAISED)).cast("array<timestamp>")
        )
    old = F.transform(before, lambda timed: timed.getField(VALUE))

    def of_equal(value: Column, place: Column) -> Column:
        equals = F.filter(before, lambda timed: timed.getField(VALUE).eqNullSafe(value))
        seen = F.filter(F.slice(new, 1, place + 1), lambda other: other.eqNullSafe(value))
        return F.get(equals, F.size(seen) - 1).getField(TIMESTAMP)

    is_longer = F.slice(new, 1, F.size(old)) == old
    is_another = (F.size(new) == F.size(old)) & (F.array_sort(new) != F.array_sort(old))
    by_value = F.transform(new, of_equal)
    return F.when(is_longer | is_another, by_place).otherwise(by_value)


def _is_comparable(data_type: DataType) -> bool:
    return "map<" not in data_type.simpleString()
