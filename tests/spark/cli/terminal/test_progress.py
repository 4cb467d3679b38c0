"""Bars are for people who watch: they show how far it is, and are on stderr alone."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from support.sample_rows import Sample

from savepoint_cli.main import main
from savepoint_cli.terminal import progress
from savepoint_spark.session.session import TaskCount, task_count

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

CURRENCY = Sample("currency-2.2.1-rocksdb-native")


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has rich take stderr for a terminal, also where the tests of a change run."""
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")


@pytest.mark.usefixtures("terminal")
def test_bytes_and_tasks_are_shown_where_a_person_watches(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with progress.writing("Writing out", 100, lambda: TaskCount(3, 8)) as on_progress:
        on_progress(50)
        time.sleep(0.6)
    printed = capfd.readouterr()
    assert "Writing out" in printed.err
    assert "50/100 bytes" in printed.err
    assert "3/8" in printed.err
    assert not printed.out


@pytest.mark.usefixtures("terminal")
def test_steps_are_shown_where_a_person_watches(capfd: pytest.CaptureFixture[str]) -> None:
    with progress.steps("Writing rows", 4) as on_step:
        on_step()
        time.sleep(0.3)
    assert "1/4" in capfd.readouterr().err


def test_nothing_is_shown_where_nobody_watches(capfd: pytest.CaptureFixture[str]) -> None:
    with progress.writing("Writing out", 100, lambda: TaskCount(3, 8)) as on_progress:
        on_progress(50)
    assert capfd.readouterr() == ("", "")


@pytest.mark.usefixtures("terminal")
def test_programs_read_no_bars(spark: SparkSession, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    arguments = ["rescale", CURRENCY.path, out, "--parallelism", "1", "--output", "json"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0
    assert json.loads(result.stdout)["path"] == out


def test_a_session_that_rests_has_no_tasks(spark: SparkSession) -> None:
    assert task_count(spark) == TaskCount(0, 0)
