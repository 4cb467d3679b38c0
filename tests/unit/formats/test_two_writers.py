"""Two processes write to one directory at the same time: exactly one succeeds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.slow_cases import nightly_unless
from support.two_writers import CLOCK, TwoWriters, place_in_store, place_on_disk

if TYPE_CHECKING:
    from pathlib import Path

    from support.s3_server import S3Server

# ``two_writers`` as a program runs a thousand.
ON_DISK, ON_S3, DISTURBED = 4, 1, 5

END = {("done", "SavepointExistsError"), ("SavepointExistsError", "done")}


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize("mode", ["error", "overwrite"])
def test_on_disk(mode: str, tmp_path: Path) -> None:
    with TwoWriters(mode) as writers:
        rounds = [
            writers.round(place_on_disk(str(tmp_path / str(number)))) for number in range(ON_DISK)
        ]
    assert [one.fault for one in rounds] == [""] * ON_DISK
    assert {one.ends for one in rounds} <= END


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize("mode", ["error", "overwrite"])
def test_on_an_object_store(mode: str, s3_server: S3Server) -> None:
    with TwoWriters(mode) as writers:
        rounds = [
            writers.round(place_in_store(s3_server, f"two-writers-{mode}-{number}"))
            for number in range(ON_S3)
        ]
    assert [one.fault for one in rounds] == [""] * ON_S3
    assert {one.ends for one in rounds} <= END


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize("beside", nightly_unless("reader".__eq__, ["reader", "gc", CLOCK]))
def test_five_writers_while_others_disturb_them(beside: str, tmp_path: Path) -> None:
    with TwoWriters("overwrite", 5, [beside]) as writers:
        rounds = [
            writers.round(place_on_disk(str(tmp_path / str(number)))) for number in range(DISTURBED)
        ]
    assert [one.fault for one in rounds] == [""] * DISTURBED
    assert any({"at once", beside} <= one.strikes for one in rounds)
