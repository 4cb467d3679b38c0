"""Where tests find real savepoints: the samples of this project, and a corpus beside it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


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
