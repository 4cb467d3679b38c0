"""Walks pages of ``docs/incidents``: every line of their shells, in order, in the folder of the project."""

from __future__ import annotations

import re
import shlex
import subprocess
from typing import TYPE_CHECKING

from support.commands import result_of
from support.sample_rows import SAMPLES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

ROOT = SAMPLES.parent
BLOCK = re.compile(r"^```bash\n(.*?)^```", re.MULTILINE | re.DOTALL)
NO_PLACES: Mapping[str, Path] = {}


def walk(page: str, folder: Path, places: Mapping[str, Path] = NO_PLACES) -> dict[str, str]:
    """Line -> what it printed. ``/tmp`` is the folder; a line ends as its comment says, or with 0.

    ``places`` has the real place of each name that stands for one, such as ``PATH``.
    """
    printed = {}
    for line in _lines(page):
        expected = re.search(r"# exit code (\d)", line)
        call = line.replace(" /tmp/", f" {folder}/").replace(
            " sample_savepoints/", f" {SAMPLES.as_posix()}/"
        )
        for name, place in places.items():
            call = re.sub(rf"(?<= ){re.escape(name)}(?=\s|$)", str(place), call)
        code, output = _run(call)
        assert code == (int(expected[1]) if expected else 0), (line, output)
        printed[line.partition("   #")[0]] = output
    return printed


def _lines(page: str) -> Iterator[str]:
    """The lines of a page's shells; a document that a line reads up to ``END`` belongs to the line."""
    text = (ROOT / "docs" / "incidents" / f"{page}.md").read_text(encoding="utf-8")
    lines = iter("".join(BLOCK.findall(text)).splitlines())
    for line in lines:
        call = line
        if line.endswith("<<END"):
            for more in lines:
                call += f"\n{more}"
                if more == "END":
                    break
        yield call


def _run(call: str) -> tuple[int, str]:
    if not call.startswith("savepoint "):
        done = subprocess.run(["bash", "-c", call], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr
    words = shlex.split(call, comments=True)
    *words, target = words if words[-2] == ">" else (*words, ">", "")
    result = result_of(*words[1:-1])
    if target:
        with open(target, "w", encoding="utf-8") as file:
            file.write(result.stdout)
    return result.exit_code, result.output
