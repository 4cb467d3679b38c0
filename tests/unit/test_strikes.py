"""Some of the strikes of ``python -m faults --every 1``: calls and requests fail, and nothing is lost."""

from __future__ import annotations

import os
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING

import pytest
from faults import process
from faults.points import Points
from faults.requests import Requests
from faults.strikes import ACTIONS
from support.nightly import nightly
from support.striking_proxy import STRIKES, StrikingProxy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from faults.points import Strike
    from support.s3_server import S3Server

EVERY = 14

pytestmark = pytest.mark.usefixtures("slow")


@pytest.fixture(scope="module")
def points(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Points]:
    if which("gcc") is None:
        pytest.skip("no C compiler")
    points = Points(tmp_path_factory.mktemp("strikes"))
    yield points
    points.close()


def struck(points: Points, name: str, action: str, every: int) -> list[Strike]:
    """Strikes, each action from another call on."""
    first = 1 + list(ACTIONS).index(action) % every
    return list(points.strikes(name, [action], every, first))


@pytest.mark.parametrize("action", ACTIONS)
def test_nothing_is_lost_at_any_call(points: Points, action: str) -> None:
    done = struck(points, "copy-over", action, EVERY)
    assert [fault for strike in done for fault in strike.faults] == []
    assert all(strike.call for strike in done)
    assert len(done) >= done[0].points // EVERY >= 3


def test_a_complete_savepoint_whose_directory_is_not_synced_is_told(points: Points) -> None:
    (one,) = points.strikes("copy", ["EIO"], every=1000, first=points.count("copy") - 2)
    assert (one.call, one.faults) == ("fsync", ())
    assert "is complete, but a loss of power may undo it" in one.message


def test_nothing_lies_beside_an_export(points: Points) -> None:
    done = struck(points, "export", "killed", 1)
    assert [fault for strike in done for fault in strike.faults] == []
    assert {"write", "fsync", "link", "unlink"} <= {strike.call for strike in done}


@pytest.mark.parametrize("way", ["copy", pytest.param("sources-over", marks=nightly)])
def test_requests_to_a_store_are_struck_and_nothing_is_lost(
    way: str, s3_server: S3Server, tmp_path: Path
) -> None:
    if which("gcc") is None:
        pytest.skip("no C compiler")
    with StrikingProxy.running(s3_server.address) as proxy:
        points = Requests(tmp_path, "", s3_server, proxy, f"strikes-{way}")
        try:
            done = list(points.strikes(way, STRIKES, every=6))
        finally:
            points.close()
    assert [fault for strike in done for fault in strike.faults] == []
    assert {strike.action for strike in done} == {*STRIKES}
    assert all(strike.call for strike in done)


def test_a_driver_that_gives_no_answer_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "_PATIENCE", 0.0)
    with pytest.raises(TimeoutError):
        process.Driver("", tmp_path)
    # A process may end meanwhile; its link then leads nowhere.
    folders = map(os.path.realpath, Path("/proc").glob("[0-9]*/cwd"))
    assert str(tmp_path) not in folders
