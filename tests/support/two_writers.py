"""Rounds in which two or more processes write a savepoint to one directory at the same time.

Others may disturb them: readers, ``gc``, and clocks that jump. As a program it runs many rounds, and tells
how they ended:

    python tests/support/two_writers.py --rounds 1000 --mode overwrite --store s3
    python tests/support/two_writers.py --rounds 1000 --writers 5 --beside reader --beside gc --beside clock
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import os
import random
import sys
import time
from collections import Counter
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Self

from savepoint_formats.bytes.data_view import DataInputView
from savepoint_formats.errors import SavepointError
from savepoint_formats.key_groups.operator_id import OperatorId
from savepoint_formats.locations.file_io import METADATA_FILE, SnapshotDirectory
from savepoint_formats.metadata import (
    CheckpointMetadata,
    OperatorState,
    OperatorStateHandle,
    RelativeFile,
    SubtaskState,
)
from savepoint_formats.new_snapshot.directory import NewSnapshot
from state_processor import Garbage
from support.s3_server import S3Server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from multiprocessing.connection import Connection
    from multiprocessing.synchronize import Barrier

_FILES = 2
_WAIT = 60
_OLD = (b"old", b"older")
_LOOKS = 20
_MOST_WRITERS = 9
_DAY = 24 * 3600


def metadata_of(*files: RelativeFile) -> CheckpointMetadata:
    """A savepoint of an operator, each of whose subtasks has a file."""
    subtasks = tuple(
        SubtaskState(index, managed_operator_state=OperatorStateHandle((), file))
        for index, file in enumerate(files)
    )
    operator = OperatorState(OperatorId.from_uid("buffer"), len(files) or 1, 128, subtasks)
    return CheckpointMetadata(3, 1, (operator,))


def read(path: str) -> list[bytes]:
    """The files that the savepoint at ``path`` refers to."""
    directory = SnapshotDirectory.of(path)
    metadata = CheckpointMetadata.read(DataInputView(directory.read_metadata()))
    handles = [subtask.managed_operator_state for subtask in metadata.operators[0].subtasks]
    return [directory.file(handle.stream).read() for handle in handles if handle]


def file_of(target: NewSnapshot, data: bytes) -> RelativeFile:
    """A file of a snapshot that is being written."""
    with target.create("operator state") as file:
        file.write(data)
    return file.handle


def write(path: str, *contents: bytes, mode: str = "error") -> dict[str, int]:
    """Writes a savepoint with some files."""
    with NewSnapshot.at(path, mode).begun() as target:
        return target.commit(metadata_of(*(file_of(target, data) for data in contents)))


@dataclass(frozen=True)
class Round:
    """How a round ended.

    Attributes:
        ends: What each writer said: ``done``, or the name of its error.
        fault: What is wrong with that, or with what lies there; empty if nothing is.
    """

    ends: tuple[str, ...]
    fault: str


class TwoWriters:
    """Two processes, or more, that write on demand, and at the same time.

    Args:
        mode: What they do where a savepoint lies.
        writers: How many they are.
        beside: What else goes on meanwhile: names of ``BESIDE``.
    """

    def __init__(self, mode: str, writers: int = 2, beside: Sequence[str] = ()) -> None:
        self.mode = mode
        self._writers = writers
        context = multiprocessing.get_context("spawn")
        self._barrier = context.Barrier(writers + len(beside))
        self._pipes, self._processes = [], []
        works = [partial(_write, index=index, mode=mode) for index in range(writers)]
        for work in (*works, *(BESIDE[name] for name in beside)):
            mine, other = context.Pipe()
            process = context.Process(target=_work, args=(work, other, self._barrier))
            process.start()
            self._pipes.append(mine)
            self._processes.append(process)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for pipe in self._pipes:
            pipe.send(None)
        for process in self._processes:
            process.join(_WAIT)

    def round(self, path: str) -> Round:
        """Has all write to ``path``; where they are to overwrite, a savepoint lies there before."""
        if self.mode == "overwrite":
            write(path, *_OLD)
        for pipe in self._pipes:
            pipe.send(path)
        told = [pipe.recv() for pipe in self._pipes]
        ends, others = tuple(told[: self._writers]), told[self._writers :]
        return Round(ends, next(filter(None, others), "") or _fault(path, ends))


def _fault(path: str, ends: tuple[str, ...]) -> str:
    if ends.count("done") != 1:
        return f"{ends.count('done')} writers say that they are done"
    winner = ends.index("done")
    try:
        contents = read(path)
    except SavepointError as error:
        return f"the savepoint can't be read: {error}"
    if contents != _contents(winner):
        return f"the savepoint is not that of the writer that says it is done: {contents}"
    left = len(SnapshotDirectory.of(path).list_files()) - _FILES - 1
    return f"{left} files are left over" if left else ""


def _contents(index: int) -> list[bytes]:
    return [b"%d of writer %d" % (file, index) for file in range(_FILES)]


def _work(work: Callable[..., str], pipe: Connection[Any, Any], barrier: Barrier) -> None:
    while (path := pipe.recv()) is not None:
        pipe.send(work(path, barrier))


def _write(path: str, barrier: Barrier, index: int, mode: str) -> str:
    """Writes; returns ``done``, or the name of the error."""
    # Each has seen what lies there before any of them writes.
    target = NewSnapshot.at(path, mode)
    barrier.wait(_WAIT)
    time.sleep(random.random() * 0.002)
    try:
        with target.begun():
            files = [file_of(target, data) for data in _contents(index)]
            target.commit(metadata_of(*files))
    except SavepointError as error:
        return type(error).__name__
    return "done"


def _read(path: str, barrier: Barrier) -> str:
    """Reads again and again: what it reads must be all of one writer, or of the old savepoint."""
    barrier.wait(_WAIT)
    whole = [[*_OLD], *(_contents(index) for index in range(_MOST_WRITERS))]
    for _ in range(_LOOKS):
        with suppress(SavepointError):  # an older savepoint is removed while it is read
            if (contents := read(path)) not in whole:
                return f"a reader has read {contents}"
    return ""


def _collect(path: str, barrier: Barrier) -> str:
    """Removes files that no snapshot needs, again and again."""
    barrier.wait(_WAIT)
    for _ in range(_LOOKS):
        with suppress(SavepointError):  # a snapshot was completed meanwhile, or there is none
            Garbage.delete(path, older_than=timedelta())
    return ""


def _set_clocks(path: str, barrier: Barrier) -> str:
    """Lets files be a day older or younger, as if the clock of their store had jumped."""
    barrier.wait(_WAIT)
    for _ in range(_LOOKS):
        for name in sorted(os.listdir(path)) if os.path.isdir(path) else ():
            if name == METADATA_FILE:
                continue  # that of a savepoint that was complete before
            with suppress(OSError):
                moment = time.time() + random.choice((-_DAY, 0, _DAY))
                os.utime(os.path.join(path, name), (moment, moment))
    return ""


BESIDE = {"reader": _read, "gc": _collect, "clock": _set_clocks}
"""What may go on beside the writers: name -> work, which returns what is wrong."""


@contextmanager
def stored(store: str) -> Iterator[Callable[[int], str]]:
    """Gives the directory of each round, on disk or on an object store."""
    with (
        TemporaryDirectory() as folder,
        S3Server.running() if store == "s3" else nullcontext() as s3,
    ):
        if s3 is None:
            yield lambda number: f"{folder}/savepoint-{number}"
        else:
            # A listing takes the server as long as the bucket has objects; an opened file, three
            # requests.
            yield (
                lambda number: (
                    s3.uri(s3.bucket(f"round-{number}"), "savepoint") + "&allow_delayed_open=true"
                )
            )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--mode", choices=["error", "overwrite"], default="error")
    parser.add_argument("--writers", type=int, default=2, help=f"at most {_MOST_WRITERS}")
    parser.add_argument("--beside", action="append", choices=BESIDE, default=[])
    parser.add_argument("--store", choices=["disk", "s3"], default="disk")
    options = parser.parse_args()
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    ends: Counter[str] = Counter()
    faults: Counter[str] = Counter()
    with (
        stored(options.store) as path_of,
        TwoWriters(options.mode, options.writers, options.beside) as writers,
    ):
        for number in range(options.rounds):
            outcome = writers.round(path_of(number))
            ends[" + ".join(sorted(outcome.ends))] += 1
            if outcome.fault:
                faults[outcome.fault] += 1
    print(f"{options.rounds} rounds, mode {options.mode}, {options.store}: {METADATA_FILE} by")
    for end, count in ends.most_common():
        print(f"  {count:6} {end}")
    print(f"  {faults.total():6} with a fault {dict(faults.most_common(5)) or ''}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
