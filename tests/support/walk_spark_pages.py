"""Runs the commands of pages with the extra ``spark`` alone: ``python -m support.walk_spark_pages FULL [PAGE ...]``.

FULL is the Python of an environment with all extras, where each command must answer the same. A page's
commands run in their order, so that they read what those before them have written; all run in one
process, with one session. A line ends as its comment says; a line on a sample without one ends with 0.
Where an extra is missing, the page must have named it. Paths that only stand for something are
replaced by a sample that has the operators that the page speaks of. Incidents are walked by
``tests/flink/test_incidents.py``.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from click.testing import CliRunner

from savepoint_cli.main import main as savepoint
from support.walk_pages import BLOCK, NEEDED, PAGES, ROOT, STANDS_FOR, lines_of, words_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SAMPLES = ROOT / "sample_savepoints"
OF_WORDS = {"stateful": "states-2.2.1-rocksdb-native", "": "currency-2.2.1-rocksdb-native"}
"""A word of a page -> the sample of its commands; the first that fits."""

ELSEWHERE = re.compile(r"spark://|flink://|--trigger|customers\.csv")
"""Lines that need a cluster, or a table of the reader's."""

VARIES = re.compile(
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d+(\.\d+)? m?s\b|seconds\s+[\d.e-]+"
)


class Answer(NamedTuple):
    """What a line came to, without what differs from run to run."""

    page: str
    line: str
    code: int
    printed: str


def answers(pages: Sequence[str]) -> Iterator[Answer]:
    """Each line of the pages, in order."""
    # Workers of Spark go on in the folder in which the first of them began.
    with tempfile.TemporaryDirectory() as base:
        os.chdir(base)
        Path("sample_savepoints").symlink_to(SAMPLES)
        for number, page in enumerate(pages):
            folder = Path(base, str(number))
            folder.mkdir()
            for line, words in _calls(page, folder):
                code, printed = _ran(words)
                shown = VARIES.sub("…", printed.replace(str(folder), "FOLDER"))
                yield Answer(page, line, code, shown)
        os.chdir(ROOT)


def _calls(page: str, folder: Path) -> Iterator[tuple[str, list[str]]]:
    """The lines of a page, and their words with real places."""
    text = (ROOT / page).read_text(encoding="utf-8")
    sample = next(name for word, name in OF_WORDS.items() if word in text)
    places: dict[str, str] = {}
    for block in BLOCK.finditer(text):
        for line in lines_of(block[2]) if block[1] == "bash" else ():
            if not ELSEWHERE.search(line):
                yield line, _placed(words_of(line), places, str(folder), str(SAMPLES / sample))


def _placed(words: list[str], places: dict[str, str], folder: str, sample: str) -> list[str]:
    """The words with real places: what is read first was made before, or is the sample; others are new."""
    named = [word for word in words if STANDS_FOR.search(word)]
    for number, word in enumerate(dict.fromkeys(named)):
        new = str(Path(folder) / f"new-{len(places)}")
        if number == 0 and not Path(places.get(word, new)).exists():
            places[word] = sample
        elif number > 0:
            place = places.setdefault(word, new)
            if place != sample and words[0] not in ("diff", "transplant"):
                shutil.rmtree(place, ignore_errors=True)
    return [places.get(word) or word.replace("/tmp/", f"{folder}/") for word in words]


def _ran(words: list[str]) -> tuple[int, str]:
    result = CliRunner().invoke(savepoint, words)
    if result.exception and not isinstance(result.exception, SystemExit):
        return -1, f"{type(result.exception).__name__}: {result.exception}"
    return result.exit_code, result.output


def faults(answer: Answer) -> Iterator[str]:
    """What is wrong with an answer by itself."""
    said = re.search(r"# exit code (\d)", answer.line)
    is_told = bool(said) or "sample_savepoints/" in answer.line
    needed = NEEDED.search(answer.printed)
    if answer.code < 0:
        yield "ends with an error of the program"
    elif is_told and not needed and answer.code != (int(said[1]) if said else 0):
        yield f"ends with exit code {answer.code}"
    if "is not installed" in answer.printed:
        before = (ROOT / answer.page).read_text(encoding="utf-8").partition(answer.line)[0]
        if not needed or needed[1] == "spark" or f"`{needed[1]}`" not in before:
            yield "an extra is missing that the page has not named"


def main(full: str, *pages: str) -> None:
    """Raises ``SystemExit`` with all lines that don't hold."""
    if full == "--print":
        for answer in answers(pages):
            print(json.dumps(answer), flush=True)
        return
    wanted = pages or [page for page in PAGES if "incidents/" not in page]
    own = list(answers(wanted))
    there = subprocess.run(
        [full, "-P", "-m", "support.walk_spark_pages", "--print", *wanted],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    others = [Answer(*json.loads(line)) for line in there.stdout.splitlines()]
    wrong = [
        f"{each.page}: {each.line}: {why}\n{each.printed}" for each in own for why in faults(each)
    ]
    for each, other in zip(own, others, strict=True):
        if each != other and not NEEDED.search(each.printed):
            wrong.append(
                f"{each.page}: {each.line}\n{each.printed}\nWith all extras:\n{other.printed}"
            )
    print(f"{len(own)} commands of {len(wanted)} pages with Spark, {len(wrong)} wrong")
    if wrong:
        raise SystemExit("\n".join(wrong))


if __name__ == "__main__":
    main(*sys.argv[1:])
