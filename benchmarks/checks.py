"""Cost of weighing, verifying and comparing savepoints, beside a full read into Arrow, in one process.

    python benchmarks/checks.py [--keys 1000000 5000000] [--rounds 3]

The savepoints are made once, without Spark: a count and a name per key. One has the count of every
hundredth key changed, another has the keys in other key groups. All ways go over them in turn, on one
thread, with the files in the system's cache. Of each, the round with the least CPU time is told, and how
busy the machine was. What they count is checked. A read of the bytes alone tells how fast the disk is.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import numpy as np
from measure import sizes_parser

from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.entries.stored_entries import StoredEntries, runs
from savepoint_formats.key_groups.operator_id import OperatorId
from savepoint_formats.key_groups.ranges import KeyGroupRange, key_groups_of, prefix_size
from savepoint_formats.metadata import CheckpointMetadata, OperatorState, RelativeFile, SubtaskState
from savepoint_formats.program.byte_ranges import large_binary
from savepoint_formats.snapshots import constructed
from savepoint_formats.state_files.canonical_file import CanonicalFile
from savepoint_formats.state_files.header import KeyedBackendHeader, KeyedStateType, StateMetaInfo
from state_processor import Savepoint, Types

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pyarrow as pa

UID = "customers"
TABLE = f"{UID}.keyed_state"
STEP = 100
"""One key in this many has another count in the changed savepoint."""


def column(values: np.ndarray) -> pa.LargeBinaryArray:
    """A row of bytes per value."""
    count, width = values.shape
    return large_binary(np.arange(count + 1, dtype=np.int64) * width, values.ravel())


def make(path: Path, keys: int, max_parallelism: int = 128, step: int = 0) -> None:
    """Writes a savepoint of so many keys, if it is not there."""
    if (path / "_metadata").exists():
        return
    path.mkdir(parents=True)
    numbers = np.arange(keys, dtype=np.int64)
    stored = np.zeros((keys, 9), np.uint8)  # the key, and a namespace that there is not
    stored[:, :8] = numbers.astype(">i8").view(np.uint8).reshape(keys, 8)
    counts = numbers * 7 + (numbers % step == 0 if step else 0)
    names = np.char.add("customer-", np.char.zfill(numbers.astype("U11"), 11)).astype("S20")
    texts = np.full((keys, 21), 21, np.uint8)  # one more than the number of letters, then these
    texts[:, 1:] = names.view(np.uint8).reshape(keys, 20)
    values = (counts.astype(">i8").view(np.uint8).reshape(keys, 8), texts)
    groups = key_groups_of(numbers.astype(np.int32), max_parallelism)
    sections: dict[int, list[pa.Buffer]] = {}
    for state, value in enumerate(values):
        entries = StoredEntries(column(stored), column(np.ascontiguousarray(value)))
        run_rows = runs(entries, groups, state, prefix_size(max_parallelism))
        pairs = zip(run_rows.column("key_group").to_pylist(), run_rows.column("run"), strict=True)
        for group, run in pairs:
            sections.setdefault(group, []).append(run.as_buffer())
    infos = tuple(
        StateMetaInfo.of_keys(name, KeyedStateType.VALUE, constructed.void_namespace(), of.snapshot)
        for name, of in (("count", Types.LONG()), ("name", Types.STRING()))
    )
    header = KeyedBackendHeader.of(Types.LONG().snapshot, infos)
    key_groups = KeyGroupRange(0, max_parallelism - 1)
    with (path / "state").open("wb") as output:
        file = CanonicalFile.write(output, header, key_groups, sorted(sections.items()))
    subtask = SubtaskState(0, managed_keyed_state=file.handle(RelativeFile("state", file.size)))
    operator = OperatorState(OperatorId.from_uid(UID), 1, max_parallelism, (subtask,))
    view = DataOutputView()
    CheckpointMetadata.new((operator,)).write(view)
    (path / "_metadata").write_bytes(view.to_bytes())


def measure(folder: Path, keys: int, rounds: int) -> None:
    """Lets all ways go over the savepoints in turn."""
    make(folder / "before", keys)
    make(folder / "same", keys)
    make(folder / "changed", keys, step=STEP)
    make(folder / "regrouped", keys, max_parallelism=300)
    size = (folder / "before" / "state").stat().st_size

    def opened(name: str) -> Savepoint:
        return Savepoint.open(str(folder / name), uids=[UID])

    def read() -> int:
        return sum(batch.num_rows for batch in opened("before").scan(TABLE).batches())

    def weighed() -> int:
        (names, _) = opened("before").stats(TABLE).states
        assert (names.entries, names.sizes and names.sizes.max) == (keys, 8 + 1 + 21)
        return names.keys or 0

    def verified() -> int:
        verification = opened("before").verify()
        assert verification.is_whole
        return verification.entries // 2

    def compared(name: str, updated: int) -> int:
        (table,) = opened("before").diff(opened(name)).tables
        assert (table.inserted, table.deleted, table.updated) == (0, 0, updated)
        return keys if table.unchanged is None else table.updated + table.unchanged

    ways: dict[str, Callable[[], int]] = {
        "read into Arrow": read,
        "stats": weighed,
        "verify": verified,
        "diff, the same bytes": lambda: compared("same", 0),
        "diff, 1 % updated": lambda: compared("changed", -(-keys // STEP)),
        "diff, other key groups": lambda: compared("regrouped", 0),
    }
    best: dict[str, tuple[float, float]] = {}
    for _ in range(rounds + 1):  # the first one loads machine code
        for name, way in ways.items():
            used, started = time.process_time(), time.perf_counter()
            assert way() == keys, name
            took = time.process_time() - used, time.perf_counter() - started
            best[name] = min(best.get(name, took), took)
    load = os.getloadavg()[0]
    print(f"{keys:,} keys, {size / 1e6:,.0f} MB each; load {load:.0f} on {os.cpu_count()} cores")
    print(f"bytes alone, from the disk {size / 1e6 / read_from_disk(folder / 'before'):,.0f} MB/s")
    for name, (cpu, seconds) in best.items():
        times = cpu / best["read into Arrow"][0]
        speed = size * (2 if name.startswith("diff") else 1) / 1e6 / cpu
        print(
            f"{name:24} {cpu:6.2f} s CPU  {seconds:6.2f} s  {speed:5.0f} MB/s of CPU time"
            f"  {times:5.1f} times the read"
        )


def read_from_disk(folder: Path) -> float:
    """The seconds that a read of the state takes that the system has nothing of."""
    file = os.open(folder / "state", os.O_RDONLY)
    try:
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        started = time.perf_counter()
        while os.read(file, 1 << 24):
            pass
        return time.perf_counter() - started
    finally:
        os.close(file)


def main() -> None:
    """Makes what is not there, measures, prints."""
    parser = sizes_parser(__doc__, keys=1_000_000)
    parser.add_argument("--rounds", type=int, default=3, help="readings of each")
    options = parser.parse_args()
    for keys in options.keys:
        measure(options.folder / f"checks-{keys}", keys, options.rounds)


if __name__ == "__main__":
    main()
