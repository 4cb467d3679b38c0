"""Snapshots whose state had to be cleaned, restored by a real Flink at another parallelism."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Any

import pytest
from support.commands import run
from support.java_jobs import JavaJobs, begun_with
from support.nightly import nightly

from savepoint_formats.errors import RescaleError
from savepoint_formats.savepoint_warnings import LostStateWarning
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

# Jobs that wait for others, and for checkpoints: minutes for each release.
pytestmark = nightly

UIDS = ("numbers", "same", "counts", "end")


@pytest.fixture(scope="module", params=["1.20.5", "2.2.1"])
def jobs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> JavaJobs:
    folder = tmp_path_factory.mktemp("life")
    return JavaJobs(request.param, folder, "life_job", "life.LifeJobs")


def answers(jobs: JavaJobs, *wanted: tuple[str, str, int]) -> list[dict[str, Any]]:
    """What jobs answer: each of a kind, from a savepoint or from nothing, with a parallelism."""
    target = (jobs.folder / "taken").as_uri()
    return jobs.run(
        text
        for kind, savepoint, parallelism in wanted
        for text in (kind, savepoint or "-", str(parallelism), target)
    )


@pytest.fixture(scope="module")
def taken(jobs: JavaJobs) -> list[str]:
    """An unaligned checkpoint with records in flight, and a savepoint whose lists have doubled twice."""
    found = answers(jobs, ("flight", "", 2), *(("union", path, 2) for path in ("", "last", "last")))
    assert not any("error" in answer for answer in found), found
    return [answer["savepoint"].removeprefix("file:") for answer in found]


def emitted(savepoint: Savepoint) -> int:
    """How many numbers the source has sent: its splits begin with 1 and 500001."""
    positions = [
        json.loads(entry.position)["next"]
        for entry in savepoint.sources().entries
        if entry.operator == "numbers"
    ]
    assert len(positions) == 2
    return sum(position - (500_001 if position > 500_000 else 1) for position in positions)


def counted(savepoint: Savepoint) -> dict[str, int]:
    rows = savepoint.scan("counts.keyed_state").to_arrow().to_pylist()
    return {row["key"]: row["count"] for row in rows}


def test_without_its_records_in_flight_a_checkpoint_is_restored_at_another_parallelism(
    jobs: JavaJobs, taken: list[str], spark: SparkSession, tmp_path: Path
) -> None:
    """Each number that was sent is counted, or in flight: so many records are dropped."""
    path = taken[0]
    savepoint = Savepoint.load(spark, path, uids=UIDS)
    with pytest.raises(RescaleError, match="savepoint convert --drop-in-flight"):
        savepoint.rescale(parallelism=3).plan(str(tmp_path / "no"), check=True)
    counts = counted(savepoint)
    in_flight = emitted(savepoint) - sum(counts.values())
    assert in_flight > 1000
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", LostStateWarning)
        lean = savepoint.convert(drop_in_flight=True)
    (warning,) = (str(one.message) for one in told if one.category is LostStateWarning)
    # Channels of outputs begin within records.
    assert warning.removeprefix("about ").startswith(f"{in_flight:,} records in flight (")
    lean.rescale(parallelism=3).write(str(tmp_path / "lean"))
    written = Savepoint.open(tmp_path / "lean", uids=UIDS)
    assert written.verify().is_whole
    assert written.describe().in_flight_size is None
    assert counted(written) == counts

    code, output = run("convert", path, tmp_path / "dry", "--drop-in-flight", "--dry-run")
    assert (code, f"{in_flight:,} records in flight (" in output) == (0, True), output

    (answer,) = answers(jobs, ("flight", begun_with(str(tmp_path / "lean")), 3))
    assert "error" not in answer, answer["error"]
    assert answer["first"]
    assert all(counts.get(key, 0) == before for key, before in answer["first"].items())


def test_a_union_list_that_doubled_has_each_element_once_at_three_parallelisms(
    jobs: JavaJobs, taken: list[str], spark: SparkSession, tmp_path: Path
) -> None:
    savepoint = Savepoint.load(spark, taken[-1], uids=["doubling"])
    before = {state.state: state for state in savepoint.stats().states}
    # Two subtasks add one each, and both keep all that there were: 2, then 6, then 14.
    assert (before["union"].entries, before["union"].different) == (14, 1)
    changed = savepoint.dedupe_list("doubling", "union").dedupe_list("doubling", "list")
    changed.write(str(tmp_path / "mended"))
    mended = begun_with(str(tmp_path / "mended"))
    for parallelism, answer in zip(
        (1, 2, 4), answers(jobs, *(("union", mended, count) for count in (1, 2, 4))), strict=True
    ):
        assert answer["seen"] == ["same"] * parallelism, answer
