"""A few of the rounds, strikes and losses of `tests/faults`: a write dies, and harms nothing."""

from __future__ import annotations

from shutil import which
from typing import TYPE_CHECKING

import pytest
from faults.losses import Losses, Written
from faults.points import Points
from faults.requests import Requests
from faults.rounds import Rounds
from support.nightly import nightly
from support.striking_proxy import STRIKES, StrikingProxy

if TYPE_CHECKING:
    from pathlib import Path

    from support.s3_server import S3Server


def test_what_dies_while_it_writes_harms_nothing(tmp_path: Path) -> None:
    rounds = Rounds(tmp_path, "local[2, 4]", 1)
    try:
        done = [
            rounds.run(*pair)
            for pair in (("overwrite", "driver"), ("rescale", "source"), ("bootstrap", "workers"))
        ]
    finally:
        rounds.close()
    assert [fault for ended in done for fault in ended.faults] == []
    assert any(ended.is_struck for ended in done)


def test_calls_of_tasks_and_of_the_driver_are_struck_and_nothing_is_lost(tmp_path: Path) -> None:
    if which("gcc") is None:
        pytest.skip("no C compiler")
    points = Points(tmp_path, "local[2, 4]")
    try:
        done = [
            strike
            for way, every in (("mask-over", 7), ("apply", 12))
            for strike in points.strikes(way, ["killed", "EIO", "full"], every)
        ]
    finally:
        points.close()
    assert [fault for strike in done for fault in strike.faults] == []
    assert sum(bool(strike.call) for strike in done) >= 6


@nightly
def test_requests_of_tasks_and_of_the_driver_are_struck_and_nothing_is_lost(
    s3_server: S3Server, tmp_path: Path
) -> None:
    if which("gcc") is None:
        pytest.skip("no C compiler")
    ways = ("merge-local", "rename-field", "set-ttl", "expire")
    with StrikingProxy.running(s3_server.address) as proxy:
        points = Requests(tmp_path, "local[2, 4]", s3_server, proxy, "strikes-on-spark")
        try:
            done = [one for way in ways for one in points.strikes(way, STRIKES, every=7)]
        finally:
            points.close()
    assert [fault for strike in done for fault in strike.faults] == []
    assert {strike.action for strike in done} == {*STRIKES}


def test_writes_that_lose_an_executor_or_are_overtaken_are_whole(tmp_path: Path) -> None:
    losses, done = Losses(tmp_path, 1), list[Written]()
    try:
        # A busy machine may end the writes before a moment by chance; an executor that is held has a task.
        for loss in ("executor", "straggler", "held"):
            if not any(written.strikes for written in done):
                done += losses.write("rescale", loss)
    finally:
        losses.close()
    assert [fault for written in done for fault in written.faults] == []
    assert any(written.strikes for written in done)
