"""A stranger's folder is the current directory: no process imports a module from there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.nightly import nightly
from support.planted_modules import planted, ran
from support.sample_rows import SAMPLES
from support.spark_processes import spark_home

if TYPE_CHECKING:
    from collections.abc import Mapping

SAMPLE = SAMPLES / "currency-2.2.1-hashmap-canonical"
PROGRAM = str(Path(sys.executable).with_name("savepoint"))
COUNT = "SELECT count(*) AS n FROM summarize.keyed_state"

# A program of a user, in a folder of its own: each kind of worker that Spark starts.
JOB = """\
import os, sys
from pyspark.sql import functions as F
from state_processor import Savepoint, local_session

def places(_):
    import sys
    yield repr(sys.path)

if __name__ == "__main__":
    spark = local_session("local[1]")
    table = spark.read.format("savepoint").option("table", "summarize.keyed_state").load(".")
    print("rows", table.count())
    print("udf", spark.range(1).select(F.udf(lambda n: n)("id")).collect())
    stream = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 1).load()
    query = stream.writeStream.foreachBatch(lambda rows, _: rows.count()).trigger(once=True)
    query.start().awaitTermination()
    java = spark.sparkContext._jvm.java.lang.System
    for name in ("java.class.path", "java.library.path"):
        for place in str(java.getProperty(name)).split(os.pathsep):
            assert os.path.isabs(place), (name, place)
    (found,) = spark.sparkContext.parallelize([1], 1).mapPartitions(places).collect()
    assert os.getcwd() not in found, found
"""


def run(folder: Path, *words: str, **variables: str) -> str:
    """Output of a command in a folder."""
    done = subprocess.run(
        words,
        cwd=folder,
        env={**_environment(), **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran(folder) == {}
    assert done.returncode == 0, done.stderr
    return done.stdout


def _environment() -> Mapping[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return planted(tmp_path / "stranger", SAMPLE)


@pytest.mark.parametrize("workers", ["forked", pytest.param("of Spark", marks=nightly)])
def test_a_command_with_spark_imports_none(folder: Path, tmp_path: Path, workers: str) -> None:
    variables = {} if workers == "forked" else {"SPARK_HOME": str(spark_home(tmp_path))}
    words = (PROGRAM, "query", ".", "--engine", "spark", "--output", "json", COUNT)
    assert run(folder, *words, **variables) == '{"n": 24}\n'


def test_a_program_elsewhere_imports_none(folder: Path, tmp_path: Path) -> None:
    job = tmp_path / "job" / "job.py"
    job.parent.mkdir()
    job.write_text(JOB, encoding="utf-8")
    assert "rows 24" in run(folder, sys.executable, str(job))


@nightly
def test_a_module_of_the_program_is_found_as_before(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("def double(n):\n    return 2 * n\n", encoding="utf-8")
    words = (
        "from state_processor import local_session; from pyspark.sql import functions as F;"
        " import own; spark = local_session('local[1]');"
        " print(spark.range(1, 2).select(F.udf(own.double, 'long')('id')).collect()[0][0])"
    )
    assert run(tmp_path, sys.executable, "-c", words) == "2\n"
