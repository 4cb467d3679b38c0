"""Objects of Kryo: read by Flink's State Processor API and by ours, written, and migrated.

    python benchmarks/read_kryo.py [--keys 1000000 5000000] [--only flink arrow spark written migrated]

An operator ``bench`` of Flink 2.3, keyed by a long, with an object per key that has a long, a text, a
double, an enum and a list of three boxed longs. What is there is not made again.

| row      | what                                                                              |
|----------|-----------------------------------------------------------------------------------|
| flink    | Flink reads all, on two cores                                                     |
| arrow    | ours reads all into Arrow, on one core                                            |
| spark    | ours reads all through Spark, on two cores                                        |
| written  | the values alone, out of Arrow, on one core: all in memory                        |
| migrated | the bytes of the values for Kryo 2.24 into those for 5.6, on one core, in memory  |

All else is as in ``read_keyed_state.py``.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from customers import NAME_SIZE, TABLE
from make_savepoint import size_of
from measure import (
    Measurement,
    alternating,
    in_fresh_process,
    installed_flink,
    measuring_parser,
    megabytes,
    print_table,
)
from peer.flink import HASHMAP

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.layout import Kryo
from savepoint_formats.program.assembly import program
from savepoint_formats.program.decode import decode
from savepoint_formats.program.encode import Encoder
from savepoint_formats.values.kryo.dialect import KryoDialect, KryoVersion
from state_processor import Savepoint, kryo_class

if TYPE_CHECKING:
    from pathlib import Path

    from peer.flink import Flink
    from pyspark.sql import SparkSession

READERS = ["flink", "arrow", "spark", "written", "migrated"]
OLD, NEW = "2.24", "5.6"
COUNTS = 3
CLASSES = (
    kryo_class(
        "peer.Order",
        {
            "id": "long",
            "name": "java.lang.String",
            "price": "double",
            "kind": "peer.Order$Kind",
            "counts": "java.util.List<java.lang.Long>",
        },
        is_final=True,
    ),
    kryo_class("peer.Order$Kind", constants=["NEW", "PAID", "SENT"], is_final=True),
)


@dataclass(frozen=True, slots=True)
class Orders:
    """A savepoint of so many objects."""

    folder: Path
    keys: int

    @property
    def path(self) -> Path:
        """Its own folder."""
        return self.folder / f"orders-{self.keys}"

    def make(self, flink: Flink) -> None:
        """Does nothing if it is there."""
        if not self.path.exists():
            draft = self.folder / "draft"
            shutil.rmtree(draft, ignore_errors=True)
            flink.run("Orders", ["write", draft.as_uri(), str(self.keys)], HASHMAP)
            draft.rename(self.path)

    def expect(self, *totals: int) -> None:
        """Raises ``ValueError`` unless these are the rows, sum of counts and characters."""
        of_one = sum(range(COUNTS))
        expected = (self.keys, of_one * self.keys * (self.keys - 1) // 2, self.keys * NAME_SIZE)
        if totals != expected:
            raise ValueError(f"{self.path} gave {totals}, expected {expected}")

    def open(self) -> Savepoint:
        """The savepoint, with its classes described."""
        return Savepoint.open(str(self.path), kryo_classes=CLASSES)


def flink_reading(flink: Flink, orders: Orders, runs: int) -> Measurement:
    """Several jobs in one JVM."""
    run = flink.run("Orders", ["read", orders.path.as_uri(), str(1 + runs)], HASHMAP)
    for rows, counts, characters, *_ in run.numbers:
        orders.expect(rows, counts, characters)
    return Measurement.of_flink(run)


def read_by_arrow(orders: Orders, run: int = 0) -> None:  # noqa: ARG001
    """Adds all rows up, and checks the sums."""
    scan = orders.open().scan(TABLE)
    rows = counts = characters = 0
    for split in scan.splits():
        for batch in scan.read(split):
            order = batch["order"]
            rows += batch.num_rows
            counts += pc.sum(pc.list_flatten(order.field("counts"))).as_py()
            characters += pc.sum(pc.utf8_length(order.field("name"))).as_py()
    orders.expect(rows, counts, characters)


def read_by_spark(orders: Orders, spark: SparkSession, run: int) -> None:  # noqa: ARG001
    """Reads the objects by a query."""
    savepoint = Savepoint.load(spark, str(orders.path), kryo_classes=CLASSES)
    frame = savepoint.read_keyed_state("bench")
    added = "aggregate(order.counts, 0L, (sum, one) -> sum + one)"
    row = frame.selectExpr("count(key)", f"sum({added})", "sum(length(order.name))").first()
    assert row is not None
    orders.expect(*row)


def on_one_core(measure: object, orders: Orders, runs: int, started: float) -> Measurement:
    """A measurement of one core."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    assert callable(measure)
    return Measurement.of_this_process(partial(measure, orders), runs, started)


def of_memory(orders: Orders, started: float, runs: int, *, migrates: bool) -> Measurement:
    """Values in memory, written or migrated."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    column, written = columns(orders.keys), Encoder(layout(OLD))
    stored = written.encode(column) if migrates else None

    def task(run: int) -> None:  # noqa: ARG001
        values = column if stored is None else decoded(stored, OLD)
        Encoder(layout(NEW)).encode(values)

    return Measurement.of_this_process(task, runs, started)


def layout(version: str) -> Kryo:
    """The layout of the objects, to be written for a version."""
    return Kryo("peer.Order", (), CLASSES, version)


def columns(keys: int) -> pa.Array:
    """The objects as a column."""
    numbers = np.arange(keys)
    offsets = pa.array(np.arange(keys + 1) * COUNTS, pa.int32())
    counts = np.multiply.outer(numbers, np.arange(COUNTS)).ravel()
    digits = pc.utf8_lpad(pa.array(numbers).cast(pa.utf8()), NAME_SIZE, "0")
    parts = [
        pa.array(numbers),
        digits,
        pa.array(numbers / 8),
        pa.array(["NEW", "PAID", "SENT"]).take(pa.array(numbers % 3)),
        pa.ListArray.from_arrays(offsets, pa.array(counts)),
        pa.nulls(keys, Encoder(layout(NEW)).type.field("$undecoded").type),
    ]
    return pa.StructArray.from_arrays(parts, fields=list(Encoder(layout(NEW)).type))


def decoded(stored: pa.LargeBinaryArray, version: str) -> pa.Array:
    """The values of bytes that a version has written."""
    _, offsets, data = stored.buffers()
    borders = np.frombuffer(offsets, np.int64)
    dialect = KryoDialect(KryoVersion(version), CLASSES)
    chunk = Chunk(np.frombuffer(data, np.uint8)[: borders[-1]])
    return decode(program(layout(version), dialect), chunk, borders[:-1], borders[1:])


def main() -> None:
    """Makes what is not there, measures, prints."""
    options = measuring_parser(__doc__, READERS).parse_args()
    flink = installed_flink(options)
    for keys in options.keys:
        orders, runs = Orders(options.folder, keys), options.runs
        orders.make(flink)
        by_spark = partial(read_by_spark, orders)
        measures = {
            "flink": partial(flink_reading, flink, orders, runs),
            "arrow": partial(in_fresh_process, on_one_core, read_by_arrow, orders, runs),
            "spark": partial(in_fresh_process, Measurement.of_spark, by_spark, runs),
            "written": partial(
                in_fresh_process, partial(of_memory, runs=runs, migrates=False), orders
            ),
            "migrated": partial(
                in_fresh_process, partial(of_memory, runs=runs, migrates=True), orders
            ),
        }
        measured = alternating({name: measures[name] for name in options.only}, options.rounds)
        size = size_of(orders.path)
        sized = {name: replace(one, size=size) for name, one in measured.items()}
        print_table(f"{orders.path.name}: {keys:,} objects, {megabytes(size)} MB", sized, keys)


if __name__ == "__main__":
    main()
