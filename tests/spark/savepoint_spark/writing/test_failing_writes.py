"""A writer that dies leaves no savepoint behind; a task that dies is done again, and leaves nothing.

Each of these is a process of its own.
"""

from __future__ import annotations

import inspect
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F
from support.nightly import nightly
from support.spark_processes import workers_of

from savepoint_formats.errors import SavepointNotFoundError
from state_processor import OperatorTransformation, Savepoint, Types, ValueStateDescriptor

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

KEYS = 300_000


def write(spark: SparkSession, target: str, mode: str, factor: int) -> None:
    """Writes a savepoint, a number and a text for each key."""
    text = F.repeat(F.lit("x"), F.lit(200))
    data = spark.range(KEYS).select("id", (F.col("id") * factor).alias("n"), text.alias("text"))
    keyed = OperatorTransformation.bootstrap_with(data).key_by("id")
    for name, state_type in (("n", Types.LONG()), ("text", Types.STRING())):
        keyed = keyed.with_state(ValueStateDescriptor(name, state_type))
    writer = Savepoint.create(spark, parallelism=2).with_operator("operator", keyed)
    writer.write(target, mode=mode)


# Four attempts at each task, as a cluster has them.
WRITER = f"""
import sys
from pyspark.sql import SparkSession, functions as F
from state_processor import OperatorTransformation, Savepoint, Types, ValueStateDescriptor, local_session

KEYS = {KEYS}
{inspect.getsource(write)}
write(local_session("local[2, 4]"), sys.argv[1], sys.argv[2], int(sys.argv[3]))
"""


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "savepoint"


def start(target: Path, mode: str = "error", factor: int = 1) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(target), mode, str(factor)],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def end(writer: subprocess.Popen[str]) -> None:
    """Waits until the writer is done, and has no error."""
    _, output = writer.communicate(timeout=300)
    assert writer.returncode == 0, output


def wait_for_data(
    writer: subprocess.Popen[str], target: Path, known: frozenset[str], kind: str = "keyed"
) -> None:
    """Until a task has begun a file that was not there before."""
    while writer.poll() is None:
        new = [file.name for file in files(target) if file.name not in known]
        if any(name.startswith(f"{kind}-") for name in new):
            return
        time.sleep(0.01)
    pytest.fail(f"the writer ended before it was killed: {writer.communicate()[1]}")


def files(target: Path) -> list[Path]:
    return list(target.iterdir()) if target.exists() else []


def read(target: Path) -> tuple[int, int]:
    """The number of keys, and the sum of what they have."""
    scan = Savepoint.open(str(target), uids=["operator"]).scan("operator.keyed_state")
    numbers = [
        number
        for split in scan.splits()
        for batch in scan.read(split)
        for number in batch.column("n").to_pylist()
    ]
    return len(numbers), sum(numbers)


def expected(factor: int) -> tuple[int, int]:
    return KEYS, factor * KEYS * (KEYS - 1) // 2


def test_a_task_whose_worker_dies_is_done_again_and_leaves_nothing(target: Path) -> None:
    writer = start(target)
    for kind in ("runs", "keyed"):
        wait_for_data(writer, target, frozenset(), kind)
        killed = list(workers_of(writer.pid))
        assert killed
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
    end(writer)
    assert read(target) == expected(1)
    assert sorted(file.name.partition("-")[0] for file in files(target)) == [
        "_metadata",
        "keyed",
        "keyed",
    ]


@nightly
def test_a_writer_that_dies_leaves_no_savepoint(target: Path) -> None:
    writer = start(target)
    wait_for_data(writer, target, frozenset())
    os.killpg(writer.pid, signal.SIGKILL)
    writer.communicate()
    with pytest.raises(SavepointNotFoundError):
        Savepoint.open(str(target))


def test_a_savepoint_that_is_being_replaced_stays_until_the_new_one_is_there(
    spark: SparkSession, target: Path
) -> None:
    write(spark, str(target), "error", 1)
    before = frozenset(file.name for file in files(target))
    writer = start(target, "overwrite", 2)
    wait_for_data(writer, target, before)
    os.killpg(writer.pid, signal.SIGKILL)
    writer.communicate()
    assert read(target) == expected(1)
    write(spark, str(target), "overwrite", 2)
    assert read(target) == expected(2)
    assert len(files(target)) == 3
