"""Spark's classes, kept for the next process."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.nightly import nightly

from savepoint_spark.session.java_runtime import Java, archive_options, ensure_java

SESSION = """\
from state_processor import local_session
print(local_session("local[1]").range(3).count())
"""
SHARED = "org.apache.spark.SparkContext source: shared objects file (top)"


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Java:
    """The machine's own Java, if it keeps archives, and an empty folder of caches."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache of a user"))
    java = ensure_java()
    if java.release != 17:
        pytest.skip(f"needs a Java 17 on the PATH or in JAVA_HOME; this one is {java.release}")
    return java


@nightly
@pytest.mark.usefixtures("slow")
def test_a_second_session_takes_the_classes_of_the_first(java: Java, tmp_path: Path) -> None:
    log = tmp_path / "classes.log"
    seen = []
    for _ in range(2):
        environment = {**os.environ, "JAVA_TOOL_OPTIONS": f"-Xlog:class+load:file={log}"}
        command = [sys.executable, "-c", SESSION]
        run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert (run.returncode, run.stdout) == (0, "3\n"), run.stderr
        assert "[cds" not in run.stderr
        seen.append(SHARED in log.read_text(encoding="utf-8"))
        left = time.monotonic() + 60
        # Java writes it when this process has ended.
        while "SharedArchiveFile" not in archive_options(java) and time.monotonic() < left:
            time.sleep(0.1)
    assert seen == [False, True]


def archives(tmp_path: Path) -> Path:
    place = tmp_path / "cache of a user" / "savepoint-state-processor"
    return place / f"user-{os.geteuid()}" / "classes"


def test_an_archive_that_was_not_written_to_its_end_is_made_again(
    java: Java, tmp_path: Path
) -> None:
    assert archive_options(java).startswith('"-XX:ArchiveClassesAtExit=')
    (name,) = [part for part in archive_options(java).split('"') if part.endswith(".jsa")]
    path = Path(name.partition("=")[2])
    assert path.parent == archives(tmp_path)
    path.write_bytes(bytes(100))
    assert archive_options(java).startswith('"-XX:ArchiveClassesAtExit=')
    path.write_bytes(b"\1" + bytes(99))
    assert archive_options(java).startswith('"-XX:SharedArchiveFile=')


def test_archives_that_were_not_used_for_long_go(java: Java, tmp_path: Path) -> None:
    archives(tmp_path).mkdir(parents=True)
    for age in range(4):
        path = archives(tmp_path) / f"{age}.jsa"
        path.write_bytes(b"\1")
        os.utime(path, (0, 1000 - age))
    archive_options(java)
    assert os.listdir(archives(tmp_path)) == ["0.jsa"]


def test_without_a_folder_of_caches_there_is_none(java: Java, tmp_path: Path) -> None:
    (tmp_path / "cache of a user").write_bytes(b"")
    assert archive_options(java) == ""


@pytest.mark.parametrize("release", [21, 25])
def test_another_java_keeps_none(java: Java, release: int) -> None:
    assert archive_options(Java(java.program, release)) == ""
