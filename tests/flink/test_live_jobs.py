"""Jobs of a real cluster are found by its REST interface, and their latest snapshots are read."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack, closing
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.changed_jobs import ChangedJobs, Running, Version
from support.commands import lines, run
from support.rest_proxy import Proxy

from savepoint_formats.locations.file_io import SnapshotDirectory
from state_processor import (
    AmbiguousJobError,
    ClusterError,
    JobNotFoundError,
    Savepoint,
    SavepointNotFoundError,
    UnreachableError,
    live_snapshots,
    take_savepoint,
    watch,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.filterwarnings(
    "ignore::savepoint_formats.savepoint_warnings.NewestSnapshotWarning"
)

FLINK_1, FLINK_2 = "1.20.5", "2.2.1"


class Cluster:
    """A job ``orders`` with a checkpoint several times a second, and one ``idle`` without any."""

    def __init__(self, release: str, folder: Path, open_jobs: ExitStack) -> None:
        folder.mkdir()
        self.checkpoints = folder / "checkpoints"
        jobs = open_jobs.enter_context(closing(ChangedJobs(release, folder)))
        often = {
            "pipeline.name": "orders",
            "execution.checkpointing.interval": "1 s",
            "execution.checkpointing.dir": self.checkpoints.as_uri(),
            "execution.checkpointing.storage": "filesystem",
        }
        self.orders = jobs.start(Version("orders", config=often))
        self.idle = jobs.start(Version("idle", config={"pipeline.name": "idle"}))
        self.jobs = jobs
        self.address = f"flink://{self.orders.rest.partition('://')[2].rstrip('/')}"

    def twin(self) -> Running:
        """Another job that is called as one that runs."""
        return self.jobs.start(Version("twin", config={"pipeline.name": "twin"}))


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Cluster]]:
    folder = tmp_path_factory.mktemp("live")
    with ExitStack() as open_jobs:
        yield {
            release: Cluster(release, folder / release, open_jobs) for release in (FLINK_2, FLINK_1)
        }


@pytest.fixture(scope="module")
def cluster(clusters: dict[str, Cluster]) -> Cluster:
    return clusters[FLINK_2]


def until_checkpoint(cluster: Cluster) -> None:
    for _ in range(200):
        if any(row.kind == "checkpoint" for row in live_snapshots(f"{cluster.address}/orders")):
            return
        time.sleep(0.1)
    raise AssertionError("the job makes no checkpoint")


@pytest.mark.parametrize("release", [FLINK_1, FLINK_2])
def test_the_latest_checkpoint_of_a_job_is_read(clusters: dict[str, Cluster], release: str) -> None:
    cluster = clusters[release]
    until_checkpoint(cluster)
    for name in ("orders", cluster.orders.job):
        savepoint = Savepoint.open(f"{cluster.address}/{name}", uids=["orders", "audit"])
        assert savepoint.path.startswith(f"file:{cluster.checkpoints}/{cluster.orders.job}/chk-")
        operators = {operator.uid: operator for operator in savepoint.describe().operators}
        assert {"order", "visit"} <= {state.state for state in operators["orders"].states}
        # Flink 1 stores no names: the cluster tells them.
        assert "KeyedProcess" in str(operators["orders"].name)


def test_a_command_takes_the_job_for_a_path(cluster: Cluster) -> None:
    until_checkpoint(cluster)
    code, output = run("describe", f"{cluster.address}/orders")
    assert code == 0
    assert "orders" in output


def test_jobs_are_listed_with_their_snapshots(cluster: Cluster) -> None:
    until_checkpoint(cluster)
    rows = lines("jobs", cluster.address)
    of_orders = [row for row in rows if row["job"] == "orders"]
    assert {row["job_id"] for row in of_orders} == {cluster.orders.job}
    assert [row["id"] for row in of_orders] == sorted(
        (row["id"] for row in of_orders), reverse=True
    )
    assert of_orders[0]["size"] > 0
    assert 0 <= of_orders[0]["age_seconds"] < 60
    (idle,) = [row for row in rows if row["job"] == "idle" and not row["kind"]]
    assert (idle["id"], idle["path"], idle["state"]) == (None, "", "RUNNING")


def test_a_watch_follows_the_checkpoints_of_a_running_job(cluster: Cluster) -> None:
    until_checkpoint(cluster)
    # The job keeps one checkpoint, and takes one a second: some are gone before they are read.
    answers = watch(f"{cluster.address}/orders", uids=["orders", "audit"]).rounds(every=0.1)
    first, later = list(islice((answer for answer in answers if answer.measured), 2))
    assert first.job == cluster.orders.job
    assert {"order", "visit"} <= {it.state for it in first.states if it.operator == "orders"}
    assert (first.id or 0) < (later.id or 0)
    assert (first.problems, later.problems) == ((), ())
    assert first.intact_id == first.id
    assert {it.state for it in later.states} == {it.state for it in first.states}


def test_a_watch_of_a_job_that_was_renamed_goes_on_when_it_is_back(cluster: Cluster) -> None:
    until_checkpoint(cluster)
    answers = watch(f"{cluster.address}/order").rounds(every=0)
    answer = next(answers)
    assert answer.id is None
    assert "has no job 'order'" in answer.problems[0]
    assert "has no job" in next(answers).problems[0]


def test_a_job_without_a_checkpoint_says_so(cluster: Cluster) -> None:
    address = f"{cluster.address}/{cluster.idle.job}"
    if any(row.kind for row in live_snapshots(address)):
        pytest.skip("it has taken a savepoint since")
    with pytest.raises(
        SavepointNotFoundError, match="no completed checkpoint or savepoint yet: --trigger"
    ):
        Savepoint.open(address)


def test_a_savepoint_is_taken_when_it_is_asked_for(cluster: Cluster, tmp_path: Path) -> None:
    told: list[str] = []
    address = f"{cluster.address}/idle"
    path = take_savepoint(address, tmp_path.as_uri(), on_progress=told.append)
    assert path.startswith(f"file:{tmp_path}/savepoint-")
    assert all("of idle" in line for line in told)
    for _ in range(100):  # a cluster tells what it knew some seconds ago
        if path in [row.path for row in live_snapshots(address)]:
            break
        time.sleep(0.1)
    assert Savepoint.open(address).path == path
    arguments = ["describe", address, "--trigger-into", tmp_path.as_uri(), "--output", "json"]
    code, output = run(*arguments)
    assert code == 0
    second = json.loads(output.splitlines()[-1])["path"]
    assert second != path
    assert len(list(tmp_path.iterdir())) == 2


def test_reading_triggers_nothing(cluster: Cluster) -> None:
    until_checkpoint(cluster)
    proxy = Proxy(cluster.orders.rest.rstrip("/"))
    with proxy.running() as address:
        Savepoint.open(f"flink://{address}/orders")
        live_snapshots(f"flink://{address}")
    assert proxy.requests
    assert all(request.startswith("GET ") for request in proxy.requests)


def test_a_savepoint_that_fails_says_why(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no directory")
    with pytest.raises(ClusterError, match=r"idle could not take a savepoint: "):
        take_savepoint(f"{cluster.address}/idle", (tmp_path / "file").as_uri())


def test_an_unknown_job_and_one_name_of_two_are_told(cluster: Cluster) -> None:
    with pytest.raises(
        JobNotFoundError, match=r"has no job 'order'; it has: .*did you mean 'orders'"
    ):
        Savepoint.open(f"{cluster.address}/order")
    with pytest.raises(AmbiguousJobError, match="it has several jobs, name one by its id"):
        Savepoint.open(cluster.address)
    first, second = cluster.twin(), cluster.twin()
    with pytest.raises(AmbiguousJobError) as ambiguous:
        Savepoint.open(f"{cluster.address}/twin")
    assert first.job in str(ambiguous.value)
    assert second.job in str(ambiguous.value)


def test_a_host_that_is_not_there_is_told() -> None:
    with pytest.raises(UnreachableError, match=r"http://127\.0\.0\.1:1 does not answer: .*refused"):
        Savepoint.open("flink://127.0.0.1:1/orders")


def test_a_token_is_sent_to_who_asks_for_it(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    until_checkpoint(cluster)
    with Proxy(cluster.orders.rest.rstrip("/"), token="of-the-team").running() as address:
        with pytest.raises(
            ClusterError, match=r"refuses with 401: it asks for a token \(FLINK_REST_TOKEN\)"
        ):
            Savepoint.open(f"flink://{address}/orders")
        monkeypatch.setenv("FLINK_REST_TOKEN", "another")
        with pytest.raises(ClusterError) as refused:
            Savepoint.open(f"flink://{address}/orders")
        assert "another" not in str(refused.value)
        monkeypatch.setenv("FLINK_REST_TOKEN", "of-the-team")
        assert Savepoint.open(f"flink://{address}/orders").operators()


def test_a_checkpoint_that_vanishes_is_followed_by_the_next(cluster: Cluster) -> None:
    until_checkpoint(cluster)
    named: list[str] = []

    def until_it_is_gone(path: str, answer: bytes) -> None:
        """Holds the answer back until Flink has deleted the checkpoint that it names."""
        if not path.endswith("/checkpoints") or named:
            return
        latest = json.loads(answer)["latest"]["completed"]["external_path"]
        named.append(latest)
        for _ in range(300):
            if not Path(latest.removeprefix("file:")).exists():
                return
            time.sleep(0.1)

    proxy = Proxy(cluster.orders.rest.rstrip("/"), before_answer=until_it_is_gone)
    with proxy.running() as address:
        savepoint = Savepoint.open(f"flink://{address}/orders")
    assert not Path(named[0].removeprefix("file:")).exists()
    assert savepoint.path != named[0]


def test_a_checkpoint_that_vanishes_while_it_is_read_is_followed_by_the_next(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    until_checkpoint(cluster)
    named: list[str] = []
    read_metadata = SnapshotDirectory.read_metadata

    def read_until_it_is_gone(directory: SnapshotDirectory) -> bytes:
        data = read_metadata(directory)
        if not named:
            named.append(directory.uri)
            for _ in range(300):
                if not Path(directory.uri.removeprefix("file:")).exists():
                    break
                time.sleep(0.1)
        return data

    monkeypatch.setattr(SnapshotDirectory, "read_metadata", read_until_it_is_gone)
    savepoint = Savepoint.open(f"{cluster.address}/orders", uids=["orders"])
    assert named
    assert savepoint.path != named[0]
    # Flink goes on to delete checkpoints, but all that a description needs is read.
    operators = {operator.uid: operator for operator in savepoint.describe().operators}
    assert {"order", "visit"} <= {state.state for state in operators["orders"].states}
