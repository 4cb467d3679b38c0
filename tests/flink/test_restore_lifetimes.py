"""States that get or lose a time to live, and lose what is past it, restored by jobs of the other kind."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from support.changed_jobs import ChangedJobs, Version
from support.nightly import nightly

from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

STATES = ("order", "notes", "amounts")
TEXT = {
    'public String note = "new";': 'public String note = "new"; public String toString() { return note; }'
}
TTL = "orders.enableTimeToLive(TTL); texts.enableTimeToLive(TTL); numbers.enableTimeToLive(TTL);"
PLAIN = Version("plain", TEXT)
TIMED = Version("timed", {**TEXT, "            // The time to live of states.": TTL})
KEPT = {"order": ["new"] * 5, "notes": ["first"] * 5, "amounts": ["1"] * 5, "count": ["1"] * 5}


@pytest.fixture(scope="module", params=["1.20.5", pytest.param("2.2.1", marks=nightly)])
def jobs(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ChangedJobs]:
    folder = tmp_path_factory.mktemp("lifetimes")
    with closing(ChangedJobs(request.param, folder)) as made:
        yield made


def set_ttl(spark: SparkSession, savepoint: str, out: Path, *, on: bool) -> str:
    writer = Savepoint.load(spark, savepoint, uids=["orders", "audit"]).writer()
    for state in STATES:
        writer = writer.set_ttl("orders", state, on=on)
    writer.write(str(out))
    return str(out)


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_a_job_of_the_other_kind_finds_all_values(
    spark: SparkSession, jobs: ChangedJobs, tmp_path: Path, backend: str
) -> None:
    old = jobs.run(PLAIN.on(backend), form="native")
    if jobs.release.startswith("1."):
        assert "StateMigrationException" in jobs.run(TIMED.on(backend), old.savepoint).error
    timed = jobs.run(TIMED.on(backend), set_ttl(spark, old.savepoint, tmp_path / "on", on=True))
    assert {state: timed.kept[state] for state in KEPT} == KEPT
    back = jobs.run(PLAIN.on(backend), set_ttl(spark, timed.savepoint, tmp_path / "off", on=False))
    assert {state: back.kept[state] for state in KEPT} == KEPT


def test_what_is_past_its_time_is_gone_and_the_rest_is_there(
    spark: SparkSession, jobs: ChangedJobs, tmp_path: Path
) -> None:
    old = jobs.run(TIMED.on("rocksdb"))
    savepoint = Savepoint.load(spark, old.savepoint, uids=["orders", "audit"])
    later = datetime.now(UTC) + timedelta(days=8)
    expired = savepoint.expire("orders", "notes", older_than=timedelta(days=7), at=later)
    expired = expired.expire("orders", "amounts", older_than=timedelta(days=9), at=later)
    expired.write(str(tmp_path / "expired"))
    new = jobs.run(TIMED.on("rocksdb"), str(tmp_path / "expired"))
    assert new.kept.get("notes", []) == []
    others = KEPT.keys() - {"notes"}
    assert {state: new.kept[state] for state in others} == {state: KEPT[state] for state in others}
