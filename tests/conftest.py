"""What tests share: real savepoints, of this project and of a corpus beside it, and Spark."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from support.s3_server import S3Server

from savepoint_formats.program.kernel.machine_code import ALLOWANCE
from state_processor import local_session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[1]

# A first call may compile, and other tests run meanwhile: how long one takes says nothing of it.
# Half as many examples as by default find what they find in other runs: each run has others.
settings.register_profile(
    "results", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("results")


# A Spark or a Flink of the tests lives for minutes, in which code that is compiled but once is
# ready soonest: what the second compiler takes of two cores, it does not give back.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

# Folder -> the mark of its tests.
_FOLDERS = {"spark": "spark", "docs": "spark", "flink": "flink"}
_FIXTURES = ("spark", "slow")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks tests by the folder they lie in, and by the fixtures that they ask for.

    Tests that are marked ``smoke`` go last: else all of their workers would compile the kernels
    that the other tests are about to compile, twenty seconds each.
    """
    for item in items:
        marks = {_FOLDERS.get(item.path.relative_to(ROOT / "tests").parts[0])}
        marks.update(name for name in _FIXTURES if name in getattr(item, "fixturenames", ()))
        if item.get_closest_marker("smoke") is None:
            for mark in filter(None, marks):
                item.add_marker(mark)
    items.sort(key=lambda item: item.get_closest_marker("smoke") is not None)


# What runs at all runs as machine code, which is what the rows of real tables meet.
ALLOWANCE.left = 0


@pytest.fixture(scope="module", params=["machine code", "interpreted"])
def both_ways(request: pytest.FixtureRequest) -> Iterator[None]:
    """Runs the tests of a module twice: the kernel as machine code, and as plain Python."""
    ALLOWANCE.left = 0 if request.param == "machine code" else math.inf
    yield
    ALLOWANCE.left = 0


@pytest.fixture
def slow() -> None:
    """Asked for by a test that takes long: it runs with all tests, not by default."""


@pytest.fixture(scope="session")
def samples() -> Path:
    """The folder of the sample savepoints."""
    return ROOT / "sample_savepoints"


@pytest.fixture(scope="session")
def corpus() -> Path:
    """A folder with savepoints of many Flink releases; its tests are skipped without it."""
    path = Path(os.environ.get("SAVEPOINT_CORPUS", ROOT.parent / "shared" / "corpus"))
    if not path.is_dir():
        pytest.skip("no corpus of savepoints; SAVEPOINT_CORPUS names the folder of one")
    return path


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    """An object store on this machine."""
    with S3Server.running() as server:
        yield server


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The session of all tests; there is but one in a process."""
    session = local_session("local[2]", spark__sql__shuffle__partitions="2")
    yield session
    session.stop()
