"""Windows that are made of rows, beside those that Flink's State Processor API makes of them."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flink_home import FlinkHome
from support.maven_jars import fetched
from support.sample_rows import tables_of

from state_processor import (
    ContinuousEventTimeTrigger,
    CountTrigger,
    GlobalWindows,
    OperatorTransformation,
    ProcessWindowFunction,
    PurgingTrigger,
    Savepoint,
    SessionWindows,
    SlidingWindows,
    TumblingWindows,
    Types,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from savepoint_functions.transformations.windowed_rows import WindowFunctionRows

FLINK = "2.3.0"
SOURCES = Path(__file__).parent / "ddl_job"
SIZE, KEYS, ROWS, WINDOWS = 100, 5, 2000, 500
# Four rows of each key in each window, and a longer pause after every tenth window.
TIMES = [number * 5 + number // 200 * 300 for number in range(ROWS)]
UIDS = ["tumbling", "sliding", "session", "counted"]


def made_by_flink(path: Path) -> None:
    """Writes the savepoint of ``WindowedState.java``."""
    processor = fetched(f"processor-{FLINK}", {"flink-state-processor-api": FLINK}, is_alone=True)
    home = replace(FlinkHome.cached(FLINK), more=tuple(processor.glob("*.jar")))
    home.install()
    java = home.java(home.compiled([SOURCES]), ["-Xmx1g"])
    arguments = [f"file:{path}", str(KEYS), *map(str, TIMES)]
    subprocess.run([*java, "ddl.WindowedState", *arguments], check=True, capture_output=True)


def elements_of() -> ProcessWindowFunction:
    class Elements(ProcessWindowFunction):
        def process(self, key: Any, context: Any, elements: list[Any]) -> Iterator[Any]:
            yield from ((element,) for element in elements)

    return Elements()


def made_here(spark: SparkSession) -> dict[str, WindowFunctionRows]:
    data = spark.createDataFrame(
        [(number, time, number % KEYS) for number, time in enumerate(TIMES)],
        "n BIGINT, at BIGINT, key BIGINT",
    )
    keyed = OperatorTransformation.bootstrap_with(data).assign_timestamps("at").key_by("key")
    add, long = (lambda one, other: one + other), Types.LONG()
    return {
        "tumbling": keyed.window(TumblingWindows(SIZE)).reduce(add, long, "n"),
        "sliding": keyed.window(SlidingWindows(SIZE, SIZE))
        .trigger(ContinuousEventTimeTrigger.of(SIZE // 3))
        .reduce(add, long, "n"),
        "session": keyed.window(SessionWindows(SIZE)).process(elements_of(), long, "n"),
        "counted": keyed.window(GlobalWindows())
        .trigger(PurgingTrigger.of(CountTrigger.of(30)))
        .process(elements_of(), long, "n"),
    }


def test_windows_of_rows_are_those_of_the_state_processor_api(
    spark: SparkSession, tmp_path: Path
) -> None:
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    made_by_flink(theirs)
    writer = Savepoint.create(spark, parallelism=1)
    for uid, windows in made_here(spark).items():
        writer = writer.with_operator(uid, windows.transform())
    assert writer.write(str(ours)).left_out == ()
    expected = tables_of(str(theirs), UIDS)
    assert len(expected["tumbling.window_state"]) == WINDOWS
    assert tables_of(str(ours), UIDS) == expected
