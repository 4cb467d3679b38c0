"""The state of a Flink operator begins a streaming query of a real Spark: it goes on with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from pyspark.sql.streaming.stateful_processor import StatefulProcessor
from support.stream_queries import HOUR_MS, NOON, input_rows, put, read, run

from savepoint_extensions.spark_streams import starting_rows
from savepoint_formats.errors import ColumnTypeError, RefusedError
from state_processor import (
    MapStateDescriptor,
    OperatorTransformation,
    Savepoint,
    SparkCheckpoint,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

BEFORE = {"k0": 5, "k1": 7, "k9": 9}
TIMER = NOON * 1000 + HOUR_MS


@pytest.fixture(scope="module")
def savepoint(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """``totals`` with a value, a map and timers; ``mixed`` with timers of both domains; windows."""
    rows = spark.createDataFrame(
        [(k, n, {1: n}, [TIMER, TIMER + n]) for k, n in BEFORE.items()],
        "k STRING, n BIGINT, by_id MAP<INT, BIGINT>, at ARRAY<BIGINT>",
    )
    keyed = OperatorTransformation.bootstrap_with(rows).key_by("k")
    totals = keyed.with_state(ValueStateDescriptor("n", Types.LONG())).with_state(
        MapStateDescriptor("by_id", Types.INT(), Types.LONG())
    )
    windows = rows.selectExpr("k", "n", "struct(0L AS start, 10L AS end) AS w")
    windowed = OperatorTransformation.bootstrap_with(windows).key_by("k").window("w")
    path = str(tmp_path_factory.mktemp("flink") / "savepoint")
    writer = Savepoint.create(spark).with_operator("totals", totals.with_timers(event_time="at"))
    writer = writer.with_operator("mixed", keyed.with_timers(event_time="at", processing_time="n"))
    writer.with_operator("windows", windowed.reduce(Types.LONG(), "n")).write(path)
    return path


def going_on(rows: DataFrame, initial: DataFrame) -> DataFrame:
    class Totals(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self.handle = handle
            self.number = handle.getValueState("n", "n BIGINT")
            self.by_id = handle.getMapState("by_id", "id INT", "v BIGINT")

        def handleInitialState(  # noqa: N802  # Spark calls it so
            self,
            key: Any,
            initialState: pd.DataFrame,  # noqa: N803
            timerValues: Any,  # noqa: N803
        ) -> None:
            for row in initialState.itertuples():
                self.number.update((int(row.n),))
                for number, value in dict(row.by_id).items():
                    self.by_id.updateValue((int(number),), (int(value),))
                for timestamp in row.event_time:
                    self.handle.registerTimer(int(timestamp))

        def handleInputRows(  # noqa: N802  # as above
            self,
            key: Any,
            rows: Any,
            timerValues: Any,  # noqa: N803
        ) -> Iterator[pd.DataFrame]:
            (number,) = self.number.get() if self.number.exists() else (0,)
            self.number.update((number + sum(map(len, rows)),))
            yield pd.DataFrame({"k": [key[0]], "n": [number]})

        def close(self) -> None:
            pass

    return rows.groupBy("k").transformWithStateInPandas(
        Totals(), "k STRING, n BIGINT", "update", "eventTime", initialState=initial.groupBy("k")
    )


def test_a_query_goes_on_with_values_maps_and_timers(
    spark: SparkSession, savepoint: str, tmp_path: Path
) -> None:
    loaded = Savepoint.load(spark, savepoint, uids=["totals", "mixed", "windows"])
    initial = loaded.initial_state("totals", key=["k"])
    assert initial.columns == ["k", "n", "by_id", "event_time"]
    rows = input_rows([0])
    put(tmp_path / "in", rows)
    run(going_on(read(spark, tmp_path / "in"), initial), tmp_path / "checkpoint")
    read_rows = [row["k"] for row in rows[0]]
    state = SparkCheckpoint.load(spark, tmp_path / "checkpoint").state().collect()
    assert {row["k"]: row["n"] for row in state} == {
        k: BEFORE.get(k, 0) + read_rows.count(k) for k in {*BEFORE, *read_rows}
    }
    for row in state:
        before = BEFORE.get(row["k"])
        assert row["by_id"] == (None if before is None else {1: before})
        assert row["event_time"] == (None if before is None else [TIMER, TIMER + before])


def test_what_a_query_can_t_begin_with_is_refused(spark: SparkSession, savepoint: str) -> None:
    loaded = Savepoint.load(spark, savepoint, uids=["totals", "mixed", "windows"])
    with pytest.raises(RefusedError, match="timers in event time and in processing time"):
        loaded.initial_state("mixed")
    with pytest.raises(RefusedError, match="state of windows"):
        loaded.initial_state("windows")
    with pytest.raises(ColumnTypeError, match="the key has 1 columns"):
        starting_rows.starting_rows(loaded, "totals", ["a", "b"])
    with pytest.raises(ColumnTypeError, match="'n' and 'n' have one name"):
        loaded.initial_state("totals", key=["n"])
