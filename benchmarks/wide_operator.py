"""Cost of one state of twenty, beside one column of twenty out of Parquet.

    python benchmarks/wide_operator.py [--keys 500000] [--rounds 3]

An operator with a long as key and twenty value states, texts of 20 characters, in both forms of
``read_types.py``; and the same rows as Parquet, as pyarrow writes it by default (Snappy). Each is
read whole, and with its key and one state alone. CPU time of this process on one core, the least
of all rounds, the readers in turns, files in the system's cache.
"""

from __future__ import annotations

import os
import time
from functools import partial
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from customers import TABLE, UID
from measure import sizes_parser
from read_types import FORMS, NAME, TEXT, Case, TypeSavepoint

from state_processor import Savepoint, ValueStateDescriptor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

STATES = 20
ASKED = ["key", "state_7"]
QUERY = "SELECT count(*) AS c, sum(length(state_7)) AS m FROM {} WHERE state_7 IS NOT NULL"
TWENTY = Case(
    "twenty texts",
    tuple((ValueStateDescriptor(f"state_{number}", TEXT), NAME) for number in range(STATES)),
)


def of_savepoint(path: Path, columns: list[str] | None) -> int:
    """Number of rows that a read gives."""
    scan = Savepoint.open(str(path)).scan(TABLE, columns=columns)
    return sum(batch.num_rows for batch in scan.batches())


def of_parquet(path: Path, columns: list[str] | None) -> int:
    """Number of rows that pyarrow reads with one thread."""
    return int(pq.read_table(path, columns=columns, use_threads=False).num_rows)


def queried_savepoint(path: Path) -> int:
    """Number of keys that have the state."""
    savepoint = Savepoint.open(str(path), uids=[UID])
    return int(savepoint.sql(QUERY.format(TABLE)).column("c")[0].as_py())


def queried_parquet(path: Path) -> int:
    """Number of these keys by DuckDB alone."""
    return int(duckdb.execute(QUERY.format(f"'{path}'")).fetchall()[0][0])


def least(readers: Mapping[str, Callable[[], int]], keys: int, rounds: int) -> dict[str, float]:
    """The least CPU seconds of each reader; the first round does not count."""
    seconds: dict[str, list[float]] = {name: [] for name in readers}
    for _ in range(rounds + 1):
        for name, read in readers.items():
            start = time.process_time()
            rows = read()
            seconds[name].append(time.process_time() - start)
            if rows != keys:
                raise ValueError(f"{name} gave {rows} rows, expected {keys}")
    return {name: min(times[1:]) for name, times in seconds.items()}


def main() -> None:
    """Makes what is not there, measures, prints."""
    parser = sizes_parser(__doc__, keys=500_000)
    parser.add_argument("--rounds", type=int, default=3, help="readings after the first")
    arguments = parser.parse_args()
    (keys,) = arguments.keys[:1]
    savepoint = TypeSavepoint(arguments.folder, TWENTY, keys)
    savepoint.make()
    parquet = savepoint.path("canonical").with_suffix(".parquet")
    if not parquet.exists():
        scan = Savepoint.open(str(savepoint.path("canonical"))).scan(TABLE)
        pq.write_table(pa.Table.from_batches(scan.batches()), parquet)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    print(f"load {os.getloadavg()[0]:.1f}\n")
    print("| columns | Parquet s | canonical s | x | native s | x |")
    print(f"|{'---|' * 6}")
    for name, of_files, of_states in (
        ("all 20 states", partial(of_parquet, columns=None), partial(of_savepoint, columns=None)),
        ("1 state of 20", partial(of_parquet, columns=ASKED), partial(of_savepoint, columns=ASKED)),
        ("1 of 20, of keys that have it", queried_parquet, queried_savepoint),
    ):
        readers = {form: partial(of_states, savepoint.path(form)) for form in FORMS}
        readers["parquet"] = partial(of_files, parquet)
        times = least(readers, keys, arguments.rounds)
        cells = [name, f"{times['parquet']:.3f}"]
        for form in FORMS:
            cells += [f"{times[form]:.3f}", f"{times[form] / times['parquet']:.1f}"]
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
