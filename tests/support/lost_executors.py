"""A driver whose executors die after a function has run; it tells what is left of the results.

Arguments: a folder for savepoints, and one for checkpoints. It answers with a line of JSON for each
of three runs: what its rows and its state come to, or the error of writing the state.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from savepoint_formats.errors import SavepointError
from state_processor import (
    KeyedProcessFunction,
    OperatorTransformation,
    Savepoint,
    Types,
    ValueStateDescriptor,
)
from support.spark_processes import executors_of

if TYPE_CHECKING:
    from savepoint_functions.transformations.function_result import FunctionResult

EXECUTORS, ROWS, KEYS = 2, 1000, 50
_WAIT = 120


class Totals(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

    def process_element(self, value: Any, context: Any) -> Any:
        self.total.update((self.total.value() or 0) + value.id)
        yield (value.id,)


def result_of(spark: SparkSession) -> FunctionResult:
    rows = spark.range(0, ROWS, 1, 4).withColumn("key", F.col("id") % KEYS)
    keyed = OperatorTransformation.bootstrap_with(rows).key_by("key")
    return keyed.run(Totals(), "id BIGINT")


def kill(count: int) -> None:
    """Kills executors, and waits until Spark has started others."""
    before = set(executors_of(os.getpid()))
    for pid in sorted(before)[:count]:
        os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + _WAIT
    while len(set(executors_of(os.getpid())) - before) < count and time.monotonic() < deadline:
        time.sleep(0.2)


def told(spark: SparkSession, result: FunctionResult, path: str) -> dict[str, Any]:
    try:
        Savepoint.create(spark, parallelism=2).with_operator("totals", result.state).write(path)
    except SavepointError as error:
        return {"error": type(error).__name__, "message": str(error)}
    (rows,) = result.output.agg(F.count("*"), F.sum("id")).collect()
    state = Savepoint.load(spark, path, uids=["totals"]).read_keyed_state("totals")
    (totals,) = state.agg(F.count("*"), F.sum("total")).collect()
    return {"rows": list(rows), "state": list(totals)}


def main() -> None:
    folder, checkpoints = map(Path, sys.argv[1:])
    builder: Any = SparkSession.builder
    spark = (
        builder.master(f"local-cluster[{EXECUTORS},1,1024]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.deploy.maxExecutorRetries", "-1")
        .config("spark.executor.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    for number, killed in enumerate((1, EXECUTORS, EXECUTORS)):
        if number == EXECUTORS:
            spark.sparkContext.setCheckpointDir(str(checkpoints))
        result = result_of(spark)
        kill(killed)
        print(json.dumps(told(spark, result, str(folder / str(number)))), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
