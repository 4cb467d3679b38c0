"""Some of the inputs that ``python -m fuzz`` tries, the same in each run; and what it has found."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from fuzz import commands
from fuzz.guarded import guarded_buffers
from fuzz.kinds import SAMPLED, inputs_of
from fuzz.loop import Failure, run, warm_up
from fuzz.promises import watched
from fuzz.samples import Inputs
from fuzz.target import Seed, Target
from fuzz.targets import TARGETS
from fuzz.workers import LastInput, Work, tried

from savepoint_formats.errors import FormatError

if TYPE_CHECKING:
    from pathlib import Path

FEW = ("currency-1.20.5-hashmap-canonical", "currency-2.2.1-hashmap-native")
ROCKSDB = ("currency-2.2.1-rocksdb-native",)
STATES = ("states-1.20.5-hashmap-compressed", "states-1.20.5-hashmap-changelog")
HEAP_TIMERS = ("states-2.2.1-rocksdb-heaptimers",)

# Target -> the samples that it takes inputs from, and how many it tries.
SLICES = {
    "metadata": (FEW, 200),
    "snapshots": (FEW, 300),
    "java": (("sql-2.2.1-hashmap-canonical",), 300),
    "kryo": (("objects-2.2.1-hashmap-canonical",), 200),
    "pickles": ((), 300),
    "values": (FEW, 100),
    "kafka": ((), 300),
    "splits": ((), 300),
    "plans": ((), 200),
    "class-files": ((), 300),
    "archives": ((), 60),
    "sources": ((), 60),
    "descriptions": ((), 100),
    "jsons": (FEW, 200),
    "types": ((), 300),
    "conditions": ((), 60),
    "queries": (FEW, 60),
    "manifests": (ROCKSDB, 200),
    "sst": (ROCKSDB, 200),
    "entries": (FEW, 50),
    "canonical": (FEW, 50),
    "heap": (FEW, 15),
    "operator-state": (FEW, 50),
    "compressed": (STATES, 10),
    "changelogs": (STATES, 10),
    "raw-timers": (HEAP_TIMERS, 4),
    "tables": (ROCKSDB, 20),
    "verify": (FEW, 8),
    "structure": (FEW, 15),
    "metadata-structure": (FEW, 25),
}

TWICE = ("verify", "structure", "metadata-structure")


@pytest.mark.parametrize("name", TARGETS)
def test_damaged_input_breaks_no_promise(name: str, samples: Path) -> None:
    folders, inputs = SLICES[name]
    target = TARGETS[name](Inputs(*(samples / folder for folder in folders)))
    assert target.seeds
    report = run(target, 1, inputs=inputs)
    assert report.inputs == inputs
    assert report.refused or name == "sources"
    assert [str(failure) for failure in report.failures.values()] == []


@pytest.mark.usefixtures("slow")
def test_an_input_that_ends_its_process_is_a_find(tmp_path: Path) -> None:
    last = LastInput(tmp_path / "last")
    for data in (b"one", b"two"):
        last.keep(data)
    assert (last.count, last.data) == (2, b"two")
    failures: list[Failure] = []
    report, _ = tried(Work("types", "1", 200), tmp_path, failures.append)
    assert (report.inputs, report.failures, failures) == (200, {}, [])
    assert not list(tmp_path.glob("types*"))


def test_commands_over_damaged_savepoints_break_no_promise(slow: None) -> None:
    total = commands.tried(1, 40)
    assert total.runs == 40
    assert total.broken == {}
    assert {code for _, code in total.codes} >= {0, 1}


@pytest.mark.parametrize(
    ("code", "output", "errors", "problem"),
    [
        (0, "rows", "", None),
        (1, "", "warning\nError: damaged\n", None),
        (1, "", "Error: damaged\nand more\n", "its error is not the last line"),
        (1, "", "Traceback (most recent call last)\n", "it shows a traceback"),
        (0, "", "Error: damaged\n", "it ended with 0 and an error"),
        (-11, "", "", "it ended with -11"),
    ],
)
def test_promises_of_commands(code: int, output: str, errors: str, problem: str | None) -> None:
    assert commands.wrong(code, output, errors) == problem


@pytest.fixture(scope="module")
def all_samples(samples: Path) -> Inputs:
    folders = {folder for few, _ in SLICES.values() for folder in few}
    return Inputs(*(samples / folder for folder in sorted(folders)))


# Those that read all rows twice try too little in so short a time.
@pytest.mark.parametrize("name", [name for name in TARGETS if name not in TWICE])
def test_more_damaged_input_breaks_no_promise(name: str, all_samples: Inputs, slow: None) -> None:
    target = TARGETS[name](all_samples)
    warm_up(target, 0.5)
    with guarded_buffers(), watched(target.memory):
        report = run(target, 2, inputs=2000, seconds=0.8)
    assert [str(failure) for failure in report.failures.values()] == []


@pytest.mark.parametrize("kind", SAMPLED)
def test_damaged_input_of_each_kind_breaks_no_promise(kind: str, corpus: Path, slow: None) -> None:
    inputs = inputs_of(kind)
    assert inputs.snapshots
    for name in ("metadata", "snapshots", "values", "entries", "verify"):
        target = TARGETS[name](inputs)
        assert target.seeds
        report = run(target, 3, inputs=100, seconds=1)
        assert [str(failure) for failure in report.failures.values()] == []


def test_what_breaks_a_promise_is_shrunk_and_told() -> None:
    def read(data: bytes, _: object) -> None:
        if b"\x7f\xff" in data:
            raise KeyError("a size that nobody expected")
        if len(data) < 10:
            raise FormatError("too short", "a file", len(data))

    target = Target("made up", [Seed(bytes(50))], read)
    report = run(target, 1, inputs=1000)
    (failure,) = report.failures.values()
    assert failure.data == b"\x7f\xff"
    assert "KeyError" in str(failure)
    told = report.refused.total() + report.equal + report.different
    assert told < report.inputs == 1000


def test_a_run_is_the_same_again(samples: Path) -> None:
    target = TARGETS["kafka"](Inputs())
    first, again, other = (run(target, seed, inputs=200).refused for seed in (1, 1, 2))
    assert first == again != other


def test_a_byte_behind_guarded_memory_ends_the_process(slow: None) -> None:
    code = "from fuzz.guarded import GuardedMemory as M; import ctypes; m = M(10).last(10);"
    code += "ctypes.string_at(m.ctypes.data, {})"
    for size, is_crash in ((10, False), (11, True)):
        command = [sys.executable, "-c", code.format(size)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        ended = subprocess.run(command, env=environment, check=False, capture_output=True)
        assert (ended.returncode == -signal.SIGSEGV) is is_crash
