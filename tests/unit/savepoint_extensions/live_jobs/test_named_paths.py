"""A cluster that a stranger holds names paths: no secret of this machine goes elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.commands import run
from support.rest_cluster import RestCluster, answers

from savepoint_extensions.live_jobs import flink_rest
from state_processor import ClusterError, DescriptionError, Savepoint, take_savepoint
from state_processor import kubernetes_snapshot as of_kubernetes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.s3_server import S3Server

SAMPLE = "currency-2.2.1-hashmap-canonical"


@pytest.fixture
def cluster() -> Iterator[RestCluster]:
    with RestCluster().running() as cluster:
        yield cluster


@pytest.fixture
def other(monkeypatch: pytest.MonkeyPatch) -> Iterator[RestCluster]:
    """A host of the stranger, while this machine has secrets."""
    secrets = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
    for name in (*secrets, flink_rest.TOKEN):
        monkeypatch.setenv(name, "secret")
    with RestCluster().running() as other:
        yield other


def test_the_token_goes_to_no_other_cluster(cluster: RestCluster, other: RestCluster) -> None:
    cluster.answers = answers(other.job)
    code, output = run("describe", cluster.job, "--trigger")
    assert (code, other.requests) == (1, [])
    assert "leads to another cluster, which would get the token" in output
    assert ("/jobs/overview", "Bearer secret") in cluster.requests


@pytest.mark.parametrize("trigger", [(), ("--trigger",)])
@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("s3://jobs/x?scheme=http&region=eu&endpoint_override={}", "has options"),
        ("s3://jobs?scheme=http&region=eu&endpoint_override={}", "has options"),
        ("gs://jobs/x?scheme=http&endpoint_override={}", "has options"),
        ("s3://key:word@jobs/x", "has credentials"),
        ("abfs://jobs@account/x", "must allow first (--allow-path abfs://jobs@account"),
        ("abfss://account@{}/jobs/x", "must allow first (--allow-path abfs://account@"),
        ("hdfs://{}/x", "must allow first (--allow-path hdfs://"),
        ("viewfs://{}/x", "must allow first (--allow-path viewfs://"),
    ],
)
def test_no_path_asks_another_host(
    cluster: RestCluster, other: RestCluster, path: str, reason: str, trigger: tuple[str, ...]
) -> None:
    cluster.answers = answers(path.format(other.address))
    code, output = run("describe", cluster.job, *trigger)
    assert (code, other.requests) == (1, [])
    assert reason in output


def test_a_store_gets_the_options_of_its_allowed_prefix(
    cluster: RestCluster, s3_server: S3Server, samples: Path
) -> None:
    bucket = s3_server.bucket("named")
    for file in (samples / SAMPLE).iterdir():
        s3_server.put(bucket, f"jobs/sp/{file.name}", file.read_bytes())
    cluster.answers = answers(f"s3p://{bucket}/jobs/sp")
    for prefix in (s3_server.uri(bucket, "jobs"), s3_server.uri(bucket, "jobs/sp")):
        with pytest.warns(match="is read, the newest"):
            savepoint = Savepoint.open(cluster.job, allow_paths=[prefix])
        assert len(savepoint.operators()) == 9
        path = take_savepoint(cluster.job, allow_paths=[prefix])
        assert Savepoint.open(path).metadata == savepoint.metadata


def test_a_local_path_may_have_a_question_mark(
    cluster: RestCluster, samples: Path, tmp_path: Path
) -> None:
    (tmp_path / "what?").symlink_to(samples / SAMPLE)
    cluster.answers = answers(f"file:{tmp_path}/what?")
    with pytest.warns(match="is read, the newest"):
        assert Savepoint.open(cluster.job).operators()


def test_the_directory_that_a_user_gives_is_allowed(cluster: RestCluster) -> None:
    path = "hdfs://nodes/savepoints/savepoint-1"
    cluster.answers = answers(path)
    assert take_savepoint(cluster.job, "hdfs://nodes/savepoints") == path
    with pytest.raises(ClusterError, match="must allow first"):
        take_savepoint(cluster.job, "hdfs://others")


def test_kubernetes_names_no_options() -> None:
    text = (
        '{"kind": "FlinkStateSnapshot", "metadata": {"name": "a"}, "spec": {},'
        ' "status": {"state": "COMPLETED", "path": "s3://jobs/x?endpoint_override=host"}}'
    )
    with pytest.raises((ClusterError, DescriptionError), match="has options"):
        of_kubernetes(text)
