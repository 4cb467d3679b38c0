"""Daemons of Spark that are forked from a process which has imported what they need.

The test is in the place of Java: it starts daemons, and ends them in Java's ways.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

# What stands in for a driver: it says what Spark takes for Python, and waits.
DRIVER = """\
import os, sys
from savepoint_spark.workers.start import forked_workers
os.environ["PYSPARK_PYTHON"] = sys.executable
with forked_workers("local[2]"):
    print(os.environ["PYSPARK_PYTHON"], flush=True)
assert os.environ["PYSPARK_PYTHON"] == sys.executable
sys.stdin.read()
"""
WORKER = "pyspark.sql.worker.lookup_data_sources"
SECRET = b"secret"
WAIT = 60


@contextmanager
def running_driver() -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A driver, and what Spark takes for Python."""
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", DRIVER], stdin=pipe, stdout=pipe) as driver:
        assert driver.stdout is not None
        yield driver, driver.stdout.readline().decode().strip()


@pytest.fixture(scope="module")
def python() -> Iterator[str]:
    """Command that Spark runs as Python, beside a driver that goes on."""
    with running_driver() as (_, path):
        yield path


@contextmanager
def daemon_of(python: str, **variables: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Process that Java starts, once it tells the port of a daemon, and that daemon's process."""
    with daemon_at(python, variables) as (process, port):
        yield process, owner(port)


@contextmanager
def daemon_at(
    python: str, variables: Mapping[str, str], errors: BinaryIO | None = None
) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Process that Java starts, and the port of the daemon."""
    command = [python, "-m", "pyspark.daemon", WORKER]
    environment = {**os.environ, "PYTHON_WORKER_FACTORY_SECRET": SECRET.decode(), **variables}
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, env=environment, stdin=pipe, stdout=pipe, stderr=errors
    ) as process:
        assert process.stdout is not None
        yield process, int.from_bytes(process.stdout.read(4), "big")
        process.kill()


def owner(port: int) -> int:
    """The process that listens at a port."""
    lines = Path("/proc/net/tcp").read_text(encoding="utf-8").splitlines()[1:]
    (inode,) = [line.split()[9] for line in lines if line.split()[1].endswith(f":{port:04X}")]
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            held = [os.readlink(descriptor) for descriptor in (folder / "fd").iterdir()]
        except OSError:
            continue
        if f"socket:[{inode}]" in held:
            return int(folder.name)
    raise AssertionError(f"nobody listens at {port}")


def words(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8").replace("\0", " ")


def parent(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return int(fields[1])


@contextmanager
def ending(*pids: int) -> Iterator[None]:
    """Waits at the end until processes have ended."""
    descriptors = [os.pidfd_open(pid) for pid in pids]
    yield
    for pid, descriptor in zip(pids, descriptors, strict=True):
        assert select.select([descriptor], [], [], WAIT)[0], words(pid)
        os.close(descriptor)


def test_a_daemon_is_forked_from_what_is_ready(python: str) -> None:
    with daemon_of(python, SPARK_REUSE_WORKER="1", TZ="Asia/Tokyo") as (process, daemon):
        assert daemon != process.pid
        assert "savepoint_spark.workers.fork_server" in words(parent(daemon))
        assert os.getpgid(daemon) == daemon
        assert os.readlink(f"/proc/{daemon}/cwd") == os.getcwd()
        assert process.stdin is not None
        assert os.fstat(process.stdin.fileno()).st_ino == os.stat(f"/proc/{daemon}/fd/0").st_ino


@pytest.mark.parametrize("way", ["terminated", "left"])
def test_a_daemon_ends_when_java_ends_it_or_is_gone(python: str, way: str) -> None:
    with daemon_of(python) as (process, daemon), ending(process.pid, daemon):
        assert process.stdin is not None
        if way == "terminated":
            process.terminate()
        else:
            process.stdin.close()


def test_java_notices_a_daemon_that_died(python: str) -> None:
    with daemon_of(python) as (process, daemon), ending(process.pid):
        os.kill(daemon, signal.SIGKILL)


def test_a_worker_ends_without_a_word_when_java_has_enough(python: str, tmp_path: Path) -> None:
    errors = tmp_path / "errors"
    # As Java has it: the daemon does not go on with a worker whose output nobody took.
    settings = {"PYTHON_DAEMON_KILL_WORKER_ON_FLUSH_FAILURE": "1"}
    with errors.open("wb") as file, daemon_at(python, settings, file) as (_, port):
        java = socket.create_connection(("127.0.0.1", port))
        worker = int.from_bytes(java.recv(4), "big")
        with ending(worker):
            java.sendall(len(SECRET).to_bytes(4, "big") + SECRET)
            java.close()
    assert errors.read_bytes() == b""


@pytest.mark.parametrize("variable", ["PYTHONHASHSEED", "SAVEPOINT_MASK_SECRET", "OMP_NUM_THREADS"])
def test_a_daemon_that_would_begin_otherwise_is_sparks_own(python: str, variable: str) -> None:
    with daemon_of(python, **{variable: "7"}) as (process, daemon):
        assert daemon == process.pid
        assert "-m pyspark.daemon" in words(daemon)


def test_python_does_all_else(python: str) -> None:
    command = [python, "-c", "import sys; print(sys.argv, sys.executable)", "a word"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert printed == f"['-c', 'a word'] {sys.executable}\n"


def test_a_driver_that_is_killed_leaves_no_process() -> None:
    with running_driver() as (driver, python), daemon_of(python) as (process, daemon):
        assert process.stdin is not None
        with ending(parent(daemon)):
            driver.kill()
        assert not Path(python).parent.exists()
        with ending(process.pid, daemon):
            process.stdin.close()


def test_spark_has_its_own_daemon_when_the_server_is_gone() -> None:
    with running_driver() as (_, python):
        with daemon_of(python) as (_, daemon), ending(server := parent(daemon)):
            os.kill(server, signal.SIGKILL)
        with daemon_of(python) as (process, daemon):
            assert daemon == process.pid


def test_workers_of_a_session_find_all_imported(spark: SparkSession) -> None:
    def seen(_: object) -> Iterator[tuple[bool, bool, str]]:
        lines = Path(f"/proc/{os.getppid()}/cmdline").read_text(encoding="utf-8")
        name = "savepoint_spark.reading.data_source"
        yield "fork_server" in lines, name in sys.modules, os.environ["PYTHONHASHSEED"]

    rows = spark.sparkContext.parallelize([1], 1).mapPartitions(seen).collect()
    assert rows == [(True, True, "0")]
    assert os.environ["PYSPARK_PYTHON"] == sys.executable
