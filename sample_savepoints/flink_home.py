"""A release of Flink, as pip fetches it: jars to compile Java against and to run it with."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

CACHE = Path.home() / ".cache" / "savepoint-samples"

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


# Java takes an eighth of a short job to check classes, which are those of Flink's releases and of javac.
UNCHECKED = ("-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote")


@dataclass(frozen=True, slots=True)
class FlinkHome:
    """A folder into which pip has put one version of ``apache-flink-libraries``, and more jars."""

    version: str
    folder: Path
    more: tuple[Path, ...] = ()

    @classmethod
    def cached(cls, version: str) -> FlinkHome:
        """The one that all scripts and tests share."""
        return cls(version, CACHE / version)

    @property
    def jars(self) -> list[Path]:
        """Those of Flink, and others that lie in the folder."""
        own = sorted([*self.folder.glob("*.jar"), *self.folder.glob("pyflink/lib/*.jar")])
        return [*own, *self.more]

    def install(self) -> None:
        """Does nothing if Flink's jars are there."""
        if not list(self.folder.glob("pyflink/lib/*.jar")):
            package = f"apache-flink-libraries=={self.version}"
            command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
            subprocess.run([*command, "--target", str(self.folder), package], check=True)

    def compile(self, sources: Sequence[Path], classes: Path, *options: str) -> None:
        """Compiles files of Java, and all below folders."""
        own = ["-nowarn", "-XDsuppressNotes", "-cp", os.pathsep.join(map(str, self.jars))]
        command = ["javac", *own, *options, "-d", str(classes), *map(str, _java_files(sources))]
        subprocess.run(command, check=True)

    def compiled(self, sources: Sequence[Path], *options: str) -> Path:
        """The folder with the classes of these files; it is kept for the next time."""
        known = hashlib.sha256("\n".join(map(str, self.jars)).encode())
        for file in _java_files(sources):
            known.update(file.read_bytes())
        classes = CACHE / "classes" / f"{self.version}-{known.hexdigest()[:20]}"
        if not classes.exists():
            classes.parent.mkdir(parents=True, exist_ok=True)
            made = Path(tempfile.mkdtemp(dir=classes.parent))
            self.compile(sources, made, *options)
            # Another process may have been faster.
            with suppress(OSError):
                made.rename(classes)
        return classes

    def java(self, classes: Path, options: Sequence[str]) -> list[str]:
        """The command that runs a class, whose name and arguments are to follow."""
        class_path = os.pathsep.join(map(str, [classes, *self.jars]))
        opened = [f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in OPENED_PACKAGES]
        return ["java", *UNCHECKED, *options, *opened, "-cp", class_path]


def _java_files(sources: Sequence[Path]) -> list[Path]:
    return [
        path
        for source in sources
        for path in (sorted(source.rglob("*.java")) if source.is_dir() else [source])
    ]
