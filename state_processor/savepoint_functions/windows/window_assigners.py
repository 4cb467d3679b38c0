"""Assigners of windows, as in Flink: of a column of timestamps, or of one row after the other.

Flink: ``TimeWindow.getWindowStartWithOffset``, ``TumblingEventTimeWindows``,
``SlidingEventTimeWindows``, ``EventTimeSessionWindows``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from pyspark.sql import functions as F

from savepoint_database.types import Types
from savepoint_functions.functions.sorted_inputs import milliseconds
from savepoint_spark.reading import GlobalWindow, TimeWindow

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from savepoint_database.types import TypeInformation

Window = TimeWindow | GlobalWindow


class WindowAssigner:
    """Assigns windows to rows.

    Attributes:
        is_merging: Whether windows of a key that overlap, or touch, merge.
        has_time: Whether windows are times, and end.
    """

    is_merging: ClassVar[bool] = False
    has_time: ClassVar[bool] = True

    @property
    def window_type(self) -> TypeInformation:
        """The type of the windows, which are namespaces of state."""
        return Types.TIME_WINDOW()

    def windows_of(self, time: int, row: Any) -> list[Window]:
        """The windows of a row with a time in ms, in the order in which Flink has them."""
        raise NotImplementedError

    def window(self, namespace: Any) -> Window:
        """The window of a namespace, as backends keep it."""
        return TimeWindow(*namespace)


@dataclass(frozen=True)
class TumblingWindows(WindowAssigner):
    """Adjacent windows of equal length; each row is in one.

    Attributes:
        size_ms: The length of each, in ms.
        offset_ms: The offset of each start from a multiple of the size, in ms; less than the size,
            negative for earlier.

    Raises:
        ValueError: A length is out of its range.

    Example:
        >>> assign_windows(sales, "sold_at", TumblingWindows(3_600_000), "hour")
    """

    size_ms: int
    offset_ms: int = 0

    def __post_init__(self) -> None:
        _expect(self.size_ms, "size_ms")
        _expect_offset(self.offset_ms, self.size_ms, "size")

    def windows(self, timestamps: Column) -> Column:
        """The windows of timestamps in ms, as an array of one."""
        return F.array(_window(_start(timestamps, self.offset_ms, self.size_ms), self.size_ms))

    def windows_of(self, time: int, row: Any) -> list[Window]:
        start = time - (time - self.offset_ms) % self.size_ms
        return [TimeWindow(start, start + self.size_ms)]


@dataclass(frozen=True)
class SlidingWindows(WindowAssigner):
    """Windows that begin at regular times and may overlap; a row is in each window that covers it.

    Attributes:
        size_ms: The length of each, in ms.
        slide_ms: The time from one start to the next, in ms. If this is more than the size, rows
            between windows are in none.
        offset_ms: The offset of each start from a multiple of the slide, in ms; less than the
            slide, negative for earlier.

    Raises:
        ValueError: A length is out of its range.

    Example:
        >>> assign_windows(sales, "sold_at", SlidingWindows(3_600_000, 60_000), "hour")
    """

    size_ms: int
    slide_ms: int
    offset_ms: int = 0

    def __post_init__(self) -> None:
        _expect(self.size_ms, "size_ms")
        _expect(self.slide_ms, "slide_ms")
        _expect_offset(self.offset_ms, self.slide_ms, "slide")

    def windows(self, timestamps: Column) -> Column:
        """The windows of timestamps in ms, as an array with the latest one first."""
        last = _start(timestamps, self.offset_ms, self.slide_ms)
        most = -(-self.size_ms // self.slide_ms)
        numbers = F.sequence(F.lit(0).cast("bigint"), F.lit(most - 1).cast("bigint"))
        starts = F.transform(numbers, lambda number: last - number * F.lit(self.slide_ms))
        covering = F.filter(starts, lambda start: start > timestamps - F.lit(self.size_ms))
        return F.transform(covering, lambda start: _window(start, self.size_ms))

    def windows_of(self, time: int, row: Any) -> list[Window]:
        last = time - (time - self.offset_ms) % self.slide_ms
        starts = range(last, time - self.size_ms, -self.slide_ms)
        return [TimeWindow(start, start + self.size_ms) for start in starts]


@dataclass(frozen=True)
class SessionWindows(WindowAssigner):
    """A window for each row, which ends a gap later; windows of a key that overlap, or touch, merge.

    ``window(column, is_merging=True)`` merges them.

    Attributes:
        gap_ms: The time from its last row to the end of a session, in ms.

    Raises:
        ValueError: The gap is not positive.

    Example:
        >>> sessions = assign_windows(clicks, "at", SessionWindows(600_000), "session")
        >>> rows = OperatorTransformation.bootstrap_with(sessions).local_key_by("user")
        >>> rows.window("session", is_merging=True).aggregate(n=Count())
    """

    gap_ms: int

    is_merging = True

    def __post_init__(self) -> None:
        _expect(self.gap_ms, "gap_ms")

    def windows(self, timestamps: Column) -> Column:
        """The windows of timestamps in ms, as an array of one."""
        return F.array(_window(timestamps, self.gap_ms))

    def windows_of(self, time: int, row: Any) -> list[Window]:
        return [TimeWindow(time, time + self.gap_ms)]


@dataclass(frozen=True)
class GlobalWindows(WindowAssigner):
    """One window for all rows of a key; a trigger fires it.

    Example:
        >>> every_100 = PurgingTrigger.of(CountTrigger.of(100))
        >>> keyed.window(GlobalWindows()).trigger(every_100)
    """

    has_time = False

    @property
    def window_type(self) -> TypeInformation:
        return Types.GLOBAL_WINDOW()

    def windows_of(self, time: int, row: Any) -> list[Window]:
        return [GlobalWindow()]

    def window(self, namespace: None) -> Window:
        return GlobalWindow()


def assign_windows(
    data: DataFrame,
    timestamps: str,
    assigner: TumblingWindows | SlidingWindows | SessionWindows,
    column: str = "window",
) -> DataFrame:
    """The rows with their windows; a row is there once for each of its windows.

    Args:
        data: The rows.
        timestamps: The column of their timestamps: a ``TIMESTAMP``, or ms since the epoch as
            ``BIGINT``. A row without one has no window.
        assigner: Gives the windows.
        column: The column for the windows: structs of ``start`` and ``end``, the end exclusive, in
            ms as ``BIGINT``.

    Raises:
        ColumnNotFoundError: There is no such column of timestamps.
        ColumnTypeError: It has no timestamps.
        ValueError: There is a column of that name already.

    Example:
        >>> hourly = assign_windows(sales, "sold_at", TumblingWindows(3_600_000), "hour")
        >>> totals = hourly.groupBy("shop", "hour").agg(F.sum("cents").alias("cents"))
        >>> keyed = OperatorTransformation.bootstrap_with(totals).key_by("shop").window("hour")
    """
    if column in data.columns:
        raise ValueError(f"there is a column {column!r} already: name another one for the windows")
    time = milliseconds(data, timestamps)
    windows = F.when(time.isNotNull(), assigner.windows(time))
    return data.withColumn(column, F.explode(windows))


def _start(timestamps: Column, offset_ms: int, size_ms: int) -> Column:
    """The start of the window; a remainder has the sign of the dividend, in Spark as in Java."""
    remainder = (timestamps - F.lit(offset_ms)) % F.lit(size_ms)
    return timestamps - F.when(remainder < 0, remainder + F.lit(size_ms)).otherwise(remainder)


def _window(start: Column, size_ms: int) -> Column:
    return F.struct(start.alias("start"), (start + F.lit(size_ms)).alias("end"))


def _expect(length_ms: int, name: str) -> None:
    if length_ms <= 0:
        raise ValueError(f"{name}={length_ms}, expected 1 ms or more")


def _expect_offset(offset_ms: int, length_ms: int, name: str) -> None:
    if abs(offset_ms) >= length_ms:
        raise ValueError(f"offset_ms={offset_ms}, expected less than the {name}, {length_ms} ms")
