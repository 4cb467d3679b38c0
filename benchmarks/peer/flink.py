"""Flink's own State Processor API: fetched, compiled against and run, each run a JVM of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent

# The newest release of which both parts are published.
VERSION = "2.2.0"
API = "flink-state-processor-api"

# Flink looks into these by reflection, which Java 17 allows to nobody unasked.
OPENED_PACKAGES = (
    "java.lang",
    "java.lang.invoke",
    "java.lang.reflect",
    "java.io",
    "java.net",
    "java.nio",
    "java.math",
    "java.text",
    "java.time",
    "java.util",
    "java.util.concurrent",
    "java.util.concurrent.atomic",
    "java.util.concurrent.locks",
)


@dataclass(frozen=True, slots=True)
class Backend:
    """A state backend, and the settings with which it reads and writes fastest.

    RocksDB under the State Processor API has 64 MiB for all of its caches unless told otherwise,
    with which 5 M keys take a quarter of an hour.
    """

    type: str
    settings: tuple[str, ...] = ()


HASHMAP = Backend("hashmap")
ROCKSDB = Backend("rocksdb", ("state.backend.rocksdb.memory.fixed-per-slot=512mb",))


@dataclass(frozen=True, slots=True)
class Run:
    """What a JVM printed, and what it took.

    Attributes:
        lines: Its standard output.
        peak_memory: In bytes, of the whole process.
    """

    lines: tuple[str, ...]
    peak_memory: int


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
    def _jars(self) -> list[Path]:
        return sorted([*self.folder.glob("*.jar"), *self.folder.glob("pyflink/lib/*.jar")])

    @property
    def _classes(self) -> Path:
        return self.folder / "classes"

    def install(self) -> None:
        """Fetches what is not there, compiles."""
        if not list(self.folder.glob("pyflink/lib/*.jar")):
            package = f"apache-flink-libraries=={VERSION}"
            command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
            subprocess.run([*command, "--target", str(self.folder), package], check=True)
        if not (self.folder / f"{API}-{VERSION}.jar").exists():
            artifact = f"-Dartifact=org.apache.flink:{API}:{VERSION}"
            command = ["mvn", "--quiet", "--batch-mode", "dependency:copy", artifact]
            subprocess.run([*command, f"-DoutputDirectory={self.folder}"], check=True)
        sources = [str(path) for path in sorted(HERE.glob("*.java"))]
        options = ["-nowarn", "-XDsuppressNotes", "-cp", os.pathsep.join(map(str, self._jars))]
        subprocess.run(["javac", *options, "-d", str(self._classes), *sources], check=True)

    def run(self, name: str, arguments: list[str], backend: Backend) -> Run:
        """Runs the class of this name."""
        paths = map(str, [self._classes, *self._jars])
        java = ["java", f"-Xmx{self.heap}", "-cp", os.pathsep.join(paths)]
        java += [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED_PACKAGES]
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
