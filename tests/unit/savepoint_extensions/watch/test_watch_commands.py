"""``savepoint watch`` on the command line."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING
from urllib.request import urlopen

import pytest
from support.commands import result_of, run
from support.hand_made import LONG, with_ttl
from support.longs_by_text import savepoint_of_longs
from support.watched_jobs import checkpoint

from savepoint_extensions.watch.watch_commands import watch

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("slow")


@pytest.fixture
def leaking(tmp_path: Path) -> Path:
    """Twelve checkpoints of a level, and twelve of a leak, a minute from each to the next."""
    job = tmp_path / "job"
    for number in range(1, 25):
        checkpoint(job, number, keys=100 + max(number - 12, 0) * 10)
    return job


def limits(folder: Path, text: str) -> Path:
    file = folder / "limits.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def test_without_thresholds_it_shows_the_round(leaking: Path) -> None:
    code, output = run("watch", leaking, "--once", "--uid", "a")
    assert code == 0, output
    assert "chk-24" in output
    assert "total" in output
    code, output = run("watch", leaking, "--once", "--uid", "a", "--output", "json")
    answer = json.loads(output)
    assert (answer["id"], answer["states"][0]["entries"]) == (24, 220)


def test_each_breach_is_a_line_and_the_exit_code_is_3(leaking: Path, tmp_path: Path) -> None:
    file = limits(tmp_path, "growth-per-day: 100 KB\nstate-size: 4 KB\nkey-entries: 5\n")
    result = result_of("watch", leaking, "--once", "--uid", "a", "--thresholds", file)
    assert result.exit_code == 3
    assert result.stdout.splitlines() == [
        "a.total has 4.4 kB, above 4.0 kB",
        "a.total grows in a day by at least 288.0 kB, above 100.0 kB",
    ]


def test_nothing_is_said_if_nothing_is_breached(leaking: Path, tmp_path: Path) -> None:
    file = limits(tmp_path, "growth-per-day: 1 MB\nsize: 1 GB\nsubtask-skew: 3\n")
    result = result_of("watch", leaking, "--once", "--uid", "a", "--thresholds", file)
    assert (result.exit_code, result.output) == (0, "")


def test_growth_that_cannot_be_judged_is_no_silent_success(tmp_path: Path) -> None:
    checkpoint(tmp_path / "job", 1)
    file = limits(tmp_path, "growth-per-day: 1 MB\n")
    result = result_of("watch", tmp_path / "job", "--once", "--thresholds", file, "--uid", "a")
    assert result.exit_code == 0
    assert result.stderr == "growth is not judged yet: a.total: 1 checkpoint of 10 checkpoints\n"


def test_thresholds_that_are_compared_with_nothing_are_no_silent_success(
    leaking: Path, tmp_path: Path
) -> None:
    text = "expired-share: 1%\nstates:\n  a.totl: {size: 1}\n  a.total: {overdue-timers: 1}\n"
    arguments: list[str | Path] = ["--thresholds", limits(tmp_path, text), "--ttl", "totl=7d"]
    result = result_of("watch", leaking, "--once", "--uid", "a", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    nothing = "a threshold is compared with nothing: "
    assert result.stderr.splitlines() == [
        f"{nothing}checkpoint 24 has no state a.totl; did you mean 'a.total'?",
        f"{nothing}a.total has no timers of processing time",
        f"{nothing}checkpoint 24 has no state with a known time to live (--ttl)",
        "--ttl totl: no state of this name has times of access",
    ]


def test_an_empty_state_with_a_time_to_live_keeps_its_threshold(tmp_path: Path) -> None:
    """In a quiet hour, all its values may be cleaned up."""
    savepoint_of_longs(tmp_path / "job" / "chk-1", {}, value=with_ttl(LONG))
    arguments: list[str | Path] = ["--thresholds", limits(tmp_path, "expired-share: 1%\n")]
    arguments += ["--once", "--uid", "a", "--ttl", "total=1h"]
    result = result_of("watch", tmp_path / "job", *arguments)
    assert (result.exit_code, result.output) == (0, "")


def test_a_breach_outweighs_a_threshold_that_is_compared_with_nothing(
    leaking: Path, tmp_path: Path
) -> None:
    file = limits(tmp_path, "size: 1 KB\nstates: {a.totl: {size: 1}}\n")
    result = result_of("watch", leaking, "--once", "--uid", "a", "--thresholds", file)
    assert (result.exit_code, len(result.stderr.splitlines())) == (3, 1)


def test_an_old_checkpoint_and_a_damaged_one_are_told_and_the_damaged_one_decides(
    leaking: Path, tmp_path: Path
) -> None:
    (leaking / "chk-24" / "_metadata").write_bytes(b"damaged")
    file = limits(tmp_path, "age: 1 h\nintact-age: 1 h\n")
    code, output = run(
        "watch", leaking, "--once", "--thresholds", file, "--output", "json", "--uid", "a"
    )
    rows = [json.loads(line) for line in output.splitlines()]
    assert code == 1
    assert [row["word"] for row in rows] == ["problem", "age", "intact-age"]
    assert "chk-24" in rows[0]["text"]


def test_breaches_are_told_although_their_sizes_cannot_be_written(
    leaking: Path, tmp_path: Path
) -> None:
    thresholds = limits(tmp_path, "state-size: 4 KB\n")
    arguments: list[str | Path] = [
        "--thresholds",
        thresholds,
        "--remember",
        tmp_path / "gone" / "sizes.json",
    ]
    result = result_of("watch", leaking, "--once", "--uid", "a", *arguments)
    assert result.exit_code == 1
    assert result.stdout == "a.total has 4.4 kB, above 4.0 kB\n"
    assert "sizes.json can't be written" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--metrics", "9250x"], "expected a port"),
        (["--every", "5 lightyears"], "--every"),
        (["--every", "0s"], "expected a time such as 10s"),
        (["--trigger"], "triggers nothing"),
        (["--once", "--metrics", ":0"], "leave --once out"),
    ],
)
def test_a_wrong_call_is_told(leaking: Path, arguments: list[str], told: str) -> None:
    code, output = run("watch", leaking, *arguments)
    assert (code, told in output) == (2, True), output


def test_mistakes_of_the_file_are_told_with_their_places(leaking: Path, tmp_path: Path) -> None:
    code, output = run("watch", leaking, "--once", "--thresholds", limits(tmp_path, "sizes: 1\n"))
    assert code == 2
    assert "limits.yaml line 1 column 1: there is no 'sizes'" in output


def test_the_command_serves_metrics_until_it_is_stopped(leaking: Path) -> None:
    pytest.importorskip("prometheus_client")
    start = "from savepoint_cli.start import main; main()"
    program = [sys.executable, "-c", start, "watch", str(leaking)]
    with subprocess.Popen(
        [*program, "--metrics", ":0", "--every", "1s", "--uid", "a"],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            assert process.stderr is not None
            address = process.stderr.readline().split()[-1]
            assert address.startswith("http://127.0.0.1:")
            line = 'savepoint_state_entries{operator="a",state="total"} 220.0'
            for _ in range(200):
                text = urlopen(address).read().decode()
                if line in text:
                    break
                time.sleep(0.1)
            assert line in text
        finally:
            process.send_signal(signal.SIGINT)
        process.wait(20)


def test_it_is_a_command() -> None:
    assert watch.name == "watch"
