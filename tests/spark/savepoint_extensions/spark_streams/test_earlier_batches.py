"""What a query has changed between batches: an earlier batch has the states that it had then."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from support.stream_queries import counted, input_rows, joined, put, read, run

from savepoint_formats.errors import ColumnTypeError
from state_processor import SparkCheckpoint

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession


def remembering(rows: DataFrame, *names: str) -> DataFrame:
    """A query with state variables of these names, each with the number of rows since it began."""
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor  # noqa: PLC0415  # since 4.0

    class Remembering(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self.states = [handle.getValueState(name, "n BIGINT") for name in names]

        def handleInputRows(  # noqa: N802  # Spark calls it so
            self,
            key: Any,
            rows: Any,
            timerValues: Any,  # noqa: N803
        ) -> Iterator[pd.DataFrame]:
            number = sum(map(len, rows))
            for state in self.states:
                state.update(((state.get()[0] if state.exists() else 0) + number,))
            yield pd.DataFrame({"k": [key[0]]})

        def close(self) -> None:
            pass

    return rows.groupBy("k").transformWithStateInPandas(
        Remembering(), "k STRING", "update", "eventTime"
    )


@pytest.mark.usefixtures("slow")
def test_an_earlier_batch_has_the_state_variables_of_its_time(
    spark: SparkSession, tmp_path: Path
) -> None:
    for batch, names in enumerate((["before"], ["before", "added"])):
        put(tmp_path / "in", input_rows((batch,)), batch)
        run(remembering(read(spark, tmp_path / "in"), *names), tmp_path / "query")
    first, last = (SparkCheckpoint.load(spark, tmp_path / "query", it) for it in (0, None))
    assert first.operators[0].states == ("before",)
    assert {*last.operators[0].states} == {"before", "added"}
    assert {(row["k"], row["before"]) for row in first.state().collect()} == {
        (k, 4) for k in ("k0", "k1", "k2")
    }
    assert {(row["before"], row["added"]) for row in last.state().collect()} == {(8, 4)}


@pytest.mark.usefixtures("slow")
def test_a_state_variable_may_be_called_timers(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path / "in", input_rows((0,)))
    run(remembering(read(spark, tmp_path / "in"), "timers"), tmp_path / "query")
    checkpoint = SparkCheckpoint.load(spark, tmp_path / "query")
    assert {(row["k"], row["timers"]) for row in checkpoint.state().collect()} == {
        (k, 4) for k in ("k0", "k1", "k2")
    }
    assert [(it.store, it.rows) for it in checkpoint.sizes()] == [("timers", 3), ("timers", 0)]


@pytest.mark.usefixtures("slow")
def test_a_state_variable_called_like_timers_is_refused_with_a_way_out(
    spark: SparkSession, tmp_path: Path
) -> None:
    put(tmp_path / "in", input_rows((0,)))
    run(remembering(read(spark, tmp_path / "in"), "event_time"), tmp_path / "query")
    checkpoint = SparkCheckpoint.load(spark, tmp_path / "query")
    with pytest.raises(ColumnTypeError, match=r"have one name: read them .*readRegisteredTimers"):
        checkpoint.state()


def test_spark_stores_only_state_variables_as_avro(spark: SparkSession, tmp_path: Path) -> None:
    """So no other operator has such a state that would have to be read."""
    put(tmp_path / "in", input_rows((0,)))
    rows = read(spark, tmp_path / "in")
    avro = {"spark.sql.streaming.stateStore.encodingFormat": "avro"}
    for number, (query, mode) in enumerate(
        (
            (rows.groupBy("k").count(), "update"),
            (rows.dropDuplicates(["k"]), "append"),
            (rows.dropDuplicatesWithinWatermark(["k"]), "append"),
            (joined(rows, read(spark, tmp_path / "in")), "append"),
            (counted(rows), "update"),
        )
    ):
        with pytest.raises(Exception, match="format as avro is not supported for operator="):
            run(query, tmp_path / str(number), mode, **avro)
