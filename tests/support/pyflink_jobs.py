"""Jobs of a real PyFlink, in an environment of its own, that pip fills once per release."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flink_home import CACHE

from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Sequence

JOB = Path(__file__).parents[1] / "flink" / "pyflink_job"
SAMPLE = Path(__file__).parents[2] / "sample_savepoints" / "pyflink-2.2.1"
"""A canonical savepoint of the job, with the types of its states, and what it had in ``states.txt``."""

TYPES = SAMPLE / "types.yaml"
RELEASES = ("1.20.5", "2.2.1")
OPERATORS = ("by_long", "by_text", "by_row", "by_tuple", "by_pickle", "windows", "sums")
UIDS = (*OPERATORS, "with_rules")
EVENTS = [
    (number, key)
    for number, key in enumerate(
        ["a", "b", "a", "ccc", "dd", "a", "dd", "ccc", "b", "a", "a", "dd"], start=1
    )
]


def _python(release: str) -> Path:
    """The interpreter that has this release of PyFlink."""
    venv = CACHE / f"pyflink-{release}" / "venv"
    python = venv / "bin" / "python"
    if not list(venv.glob("lib/*/site-packages/pyflink/lib")):
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
        pip = [str(python), "-m", "pip", "install", "--quiet"]
        # Beam is built with pkg_resources, which newer releases of setuptools lack.
        constraint = venv / "constraint.txt"
        constraint.write_text("setuptools<81")
        subprocess.run([*pip, "setuptools<81", "wheel"], check=True)
        options = os.environ | {"PIP_CONSTRAINT": str(constraint)}
        subprocess.run([*pip, f"apache-flink=={release}"], check=True, env=options)
    return python


@dataclass(frozen=True)
class PyFlinkJob:
    """A run of a program of ``pyflink_job``; ``job.py`` has a table of the fields."""

    folder: Path
    release: str = "2.2.1"
    backend: str = "hashmap"
    mode: str = "process"
    events: Sequence[tuple[int, str]] = field(default_factory=lambda: EVENTS)
    formats: tuple[str, ...] = ("CANONICAL", "NATIVE")
    operators: tuple[str, ...] = UIDS
    parallelism: int = 1
    max_parallelism: int = 128
    restored: Path | None = None
    program: str = "job.py"

    def run(self) -> dict[str, Path]:
        """Savepoints by their format, after all events."""
        python = _python(self.release)
        plan = {
            **{name: getattr(self, name) for name in ("backend", "mode", "formats", "operators")},
            "events": self.events,
            "folder": str(self.folder),
            "parallelism": self.parallelism,
            "max_parallelism": self.max_parallelism,
            "restored": None if self.restored is None else str(self.restored),
            "source": "numbers" if self.restored is None else "probes",
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "plan.json").write_text(json.dumps(plan))
        packages = next(python.parents[1].glob("lib/*/site-packages"))
        with (self.folder / "log").open("w") as log:
            done = subprocess.run(
                [str(python), str(JOB / self.program), str(self.folder / "plan.json")],
                check=True,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                # In thread mode the interpreter inside of Java finds its packages only here.
                env=os.environ | {"PYTHONPATH": str(packages)},
            )
        pairs = (line.split(" file:") for line in done.stdout.splitlines() if " file:" in line)
        return {name: Path(path) for name, path in pairs}

    def states(self, uid: str) -> dict[str, dict[str, Any]]:
        """Text of each key, and what the function had for it at last."""
        return states_of(self.folder, uid)


def states_of(folder: Path, uid: str) -> dict[str, dict[str, Any]]:
    """Text of each key of an operator -> the states that the job wrote down in a folder."""
    lines = [
        ast.literal_eval(line)
        for path in sorted(folder.glob("states.*"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    return {repr(key): states for operator, key, states in lines if operator == uid}


def write_sample(folder: Path) -> None:
    """Runs the job in an empty folder, and puts its canonical savepoint and its states into ``SAMPLE``."""
    job = PyFlinkJob(folder, formats=("CANONICAL",))
    path = job.run()["CANONICAL"]
    for old in SAMPLE.iterdir():
        if old != TYPES:
            old.unlink()
    for new in path.iterdir():
        shutil.copy(new, SAMPLE / new.name)
    with (SAMPLE / "states.txt").open("w", encoding="utf-8") as file:
        for uid in UIDS:
            file.writelines(
                f"{[uid, ast.literal_eval(key), states]!r}\n"
                for key, states in sorted(job.states(uid).items())
            )


def rows(path: Path, table: str, types: Any = TYPES) -> list[dict[str, Any]]:
    """Rows of a table of a savepoint of the job."""
    return table_rows(Savepoint.open(path, uids=UIDS, types=types), table)


def table_rows(savepoint: Savepoint, table: str) -> list[dict[str, Any]]:
    """Rows of a table of a savepoint."""
    return [row for batch in savepoint.scan(table).batches() for row in batch.to_pylist()]


def keyed(path: Path, uid: str) -> dict[str, dict[str, Any]]:
    """Text of each key of an operator -> its states, as the job writes values down."""
    return {
        repr(as_reported(row.pop("key"))): {name: as_reported(row[name]) for name in row}
        for row in rows(path, f"{uid}.keyed_state")
    }


def expect_equal(stored: dict[str, Any], told: dict[str, Any]) -> None:
    """Compares the states of a savepoint with those that the job wrote down."""
    assert told
    assert stored.keys() == told.keys()
    for key, states in told.items():
        for name, value in states.items():
            have = stored[key][name]
            # A function gets the result of aggregating state, which stores the accumulator.
            have = have[0] / have[1] if name == "average" else have
            assert (key, name, have) == (key, name, value)


def as_reported(value: Any) -> Any:
    """A value of Arrow as the job writes values down."""
    match value:
        case {"json": str(text), "bytes": bytes()}:
            return json.loads(text)
        case {"seconds": seconds, "nanos": nanos}:
            return [int(seconds.timestamp()), nanos]
        case dict():
            fields = {
                name: as_reported(item) for name, item in value.items() if name != "$row_kind"
            }
            names = [f"f{number}" for number in range(len(fields))]
            return list(fields.values()) if list(fields) == names else fields
        case [tuple(), *_]:
            pairs = [(as_reported(key), as_reported(item)) for key, item in value]
            return dict(sorted(pairs))
        case list() | tuple():
            return [as_reported(item) for item in value]
        case bytes() | str() | int() | float() | None:
            return value
        case _:
            return value.isoformat()
