"""Writes take turns, and it can be told which of them live."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

import pytest
from pyarrow import fs

from savepoint_formats.errors import SavepointError
from savepoint_formats.locations.location import Location
from savepoint_formats.new_snapshot.signs_of_life import is_sign, living, sign_of_life
from savepoint_formats.new_snapshot.turns import FLAG, raised_flag, turn_of
from savepoint_formats.new_snapshot.written_names import unused_id, unused_name, write_of

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
        with turn(write_id, folder):
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


def test_one_writer_at_a_time_on_an_object_store(s3_server: S3Server) -> None:
    bucket = s3_server.bucket("turns")
    assert counted(turn_of, Location.of(s3_server.uri(bucket, "savepoint"))) == WRITERS * TURNS
    assert s3_server.keys(bucket) == set()


@pytest.mark.parametrize("write_id", ["0" * 16, "f" * 16])
def test_a_flag_that_stays_up_is_named(tmp_path: Path, write_id: str) -> None:
    flag = tmp_path / unused_name(FLAG, write_id)
    flag.touch()
    with (
        pytest.raises(SavepointError, match=f"{flag.name} in .*remove this file"),
        raised_flag(unused_id(), Location.of(str(tmp_path)), patience=0.1),
    ):
        pytest.fail("it had its turn")
    assert list(tmp_path.iterdir()) == [flag]


def infos(folder: Location) -> list[fs.FileInfo]:
    return list(folder.filesystem.get_file_info(fs.FileSelector(folder.path)))


def test_a_write_lives_until_it_ends(tmp_path: Path) -> None:
    folder, write_id = Location.of(str(tmp_path)), unused_id()
    with sign_of_life(write_id, folder):
        assert living(infos(folder), is_local=True) == {write_id}
        found = infos(folder)
    assert living(found, is_local=True) == frozenset()
    assert not list(tmp_path.iterdir())


def test_a_write_lives_until_it_ends_on_an_object_store(s3_server: S3Server) -> None:
    bucket = s3_server.bucket("signs")
    folder, write_id = Location.of(s3_server.uri(bucket, "savepoint")), unused_id()
    with sign_of_life(write_id, folder):
        assert living(infos(folder), is_local=False) == {write_id}
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
    found = living(infos(Location.of(str(tmp_path))), is_local=False)
    assert found == ({write_id} if lives else set())


def test_files_of_others_are_no_signs() -> None:
    assert write_of("write-once") is None
    assert not is_sign("write-once")
    assert not is_sign(unused_name("keyed-0", unused_id()))
