"""Writes take turns, and it can be told which of them live."""

from __future__ import annotations

import os
import re
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

import pytest
from pyarrow import fs

from savepoint_formats.errors import SavepointError
from savepoint_formats.locations.file_io import METADATA_FILE
from savepoint_formats.locations.location import Location
from savepoint_formats.new_snapshot.signs_of_life import (
    claims,
    is_sign,
    sign_of_life,
    unused_id,
    unused_name,
    write_of,
)
from savepoint_formats.new_snapshot.turns import FLAG, raised_flag, turn_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from support.s3_server import S3Server

    Turn = Callable[[str, Location], AbstractContextManager[None]]

WRITERS, TURNS = 4, 5
TEN_MINUTES = 600


def alone(turn: Turn, folder: Location, inside: list[str]) -> int:
    """Takes some turns; counts those in which nobody else had one."""
    count = 0
    for _ in range(TURNS):
        write_id = unused_id()
        with sign_of_life(write_id, folder), turn(write_id, folder):
            inside.append(write_id)
            time.sleep(0.002)
            count += inside == [write_id]
            inside.remove(write_id)
    return count


def counted(turn: Turn, folder: Location) -> int:
    inside: list[str] = []
    with ThreadPoolExecutor(WRITERS) as pool:
        tasks = [pool.submit(partial(alone, turn, folder, inside)) for _ in range(WRITERS)]
        return sum(task.result() for task in tasks)


@pytest.mark.parametrize("turn", [turn_of, raised_flag])
def test_one_writer_at_a_time_on_disk(turn: Turn, tmp_path: Path) -> None:
    assert counted(turn, Location.of(str(tmp_path))) == WRITERS * TURNS
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("slow")
def test_one_writer_at_a_time_on_an_object_store(s3_server: S3Server) -> None:
    bucket = s3_server.bucket("turns")
    assert counted(turn_of, Location.of(s3_server.uri(bucket, "savepoint"))) == WRITERS * TURNS
    assert s3_server.keys(bucket) == set()


@pytest.fixture(params=["0" * 16, "f" * 16])
def dead(request: pytest.FixtureRequest, s3_server: S3Server) -> tuple[str, Location, str]:
    """A bucket in which a write with this id has died in its turn, and the write."""
    bucket = s3_server.bucket(f"dead-{unused_id()}")
    for purpose in ("write", METADATA_FILE, FLAG, "keyed-0"):
        s3_server.put(bucket, f"savepoint/{unused_name(purpose, request.param)}", b"")
    return bucket, Location.of(s3_server.uri(bucket, "savepoint")), request.param


def test_a_flag_of_a_write_that_may_live_is_waited_for(
    dead: tuple[str, Location, str], s3_server: S3Server
) -> None:
    bucket, folder, _ = dead
    before = s3_server.keys(bucket)
    message = rf"{FLAG}-.* is the turn of another write that .*claim ends in (\d+) s.*remove write-"
    with (
        pytest.raises(SavepointError, match=message) as error,
        raised_flag(unused_id(), folder, patience=0.1),
    ):
        pytest.fail("it had its turn")
    found = re.search(message, str(error.value))
    assert found is not None
    assert TEN_MINUTES - 60 < int(found[1]) <= TEN_MINUTES + 1
    assert s3_server.keys(bucket) == before


def test_a_flag_of_a_dead_write_is_taken_down_with_what_it_would_complete_with(
    dead: tuple[str, Location, str], s3_server: S3Server
) -> None:
    bucket, folder, dead_id = dead
    (sign,) = (key for key in s3_server.keys(bucket) if "/write-" in key)
    s3_server.client.delete_object(Bucket=bucket, Key=sign)
    with raised_flag(unused_id(), folder, patience=0.1):
        left = {key.partition("/")[2] for key in s3_server.keys(bucket)}
    (data, flag) = sorted(left)
    assert (write_of(data), data.startswith("keyed-0")) == (dead_id, True)
    assert flag.startswith(f"{FLAG}-")
    assert write_of(flag) != dead_id


def infos(folder: Location) -> list[fs.FileInfo]:
    return list(folder.filesystem.get_file_info(fs.FileSelector(folder.path)))


def test_a_write_lives_until_it_ends(tmp_path: Path) -> None:
    folder, write_id = Location.of(str(tmp_path)), unused_id()
    with sign_of_life(write_id, folder):
        assert claims(infos(folder), is_local=True)[write_id].seconds is None
        found = infos(folder)
    assert claims(found, is_local=True) == {}
    assert not list(tmp_path.iterdir())


def test_a_write_lives_until_it_ends_on_an_object_store(s3_server: S3Server) -> None:
    bucket = s3_server.bucket("signs")
    folder, write_id = Location.of(s3_server.uri(bucket, "savepoint")), unused_id()
    with sign_of_life(write_id, folder):
        assert claims(infos(folder), is_local=False).keys() == {write_id}
    assert s3_server.keys(bucket) == set()


@pytest.mark.parametrize(("age", "lives"), [(TEN_MINUTES - 30, True), (TEN_MINUTES + 30, False)])
def test_a_sign_that_is_not_renewed_is_a_dead_write(
    tmp_path: Path, age: int, *, lives: bool
) -> None:
    write_id = unused_id()
    sign = tmp_path / unused_name("write", write_id)
    newest = tmp_path / unused_name("keyed-0", unused_id())
    sign.touch()
    newest.touch()
    now = time.time()
    os.utime(newest, (now, now))
    os.utime(sign, (now - age, now - age))
    found = claims(infos(Location.of(str(tmp_path))), is_local=False)
    assert found.keys() == ({write_id} if lives else set())
    assert [claim.seconds for claim in found.values()] == ([31] if lives else [])


def test_a_directory_in_which_nothing_happens_is_not_that_of_the_dead_for_ever(
    tmp_path: Path,
) -> None:
    (tmp_path / unused_name("write", unused_id())).touch()
    found, now_ns = infos(Location.of(str(tmp_path))), time.time_ns()
    assert len(claims(found, is_local=False)) == 1
    assert len(claims(found, is_local=False, now_ns=now_ns + 590 * 10**9)) == 1
    assert claims(found, is_local=False, now_ns=now_ns + 610 * 10**9) == {}


def test_files_of_others_are_no_signs() -> None:
    assert write_of("write-once") is None
    assert not is_sign("write-once")
    assert not is_sign(unused_name("keyed-0", unused_id()))
