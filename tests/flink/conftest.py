"""A real Flink that restores savepoints."""

from __future__ import annotations

import re
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

import pytest
from support.flink_restore import BACKENDS, RELEASES, FlinkRestore
from support.nightly import nightly
from support.order_chain import OrderChain
from support.query_jobs import QueryServers

if TYPE_CHECKING:
    from collections.abc import Iterator


# Each release and each backend once; the other pairs are restored at night.
_BY_DAY = set(zip(RELEASES, BACKENDS, strict=True))
_BY_NIGHT = set(product(RELEASES, BACKENDS)) - _BY_DAY

_RELEASE = re.compile(r"\d+\.\d+\.\d+")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Runs a case at night only if another backend or release runs it by day."""
    _leave_pairs(items)
    _leave_releases(items)


def _leave_pairs(items: list[pytest.Item]) -> None:
    pairs = {item: _pair_of(item) for item in items}
    by_day = {_test_of(item) for item, pair in pairs.items() if pair in _BY_DAY}
    for item, pair in pairs.items():
        if pair in _BY_NIGHT and _test_of(item) in by_day:
            item.add_marker(nightly)


def _leave_releases(items: list[pytest.Item]) -> None:
    same: dict[str, dict[str, list[pytest.Item]]] = {}
    for item in items:
        is_own = item.path.is_relative_to(Path(__file__).parent)
        if is_own and item.get_closest_marker(nightly.name) is None:
            release, others = _release_and_others(item)
            by_release = same.setdefault(f"{_test_of(item)} {others}", {})
            by_release.setdefault(release, []).append(item)
    places = _places(items)
    for by_release in same.values():
        for left_out in _releases_by_night(by_release, places):
            for item in by_release[left_out]:
                item.add_marker(nightly)


def _places(items: list[pytest.Item]) -> dict[str, int]:
    """The place of each test in its module."""
    tests: dict[Path, dict[str, int]] = {}
    for item in items:
        known = tests.setdefault(item.path, {})
        known.setdefault(_test_of(item), len(known))
    return {test: place for known in tests.values() for test, place in known.items()}


def _releases_by_night(
    by_release: dict[str, list[pytest.Item]], places: dict[str, int]
) -> list[str]:
    """Releases that run at night only: all but the oldest or the newest.

    Tests of a module share the jobs of a release, so the name of the module chooses. A release has its backend by
    day, so where the backend is a parameter tests take turns, and a module has both.
    """
    releases = sorted(by_release, key=lambda release: [*map(int, re.findall(r"\d+", release))])
    item = next(iter(by_release.values()))[0]
    has_backend = _pair_of(item)[1] in BACKENDS
    turn = places[_test_of(item)] if has_backend else crc32(item.path.name.encode())
    return releases[1:] if turn % 2 else releases[:-1]


def _release_and_others(item: pytest.Item) -> tuple[str, list[tuple[str, str]]]:
    """The release of Flink that a test is given, and its other parameters but the backend."""
    params = item.callspec.params if hasattr(item, "callspec") else {}
    texts = {name: str(value) for name, value in params.items() if name != "backend"}
    named = next((name for name, text in texts.items() if _RELEASE.fullmatch(text)), "")
    return texts.pop(named, ""), sorted(texts.items())


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
def order_chain(tmp_path_factory: pytest.TempPathFactory) -> OrderChain:
    """Checkpoints of one job and its restart, which no test changes."""
    return OrderChain(tmp_path_factory.mktemp("orders"))


@pytest.fixture(scope="session")
def query_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QueryServers]:
    """Compiles and runs queries; a JVM per release serves all tests."""
    with closing(QueryServers(tmp_path_factory.mktemp("queries"))) as servers:
        yield servers
