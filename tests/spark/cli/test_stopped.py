"""Commands of Spark that are stopped, or whose Java dies: a line, and nothing that stays behind."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from support.nightly import nightly
from support.sample_rows import SAMPLES
from support.stopped_program import has_worker, interrupt, java_of, kill_java, stopped

from savepoint_cli import STOPPED, STOPPED_CODE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")

CURRENCY = str(SAMPLES / "currency-2.2.1-hashmap-canonical")
# It has no end that a test would wait for.
LONG = (
    *("query", CURRENCY, "--engine", "spark"),
    "SELECT count(*) FROM summarize.keyed_state, range(1000000000000), range(1000000)",
)


def has_java(pid: int) -> bool:
    return bool(java_of(pid))


@pytest.mark.parametrize("is_ready", [has_java, pytest.param(has_worker, marks=nightly)])
def test_ctrl_c_is_a_line_and_leaves_nothing(is_ready: Callable[[int], bool]) -> None:
    ended = stopped(LONG, is_ready, interrupt)
    assert (ended.code, ended.told) == (STOPPED_CODE, [STOPPED])
    assert (ended.left, ended.files) == ([], [])


def test_ctrl_c_leaves_no_half_of_a_savepoint(tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = ("rescale", CURRENCY, str(out), "--max-parallelism", "64")
    ended = stopped(command, has_worker, interrupt)
    assert (ended.code, ended.told) == (STOPPED_CODE, [STOPPED])
    assert (ended.left, ended.files) == ([], [])
    assert not out.exists() or not list(out.iterdir())


@nightly
def test_a_java_that_dies_while_its_tasks_are_shown_is_a_line(tmp_path: Path) -> None:
    command = ("rescale", CURRENCY, str(tmp_path / "out"), "--max-parallelism", "64")
    ended = stopped(command, has_worker, kill_java)
    assert ended.code == 1
    (line,) = ended.told
    assert line.startswith("Error: the Java that Spark runs on has died")
    assert (ended.left, ended.files) == ([], [])


@pytest.mark.parametrize("is_ready", [has_java, pytest.param(has_worker, marks=nightly)])
def test_a_java_that_dies_is_a_line_and_leaves_nothing(is_ready: Callable[[int], bool]) -> None:
    ended = stopped(LONG, is_ready, kill_java)
    assert ended.code == 1
    (line,) = ended.told
    assert line.startswith(
        ("Error: the Java that Spark runs on has died", "Error: Spark's Java did not start")
    )
    assert (ended.left, ended.files) == ([], [])
