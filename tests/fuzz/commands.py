"""Commands over damaged savepoints and plans: ``python -m fuzz.commands --runs 3000 --seed 1``.

Each run damages one file, and asks a command. Its exit code is one of those that ``--help`` names, an
error is one line, and there is no traceback. Most run in a process that many of them share; with
``--real`` each is a process, as users start it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from click.testing import CliRunner

from fuzz.documents import changed_json
from fuzz.mutations import mutated
from fuzz.promises import SECONDS, outcome, watched
from fuzz.samples import SAMPLES
from fuzz.seed_texts import PLAN
from fuzz.target import MEMORY_OF_ROCKSDB
from fuzz.workers import CONTEXT, answers
from savepoint_cli.main import main as savepoint
from savepoint_formats.errors import SavepointError
from state_processor import Savepoint

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

CODES = (0, 1, 2, 3)
_ERROR = "Error: "
_START = "import sys; sys.argv[0] = 'savepoint'; from savepoint_cli.start import main; main()"
_SECONDS_OF_A_PROCESS = 300.0
_LARGEST = 200_000

COMMANDS = (
    *("describe PATH", "list PATH", "schema PATH", "schema PATH TABLE --format pyflink"),
    *("schema PATH --output json", "show PATH TABLE --output json", "show PATH TABLE --key 1"),
    *("show PATH TABLE --where key=1", "files PATH", "kafka PATH", "sinks PATH", "sources PATH"),
    *("verify PATH", "verify PATH --quick --output json", "stats PATH", "stats PATH TABLE"),
    *("doctor PATH --target 2.2", "doctor PATH --job WHOLE", "doctor WHOLE --job PATH"),
    *("diff PATH WHOLE", "diff WHOLE PATH", "key PATH 1", "classes PATH", "find PATH 1"),
    *("snapshots FOLDER", "history FOLDER TABLE --key 1", "gc FOLDER", "find FOLDER 1 --snapshots"),
    *("copy PATH OUT", "rename-operator PATH OPERATOR other OUT", "mask PATH --suggest"),
    *("remove-operator PATH OPERATOR OUT", "export PATH TABLE OUT.parquet --to parquet"),
    *(
        "export PATH TABLE OUT.jsonl --to jsonl",
        "sql-diff PLAN OTHER_PLAN",
        "sql-diff OTHER_PLAN PLAN",
    ),
    *("describe PATH --plan PLAN", "list PATH --plan PLAN --output csv", "query PATH SQL"),
)


@dataclass(frozen=True)
class Subject:
    """A sample, with names of what is in it."""

    path: Path
    operator: str
    table: str
    sql: str
    files: tuple[Path, ...]


@cache
def subjects() -> tuple[Subject, ...]:
    """The samples that have a table, with their small files; ``_metadata`` comes as often as all others."""
    found = []
    for metadata in sorted(SAMPLES.rglob("_metadata")):
        try:
            opened = Savepoint.open(metadata.parent)
            table = next(one for one in opened.tables() if "keyed_state" in one.table)
        except (SavepointError, StopIteration):
            continue
        operator = table.table.rpartition(".")[0]
        files = tuple(
            path
            for path in sorted(metadata.parent.rglob("*"))
            if path.is_file() and path.stat().st_size < _LARGEST and path.suffix != ".json"
        )
        found.append(Subject(metadata.parent, operator, table.table, table.sql, files))
    return tuple(found)


@dataclass
class Tally:
    """Runs: exit codes, by command, and broken promises."""

    runs: int = 0
    codes: Counter[tuple[str, int]] = field(default_factory=Counter)
    broken: dict[str, str] = field(default_factory=dict)

    def add(self, other: Tally) -> None:
        """Adds other runs."""
        self.runs += other.runs
        self.codes += other.codes
        self.broken = {**other.broken, **self.broken}


@dataclass(frozen=True)
class Case:
    """A command over a damaged savepoint: number ``number`` of a seed, the same in each run."""

    seed: int
    number: int

    def made(self, folder: Path) -> list[str]:
        """The words of the command; the savepoint lies in the folder then."""
        chance = Random(f"{self.seed} command {self.number}")
        subject, line = chance.choice(subjects()), chance.choice(COMMANDS)
        path = folder / "snapshots" / "savepoint-1"
        shutil.copytree(subject.path, path, copy_function=os.link)
        is_metadata = chance.random() < 0.5
        damaged = path / "_metadata" if is_metadata else chance.choice(subject.files)
        damaged = path / damaged.relative_to(subject.path) if not is_metadata else damaged
        data = damaged.read_bytes()
        damaged.unlink()
        if chance.random() > 0.03:
            damaged.write_bytes(mutated(data, [], chance))
        plan, other = folder / "plan.json", folder / "other.json"
        plan.write_text(PLAN, encoding="utf-8")
        other.write_bytes(changed_json(PLAN.encode(), chance))
        names = {
            "PATH": str(path),
            "WHOLE": str(subject.path),
            "FOLDER": str(path.parent),
            "OUT": str(folder / "out"),
            "PLAN": str(plan),
            "OTHER_PLAN": str(other),
            "OPERATOR": subject.operator,
            "TABLE": subject.table,
            "SQL": f"SELECT * FROM {subject.sql} ORDER BY ALL LIMIT 3",
        }
        return [_named(word, names) for word in line.split()]


def _named(word: str, names: dict[str, str]) -> str:
    stem, dot, ending = word.partition(".")
    return f"{names.get(stem, stem)}{dot}{ending}"


def wrong(code: int, output: str, errors: str) -> str | None:
    """The promise that a command has broken; None if it kept all."""
    if "Traceback" in output + errors:
        return "it shows a traceback"
    if code not in CODES:
        return f"it ended with {code}"
    told = [line for line in errors.splitlines() if line.startswith(_ERROR)]
    if code == 0 and told:
        return "it ended with 0 and an error"
    if code == 2 and not told:
        return "it ended with 2 and without an error"
    lines = errors.splitlines()
    if told and (len(told) > 1 or lines[-1] != told[0]):
        return "its error is not the last line"
    return None


def in_process(words: list[str]) -> tuple[int, str, str, BaseException | None]:
    """Exit code and texts of a command in this process, and what it raised, if anything."""
    results: list[Any] = []

    def invoke(_: bytes) -> None:
        results.append(CliRunner().invoke(savepoint, words))

    raised = outcome(invoke, b"")
    if raised is not None:
        return -1, "", "", raised
    result = results[0]
    error = result.exception
    return (
        result.exit_code,
        result.stdout,
        result.stderr,
        None if isinstance(error, SystemExit) else error,
    )


def _work(seed: int, first: int, last: int, sender: Connection) -> None:
    """Runs cases in this process, and sends a tally after each."""
    with TemporaryDirectory() as folder:
        for number in range(20):
            place = Path(folder, f"warm-{number}")
            place.mkdir()
            in_process(Case(0, number).made(place))
        with watched(MEMORY_OF_ROCKSDB):
            for number in range(first, last):
                place = Path(folder, str(number))
                place.mkdir()
                sender.send(_tried(Case(seed, number), place, is_real=False))
                shutil.rmtree(place)
    sender.close()


def _tried(case: Case, folder: Path, *, is_real: bool) -> Tally:
    words = case.made(folder)
    raised: BaseException | None = None
    if is_real:
        command = [sys.executable, "-c", _START, *words]
        ended = subprocess.run(
            command, capture_output=True, check=False, timeout=_SECONDS_OF_A_PROCESS
        )
        code, output, errors = (
            ended.returncode,
            ended.stdout.decode("utf-8", "replace"),
            ended.stderr.decode("utf-8", "replace"),
        )
    else:
        code, output, errors, raised = in_process(words)
    tally = Tally(1, Counter({(words[0], code): 1}))
    problem = f"{type(raised).__name__}: {raised}" if raised else wrong(code, output, errors)
    if problem is not None:
        tally.broken[f"{words[0]}: {problem[:200]}"] = (
            f"number {case.number} of seed {case.seed}: {' '.join(words)}\n{errors[-500:]}"
        )
    return tally


def tried(seed: int, runs: int) -> Tally:
    """Cases of a seed in processes that many of them share; one that ends its process is a find."""
    total = Tally()
    while total.runs < runs:
        before = total.runs
        receiver, sender = CONTEXT.Pipe(duplex=False)
        process = CONTEXT.Process(target=_work, args=(seed, total.runs, runs, sender))
        process.start()
        sender.close()
        for tally in answers(receiver, process.pid or 0):
            total.add(tally)
        process.join()
        if process.exitcode and total.runs == before:
            raise RuntimeError("the process ended before it ran a command")
        if process.exitcode:
            total.broken[f"ended by {process.exitcode}"] = f"number {total.runs} of seed {seed}"
            total.runs += 1
    return total


def tried_as_processes(seed: int, runs: int, processes: int) -> Tally:
    """Cases of a seed, each as a process of its own."""

    def one(number: int) -> Tally:
        with TemporaryDirectory() as folder:
            return _tried(Case(seed, number), Path(folder), is_real=True)

    total = Tally()
    with ThreadPoolExecutor(processes) as pool:
        for tally in pool.map(one, range(runs)):
            total.add(tally)
    return total


def main() -> int:
    """Runs commands; returns how many promises were broken."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.commands")
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1, help="the same seed makes the same runs")
    parser.add_argument("--real", action="store_true", help="a process for each run")
    parser.add_argument("--processes", type=int, default=1, help="at a time, of --real")
    chosen = parser.parse_args()
    total = (
        tried_as_processes(chosen.seed, chosen.runs, chosen.processes)
        if chosen.real
        else tried(chosen.seed, chosen.runs)
    )
    for command in sorted({command for command, _ in total.codes}):
        codes = {code: count for (name, code), count in total.codes.items() if name == command}
        print(f"{command:16} {dict(sorted(codes.items()))}")
    for place, message in total.broken.items():
        print(f"{place}\n    {message}")
    sums = Counter[int]()
    for (_, code), count in total.codes.items():
        sums[code] += count
    print(
        f"{total.runs:,} runs, exit codes {dict(sorted(sums.items()))},"
        f" {len(total.broken)} broken promises; each had {SECONDS:.0f} s of CPU time"
    )
    return min(len(total.broken), 100)


if __name__ == "__main__":
    sys.exit(main())
