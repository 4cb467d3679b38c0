"""The GitHub action: its steps are run by the shell that it names."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.commands import lines

ROOT = Path(__file__).parents[3]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
_INPUT = re.compile(r"\$\{\{ (?:inputs|github)\.(\w+) \}\}")


def run_action(folder: Path, **given: str) -> tuple[int, dict[str, str], str]:
    """Exit code, outputs, and the summary of a run."""
    values = {name: str(one.get("default", "")) for name, one in ACTION["inputs"].items()}
    values |= given
    output, summary = folder / "output", folder / "summary"
    output.touch()
    summary.touch()
    own = {"GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(summary)}
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    code = 0
    for step in ACTION["runs"]["steps"]:
        env = {
            name: _INPUT.sub(lambda match: values.get(match[1], ""), text)
            for name, text in step["env"].items()
        }
        call = [step["shell"], "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        whole = {**os.environ, **own, **env, "PATH": path, "RUNNER_TEMP": str(folder)}
        code = subprocess.run(call, env=whole, check=False, capture_output=True).returncode
        if code:
            break
    outputs = dict(line.split("=", 1) for line in output.read_text("utf-8").splitlines())
    return code, outputs, summary.read_text("utf-8")


@pytest.fixture
def job(samples: Path, tmp_path: Path) -> Path:
    (schema,) = lines("schema", samples / "states-2.2.1-rocksdb-native")
    file = tmp_path / "job $(touch x).json"
    file.write_text(json.dumps(schema), encoding="utf-8")
    return file


@pytest.mark.usefixtures("slow")
def test_a_job_that_restores_passes(samples: Path, tmp_path: Path, job: Path) -> None:
    savepoint = str(samples / "states-2.2.1-rocksdb-native")
    code, outputs, summary = run_action(tmp_path, savepoint=savepoint, job=str(job), install="")
    assert (code, outputs["verdict"]) == (0, "restorable")
    assert summary == Path(outputs["comment"]).read_text("utf-8")
    assert "<testsuite" in Path(outputs["junit"]).read_text("utf-8")


def test_a_job_that_does_not_restore_fails(samples: Path, tmp_path: Path, job: Path) -> None:
    savepoint = str(samples / "currency-2.2.1-hashmap-native")
    more = {"backend": "rocksdb", "target": "2.2", "arguments": "--uid=summarize\n"}
    code, outputs, summary = run_action(
        tmp_path, savepoint=savepoint, job=str(job), install="", **more
    )
    assert (code, outputs["verdict"]) == (3, "restorable after migration")
    assert "operator-missing" in summary
    assert "native-of-hashmap" in summary


def test_what_is_no_savepoint_fails_without_a_verdict(tmp_path: Path, job: Path) -> None:
    code, outputs, _ = run_action(tmp_path, savepoint="--help", job=str(job), install="")
    assert (code, outputs) == (1, {})


def test_no_input_is_part_of_a_script() -> None:
    steps: list[dict[str, Any]] = ACTION["runs"]["steps"]
    assert not [step for step in steps if "${{" in step["run"]]
