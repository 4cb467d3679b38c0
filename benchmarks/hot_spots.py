"""Cost of a hot key or key group: CPU time, peak memory and tasks, by table and format.

    python benchmarks/hot_spots.py [--keys 5000000] [--case map] [--form rocksdb]

``list`` and ``map`` are a key with so many elements or entries, ``group`` so many keys of which half
are in one key group. A fresh process reads each table split by split, as tasks do. It reads a small
savepoint of the same kind first, so that machine code and imports are not counted.

| column    | meaning                                                                            |
|-----------|------------------------------------------------------------------------------------|
| state MB  | bytes of the files                                                                 |
| tasks     | splits that have rows of what is hot                                               |
| CPU s     | of all splits, on one core; behind it of the split that took the most              |
| MB        | peak memory above that of the small savepoint                                      |
| x         | the same, as a multiple of the files                                               |
| batch MB  | the largest batch                                                                  |
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hot_savepoints import CASES, FORMATS, HOT_KEY, UID, make
from measure import in_fresh_process, peak_memory, sizes_parser

from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

SMALL = 10_000


@dataclass(frozen=True, slots=True)
class HotReading:
    """Cost of reading a table.

    Attributes:
        tasks: How many splits had rows of what is hot.
        seconds: CPU time of each split.
        memory: Peak, in bytes, above that of a small savepoint.
        batch: Bytes of the largest batch.
        rows: How many there were.
    """

    tasks: int
    seconds: tuple[float, ...]
    memory: int
    batch: int
    rows: int


def reading(small: str, path: str, flat: str | None, started: float) -> HotReading:  # noqa: ARG001
    """Reads both savepoints, the large one split by split."""
    for batch in Savepoint.open(small, uids=[UID]).scan(f"{UID}.keyed_state", flat=flat).batches():
        assert batch.num_rows
    before = peak_memory(os.getpid())
    scan = Savepoint.open(path, uids=[UID]).scan(
        f"{UID}.keyed_state", flat=flat, with_key_group=True
    )
    seconds, batches, tasks, rows = [], 0, 0, 0
    for split in scan.shared_splits():
        begin, is_hot = time.process_time(), False
        for batch in scan.read(split):
            batches = max(batches, batch.nbytes)
            rows += batch.num_rows
            # Key 7 and key group 7 are hot.
            column = "key" if "name" not in scan.schema.names else "key_group"
            is_hot = is_hot or HOT_KEY in batch.column(column).unique().to_pylist()
        seconds.append(time.process_time() - begin)
        tasks += is_hot
    return HotReading(tasks, tuple(seconds), peak_memory(os.getpid()) - before, batches, rows)


def measure(folder: Path, case: str, form: str, items: int) -> None:
    """Prints a line per table."""
    paths = [folder / f"hot-{case}-{form}-{count}" for count in (SMALL, items)]
    for path, count in zip(paths, (SMALL, items), strict=True):
        make(path, case, form, count)
    size = sum(file.stat().st_size for file in paths[1].rglob("*") if file.is_file())
    for flat in (None,) if case == "group" else (None, "items"):
        read = in_fresh_process(reading, *map(str, paths), flat)
        table = f"flat {case}" if flat else "keyed_state"
        print(
            f"| {case} | {form} | {table} | {size / 1e6:,.0f} | {read.rows:,} | {read.tasks}"
            f" | {sum(read.seconds):.2f} ({max(read.seconds):.2f}) | {read.memory / 1e6:,.0f}"
            f" | {read.memory / size:.1f} | {read.batch / 1e6:,.1f} |",
            flush=True,
        )


def main() -> None:
    """Makes what is not there, and reads it."""
    parser = sizes_parser(__doc__, keys=5_000_000)
    parser.add_argument("--case", choices=CASES, nargs="+", default=CASES)
    parser.add_argument("--form", choices=FORMATS, nargs="+", default=FORMATS)
    options = parser.parse_args()
    print("| case | format | table | state MB | rows | tasks | CPU s (most) | MB | x | batch MB |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for items in options.keys:
        for case in options.case:
            for form in options.form:
                measure(options.folder, case, form, items)


if __name__ == "__main__":
    main()
