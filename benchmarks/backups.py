"""Backups of a chain of checkpoints, beside a full copy of each: seconds, bytes and memory.

    python benchmarks/backups.py [--tables 200] [--megabytes 4] [--checkpoints 5] [--changed 2]

A checkpoint has tables of RocksDB of random bytes; the next one shares all but some of them. Each backup, and
each ``cp -r`` of the job's directory, is a process of its own, followed by a sync of what it wrote.
Then a prune keeps the newest backup, and a replica of it is compared byte by byte.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

from savepoint_formats.bytes import DataOutputView
from savepoint_formats.key_groups import KeyGroupRange, OperatorId
from savepoint_formats.metadata import (
    CheckpointMetadata,
    FileStream,
    IncrementalHandle,
    InlineStream,
    KeyedHandleType,
    LocalFile,
    OperatorState,
    SubtaskState,
)

_MAGIC = bytes.fromhex("57fb808b247547db")
_MAX_PARALLELISM = 128

_PROGRAM = {
    "backup": "import sys; from state_processor import Savepoint;"
    " b = Savepoint.open(sys.argv[1]).backup(sys.argv[2]);"
    " print(b.copied_size, b.read_size, b.path)",
    "prune": "import sys; from state_processor import prune_backups;"
    " p = prune_backups(sys.argv[2], '1h'); print(p.deleted_size, 0, '-')",
    "replica": "import sys; from state_processor import Savepoint;"
    " r = Savepoint.open(sys.argv[2]).verify_replica(sys.argv[1]);"
    " assert r.is_complete, r.faults; print(0, r.file_size, '-')",
}


def table(shared: Path, size: int) -> FileStream:
    """A file that looks like a table of RocksDB."""
    path = shared / str(uuid4())
    path.write_bytes(os.urandom(size - len(_MAGIC)) + _MAGIC)
    return FileStream(size, path.as_uri().replace("file://", "file:"))


def checkpoint(job: Path, number: int, tables: list[FileStream]) -> Path:
    """An incremental checkpoint with these tables."""
    files = tuple(LocalFile(f"{index:06}.sst", it) for index, it in enumerate(tables))
    handle = IncrementalHandle(
        KeyedHandleType.INCREMENTAL_V1,
        number,
        str(uuid4()),
        KeyGroupRange(0, _MAX_PARALLELISM - 1),
        None,
        InlineStream("header", b""),
        files,
        (),
        None,
    )
    subtask = SubtaskState(0, managed_keyed_state=handle)
    operator = OperatorState(OperatorId.from_uid("orders"), 1, _MAX_PARALLELISM, (subtask,))
    view = DataOutputView()
    CheckpointMetadata.new((operator,), number).write(view)
    folder = job / f"chk-{number}"
    folder.mkdir()
    (folder / "_metadata").write_bytes(view.to_bytes())
    return folder


def _copy(job: Path, copy: Path) -> list[str | Path]:
    """A command that copies a directory, and prints how many bytes."""
    return ["sh", "-c", 'cp -r "$0" "$1" && echo $(du -sb "$1" | cut -f1) 0 -', job, copy]


def measured(name: str, *command: str | Path) -> list[str]:
    """Runs a process and a sync; prints seconds, CPU and memory, and returns what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    timed = "import resource, subprocess, sys; e = subprocess.run(sys.argv[1:]).returncode;"
    timed += " print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr);"
    timed += " sys.exit(e)"
    answer = subprocess.run(
        [sys.executable, "-c", timed, *map(str, command)],
        check=True,
        capture_output=True,
        text=True,
    )
    os.sync()
    seconds = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    words = answer.stdout.split() or ["0", "0", "-"]
    copied, read = int(words[0]) / 1e6, int(words[1]) / 1e6
    memory = int(answer.stderr.split()[-1]) // 1024
    print(
        f"| {name:24} | {seconds:7.2f} | {cpu:6.2f} | {copied:9.1f} | {read:7.1f} | {memory:7} |",
        flush=True,
    )
    return words


def main() -> None:
    """Measures a chain of checkpoints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--megabytes", type=float, default=4)
    parser.add_argument("--checkpoints", type=int, default=5)
    parser.add_argument("--changed", type=int, default=2)
    parser.add_argument("--folder", default=None, help="the disk to measure")
    options = parser.parse_args()
    size = int(options.megabytes * 1e6)
    with TemporaryDirectory(dir=options.folder) as folder:
        job, onto = Path(folder, "job"), Path(folder, "backups")
        shared = job / "shared"
        shared.mkdir(parents=True)
        tables = [table(shared, size) for _ in range(options.tables)]
        os.sync()
        print(
            f"{options.tables} tables of {options.megabytes:g} MB, {options.changed} new each time\n"
        )
        print("| what                     | seconds | CPU s  | MB copied | MB read | peak MB |")
        print("|--------------------------|---------|--------|-----------|---------|---------|")
        path = "-"
        for number in range(1, options.checkpoints + 1):
            snapshot = checkpoint(job, number, tables)
            copy = Path(folder, "copy")
            measured(f"cp -r of checkpoint {number}", *_copy(job, copy))
            shutil.rmtree(copy)
            os.sync()
            run: list[str | Path] = [sys.executable, "-c", _PROGRAM["backup"], snapshot, onto]
            path = measured(f"backup of checkpoint {number}", *run)[2]
            if number < options.checkpoints:
                changed = [table(shared, size) for _ in range(options.changed)]
                tables = [*changed, *tables[: -options.changed]]
        measured("replica, each byte", sys.executable, "-c", _PROGRAM["replica"], snapshot, path)
        measured("prune to the newest", sys.executable, "-c", _PROGRAM["prune"], "-", onto)


if __name__ == "__main__":
    main()
