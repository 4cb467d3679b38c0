"""A savepoint with other subtasks, or other key groups, on two cores: ours, its floors, and Flink's API.

    python benchmarks/rescale.py [--keys 1000000 5000000] [--forms canonical native] [--flink]

From 128 key groups to 256, and from two subtasks to four (``spark``); from two subtasks to four alone
(``subtasks``). Two rows are floors: ``arrow`` reads all rows into Arrow in two processes, each of which
then writes and syncs as many bytes as a file has; ``copy`` has the system copy the files, and syncs them.

Flink is asked with ``--flink``, for canonical savepoints. It has no call for that: a job reads all state
with a KeyedStateReaderFunction, and writes it with a KeyedStateBootstrapFunction. ``x flink`` is against
the faster of its two backends.
"""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

from customers import MAX_PARALLELISM, TABLE
from make_savepoint import BenchmarkSavepoint
from measure import CORES, installed_flink, measuring_parser, megabytes, pin
from writers import BACKENDS, SPARK, Task, report

from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from measure import Measurement
    from pyspark.sql import SparkSession

PARALLELISM = 4
NEW_MAX_PARALLELISM = 256

SUBTASKS, ARROW, COPY = FLOORS = "subtasks", "arrow", "copy"
WAYS = [*BACKENDS, SPARK, *FLOORS]
CANONICAL, NATIVE = FORMS = "canonical", "native"

_CHUNK = bytes(1 << 20)


def rescale(source: str, max_parallelism: int, spark: SparkSession, path: str) -> None:
    """Writes a savepoint of the same state."""
    Savepoint.load(spark, source).rescale(
        max_parallelism=max_parallelism, parallelism=PARALLELISM
    ).write(path)


def read_and_write(source: str, size: int, _: SparkSession, path: str) -> None:
    """Reads into Arrow, and writes as many bytes as a canonical savepoint has."""
    Path(path).mkdir()
    places = [f"{path}/{number}" for number in range(CORES)]
    _load(source)
    # Processes that are kept would outlive this one, which waits for them.
    with ProcessPoolExecutor(CORES, mp_context=get_context("fork")) as pool:
        tuple(pool.map(partial(_read_half, source), range(CORES)))
        tuple(pool.map(partial(_write_bytes, size // CORES), places))


@cache
def _load(source: str) -> None:
    """Has machine code be loaded, which processes that are forked have then."""
    scan = Savepoint.open(source).scan(TABLE)
    for _ in scan.read(scan.splits()[0]):
        pass


def _read_half(source: str, number: int) -> None:
    scan = Savepoint.open(source).scan(TABLE)
    for split in scan.splits()[number::CORES]:
        for _ in scan.read(split):
            pass


def _write_bytes(size: int, path: str) -> None:
    with Path(path).open("wb", buffering=0) as file:
        for _ in range(size // len(_CHUNK)):
            file.write(_CHUNK)
        os.fsync(file.fileno())


def copy(source: str, _: SparkSession, path: str) -> None:
    """Has the system copy all files, and waits until they are on the disk."""
    target = Path(path)
    target.mkdir()
    for file in _files(source):
        with file.open("rb") as old, (target / file.name).open("wb") as new:
            size = file.stat().st_size
            while size:
                size -= os.copy_file_range(old.fileno(), new.fileno(), size)
            os.fsync(new.fileno())


def _files(source: str) -> Iterator[Path]:
    return (file for file in Path(source).rglob("*") if file.is_file())


def task(source: BenchmarkSavepoint) -> Task:
    """The rescaling of a savepoint."""
    path = str(source.path)
    # Those of keys, sizes and values in a canonical file, of which a native one has fewer.
    size = source.keys * 65
    return Task(
        source.keys,
        PARALLELISM,
        NEW_MAX_PARALLELISM,
        "RescaleKeyedState",
        lambda folders: [source.path.as_uri(), folders, str(NEW_MAX_PARALLELISM)],
        partial(rescale, path, NEW_MAX_PARALLELISM),
        {
            SUBTASKS: partial(rescale, path, MAX_PARALLELISM),
            ARROW: partial(read_and_write, path, size),
            COPY: partial(copy, path),
        },
    )


def print_rows(form: str, keys: int, measurements: Mapping[str, Measurement]) -> None:
    """The rows of the table in ``docs/performance.md``."""
    for way, measurement in measurements.items():
        print(
            f"| {form} | {keys // 1_000_000} M | `{way}` | {measurement.warm:.2f}"
            f" | {megabytes(measurement.size / measurement.warm)} | {megabytes(measurement.size)} |"
        )


def main() -> None:
    """Makes what is not there, measures, prints."""
    parser = measuring_parser(__doc__, WAYS)
    parser.add_argument("--forms", choices=FORMS, nargs="+", default=[CANONICAL], help="of what")
    parser.add_argument("--flink", action="store_true", help="ask Flink, too")
    options = parser.parse_args()
    pin()
    measured = []
    for keys in options.keys:
        for form in options.forms:
            source = BenchmarkSavepoint(options.folder, form, keys)
            flink = installed_flink(options) if options.flink or not source.path.exists() else None
            if flink is not None:
                source.make(flink)
            peer = flink if options.flink and form == CANONICAL else None
            measured.append((form, keys, report(f"rescale, {form}", task(source), peer, options)))
    print("\n| savepoint | keys | way | seconds | MB/s | MB written |\n|---|---|---|---|---|---|")
    for row in measured:
        print_rows(*row)


if __name__ == "__main__":
    main()
