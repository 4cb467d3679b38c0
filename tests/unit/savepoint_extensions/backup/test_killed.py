"""Programs that make a backup and prune die at each call that changes a file: nothing kept is lost."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING

import pytest
from faults.strikes import Control, library
from support.backed_up import aged, broken, complete, job_at, next_checkpoint, spare
from support.nightly import nightly

from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAM = """
import os, sys
import pyarrow.fs
from state_processor import Savepoint
from savepoint_extensions.backup.backing_up import back_up
from savepoint_extensions.backup import pruning, replica
print("ready", flush=True)
for line in sys.stdin:
    snapshot, onto = line.split()
    child = os.fork()
    if not child:
        try:
            back_up(Savepoint.open(snapshot), onto, keep="1d")
        except Exception as error:
            print(type(error).__name__, error, file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Driver:
    """A program that forks off a backup with a rule for each order, and may be struck."""

    def __init__(self, folder: Path) -> None:
        self.control = Control(folder / "control")
        environment = {
            **os.environ,
            "LD_PRELOAD": str(library(folder)),
            "STRIKE_CONTROL": str(folder / "control"),
        }
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )
        assert self._answer() == "ready"

    def back_up(self, snapshot: Path, onto: Path, point: int = 0, action: str = "killed") -> int:
        """Makes a backup and prunes; returns its exit code. A call may be struck."""
        assert self.process.stdin is not None
        self.control.arm(onto, point, action)
        self.process.stdin.write(f"{snapshot} {onto}\n")
        self.process.stdin.flush()
        code = int(self._answer())
        self.control.disarm()
        return code

    def _answer(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def close(self) -> None:
        with self.process:  # closes its pipes
            self.process.kill()


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driver]:
    if which("gcc") is None:
        pytest.skip("no C compiler")
    driver = Driver(tmp_path_factory.mktemp("driver"))
    yield driver
    driver.close()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two old backups, and a checkpoint that shares files with both."""
    folder = tmp_path_factory.mktemp("killed")
    snapshot, onto = job_at(folder / "job"), folder / "onto"
    for day in (1, 2):
        aged(onto, Path(Savepoint.open(snapshot).backup(onto).path).name, f"2020010{day}T000000Z")
        snapshot, _ = next_checkpoint(snapshot, 3)
    return onto, snapshot


def points(number: int) -> range:
    return range(1, number + 1)


@pytest.mark.parametrize(
    ("action", "every"),
    [
        ("killed", 40),
        pytest.param("killed", 7, marks=pytest.mark.slow),
        pytest.param("torn", 11, marks=pytest.mark.slow),
        *(pytest.param(action, 1, marks=nightly) for action in ("killed", "torn")),
        *(pytest.param(action, 2, marks=nightly) for action in ("EIO", "ENOSPC", "full")),
    ],
)
def test_nothing_kept_is_lost_at_any_call(
    driver: Driver, made: tuple[Path, Path], tmp_path: Path, action: str, every: int
) -> None:
    onto, snapshot = made
    whole = Path(shutil.copytree(onto, tmp_path / "whole"))
    before = complete(whole)
    # What is loaded once is there for all that is forked.
    driver.back_up(snapshot, Path(shutil.copytree(onto, tmp_path / "first")))
    assert driver.back_up(snapshot, whole) == 0
    count = driver.control.counted
    assert count > 30
    codes = set()
    for point in range(1 + count % every, count + 1, every):
        struck = Path(shutil.copytree(onto, tmp_path / str(point)))
        code = driver.back_up(snapshot, struck, point, action)
        codes.add(code)
        there = complete(struck)
        # The younger of the old ones goes only after the new one is complete.
        assert [name for name in there if name not in before] or before[1] in there, point
        assert broken(struck) == [], point
        if code == 0:
            assert there[-1] not in before
        # The next one finds its way, and nothing is left over.
        assert driver.back_up(snapshot, struck) == 0, point
        assert len(complete(struck)) == 1, point
        assert broken(struck) == spare(struck) == [], point
        assert Savepoint.open(struck / complete(struck)[0]).verify("quick").is_whole
        shutil.rmtree(struck)
    assert codes - {0}
