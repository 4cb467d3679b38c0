"""Tests with Spark of several samples: by day each has two of them, and each sample its tests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

from support.nightly import nightly

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pytest

_BY_DAY = 2


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leaves all samples of a test but two to the night; its name chooses the two.

    A test that does another thing with each sample keeps all of them.
    """
    by_test: dict[str, dict[str, list[pytest.Item]]] = {}
    for item in items:
        is_own = item.path.is_relative_to(Path(__file__).parent)
        if is_own and item.get_closest_marker(nightly.name) is None:
            samples = by_test.setdefault(item.nodeid.partition("[")[0], {})
            samples.setdefault(_params(item).get("sample", ""), []).append(item)
    for test, samples in by_test.items():
        if len({_others(same) for same in samples.values()}) == 1:
            for number, same in enumerate(samples.values(), -crc32(test.encode())):
                for item in same if number % len(samples) >= _BY_DAY else ():
                    item.add_marker(nightly)


def _others(items: Iterable[pytest.Item]) -> frozenset[str]:
    """What the tests of a sample are given beside the sample."""
    return frozenset(str({**_params(item), "sample": ""}) for item in items)


def _params(item: pytest.Item) -> dict[str, str]:
    params = item.callspec.params if hasattr(item, "callspec") else {}
    return {name: str(value) for name, value in params.items()}
