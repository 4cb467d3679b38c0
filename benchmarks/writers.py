"""Savepoints of the same state, written by Flink's State Processor API and by ours, on two cores."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from customers import UID, read_by_flink, verify
from make_savepoint import size_of
from measure import Measurement, alternating, in_fresh_process, megabytes, print_table
from peer.flink import HASHMAP, ROCKSDB, Flink

from state_processor import Savepoint

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from peer.flink import Backend
    from pyspark.sql import SparkSession

SPARK = "spark"
BACKENDS = {f"flink {backend.type}": backend for backend in (HASHMAP, ROCKSDB)}
WRITERS = [*BACKENDS, SPARK]


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be written, and how each of the two is told to.

    Attributes:
        keys: How many the savepoint has.
        parallelism: The number of subtasks of its operator.
        max_parallelism: The number of its key groups.
        java: The class of ``peer`` that writes savepoints to folders.
        arguments: The arguments of that class, for folders separated by commas.
        write: Writes one to a path; picklable.
    """

    keys: int
    parallelism: int
    max_parallelism: int
    java: str
    arguments: Callable[[str], list[str]]
    write: Callable[[SparkSession, str], object]

    def by_flink(self, flink: Flink, backend: Backend, paths: Sequence[Path]) -> Measurement:
        """Writes all savepoints in one JVM, a job each."""
        folders = ",".join(path.as_uri() for path in paths)
        peer = replace(flink, parallelism=self.parallelism)
        return Measurement.of_flink(peer.run(self.java, self.arguments(folders), backend))

    def by_spark(self, flink: Flink, paths: Sequence[Path]) -> Measurement:
        """Writes all savepoints in one session; has Flink read the last one."""
        write = partial(_write, self.write, [str(path) for path in paths])
        measurement = in_fresh_process(Measurement.of_spark, write, len(paths) - 1)
        read_by_flink(flink, paths[-1], self.keys, HASHMAP, runs=1)
        return measurement

    def verify(self, path: Path) -> None:
        """Raises ``ValueError`` if a savepoint is not what it should be."""
        record = Savepoint.open(str(path)).operator(UID).record
        actual = record.parallelism, record.max_parallelism
        if actual != (self.parallelism, self.max_parallelism):
            raise ValueError(f"{path} has parallelism and max parallelism {actual}")
        verify(path, self.keys)


def _write(
    write: Callable[[SparkSession, str], object],
    paths: Sequence[str],
    spark: SparkSession,
    run: int,
) -> None:
    write(spark, paths[run])


def report(title: str, task: Task, flink: Flink, options: argparse.Namespace) -> None:
    """Measures one task, prints its table."""
    measures = {
        **{name: partial(task.by_flink, flink, backend) for name, backend in BACKENDS.items()},
        SPARK: partial(task.by_spark, flink),
    }
    checked = {
        name: partial(_checked, task, measures[name], options.folder, 1 + options.runs)
        for name in options.only
    }
    measurements = alternating(checked, options.rounds)
    sizes = " ".join(megabytes(measurement.size) for measurement in measurements.values())
    print_table(f"{title}: {task.keys:,} keys, {sizes} MB written", measurements, task.keys)


def _checked(
    task: Task, measure: Callable[[Sequence[Path]], Measurement], folder: Path, count: int
) -> Measurement:
    """What it took to write savepoints, all of which were right."""
    with _new_folder(folder / "written") as written:
        paths = [written / str(number) for number in range(count)]
        measurement = measure(paths)
        for path in paths:
            task.verify(path)
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
