"""State of which nearly all is in one place: a key group with half of all keys, a key with a long list.

    PYTHONPATH=formats:state_processor:cli:tests:sample_savepoints python tests/support/hot_states.py

makes such state of DataFrames, rescales and changes it, has a real Flink restore it, compares all rows
each time, and prints what each step took of the memory of Spark's Python processes.
"""

from __future__ import annotations

import argparse
import os
import re
import tempfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from savepoint_formats.key_groups.ranges import key_groups_of
from state_processor import (
    ListStateDescriptor,
    OperatorTransformation,
    Savepoint,
    Types,
    ValueStateDescriptor,
    local_session,
)
from support.flink_restore import FlinkRestore, KeyedState, Operator
from support.spark_processes import workers_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

    from savepoint_functions.transformations.keyed_transformation import KeyedStateTransformation

UID = "hot"
HOT_KEY = 7
MAX_PARALLELISM = 128


@dataclass(frozen=True, slots=True)
class HotState:
    """A kind of such state.

    Attributes:
        rows: The rows for a number of keys or elements: ``key`` and ``value``, sorted by key.
        transformation: What makes state of them.
        change: An expression of SQL that adds 1 to every number of ``value``.
        declared: The state as Flink declares it.
    """

    rows: Callable[[int], pa.Table]
    transformation: Callable[[KeyedStateTransformation], KeyedStateTransformation]
    change: str
    declared: KeyedState


def _hot_group(count: int) -> pa.Table:
    """Keys, half of them in one key group, each with its double."""
    # A long below 2^31 is its own hash code.
    keys = np.arange(count // 2 * MAX_PARALLELISM * 2, dtype=np.int64)
    groups = key_groups_of(keys.astype(np.int32), MAX_PARALLELISM)
    hot = keys[groups == HOT_KEY][: count // 2]
    others = keys[groups != HOT_KEY][: count - len(hot)]
    chosen = np.sort(np.concatenate([hot, others]))
    return pa.table({"key": chosen, "value": chosen * 2})


def _long_list(count: int) -> pa.Table:
    """100 keys, one of which has so many elements, each of the others three."""
    sizes = np.full(100, 3)
    sizes[HOT_KEY] = count
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    elements = pa.array(np.arange(offsets[-1], dtype=np.int64))
    return pa.table({"key": np.arange(100), "value": pa.ListArray.from_arrays(offsets, elements)})


HOT_STATES = {
    "keys of a key group": HotState(
        _hot_group,
        lambda keyed: keyed.with_state(ValueStateDescriptor("value", Types.LONG())),
        "value + 1",
        KeyedState.value("value", "LONG"),
    ),
    "elements of a key": HotState(
        _long_list,
        lambda keyed: keyed.with_state(ListStateDescriptor("value", Types.LONG())),
        "transform(value, number -> number + 1)",
        KeyedState.list("value", "LONG"),
    ),
}


def savepoints(
    spark: SparkSession, state: HotState, size: int, folder: Path
) -> Iterator[tuple[str, Path, pa.Table]]:
    """Writes one savepoint after the other: the change, the path, and the expected rows."""
    rows = state.rows(size)
    data = OperatorTransformation.bootstrap_with(spark.createDataFrame(rows)).key_by("key")
    writer = Savepoint.create(spark, max_parallelism=MAX_PARALLELISM, parallelism=2)
    writer.with_operator(UID, state.transformation(data)).write(str(folder / "first"))
    yield "bootstrap", folder / "first", rows
    first = Savepoint.load(spark, str(folder / "first"), uids=[UID])
    first.rescale(parallelism=3).write(str(folder / "subtasks"))
    yield "other subtasks", folder / "subtasks", rows
    first.rescale(max_parallelism=300, parallelism=3).write(str(folder / "groups"))
    yield "other key groups", folder / "groups", rows
    other = Savepoint.load(spark, str(folder / "groups"), uids=[UID])
    other.rescale(max_parallelism=600, parallelism=4).write(str(folder / "twice"))
    yield "twice as many key groups", folder / "twice", rows
    twice = Savepoint.load(spark, str(folder / "twice"), uids=[UID])
    twice.rescale(max_parallelism=200, parallelism=4).write(str(folder / "third"))
    yield "a third of the key groups", folder / "third", rows
    fewer = Savepoint.load(spark, str(folder / "third"), uids=[UID])
    fewer.update_state(UID, "value", state.change).write(str(folder / "changed"))
    yield "change", folder / "changed", _one_more(rows)


def _one_more(rows: pa.Table) -> pa.Table:
    """Rows after the change."""
    values = rows.column("value").combine_chunks()
    if not pa.types.is_list(values.type):
        return rows.set_column(1, "value", pa.compute.add(values, 1))
    more = pa.ListArray.from_arrays(values.offsets, pa.compute.add(values.values, 1))
    return rows.set_column(1, "value", more)


def rows_of(path: Path) -> pa.Table:
    """The rows that a savepoint has, sorted by key."""
    scan = Savepoint.open(str(path), uids=[UID]).scan(f"{UID}.keyed_state")
    return pa.Table.from_batches(list(scan.batches())).select(["key", "value"]).sort_by("key")


def restored_rows(restore: FlinkRestore, path: Path, state: HotState, flink: str) -> pa.Table:
    """The rows that Flink sees, sorted by key."""
    operator = Operator(UID, key="LONG", states=(state.declared,))
    rows = restore(path, operator, flink=flink).keyed_state(UID)
    return pa.Table.from_pylist(list(rows)).select(["key", "value"]).sort_by("key")


def main() -> None:
    """Prints a line per step; an error of Python where rows differ."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--keys", type=int, nargs="*", default=[400_000])
    parser.add_argument("--elements", type=int, nargs="*", default=[1_000_000, 5_000_000])
    parser.add_argument("--flink", default="2.2.1")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "hot-states")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    spark = local_session("local[2]")
    with closing(FlinkRestore(options.folder)) as restore:
        for (name, state), sizes in zip(
            HOT_STATES.items(), (options.keys, options.elements), strict=True
        ):
            for size in sizes:
                with tempfile.TemporaryDirectory(dir=options.folder) as folder:
                    for step, path, expected in savepoints(spark, state, size, Path(folder)):
                        memory = max(map(_taken_memory, workers_of(os.getpid())), default=0)
                        written = sum(file.stat().st_size for file in path.iterdir())
                        assert rows_of(path).equals(expected), step
                        print(f"{size:,} {name} | {step} | {written:,} bytes | {memory:,} KiB")
                    assert restored_rows(restore, path, state, options.flink).equals(expected)
                    print(f"{size:,} {name} | Flink {options.flink} restores it", flush=True)
    spark.stop()


def _taken_memory(process: int) -> int:
    """The peak of a process since it was last asked, in KiB."""
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    Path(f"/proc/{process}/clear_refs").write_text("5")
    match = re.search(r"VmHWM:\s+(\d+)", status)
    return int(match[1]) if match else 0


if __name__ == "__main__":
    main()
