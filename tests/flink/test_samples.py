"""A real Flink writes the samples again, and they are what the committed ones are."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.nightly import nightly

from state_processor import Savepoint

SAMPLES = Path(__file__).parents[2] / "sample_savepoints"

pytestmark = nightly


@pytest.fixture(scope="module", params=["1.20.5", "2.2.1"])
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the samples of the case ``currency``, fresh from one release of Flink."""
    folder = tmp_path_factory.mktemp(f"flink-{request.param}")
    script = [sys.executable, str(SAMPLES / "regenerate.py"), "--only", "currency"]
    options = ["--flink", request.param, "--into", str(folder)]
    subprocess.run([*script, *options], check=True)
    return folder


def test_every_sample_tells_the_same_as_the_committed_one(written: Path) -> None:
    folders = sorted(written.iterdir())
    assert folders
    for folder in folders:
        uids = json.loads((folder / "expected.json").read_text(encoding="utf-8"))["uids"]
        fresh = Savepoint.open(str(folder), uids=uids)
        committed = Savepoint.open(str(SAMPLES / folder.name), uids=uids)
        assert fresh.schema() == committed.schema()
        assert {operator.name for operator in fresh.operators()} == set(uids)
        assert not any(operator.catalog.problems for operator in fresh.operators())
        assert not [file for file in fresh.files() if file.is_missing]


def test_what_the_jobs_put_in_is_the_same(written: Path) -> None:
    for folder in written.iterdir():
        expected = (SAMPLES / folder.name / "expected.json").read_text(encoding="utf-8")
        assert (folder / "expected.json").read_text(encoding="utf-8") == expected
