"""Windows that merge, such as sessions: no two of a key may overlap or touch.

Flink merges such windows when rows arrive, and expects restored windows to be merged.

Flink: ``TimeWindow.mergeWindows``, ``TimeWindow.intersects``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from pyspark.sql import Window
from pyspark.sql import functions as F

from savepoint_formats.errors import OverlappingWindowsError
from savepoint_formats.values.element_rows import Collections
from savepoint_spark.columns import column_of
from savepoint_spark.writing.grouped_rows import Grouping
from savepoint_spark.writing.keyed_rows import KeyedRows
from savepoint_spark.writing.run_encoding import KEY, NAMESPACE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from savepoint_spark.writing.handed_runs import MakeRuns, RunSource

_NUMBER = "number of the merged window"


def merged_windows(data: DataFrame, keys: tuple[str, ...]) -> DataFrame:
    """The rows, with the column ``namespace`` merged as Flink merges the windows of each key."""
    grouping = Grouping.of(data, keys)
    window = F.col(NAMESPACE)
    of_same = [column_of(grouping.data, name)[0] for name in grouping.columns]
    of_key = Window.partitionBy(*of_same).orderBy(window["start"])
    before = of_key.rowsBetween(Window.unboundedPreceding, -1)
    until_here = of_key.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    is_apart = F.coalesce(F.max(window["end"]).over(before) < window["start"], F.lit(True))
    apart = grouping.data.withColumn(_NUMBER, is_apart.cast("bigint"))
    numbered = apart.withColumn(_NUMBER, F.sum(_NUMBER).over(until_here))
    whole = Window.partitionBy(*of_same, _NUMBER)
    start, end = F.min(window["start"]).over(whole), F.max(window["end"]).over(whole)
    merged = F.when(window.isNotNull(), F.struct(start.alias("start"), end.alias("end")))
    return numbered.withColumn(NAMESPACE, merged).drop(_NUMBER, *grouping.added)


@dataclass(frozen=True)
class MergingWindowSets(KeyedRows):
    """A row per key with all its windows."""

    def runs(self, ids: Mapping[str, int], max_parallelism: int) -> RunSource:
        """See ``RunRows``; a task raises ``OverlappingWindowsError``."""
        source = super().runs(ids, max_parallelism)
        assert source.make is not None  # rows of a DataFrame are none yet
        (state,) = self.states
        return replace(source, make=partial(_checked, source.make, f"values {ids[state.name]}"))


def _checked(
    make: MakeRuns, column: str, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The runs of a partition, after a look at the column of pairs of windows."""

    def checked() -> Iterator[pa.RecordBatch]:
        for batch in batches:
            expect_apart(batch.column(KEY), batch.column(column))
            yield batch

    return make(checked())


def expect_apart(keys: pa.Array, sets: pa.ListArray) -> None:
    """Raises ``OverlappingWindowsError`` if two windows of a key overlap or touch."""
    lists = Collections(sets)
    windows = lists.elements.field(0)
    starts, ends = (np.asarray(windows.field(index).fill_null(0)) for index in range(2))
    order = np.lexsort((starts, lists.rows))
    rows, starts, ends = lists.rows[order], starts[order], ends[order]
    # If any two windows of a key overlap, so do two neighbours in the order of starts.
    is_same = (rows[1:] == rows[:-1]) & (starts[1:] <= ends[:-1])
    (overlapping,) = np.nonzero(is_same)
    if not len(overlapping):
        return
    first = int(overlapping[0])
    earlier, later = (f"[{starts[index]}, {ends[index]})" for index in (first, first + 1))
    raise OverlappingWindowsError(
        f"the windows {earlier} and {later} of key {keys[int(rows[first])].as_py()!r} overlap or"
        " touch, so that Flink would have merged them: give each state merge=…, or make one row of them"
        " first"
    )
