"""Functions of streaming queries that give what those of ``PerKey.java`` give, a line per row.

Spark's workers don't have the folder of tests, so these classes go to them by value.
"""

from __future__ import annotations

import sys
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pandas as pd
from pyspark import cloudpickle
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]

HOUR_MS = 3_600_000
SHORT_MS = 3_000
DELAY_MS = 10_000


class _PerRow(StatefulProcessor):
    """Gives lines for each row, and goes on with the initial state and timers of a key."""

    handle: Any
    watermark = 0

    def handleInputRows(  # noqa: N802  # Spark calls it so
        self,
        key: Any,
        rows: Any,
        timerValues: Any,  # noqa: N803
    ) -> Iterator[pd.DataFrame]:
        self.watermark = timerValues.getCurrentWatermarkInMs()
        lines = [self.line(key, row) for frame in rows for row in frame.itertuples()]
        yield from _frame(line for line in lines if line)

    def handleInitialState(  # noqa: N802  # as above
        self,
        key: Any,
        initialState: pd.DataFrame,  # noqa: N803
        timerValues: Any,  # noqa: N803
    ) -> None:
        for row in initialState.itertuples():
            self.begin(row)
            for timestamp in getattr(row, "event_time", ()):
                self.handle.registerTimer(int(timestamp))

    def handleExpiredTimer(  # noqa: N802  # as above
        self,
        key: Any,
        timerValues: Any,  # noqa: N803
        expiredTimerInfo: Any,  # noqa: N803
    ) -> Iterator[pd.DataFrame]:
        line = self.expired(key, expiredTimerInfo.getExpiryTimeInMs())
        yield from _frame([line] if line else [])

    def line(self, key: Any, row: Any) -> str | None:
        raise NotImplementedError

    def begin(self, row: Any) -> None:
        raise NotImplementedError

    def expired(self, key: Any, timestamp: int) -> str | None:
        raise NotImplementedError

    def close(self) -> None:
        pass


class Totals(_PerRow):
    def init(self, handle: Any) -> None:
        self.handle = handle
        self.sums = handle.getValueState("sums", "total BIGINT, n BIGINT")
        self.seen = handle.getListState("seen", "v BIGINT")
        self.words = handle.getListState("words", "word STRING")

    def line(self, key: Any, row: Any) -> str:
        total, number = self.sums.get() if self.sums.exists() else (0, 0)
        total, number = total + int(row.v), number + 1
        self.sums.update((total, number))
        self.seen.appendValue((int(row.v),))
        if f"w{row.id}" not in _sorted(self.words):
            self.words.appendValue((f"w{row.id}",))
        words = ", ".join(_sorted(self.words))
        return f"total {key[0]} {total} {number} {_sorted(self.seen)} [{words}]"

    def begin(self, row: Any) -> None:
        self.sums.update((int(row.total), int(row.n)))
        self.seen.put([(int(value),) for value in row.seen])
        self.words.put([(word,) for word in row.words])


class Distinct(_PerRow):
    def init(self, handle: Any) -> None:
        self.handle = handle
        self.seen = handle.getValueState("seen", "seen BOOLEAN")

    def line(self, key: Any, row: Any) -> str | None:
        if self.seen.exists():
            return None
        self.seen.update((True,))
        return f"distinct {key[0]} {key[1]}"

    def begin(self, row: Any) -> None:
        # What a job of SQL stores has no name that pandas keeps.
        self.seen.update((True,))


class Within(_PerRow):
    def init(self, handle: Any) -> None:
        self.handle = handle
        self.expires = handle.getValueState("expires", "at BIGINT")

    def line(self, key: Any, row: Any) -> str | None:
        # Spark's timers fire when the rows of a batch are read, even if time has passed them before.
        if self.expires.exists() and self.expires.get()[0] > self.watermark:
            return None
        at = int(row.t) * 1000 + DELAY_MS
        self.expires.update((at,))
        self.handle.registerTimer(at)
        return f"within {key[0]} {int(row.t) * 1000}"

    def begin(self, row: Any) -> None:
        self.expires.update((int(row.expires),))

    def expired(self, key: Any, timestamp: int) -> None:
        if self.expires.exists() and self.expires.get()[0] <= timestamp:
            self.expires.clear()


class Groups(_PerRow):
    def init(self, handle: Any) -> None:
        self.handle = handle
        self.group = handle.getValueState("group", "n BIGINT, last BIGINT")

    def line(self, key: Any, row: Any) -> str:
        number, time = 0, int(row.t) * 1000
        if self.group.exists():
            number, last = self.group.get()
            self.handle.deleteTimer(last + HOUR_MS)
        self.group.update((number + 1, time))
        self.handle.registerTimer(time + HOUR_MS)
        return f"group {key[0]} {number + 1} {time}"

    def begin(self, row: Any) -> None:
        self.group.update(tuple(map(int, row.group.values())))

    def expired(self, key: Any, timestamp: int) -> str:
        number = self.group.get()[0]
        self.group.clear()
        return f"timeout {key[0]} {number}"


class Accounts(_PerRow):
    def init(self, handle: Any) -> None:
        self.handle = handle
        self.total = handle.getValueState("total", "n BIGINT, last BIGINT")
        self.seen = handle.getListState("seen", "v BIGINT")
        self.by_id = handle.getMapState("by_id", "id INT", "v BIGINT")

    def line(self, key: Any, row: Any) -> str:
        number = self.total.get()[0] + 1 if self.total.exists() else 1
        self.total.update((number, int(row.v)))
        self.seen.appendValue((int(row.v),))
        self.by_id.updateValue((int(row.id),), (int(row.v),))
        self.handle.registerTimer(int(row.t) * 1000 + HOUR_MS)
        seen, by_id = _sorted(self.seen), _entries(self.by_id)
        return f"account {key[0]} ({number},{row.v}) {seen} {by_id}"

    def begin(self, row: Any) -> None:
        self.total.update(tuple(map(int, row.total.values())))
        self.seen.put([(int(value),) for value in row.seen])
        for number, value in dict(row.by_id).items():
            self.by_id.updateValue((int(number),), (int(value),))

    def expired(self, key: Any, timestamp: int) -> str:
        return f"fired {key[0]} {timestamp}"


class SqlTotals(_PerRow):
    """As ``SELECT k, SUM(v), COUNT(v), AVG(CAST(v AS DOUBLE)), SUM(d), MAX(v)``, from its accumulator."""

    def init(self, handle: Any) -> None:
        self.handle = handle
        columns = "total BIGINT, n BIGINT, mean DOUBLE, m BIGINT, amount DECIMAL(38, 2), top BIGINT"
        self.sums = handle.getValueState("sums", columns)

    def line(self, key: Any, row: Any) -> str:
        value, none = int(row.v), (0, 0, 0.0, 0, Decimal(0), int(row.v))
        total, number, mean, count, amount, top = self.sums.get() if self.sums.exists() else none
        total, number, mean, count = total + value, number + 1, mean + value, count + 1
        amount, top = amount + row.d, max(top, value)
        self.sums.update((total, number, mean, count, amount, top))
        return f"totals [{key[0]}, {total}, {number}, {mean / count}, {amount}, {top}]"

    def begin(self, row: Any) -> None:
        # Its fields have the names of the plan, if the savepoint was opened with one.
        fields = row.accState.items()
        self.sums.update(tuple(value for name, value in fields if name != "$row_kind"))


class Visits(_PerRow):
    def init(self, handle: Any) -> None:
        self.handle = handle
        self.last = handle.getValueState("last", "v BIGINT", ttlDurationMs=HOUR_MS)
        self.recent = handle.getListState("recent", "v BIGINT", ttlDurationMs=SHORT_MS)
        self.by_id = handle.getMapState("by_id", "id INT", "v BIGINT", ttlDurationMs=HOUR_MS)

    def line(self, key: Any, row: Any) -> str:
        before = self.last.get()[0] if self.last.exists() else "null"
        self.last.update((int(row.v),))
        self.recent.appendValue((int(row.v),))
        self.by_id.updateValue((int(row.id),), (int(row.v),))
        return f"visit {key[0]} {before} {_sorted(self.recent)} {_entries(self.by_id)}"

    def begin(self, row: Any) -> None:
        self.last.update((int(row.last),))
        if row.recent is not None:
            self.recent.put([(int(value),) for value in row.recent])
        for number, value in dict(row.by_id).items():
            self.by_id.updateValue((int(number),), (int(value),))


def with_state(
    rows: DataFrame,
    processor: StatefulProcessor,
    *key: str,
    mode: str = "eventTime",
    initial: DataFrame | None = None,
) -> DataFrame:
    """The lines of ``transformWithStateInPandas``."""
    begun = None if initial is None else initial.groupBy(*key)
    grouped = rows.groupBy(*key)
    return grouped.transformWithStateInPandas(
        processor, "line STRING", "append", mode, initialState=begun
    )


def groups(rows: DataFrame) -> DataFrame:
    """As ``Groups``, by ``applyInPandasWithState``."""

    def count(key: Any, frames: Any, state: Any) -> Iterator[pd.DataFrame]:
        if state.hasTimedOut:
            yield pd.DataFrame({"line": [f"timeout {key[0]} {state.get[0]}"]})
            state.remove()
            return
        number, time = state.get if state.exists else (0, 0)
        lines = []
        for row in (row for frame in frames for row in frame.itertuples()):
            number, time = number + 1, int(row.t) * 1000
            lines.append(f"group {key[0]} {number} {time}")
        state.update((number, time))
        state.setTimeoutTimestamp(time + HOUR_MS)
        yield pd.DataFrame({"line": lines})

    return rows.groupBy("k").applyInPandasWithState(
        count, "line STRING", "n BIGINT, last BIGINT", "append", "EventTimeTimeout"
    )


def _frame(lines: Iterable[str]) -> Iterator[pd.DataFrame]:
    """No frame without rows: Spark can't always convert one."""
    column = list(lines)
    if column:
        yield pd.DataFrame({"line": column})


def _sorted(state: Any) -> list[Any]:
    return sorted(value for (value,) in state.get())


def _entries(state: Any) -> str:
    entries = sorted((number, value) for (number,), (value,) in state.iterator())
    return "{" + ", ".join(f"{number}={value}" for number, value in entries) + "}"
