"""The command line as a program of its own that is stopped in its midst, and what it leaves behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_PROGRAM = "import sys; sys.argv[0] = 'savepoint'; from savepoint_cli.start import main; main()"
_MARK = "STOPPED_PROGRAM"
_LONGEST_SECONDS = 120.0
_PATIENCE_SECONDS = 120.0

# Java and Spark print these when they start.
_OF_START = ("WARNING: Using incubator", "Setting default log level", "To adjust logging level")


@dataclass(frozen=True)
class Stopped:
    """How a program ended.

    Attributes:
        code: Its exit code.
        told: The lines on stderr that are not Spark's own at its start.
        left: The processes that it has left.
        files: What it has left in the folder for temporary files.
    """

    code: int
    told: list[str]
    left: list[str]
    files: list[str]


def stopped(
    arguments: Sequence[str], is_ready: Callable[[int], bool], stop: Callable[[int], None]
) -> Stopped:
    """Runs the command line until it is ready to be stopped, and stops it.

    Args:
        arguments: Its arguments.
        is_ready: Whether the program of this pid, which leads a group, has reached the point to stop it.
        stop: Stops it.
    """
    with tempfile.TemporaryDirectory(prefix="stopped-") as folder:
        environment = {**os.environ, "TMPDIR": folder, _MARK: folder}
        program = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            _wait(lambda: program.poll() is not None or is_ready(program.pid))
            stop(program.pid)
            _, told = program.communicate(timeout=_LONGEST_SECONDS)
            # A worker notices that its Java is gone a moment later.
            deadline = time.monotonic() + _PATIENCE_SECONDS
            while (left := list(_marked(folder).values())) and time.monotonic() < deadline:
                time.sleep(0.1)
            lines = [line for line in told.splitlines() if not line.startswith(_OF_START)]
            return Stopped(program.returncode, lines, left, sorted(os.listdir(folder)))
        finally:
            for pid in _marked(folder):
                os.kill(pid, signal.SIGKILL)
            program.communicate()


def interrupt(pid: int) -> None:
    """Does what Ctrl-C on a terminal does."""
    os.killpg(pid, signal.SIGINT)


def kill_java(pid: int) -> None:
    """Kills the Java that a program has started."""
    for process in java_of(pid):
        os.kill(process, signal.SIGKILL)


def java_of(pid: int) -> list[int]:
    """The Java processes of a program."""
    return [
        process
        for process, words in _marked(_mark(pid)).items()
        if "SparkSubmit" in words and "java" in words
    ]


def has_worker(pid: int) -> bool:
    """Whether a program has a process of Spark that runs Python."""
    return any("daemon" in words for words in _marked(_mark(pid)).values())


def has_loaded(pid: int, library: str) -> bool:
    """Whether a program has loaded a library whose path has this in it."""
    return library in Path(f"/proc/{pid}/maps").read_text(encoding="utf-8")


def _marked(mark: str) -> dict[int, str]:
    """The processes that have a mark, with their words."""
    processes = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark and _mark(int(folder.name)) == mark:
                words = (folder / "cmdline").read_text(encoding="utf-8").replace("\0", " ")
                processes[int(folder.name)] = words
        except OSError:
            continue
    return processes


def _mark(pid: int) -> str:
    variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    marks = [one.partition(b"=")[2] for one in variables if one.startswith(_MARK.encode())]
    return marks[0].decode() if marks else ""


def _wait(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _LONGEST_SECONDS
    while not is_so():
        if time.monotonic() > deadline:
            raise TimeoutError("the program did not get there")
        time.sleep(0.02)
