"""Backups and prunes in an object store, killed at requests or at work at the same time."""

from __future__ import annotations

import multiprocessing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.backed_up import broken, complete, damaged_objects, job_at, spare
from support.nightly import nightly
from support.striking_proxy import StrikingProxy

from savepoint_extensions.backup.backing_up import back_up
from savepoint_extensions.backup.backup_store import BackupStore
from savepoint_extensions.backup.pruning import swept
from savepoint_formats.errors import SavepointError
from state_processor import Savepoint, prune_backups

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.synchronize import Event

    from support.s3_server import S3Server

WAIT = 120
SAMPLE = "currency-2.2.1-rocksdb-native"
OLD = "backup-20200101T000000Z-savepoint-0123456789abcdef"

# A listing takes the server as long as the bucket has objects; an opened file, three requests.
DELAYED = "&allow_delayed_open=true"


def _back_up(snapshot: str, onto: str, may_begin: Event, *, check: bool) -> None:
    may_begin.wait(WAIT)
    back_up(Savepoint.open(snapshot), onto, keep=None if check else "1d", check=check)


@pytest.fixture(scope="module")
def proxy(s3_server: S3Server) -> Iterator[StrikingProxy]:
    with StrikingProxy.running(s3_server.address) as running:
        yield running


def killed(
    proxy: StrikingProxy,
    snapshot: Path,
    onto: str,
    point: int,
    strike: str,
    *,
    check: bool = False,
) -> int:
    """Has another process back up and prune, or check, and die at a request; returns how many it made."""
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["savepoint_extensions.backup.backing_up"])
    may_begin = processes.Event()
    through = onto.replace(proxy.store, proxy.address)
    arguments = (str(snapshot), through, may_begin)
    process = processes.Process(target=_back_up, args=arguments, kwargs={"check": check})
    process.start()
    proxy.arm(point, strike)
    may_begin.set()
    process.join(WAIT)
    assert process.exitcode is not None
    requests = len(proxy.requests)
    proxy.arm()
    return requests


def with_old_backup(s3_server: S3Server, bucket: str, snapshot: Path) -> str:
    """A directory with a backup of long ago."""
    onto = s3_server.uri(s3_server.bucket(bucket), "orders") + DELAYED
    name = Path(back_up(Savepoint.open(snapshot), onto).path.partition("?")[0]).name
    key = f"orders/{name}/_metadata"
    data = s3_server.client.get_object(Bucket=bucket, Key=key)["Body"].read()
    s3_server.put(bucket, f"orders/{OLD}/_metadata", data)
    s3_server.client.delete_object(Bucket=bucket, Key=key)
    s3_server.client.delete_object(Bucket=bucket, Key=f"orders/{name}/")
    return onto


@pytest.mark.parametrize(
    ("strike", "every"),
    [
        pytest.param("killed", 19, marks=pytest.mark.slow),
        pytest.param("killed", 2, marks=nightly),
        pytest.param("lost", 3, marks=nightly),
        pytest.param("down", 15, marks=nightly),
    ],
)
def test_nothing_kept_is_lost_at_any_request(
    s3_server: S3Server, proxy: StrikingProxy, tmp_path: Path, strike: str, every: int
) -> None:
    # The old backup is of another time of the same job: some files are in it alone.
    first, second = job_at(tmp_path / "a", SAMPLE), job_at(tmp_path / "b", SAMPLE)
    files = sorted(path for path in second.iterdir() if path.name != "_metadata")
    assert files
    point, requests = -1, 10**6
    while point < requests:
        bucket = f"killed-{strike}-{every}-{point + 1}"
        onto = with_old_backup(s3_server, bucket, first)
        count = killed(proxy, second, onto, point, strike)
        requests = count if point < 0 else requests
        there = complete(onto)
        assert there, point
        assert broken(onto) == [], point
        assert point >= 0 or there != [OLD]
        # The next one finds its way; what the dead one left goes when its claim ends.
        back_up(Savepoint.open(second), onto, keep="1d")
        assert broken(onto) == [], point
        for key in s3_server.keys(bucket):
            if key.startswith("orders/writes/write-"):
                s3_server.client.delete_object(Bucket=bucket, Key=key)
        swept(BackupStore.of(onto))
        assert len(complete(onto)) == 1
        assert broken(onto) == spare(onto) == [], point
        point = every // 2 if point < 0 else point + every
    assert requests > 40


def with_damaged_backup(s3_server: S3Server, bucket: str, snapshot: Path) -> str:
    """A directory with a backup of which four objects are damaged."""
    onto = s3_server.uri(s3_server.bucket(bucket), "orders") + DELAYED
    back_up(Savepoint.open(snapshot), onto)
    assert len(damaged_objects(s3_server, bucket)) == len(broken(onto)) == 4
    return onto


@pytest.mark.parametrize(
    ("strike", "every"),
    [
        pytest.param("killed", 99, marks=pytest.mark.slow),
        pytest.param("killed", 1, marks=nightly),
        pytest.param("lost", 1, marks=nightly),
        pytest.param("down", 5, marks=nightly),
    ],
)
def test_a_repair_that_dies_at_any_request_leaves_no_more_damage(
    s3_server: S3Server, proxy: StrikingProxy, tmp_path: Path, strike: str, every: int
) -> None:
    snapshot = job_at(tmp_path / "job", SAMPLE)
    point, requests, left = -1, 10**6, set[int]()
    while point < requests:
        onto = with_damaged_backup(s3_server, f"repair-{strike}-{every}-{point + 1}", snapshot)
        before = broken(onto)
        count = killed(proxy, snapshot, onto, point, strike, check=True)
        requests = count if point < 0 else requests
        after = broken(onto)
        assert {*after} <= {*before}, point
        left.add(len(after))
        back_up(Savepoint.open(snapshot), onto, check=True)
        assert broken(onto) == [], point
        # The last requests are those of the repair.
        point = requests - 16 if point < 0 else point + every
    assert 0 in left
    assert left - {0}


@nightly
@pytest.mark.parametrize("other", ["check", "prune"])
def test_a_check_within_a_check_or_a_prune_within_it_loses_nothing(
    s3_server: S3Server, proxy: StrikingProxy, tmp_path: Path, other: str
) -> None:
    """The other one does all its work before the store gets a request of the first."""
    snapshot = job_at(tmp_path / "job", SAMPLE)
    point, requests = 0, 1
    while point < requests:
        onto = with_damaged_backup(s3_server, f"within-{other}-{point}", snapshot)

        def meanwhile(_: str, *, onto: str = onto, point: int = point) -> None:
            if len(proxy.requests) == point + 1:
                if other == "check":
                    back_up(Savepoint.open(snapshot), onto, check=True)
                else:
                    prune_backups(onto, "1h")

        proxy.arm()
        proxy.before = meanwhile
        made = back_up(
            Savepoint.open(snapshot), onto.replace(proxy.store, proxy.address), check=True
        )
        proxy.before = None
        requests = len(proxy.requests)
        assert broken(onto) == [], point
        assert Savepoint.open(made.path.replace(proxy.address, proxy.store)).verify().is_whole
        prune_backups(onto, "1h")
        assert broken(onto) == spare(onto) == [], point
        point += 3
    assert requests > 40


def test_a_prune_sees_the_backup_that_replaces_all_that_it_has_listed(
    s3_server: S3Server, proxy: StrikingProxy, tmp_path: Path
) -> None:
    snapshot = job_at(tmp_path / "job", SAMPLE)
    onto = s3_server.uri(s3_server.bucket("replaced"), "orders") + DELAYED
    first = back_up(Savepoint.open(snapshot), onto)
    newer: list[str] = []

    def replace_it(request: str) -> None:
        if f"{Path(first.path.partition('?')[0]).name}/_metadata" in request and not newer:
            newer.append(back_up(Savepoint.open(snapshot), onto, keep="1h").path)

    proxy.arm()
    proxy.before = replace_it
    pruned = prune_backups(onto.replace(proxy.store, proxy.address), "1h")
    proxy.before = None
    (kept,) = pruned.backups
    assert [kept.path.replace(proxy.address, proxy.store)] == newer
    assert broken(onto) == spare(onto) == []


def _work(onto: str, snapshots: list[str], rounds: int, index: int) -> None:
    for number in range(rounds):
        snapshot = Savepoint.open(snapshots[(number + index) % len(snapshots)])
        path = snapshot.backup(onto).path
        try:
            prune_backups(onto, "1h")
        except SavepointError as error:
            raise AssertionError(f"{path}: {error}") from error


@pytest.mark.parametrize(
    ("store", "rounds"),
    [("disk", 2), *(pytest.param(it, 6, marks=pytest.mark.slow) for it in ("disk", "s3"))],
)
def test_several_programs_at_once(
    request: pytest.FixtureRequest, tmp_path: Path, store: str, rounds: int
) -> None:
    snapshots = [job_at(tmp_path / name, SAMPLE) for name in ("a", "b", "c")]
    onto = str(tmp_path / "onto")
    if store == "s3":
        s3_server = request.getfixturevalue("s3_server")
        onto = s3_server.uri(s3_server.bucket("at-once"), "orders") + DELAYED
    processes = multiprocessing.get_context("forkserver")
    workers = [
        processes.Process(target=_work, args=(onto, [*map(str, snapshots)], rounds, index))
        for index in range(3)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(WAIT)
        assert worker.exitcode == 0
    assert broken(onto) == []
    prune_backups(onto, "1h")
    assert broken(onto) == spare(onto) == []
    assert len(complete(onto)) == 1
    assert Savepoint.open(BackupStore.of(onto).uri_of(complete(onto)[0])).verify("quick").is_whole
