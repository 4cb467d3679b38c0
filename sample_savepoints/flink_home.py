"""A release of Flink, as pip fetches it: jars to compile Java against and to run it with."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass, replace
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

# A job of Flink loads thousands of classes, which Java 17 stores once; that saves each later job 1.5 s of CPU.
STORED = Path(__file__).parent / "stored"


@dataclass(frozen=True, slots=True)
class FlinkHome:
    """A folder into which pip has put one version of ``apache-flink-libraries``, and more jars."""

    version: str
    folder: Path
    more: tuple[Path, ...] = ()
    are_classes_stored: bool = False

    @classmethod
    def cached(cls, version: str) -> FlinkHome:
        """The one that all scripts and tests share."""
        return cls(version, CACHE / version, are_classes_stored=True)

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
        if not self.are_classes_stored:
            return _java([classes, *self.jars], *options)
        archive, first = self._stored_classes()
        # Java takes the archive only if its jars come first; it says nothing if the archive does not fit.
        quiet = ("-Xlog:cds=off", "-Xlog:cds+dynamic=off", f"-XX:SharedArchiveFile={archive}")
        return _java([*first, *self.more, classes], *quiet, *options)

    def _stored_classes(self) -> tuple[Path, list[Path]]:
        """The archive of classes of this release, and the jars that must be the first of a class path."""
        own = replace(self, more=(), are_classes_stored=False)
        classes = own.compiled([STORED])
        archive, jar = Path(f"{classes}.jsa"), Path(f"{classes}.jar")
        first = [*own.jars, jar]
        with (CACHE / "stored").open("w") as lock, tempfile.TemporaryDirectory() as made:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not archive.exists():
                # The archive holds the path and the time of each jar.
                subprocess.run(["jar", "cf", str(jar), "-C", str(classes), "."], check=True)
                stores = ("-Xlog:cds+dynamic=off", f"-XX:ArchiveClassesAtExit={made}/jsa")
                command = [*_java(first, *stores), "Stored", made]
                subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
                shutil.move(f"{made}/jsa", archive)
        return archive, first


def _java(class_path: Sequence[Path], *options: str) -> list[str]:
    opened = [f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in OPENED_PACKAGES]
    return ["java", *UNCHECKED, *options, *opened, "-cp", os.pathsep.join(map(str, class_path))]


def _java_files(sources: Sequence[Path]) -> list[Path]:
    return [
        path
        for source in sources
        for path in (sorted(source.rglob("*.java")) if source.is_dir() else [source])
    ]
