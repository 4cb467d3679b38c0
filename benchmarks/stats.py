"""What the state of a savepoint weighs, beside a full read of its rows into Arrow, in one process.

    python benchmarks/stats.py [--keys 1000000 5000000] [--rounds 3]

Spark makes the savepoint once: a count, a name and a list of amounts per key. Both go over all of it
in turn, on one thread, with the files in the system's cache. The best round of each is shown. What both
count has to be the same: keys, and elements of lists.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pyarrow.compute as pc
from measure import sizes_parser

from state_processor import (
    ListStateDescriptor,
    OperatorTransformation,
    Savepoint,
    Types,
    ValueStateDescriptor,
    local_session,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

UID = "customers"
TABLE = f"{UID}.keyed_state"


def make(path: Path, keys: int) -> None:
    """Writes a savepoint of so many keys, if it is not there."""
    if (path / "_metadata").exists():
        return
    spark = local_session("local[2]")
    rows = spark.range(keys).selectExpr(
        "id AS key",
        "id * 7 AS count",
        "concat('customer-', lpad(id, 11, '0')) AS name",
        "transform(sequence(1, cast(id % 4 + 1 AS int)), n -> n * 1.5D) AS amounts",
    )
    transformation = (
        OperatorTransformation.bootstrap_with(rows)
        .key_by("key")
        .with_state(ValueStateDescriptor("count", Types.LONG()))
        .with_state(ValueStateDescriptor("name", Types.STRING()))
        .with_state(ListStateDescriptor("amounts", Types.DOUBLE()))
    )
    Savepoint.create(spark).with_operator(UID, transformation).write(str(path))
    spark.stop()


def weighed(savepoint: Savepoint) -> tuple[int, int]:
    """The keys, and the elements of all lists, as ``stats`` has them."""
    (amounts,) = (state for state in savepoint.stats().states if state.state == "amounts")
    return amounts.keys or 0, amounts.items.total if amounts.items else 0


def read(savepoint: Savepoint) -> tuple[int, int]:
    """The same of the rows."""
    keys = elements = 0
    for batch in savepoint.scan(TABLE).batches():
        keys += batch.num_rows
        elements += pc.sum(pc.list_value_length(batch.column("amounts"))).as_py()
    return keys, elements


def main() -> None:
    """Makes what is not there, measures, prints."""
    parser = sizes_parser(__doc__, keys=1_000_000)
    parser.add_argument("--rounds", type=int, default=3, help="readings of each")
    options = parser.parse_args()
    for keys in options.keys:
        path = options.folder / f"stats-{keys}"
        make(path, keys)
        measure(path, keys, options.rounds)


def measure(path: Path, keys: int, rounds: int) -> None:
    """Lets both go over the savepoint in turn."""
    savepoint = Savepoint.open(str(path))
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    ways: dict[str, Callable[[Savepoint], tuple[int, int]]] = {"stats": weighed, "arrow": read}
    best: dict[str, tuple[float, float]] = {}
    for _ in range(rounds + 1):  # the first one loads machine code
        for name, way in ways.items():
            started, used = time.perf_counter(), time.process_time()
            counted = way(savepoint)
            seconds, cpu = time.perf_counter() - started, time.process_time() - used
            expected = (keys, sum((key % 4) + 1 for key in range(min(keys, 4))) * keys // 4)
            assert counted == expected, (name, counted, expected)
            best[name] = min(best.get(name, (seconds, cpu)), (seconds, cpu))
    print(f"{keys:,} keys, {size / 1e6:,.0f} MB")
    for name, (seconds, cpu) in best.items():
        print(f"{name}  {seconds:6.2f} s  {cpu:6.2f} s CPU  {size / 1e6 / seconds:6.0f} MB/s")


if __name__ == "__main__":
    main()
