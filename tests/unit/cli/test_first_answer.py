"""A first answer loads what it needs, and what takes long says so."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


def shown_by_python_alone(sample: Path, table: str) -> str:
    """The first rows of a table, from a process that may load neither Spark nor LLVM."""
    program = (
        "import sys; from savepoint_cli.main import main;"
        f"main(['show', {str(sample)!r}, {table!r}, '-n', '2'],"
        " standalone_mode=False);"
        "assert not {'pyspark', 'llvmlite'} & set(sys.modules)"
    )
    return subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    ).stdout


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize(
    ("sample", "table"),
    [
        ("currency-2.2.1-hashmap-canonical", "summarize.keyed_state"),
        ("currency-2.2.1-rocksdb-native", "summarize.keyed_state"),
        # 16 states in 48 KiB.
        ("states-2.2.1-hashmap-canonical", "stateful.keyed_state"),
    ],
)
def test_the_rows_of_a_sample_need_neither_spark_nor_llvm(
    samples: Path, sample: str, table: str
) -> None:
    assert shown_by_python_alone(samples / sample, table).startswith("key\t")


def on_terminal(program: str, **environment: str) -> bytes:
    """Output on stderr, where that is a terminal, without colours."""
    terminal, end = pty.openpty()
    given = {name: value for name, value in os.environ.items() if name not in {"CI", "TERM"}}
    given |= {"TERM": "xterm", "COLUMNS": "100", **environment}
    with subprocess.Popen([sys.executable, "-c", program], env=given, stderr=end) as running:
        os.close(end)
        shown = b""
        with suppress(OSError):  # what a terminal without a writer gives
            while part := os.read(terminal, 1 << 16):
                shown += part
        os.close(terminal)
    assert running.returncode == 0, shown
    return re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", shown)


@pytest.mark.parametrize(
    ("what", "seconds", "said"),
    [
        ("reading('s3://a')", 60.0, b""),
        ("reading('s3://a\\x1b')", 0.0, b"Reading s3://a\\x1b ..."),
        # Where a person types, for instance.
        ("reading('s3://a'): progress.hush(); time.sleep(1.2)\nif True", 1.0, b""),
    ],
)
def test_a_terminal_is_told_of_what_takes_long(what: str, seconds: float, said: bytes) -> None:
    shown = on_terminal(
        "import time; from savepoint_cli.terminal import progress;"
        f"progress._PATIENCE_SECONDS = {seconds};\n"
        f"with progress.{what}: time.sleep(1)"
    )
    assert said in shown
    assert said or shown == b""


def test_two_bars_share_the_terminal() -> None:
    shown = on_terminal(
        "import time; from savepoint_cli.terminal import progress\n"
        "with progress.steps('Writing out', 7) as step:\n"
        "    step()\n"
        "    with progress.steps('Copying in', 3): time.sleep(1)\n"
        "    step(); time.sleep(0.5)\n"
    )
    assert b"1/7" in shown
    assert shown.index(b"0/3") < shown.index(b"2/7")


def test_a_pipe_is_not(capfd: pytest.CaptureFixture[str]) -> None:
    program = (
        "import time; from savepoint_cli.terminal import progress; progress._PATIENCE_SECONDS = 0.0;\n"
        "with progress.reading('s3://a'): time.sleep(0.5)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    assert capfd.readouterr().err == ""
