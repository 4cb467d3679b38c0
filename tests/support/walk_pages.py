"""Runs the commands of pages where no extra is installed: ``python walk_pages.py LIGHT FULL [PAGE ...]``.

LIGHT and FULL are the command ``savepoint`` of an environment without extras, and of one with them
all. A command on a sample must answer in LIGHT as in FULL, or name the extra that it needs. An extra
must stand in the page before the first command that needs it. Paths that only stand for something
are replaced by a sample; such a command may find no operator of the name, but never ends in a
traceback. It imports nothing but Python's own library, as no test tools are in LIGHT.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "sample_savepoints" / "currency-2.2.1-rocksdb-native"
PAGES = (
    *("README.md", "docs/index.md", "docs/tutorial.md"),
    *("docs/exit-codes.md", "docs/from-flink-sql.md", "docs/security.md"),
    *(
        str(path.relative_to(ROOT))
        for folder in ("how-to", "incidents")
        for path in sorted((ROOT / "docs" / folder).glob("*.md"))
    ),
)
WITH_PYTHON = PAGES[:3]
"""Pages whose Python is run, too; the tests run that of all pages with extras."""

BLOCK = re.compile(r"^ *```(bash|python)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
NEEDED = re.compile(r"\[(\w+)\]'$", re.MULTILINE)
STANDS_FOR = re.compile(r"^(s3|gs|hdfs|abfss|flink|file)://|^PATH$|^OLD$|^NEW$|^(/data|chk)/?")
ENDLESS = {"serve", "mcp", "browse", "jobs"}
"""Commands that wait for somebody; their extras are named by the first line of their help."""


def main(light: str, full: str, *pages: str) -> None:
    """Raises ``SystemExit`` with all lines of pages that don't hold."""
    wrong: list[str] = []
    count = 0
    for page in pages or PAGES:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "sample_savepoints").symlink_to(SAMPLE.parent)
            for before, call, is_sample in _calls(ROOT / page, Path(folder), light):
                count += 1
                run = _run(call, folder)
                wrong += [
                    f"{page}: {shlex.join(call)[:150]}: {why}" for why in _faults(run, before)
                ]
                if is_sample and not NEEDED.search(run.stderr):
                    same = _run([full, *call[1:]], folder) if call[0] == light else run
                    if (run.returncode, _plain(run)) != (same.returncode, _plain(same)):
                        wrong.append(
                            f"{page}: {shlex.join(call)[:150]}: {run.stderr or run.stdout}"
                        )
    wrong += _faults_of_demo(light, full)
    print(
        f"{count} commands and blocks of {len(pages or PAGES)} pages without extras, {len(wrong)} wrong"
    )
    if wrong:
        raise SystemExit("\n".join(wrong))


def _plain(run: subprocess.CompletedProcess[str]) -> str:
    """What a call has printed, without the time of it."""
    return re.sub(r"^at\t.*", "", run.stdout, flags=re.MULTILINE)


def _faults_of_demo(light: str, full: str) -> Iterator[str]:
    """What the walk of ``savepoint demo`` does other than where all extras are installed."""
    shown = []
    for command in (light, full):
        with tempfile.TemporaryDirectory() as folder:
            shown.append(_run([command, "demo"], folder))
    if shown[0].returncode or shown[0].stdout != shown[1].stdout:
        yield f"savepoint demo: {shown[0].stderr or shown[0].stdout}"


def _calls(page: Path, folder: Path, light: str) -> Iterator[tuple[str, list[str], bool]]:
    """The text before each call, the call, and whether it reads a sample."""
    text, python = page.read_text(encoding="utf-8"), ""
    is_run = str(page.relative_to(ROOT)) in WITH_PYTHON
    for block in BLOCK.finditer(text):
        if block[1] == "python":
            if is_run:
                # Blocks of a page go on from each other.
                python += block[2]
                yield (
                    text[: block.start()],
                    [str(Path(light).with_name("python")), "-c", python],
                    True,
                )
            continue
        for line in lines_of(block[2]):
            words = words_of(line)
            is_sample = any(word.startswith("sample_savepoints/") for word in words)
            yield text[: block.start()], [light, *_replaced(words, folder)], is_sample


def lines_of(block: str) -> Iterator[str]:
    """The calls of the command in a block, without those that wait for somebody."""
    for line in block.replace("\\\n", " ").splitlines():
        found = re.search(r"(?:^\s*|/|&& )savepoint ([a-z-]+ .*)", line)
        if found and words_of(found[1])[0] not in ENDLESS:
            yield found[1]


def words_of(text: str) -> list[str]:
    lexer = shlex.shlex(text, posix=True, punctuation_chars="|;&<>")
    lexer.whitespace_split = True
    words: list[str] = []
    for word in lexer:
        if word[0] in "|;&<>":
            break
        words.append(word)
    return words


def _replaced(words: list[str], folder: Path) -> list[str]:
    """The words, with a sample for the first path that stands for one; others are new places."""
    places: dict[str, str] = {}
    for word in words:
        if STANDS_FOR.search(word):
            new = str(folder / f"new-{len(places)}") if places else str(SAMPLE)
            places.setdefault(word, new)
    return [places.get(word) or word.replace("/tmp/", f"{folder}/") for word in words]


def _run(call: list[str], folder: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        call, cwd=folder, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )


def _faults(run: subprocess.CompletedProcess[str], before: str) -> Iterator[str]:
    is_python = isinstance(run.args, list) and "-c" in run.args
    needed = NEEDED.search(run.stderr)
    if "Traceback" in run.stderr and not (is_python and needed):
        yield run.stderr
    if "is not installed" in run.stderr and not needed:
        yield f"no extra is named: {run.stderr}"
    if needed and f"`{needed[1]}`" not in before and f"[{needed[1]}]" not in before:
        yield f"needs the extra {needed[1]}, which the page has not named so far"


if __name__ == "__main__":
    main(*sys.argv[1:])
