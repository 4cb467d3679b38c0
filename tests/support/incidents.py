"""Walks pages of ``docs/incidents``: every line of their shells, in order, in the folder of the project."""

from __future__ import annotations

import re
import shlex
import subprocess
from typing import TYPE_CHECKING

from support.commands import result_of
from support.sample_rows import SAMPLES

if TYPE_CHECKING:
    from pathlib import Path

ROOT = SAMPLES.parent
BLOCK = re.compile(r"^```bash\n(.*?)^```", re.MULTILINE | re.DOTALL)


def walk(page: str, folder: Path) -> dict[str, str]:
    """Line -> what it printed. ``/tmp`` is the folder; a line ends as its comment says, or with 0."""
    text = (ROOT / "docs" / "incidents" / f"{page}.md").read_text(encoding="utf-8")
    printed = {}
    for line in "".join(BLOCK.findall(text)).splitlines():
        expected = re.search(r"# exit code (\d)", line)
        call = line.replace(" /tmp/", f" {folder}/").replace(
            " sample_savepoints/", f" {SAMPLES.as_posix()}/"
        )
        code, output = _run(call)
        assert code == (int(expected[1]) if expected else 0), (line, output)
        printed[line.partition("   #")[0]] = output
    return printed


def _run(call: str) -> tuple[int, str]:
    words = shlex.split(call, comments=True)
    if words[0] != "savepoint":
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr
    *words, target = words if words[-2] == ">" else (*words, ">", "")
    result = result_of(*words[1:-1])
    if target:
        with open(target, "w", encoding="utf-8") as file:
            file.write(result.stdout)
    return result.exit_code, result.output
