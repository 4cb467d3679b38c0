"""Rounds in which two or more processes write a savepoint to one directory at the same time.

Others may disturb them: readers, ``gc``, and clocks that jump. As a program it runs many rounds, and tells
how they ended, and how many were struck:

| beside | a round is struck if                                                                   |
|--------|----------------------------------------------------------------------------------------|
|        | all writers were at work at one moment                                                 |
| reader | it has read the old and the new savepoint, or found that one was replaced meanwhile    |
| gc     | it has removed files while the writers were at work                                    |
| clock  | files of writers became a day older or younger while these were at work                |

    python tests/support/two_writers.py --rounds 1000 --mode overwrite --store s3
    python tests/support/two_writers.py --rounds 1000 --writers 5 --beside reader --beside gc --beside clock
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import os
import posixpath
import random
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple, Self

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
    from multiprocessing.synchronize import Barrier, Event

_FILES = 2
_WAIT = 60
_OLD = (b"old", b"older")
_PAUSE = 0.001
_MOST_WRITERS = 9
_DAY = 24 * 3600

ORPHAN = "0af3c1d2-58b7-4b1e-9c55-6d1f0c2b7e90"
"""A name as Flink gives them."""


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
        strikes: What struck it: ``at once``, or names of what went on beside.
    """

    ends: tuple[str, ...]
    fault: str
    strikes: frozenset[str] = frozenset()


class Told(NamedTuple):
    """What a process tells of a round.

    Attributes:
        end: How a writer ended; what is wrong, for others.
        start: When it began, by a clock that all processes have.
        stop: When it ended.
        is_struck: Whether it met the work of others.
    """

    end: str
    start: float
    stop: float
    is_struck: bool = False


@dataclass(frozen=True)
class Place:
    """Place of a round.

    Attributes:
        path: The savepoint.
        jump: Lets files of it that are not ``_metadata`` become a day older or younger; returns whether
            files of writers were among them.
        orphan: Puts a file there that Flink has left, and ``gc`` removes.
        has_clock: Whether the age of a file tells if its writer lives. If clocks jump there, all writers
            may take each other for dead and fail; the old savepoint stays.
    """

    path: str
    jump: Callable[[], bool]
    orphan: Callable[[], object]
    has_clock: bool


def place_on_disk(folder: str) -> Place:
    path = Path(folder, "savepoint-1")

    def jump() -> bool:
        names = [name for name in _names(path) if name != METADATA_FILE]
        for name in names:
            with suppress(OSError):
                moment = time.time() + random.choice((-_DAY, 0, _DAY))
                os.utime(path / name, (moment, moment))
        return any(name.startswith("write-") for name in names)

    def orphan() -> None:
        path.mkdir(parents=True, exist_ok=True)
        (path / ORPHAN).touch()
        os.utime(path / ORPHAN, (time.time() - _DAY,) * 2)

    return Place(str(path), jump, orphan, has_clock=False)


def _names(path: Path) -> list[str]:
    with suppress(FileNotFoundError):
        return os.listdir(path)
    return []


def place_in_store(s3: S3Server, bucket: str) -> Place:
    uri = s3.uri(s3.bucket(bucket), "job/savepoint-1")

    def jump() -> bool:
        keys = [key for key in s3.keys(bucket) if not key.endswith(METADATA_FILE)]
        for key in keys:
            with suppress(KeyError):  # the object has gone
                s3.age(bucket, key, random.choice((-_DAY, 0, _DAY)))
        return any("/write-" in key for key in keys)

    def orphan() -> None:
        key = f"job/savepoint-1/{ORPHAN}"
        s3.put(bucket, key, b"")
        s3.age(bucket, key, _DAY)

    # A listing takes the server as long as the bucket has objects; an opened file, three requests.
    return Place(f"{uri}&allow_delayed_open=true", jump, orphan, has_clock=True)


class TwoWriters:
    """Two processes, or more, that write on demand, and at the same time.

    Args:
        mode: What they do where a savepoint lies.
        writers: How many they are.
        beside: What else goes on meanwhile: names of ``BESIDE``, and ``CLOCK``.
        seed: The same seed draws the same pauses and jumps.
    """

    def __init__(
        self, mode: str, writers: int = 2, beside: Sequence[str] = (), seed: int = 1
    ) -> None:
        self.mode = mode
        self._writers, self._beside = writers, beside
        context = multiprocessing.get_context("spawn")
        self._barrier = context.Barrier(writers + len(beside))
        self._is_over = context.Event()
        self._pipes, self._processes = [], []
        works: list[Callable[..., Told]] = [
            partial(_write, index=index, mode=mode) for index in range(writers)
        ]
        works += [partial(BESIDE[name], is_over=self._is_over) for name in beside if name != CLOCK]
        random.seed(seed)
        for number, work in enumerate(works, seed + 1):
            mine, other = context.Pipe()
            process = context.Process(target=_work, args=(work, other, self._barrier, number))
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

    def round(self, place: Place) -> Round:
        """Has all write to a place; where they are to overwrite, a savepoint lies there before."""
        if self.mode == "overwrite":
            write(place.path, *_OLD)
            if "gc" in self._beside:
                place.orphan()
        self._is_over.clear()
        with ThreadPoolExecutor() as pool:
            clock = pool.submit(self._jumped, place.jump) if CLOCK in self._beside else None
            for pipe in self._pipes:
                pipe.send(place.path)
            told: list[Told] = [pipe.recv() for pipe in self._pipes[: self._writers]]
            self._is_over.set()
            others = [pipe.recv() for pipe in self._pipes[self._writers :]]
            struck = [name for name in self._beside if name != CLOCK]
            strikes = {name for name, other in zip(struck, others, strict=True) if other.is_struck}
            strikes |= {CLOCK} if clock and clock.result() else set()
        ends = tuple(one.end for one in told)
        if max(one.start for one in told) < min(one.stop for one in told):
            strikes.add("at once")
        fault = next((other.end for other in others if other.end), "") or _fault(
            place.path, ends, may_all_fail=CLOCK in self._beside and place.has_clock
        )
        return Round(ends, fault, frozenset(strikes))

    def _jumped(self, jump: Callable[[], bool]) -> bool:
        """Lets a clock jump until the writers are done; returns whether files of theirs did."""
        self._barrier.wait(_WAIT)
        has_jumped = False
        while not self._is_over.is_set():
            has_jumped |= jump()
            time.sleep(_PAUSE)
        return has_jumped


def _fault(path: str, ends: tuple[str, ...], *, may_all_fail: bool) -> str:
    done = ends.count("done")
    if done != 1 and not (done == 0 and may_all_fail):
        return f"{done} writers say that they are done"
    expected = _contents(ends.index("done")) if done else [*_OLD]
    try:
        contents = read(path)
    except SavepointError as error:
        return f"the savepoint can't be read: {error}"
    if contents != expected:
        return f"the savepoint is not that of the writer that says it is done, nor the old one: {contents}"
    names = [posixpath.basename(file) for file in SnapshotDirectory.of(path).list_files()]
    left = len([name for name in names if name != ORPHAN]) - _FILES - 1
    return f"{left} files are left over" if left else ""


def _contents(index: int) -> list[bytes]:
    return [b"%d of writer %d" % (file, index) for file in range(_FILES)]


def _work(
    work: Callable[..., Told], pipe: Connection[Any, Any], barrier: Barrier, seed: int
) -> None:
    random.seed(seed)
    while (path := pipe.recv()) is not None:
        pipe.send(work(path, barrier))


def _write(path: str, barrier: Barrier, index: int, mode: str) -> Told:
    """Writes; tells ``done``, or the name of the error."""
    # Each has seen what lies there before any of them writes.
    target = NewSnapshot.at(path, mode)
    barrier.wait(_WAIT)
    time.sleep(random.random() * 0.002)
    start, end = time.monotonic(), "done"
    try:
        with target.begun():
            files = [file_of(target, data) for data in _contents(index)]
            target.commit(metadata_of(*files))
    except SavepointError as error:
        end = type(error).__name__
    return Told(end, start, time.monotonic())


def _read(path: str, barrier: Barrier, is_over: Event) -> Told:
    """Reads again and again: all of the old savepoint, and from then on all of one writer."""
    barrier.wait(_WAIT)
    start, old, seen, is_struck = time.monotonic(), [*_OLD], [[*_OLD]], False
    whole = [_contents(index) for index in range(_MOST_WRITERS)]
    while not is_over.is_set():
        try:
            contents = read(path)
        except SavepointError:  # an older savepoint is removed while it is read
            is_struck = True
            continue
        if contents not in [old, *whole]:
            return Told(f"a reader has read {contents}", start, time.monotonic())
        if contents != seen[-1]:
            seen.append(contents)
    fault = f"a reader has read one after the other {seen}" if len(seen) > 2 else ""
    return Told(fault, start, time.monotonic(), is_struck or len(seen) > 1)


def _collect(path: str, barrier: Barrier, is_over: Event) -> Told:
    """Removes files that no snapshot needs, again and again."""
    barrier.wait(_WAIT)
    start, deleted = time.monotonic(), 0
    while not is_over.is_set():
        with suppress(SavepointError):  # a snapshot was completed meanwhile, or there is none
            deleted += Garbage.delete(above(path), older_than=timedelta()).deleted_files
    return Told("", start, time.monotonic(), deleted > 0)


def above(path: str) -> str:
    """The directory that a savepoint lies in."""
    place, mark, query = path.partition("?")
    return f"{posixpath.dirname(place)}{mark}{query}"


BESIDE = {"reader": _read, "gc": _collect}
CLOCK = "clock"
"""What may go on beside the writers: processes by their names, and a thread that changes times."""


@contextmanager
def stored(store: str) -> Iterator[Callable[[int], Place]]:
    """Gives the place of each round, on disk or on an object store."""
    with (
        TemporaryDirectory() as folder,
        S3Server.running() if store == "s3" else nullcontext() as s3,
    ):
        if s3 is None:
            yield lambda number: place_on_disk(f"{folder}/{number}")
        else:
            yield lambda number: place_in_store(s3, f"round-{number}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--mode", choices=["error", "overwrite"], default="error")
    parser.add_argument("--writers", type=int, default=2, help=f"at most {_MOST_WRITERS}")
    parser.add_argument("--beside", action="append", choices=[*BESIDE, CLOCK], default=[])
    parser.add_argument("--seed", type=int, default=1, help="draws the same pauses and jumps")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="at most")
    parser.add_argument("--store", choices=["disk", "s3"], default="disk")
    options = parser.parse_args()
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    ends, faults, strikes = Counter[str](), Counter[str](), Counter[str]()
    end = time.monotonic() + options.minutes * 60
    with (
        stored(options.store) as place_of,
        TwoWriters(options.mode, options.writers, options.beside, options.seed) as writers,
    ):
        for number in range(options.rounds):
            if time.monotonic() > end:
                break
            outcome = writers.round(place_of(number))
            ends[" + ".join(sorted(outcome.ends))] += 1
            strikes.update(outcome.strikes)
            if outcome.fault:
                faults[outcome.fault] += 1
    print(f"{ends.total()} rounds, mode {options.mode}, {options.store}: {METADATA_FILE} by")
    for said, count in ends.most_common():
        print(f"  {count:6} {said}")
    for strike, count in strikes.most_common():
        print(f"  {count:6} struck: {strike}")
    print(f"  {faults.total():6} with a fault {dict(faults.most_common(5)) or ''}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
