"""Rounds in which two processes write a savepoint to one directory at the same time.

As a program it runs many of them, and tells how they ended:

    python tests/support/two_writers.py --rounds 1000 --mode overwrite --store s3
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import random
import sys
import time
from collections import Counter
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
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
from support.s3_server import S3Server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.connection import Connection
    from multiprocessing.synchronize import Barrier

_FILES = 2
_WAIT = 60


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
    """Two processes that write on demand, and at the same time."""

    def __init__(self, mode: str) -> None:
        self.mode = mode
        context = multiprocessing.get_context("spawn")
        self._barrier = context.Barrier(2)
        self._pipes, self._processes = [], []
        for index in range(2):
            mine, other = context.Pipe()
            process = context.Process(target=_writer, args=(index, mode, other, self._barrier))
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
        """Has both write to ``path``; where they are to overwrite, a savepoint lies there before."""
        if self.mode == "overwrite":
            write(path, b"old", b"older")
        for pipe in self._pipes:
            pipe.send(path)
        ends = tuple(pipe.recv() for pipe in self._pipes)
        return Round(ends, _fault(path, ends))


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


def _writer(index: int, mode: str, pipe: Connection[Any, Any], barrier: Barrier) -> None:
    while (path := pipe.recv()) is not None:
        pipe.send(_end_of(partial(_write, path, index, mode, barrier)))


def _end_of(work: Callable[[], None]) -> str:
    try:
        work()
    except SavepointError as error:
        return type(error).__name__
    return "done"


def _write(path: str, index: int, mode: str, barrier: Barrier) -> None:
    # Each has seen what lies there before either of them writes.
    target = NewSnapshot.at(path, mode)
    barrier.wait(_WAIT)
    time.sleep(random.random() * 0.002)
    with target.begun():
        files = [file_of(target, data) for data in _contents(index)]
        target.commit(metadata_of(*files))


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
    parser.add_argument("--store", choices=["disk", "s3"], default="disk")
    options = parser.parse_args()
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    ends: Counter[str] = Counter()
    faults: Counter[str] = Counter()
    with stored(options.store) as path_of, TwoWriters(options.mode) as writers:
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
