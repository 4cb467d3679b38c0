"""A write to an object store that is killed at any of its requests, and those that come after it."""

from __future__ import annotations

import multiprocessing
import re
from typing import TYPE_CHECKING

import pytest
from support.slow_cases import nightly_unless, slow_unless
from support.striking_proxy import StrikingProxy
from support.two_writers import read, write

from savepoint_formats.errors import SavepointError, SavepointExistsError
from savepoint_formats.locations.file_io import METADATA_FILE
from savepoint_formats.new_snapshot import turns

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.synchronize import Event

    from support.s3_server import S3Server

NEW = (b"new", b"newer")
OLD = (b"old", b"older")
WAIT = 120

# A whole write has 44 to 50, one after the other: who dies before a request leaves what one leaves who
# never sees the answer to the request before. In its turn, here from the 25th on, it dies with its flag up.
# ``python -m faults --s3 --every 1 --action killed`` dies at each of them.
IN_TURN = 33
BY_DAY = {28, IN_TURN, *range(0, 52, 6)}
REQUESTS = sorted({*range(0, 52, 3), *range(25, 38)})
CLAIM = re.compile(
    r"under way, or has died: then its claim ends in (\d+) s, .* remove (write-\S+) to go on"
)


def _write(uri: str, mode: str, may_begin: Event) -> None:
    may_begin.wait(WAIT)
    write(uri, *NEW, mode=mode)


@pytest.fixture(scope="module")
def proxy(s3_server: S3Server) -> Iterator[StrikingProxy]:
    with StrikingProxy.running(s3_server.address) as running:
        yield running


def killed(proxy: StrikingProxy, uri: str, mode: str, last: int) -> None:
    """Has another process write, and die before the store gets a request."""
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["support.two_writers"])
    may_begin = processes.Event()
    through = uri.replace(proxy.store, proxy.address)
    process = processes.Process(target=_write, args=(through, mode, may_begin))
    process.start()
    proxy.arm(last, "killed")
    may_begin.set()
    process.join(WAIT)
    assert process.exitcode is not None
    proxy.arm()


def refused(uri: str) -> str:
    """Overwrites; returns why not, or nothing."""
    try:
        write(uri, b"next", mode="overwrite")
    except SavepointError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    "last",
    [
        *slow_unless(IN_TURN.__eq__, sorted(BY_DAY)),
        *nightly_unless(BY_DAY.__contains__, sorted({*REQUESTS} - BY_DAY)),
    ],
)
@pytest.mark.parametrize("has_old", [True, False], ids=["replaced", "first"])
def test_the_next_write_takes_its_place_or_says_when(
    s3_server: S3Server,
    proxy: StrikingProxy,
    monkeypatch: pytest.MonkeyPatch,
    last: int,
    *,
    has_old: bool,
) -> None:
    monkeypatch.setattr(turns, "_PATIENCE", 0.2)
    bucket = s3_server.bucket(f"killed-{last}-{has_old}".lower())
    uri = s3_server.uri(bucket, "savepoint")
    if has_old:
        write(uri, *OLD)
    killed(proxy, uri, "overwrite" if has_old else "error", last)
    there = f"savepoint/{METADATA_FILE}" in s3_server.keys(bucket)
    assert there or not has_old
    if there:
        assert tuple(read(uri)) in (OLD, NEW)
    if refusal := refused(uri):
        # Nothing but the word of somebody, or time, tells that the other one is dead.
        claim = CLAIM.search(refusal)
        assert claim is not None, refusal
        assert 0 < int(claim[1]) <= 601
        if there:
            assert tuple(read(uri)) in (OLD, NEW)
        s3_server.client.delete_object(Bucket=bucket, Key=f"savepoint/{claim[2]}")
        assert refused(uri) == ""
    assert read(uri) == [b"next"]
    left = {key.partition("/")[2].partition("-")[0] for key in s3_server.keys(bucket)}
    assert left - {"write"} == {METADATA_FILE, "operator"}


@pytest.mark.usefixtures("slow")
def test_a_write_that_only_slept_does_not_complete_any_more(
    s3_server: S3Server, proxy: StrikingProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It sleeps before its last step, where another one takes it for dead."""
    bucket = s3_server.bucket("slept")
    uri = s3_server.uri(bucket, "savepoint")
    write(uri, *OLD)

    def meanwhile(request: str) -> None:
        if request != f"PUT /{bucket}/savepoint/{METADATA_FILE}":
            return
        proxy.before = None
        (sign,) = (key for key in s3_server.keys(bucket) if key.startswith("savepoint/write-"))
        s3_server.client.delete_object(Bucket=bucket, Key=sign)
        write(uri, b"next", mode="overwrite")

    monkeypatch.setattr(proxy, "before", meanwhile)
    with pytest.raises(SavepointExistsError, match="taken by another write, because this one gave"):
        write(uri.replace(proxy.store, proxy.address), *NEW, mode="overwrite")
    assert proxy.before is None
    assert read(uri) == [b"next"]
    assert len(s3_server.keys(bucket)) == 2
