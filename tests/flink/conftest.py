"""A real Flink that restores savepoints."""

from __future__ import annotations

from contextlib import closing
from itertools import product
from typing import TYPE_CHECKING

import pytest
from support.flink_restore import BACKENDS, RELEASES, FlinkRestore
from support.nightly import nightly
from support.query_jobs import QueryServers

if TYPE_CHECKING:
    from collections.abc import Iterator


# Each release and each backend once; the other pairs are restored at night.
_BY_DAY = set(zip(RELEASES, BACKENDS, strict=True))
_BY_NIGHT = set(product(RELEASES, BACKENDS)) - _BY_DAY


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leaves a pair of release and backend to the night if its test has the pairs by day, too."""
    pairs = {item: _pair_of(item) for item in items}
    by_day = {_test_of(item) for item, pair in pairs.items() if pair in _BY_DAY}
    for item, pair in pairs.items():
        if pair in _BY_NIGHT and _test_of(item) in by_day:
            item.add_marker(nightly)


def _pair_of(item: pytest.Item) -> tuple[str, str]:
    params = item.callspec.params if hasattr(item, "callspec") else {}
    return str(params.get("flink")), str(params.get("backend"))


def _test_of(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


@pytest.fixture(scope="module", autouse=True)
def quick_java() -> Iterator[None]:
    """Java that compiles code once: its jobs last for seconds, too few for the second compiler."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        yield


@pytest.fixture(scope="session")
def flink_restore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlinkRestore]:
    """Restores a savepoint and says what Flink sees in it; a JVM per release serves all tests."""
    with closing(FlinkRestore(tmp_path_factory.mktemp("restore"))) as restore:
        yield restore


@pytest.fixture(scope="session")
def query_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QueryServers]:
    """Compiles and runs queries; a JVM per release serves all tests."""
    with closing(QueryServers(tmp_path_factory.mktemp("queries"))) as servers:
        yield servers
