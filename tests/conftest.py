"""Fixtures of all tests: real savepoints, of this project and of a corpus beside it, and Spark."""

from __future__ import annotations

import gc
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from support.nightly import examples, is_night
from support.s3_server import S3Server
from support.tests_of import files_of

from savepoint_formats.program.kernel.code.library import library
from savepoint_formats.program.kernel.code.machine_code import Kernel
from state_processor import local_session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[1]

# Other tests run meanwhile: how long a call takes says nothing of it.
# Few examples find what they find in other runs: each run has others, that of each night too.
settings.register_profile(
    "results",
    deadline=None,
    derandomize=bool(os.environ.get("CI")) and not is_night(),
    max_examples=examples(60),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("results")


# A shell that starts tests in the background lets them ignore Ctrl-C, and so would programs that tests start and stop.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A Spark or a Flink of the tests lives for minutes, in which code that is compiled but once is
# ready soonest: what the second compiler takes of two cores, it does not give back.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

# For a few rows, Spark compiles code longer than it runs. At night, and in processes of their own, tests have it.
_INTERPRETED = {
    "spark__sql__codegen__wholeStage": "false",
    "spark__sql__codegen__factoryMode": "NO_CODEGEN",
}

# Folder -> the mark of its tests.
_FOLDERS = {"spark": "spark", "docs": "spark", "flink": "flink"}
# A browser takes seconds to start, and the machine of most users of the fast tests has none.
_FIXTURES = {"spark": "spark", "slow": "slow", "browser": "slow"}

# Spark gives a process of Python ten seconds to start, and gives up on it, however busy the machine is. Of other tests
# none begins again: with several processes, each test that might is asked about over a socket, which takes 40 ms.
_AGAIN = pytest.mark.flaky(
    reruns=2, only_rerun=["connect back", "has not started within 10 seconds"]
)

# What runs with the fast tests all the same.
_SMOKE = ROOT / "tests" / "spark" / "test_smoke.py"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds ``--of``, which finds the tests of a module by its name."""
    parser.addoption("--of", metavar="MODULE", help="only test files that import this module")


def pytest_configure() -> None:
    """Builds the library of kernels if they have changed, which takes longer than a test may."""
    assert library() is not None


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Passes over what lies in folders that are not asked for: its imports take seconds."""
    module = config.getoption("of")
    if module and collection_path.is_file() and collection_path not in files_of(module):
        return True
    folder, *inner = collection_path.relative_to(ROOT / "tests").parts or ("",)
    is_left_out = f"not {_FOLDERS.get(folder)}" in config.getoption("markexpr")
    return True if is_left_out and inner and collection_path != _SMOKE else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Lets nobody look for garbage among modules and collected tests, which all stay to the end."""
    gc.disable()
    yield
    gc.freeze()
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks tests by the folder they lie in, and by the fixtures that they ask for."""
    for item in items:
        marks = {_FOLDERS.get(item.path.relative_to(ROOT / "tests").parts[0])}
        marks.update(_FIXTURES.get(name) for name in getattr(item, "fixturenames", ()))
        if "spark" in marks:
            item.add_marker(_AGAIN)
        if item.get_closest_marker("smoke") is None:
            for mark in filter(None, marks):
                item.add_marker(mark)


@pytest.fixture(scope="module", params=["machine code", "interpreted"])
def both_ways(request: pytest.FixtureRequest) -> Iterator[None]:
    """Runs the tests of a module twice: the kernel as machine code, and as plain Python."""
    Kernel.is_python_wanted = request.param == "interpreted"
    yield
    Kernel.is_python_wanted = False


@pytest.fixture
def slow() -> None:
    """Asked for by a test that takes long: it runs with all tests, not by default."""


@pytest.fixture(scope="session")
def samples() -> Path:
    """The folder of the sample savepoints."""
    return ROOT / "sample_savepoints"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A real browser; its tests are skipped without one."""
    from support.browser import launched, path_of_chromium  # noqa: PLC0415  # slow, and rarely used

    path = path_of_chromium()
    if path is None:
        pytest.skip("no Chromium: apt-get install --no-install-recommends chromium")
    with launched(path) as browser:
        yield browser


@pytest.fixture(scope="session")
def corpus() -> Path:
    """A folder with savepoints of many Flink releases; its tests are skipped without it."""
    path = Path(os.environ.get("SAVEPOINT_CORPUS", ROOT.parent / "shared" / "corpus"))
    if not path.is_dir():
        pytest.skip("no corpus of savepoints; SAVEPOINT_CORPUS names the folder of one")
    return path


@pytest.fixture(scope="session")
def cases() -> Path:
    """A folder with a small input per public report of a failure; its tests are skipped without it."""
    path = Path(os.environ.get("SAVEPOINT_CASES", ROOT.parent / "shared" / "cases"))
    if not path.is_dir():
        pytest.skip("no folder of reported cases; SAVEPOINT_CASES names one")
    return path


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    """An object store on this machine."""
    with S3Server.running() as server:
        yield server


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The session of all tests; there is but one in a process."""
    session = local_session(
        "local[2]",
        spark__sql__shuffle__partitions="2",
        # A stream without new rows looks for some every 10 ms by default, while other tests want the cores.
        spark__sql__streaming__pollingDelay="100ms",
        **({} if is_night() else _INTERPRETED),
    )
    yield session
    session.stop()
