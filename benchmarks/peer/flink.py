"""Flink's own State Processor API: fetched, compiled against and run, each run a JVM of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "sample_savepoints"))

from flink_home import FlinkHome

HERE = Path(__file__).resolve().parent

# The newest release of which both parts are published.
VERSION = "2.3.0"
API = "flink-state-processor-api"


@dataclass(frozen=True, slots=True)
class Backend:
    """A state backend, and the settings with which it reads and writes fastest.

    RocksDB under the State Processor API has 64 MiB for all of its caches unless set otherwise,
    with which 5 M keys take a quarter of an hour.
    """

    type: str
    settings: tuple[str, ...] = ()


HASHMAP = Backend("hashmap")
ROCKSDB = Backend("rocksdb", ("state.backend.rocksdb.memory.fixed-per-slot=512mb",))


@dataclass(frozen=True, slots=True)
class Run:
    """Output of a JVM, with its time and memory.

    Attributes:
        lines: Its standard output.
        peak_memory: In bytes, of the whole process.
    """

    lines: tuple[str, ...]
    peak_memory: int

    @property
    def numbers(self) -> tuple[tuple[int, ...], ...]:
        """The lines of a class that prints what each job found, and its times."""
        return tuple(tuple(map(int, line.split())) for line in self.lines)


@dataclass(frozen=True, slots=True)
class Flink:
    """A folder that holds Flink, and the classes of this folder compiled against it.

    Attributes:
        folder: Where.
        parallelism: Of every job.
        heap: The most that a JVM may take, as ``-Xmx`` says it.
    """

    folder: Path
    parallelism: int = 2
    heap: str = "8g"

    @property
    def _home(self) -> FlinkHome:
        return FlinkHome(VERSION, self.folder)

    def install(self) -> None:
        """Fetches what is not there, compiles."""
        self._home.install()
        if not (self.folder / f"{API}-{VERSION}.jar").exists():
            artifact = f"-Dartifact=org.apache.flink:{API}:{VERSION}"
            command = ["mvn", "--quiet", "--batch-mode", "dependency:copy", artifact]
            subprocess.run([*command, f"-DoutputDirectory={self.folder}"], check=True)
        self._home.compiled([HERE])

    def run(self, name: str, arguments: list[str], backend: Backend) -> Run:
        """Runs the class of this name."""
        java = self._home.java(self._home.compiled([HERE]), [f"-Xmx{self.heap}"])
        settings = (
            f"parallelism.default={self.parallelism}",
            f"state.backend.type={backend.type}",
            *backend.settings,
        )
        command = [*java, f"peer.{name}", *arguments, *settings]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            lines = tuple(process.stdout.read().splitlines())
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, command)
        return Run(lines, usage.ru_maxrss << 10)
