"""Savepoints of the same state, written by Flink's State Processor API and by ours, on two cores."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from customers import UID, read_by_flink, verify
from make_savepoint import size_of
from measure import Measurement, alternating, in_fresh_process, megabytes, print_table
from peer.flink import HASHMAP, ROCKSDB, Flink

from state_processor import Savepoint

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from peer.flink import Backend
    from pyspark.sql import SparkSession

SPARK = "spark"
BACKENDS = {f"flink {backend.type}": backend for backend in (HASHMAP, ROCKSDB)}
WRITERS = [*BACKENDS, SPARK]


@dataclass(frozen=True, slots=True)
class Task:
    """The rows to write, and how each of the two writers is told to.

    Attributes:
        keys: How many the savepoint has.
        parallelism: The number of subtasks of its operator.
        max_parallelism: The number of its key groups.
        java: The class of ``peer`` that writes savepoints to folders.
        arguments: The arguments of that class, for folders separated by commas.
        write: Writes one to a path; picklable.
        floors: What else is done with the same rows by Spark, by name, to compare with; as ``write``.
    """

    keys: int
    parallelism: int
    max_parallelism: int
    java: str
    arguments: Callable[[str], list[str]]
    write: Callable[[SparkSession, str], object]
    floors: Mapping[str, Callable[[SparkSession, str], object]] = field(default_factory=dict)

    def by_flink(self, flink: Flink, backend: Backend, paths: Sequence[Path]) -> Measurement:
        """Writes all savepoints in one JVM, a job each."""
        folders = ",".join(path.as_uri() for path in paths)
        peer = replace(flink, parallelism=self.parallelism)
        run = peer.run(self.java, self.arguments(folders), backend)
        for path in paths:
            self.verify(path)
        return Measurement.of_flink(run)

    def by_spark(self, flink: Flink | None, paths: Sequence[Path]) -> Measurement:
        """Writes all savepoints in one session; has Flink read the last one, if it is there."""
        measurement = _in_one_session(self.write, paths)
        if flink is not None:
            read_by_flink(flink, paths[-1], self.keys, HASHMAP, runs=1)
        for path in paths:
            self.verify(path)
        return measurement

    def verify(self, path: Path) -> None:
        """Raises ``ValueError`` if a savepoint is not what it should be."""
        record = Savepoint.open(str(path)).operator(UID).record
        actual = record.parallelism, record.max_parallelism
        if actual != (self.parallelism, self.max_parallelism):
            raise ValueError(f"{path} has parallelism and max parallelism {actual}")
        verify(path, self.keys)


def _in_one_session(
    write: Callable[[SparkSession, str], object], paths: Sequence[Path]
) -> Measurement:
    task = partial(_write, write, [str(path) for path in paths])
    return in_fresh_process(Measurement.of_spark, task, len(paths) - 1)


def _write(
    write: Callable[[SparkSession, str], object],
    paths: Sequence[str],
    spark: SparkSession,
    run: int,
) -> None:
    write(spark, paths[run])


def report(
    title: str, task: Task, flink: Flink | None, options: argparse.Namespace
) -> dict[str, Measurement]:
    """Measures one task, prints its table.

    Args:
        title: What the table is called.
        task: The task.
        flink: Flink; None if it is not asked.
        options: How often, and who.
    """
    measures: dict[str, Callable[[Sequence[Path]], Measurement]] = {}
    if flink is not None:
        for name, backend in BACKENDS.items():
            measures[name] = partial(task.by_flink, flink, backend)
    measures[SPARK] = partial(task.by_spark, flink)
    for name, write in task.floors.items():
        measures[name] = partial(_in_one_session, write)
    chosen = {
        name: partial(_measured, measures[name], options.folder, 1 + options.runs)
        for name in options.only
        if name in measures
    }
    measurements = alternating(chosen, options.rounds)
    sizes = " ".join(megabytes(measurement.size) for measurement in measurements.values())
    print_table(f"{title}: {task.keys:,} keys, {sizes} MB written", measurements, task.keys)
    return measurements


def _measured(
    measure: Callable[[Sequence[Path]], Measurement], folder: Path, count: int
) -> Measurement:
    """Seconds and memory of writing to several new paths, and the size of one."""
    with _new_folder(folder / "written") as written:
        paths = [written / str(number) for number in range(count)]
        measurement = measure(paths)
        return replace(measurement, size=size_of(paths[-1]))


@contextmanager
def _new_folder(folder: Path) -> Iterator[Path]:
    """A folder that is empty at first, and gone at the end."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)
