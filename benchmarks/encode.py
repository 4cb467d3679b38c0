"""How fast Arrow arrays become records, and records runs, on one core.

    python benchmarks/encode.py [--rounds 5]

Prints the time of the first use in this process, rows and megabytes per second for columns of
several layouts, the same for the runs and the hashes of entries of 128 key groups, and the peak
memory. Times are the least of all rounds.
"""

from __future__ import annotations

import resource
import time
from typing import TYPE_CHECKING

import click
import numpy as np
import pyarrow as pa
from decode import cases, least, report

from savepoint_formats import layout as layouts
from savepoint_formats.entries.stored_entries import StoredEntries, distinct_hashes, runs
from savepoint_formats.program.encode import Encoder
from savepoint_formats.values.arrow_types import arrow_type

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from savepoint_formats.layout import Layout

_RECORDS = 1_000_000
_DISTINCT = 10_000
_KEY_GROUPS = 128
_TEXT_SIZE = 20


def column_of(layout: Layout, value: Callable[[int], Any]) -> pa.Array:
    """A million values, of which some are distinct."""
    distinct = pa.array([value(number) for number in range(_DISTINCT)], arrow_type(layout))
    return pa.concat_arrays([distinct] * (_RECORDS // _DISTINCT))


def size_of(values: pa.LargeBinaryArray) -> int:
    """The bytes of all values."""
    offsets = np.frombuffer(values.buffers()[1], np.int64)
    return int(offsets[len(values)])


@click.command(help=__doc__)
@click.option("--rounds", default=5, show_default=True, help="Rounds of each measurement.")
def main(rounds: int) -> None:
    """Measures and prints."""
    start = time.perf_counter()
    Encoder(layouts.Long()).encode(pa.array([1]))
    click.echo(f"first use in this process: {time.perf_counter() - start:.3f} s")
    for name, (layout, value) in cases().items():
        column, encoder = column_of(layout, value), Encoder(layout)
        seconds = least(lambda: encoder.encode(column), rounds)  # noqa: B023
        report(name, _RECORDS, size_of(encoder.encode(column)), seconds)
    keys = Encoder(layouts.Long()).encode(pa.array(np.arange(_RECORDS)))
    texts = pa.array([f"{number:0{_TEXT_SIZE}}" for number in range(_RECORDS)])
    entries = StoredEntries(keys, Encoder(layouts.Text()).encode(texts))
    key_groups = np.random.default_rng(0).integers(0, _KEY_GROUPS, _RECORDS).astype(np.uint16)
    seconds = least(lambda: runs(entries, key_groups, 0, 1), rounds)
    report("runs of long keys and text", _RECORDS, runs(entries, key_groups, 0, 1).nbytes, seconds)
    report("hashes of keys", _RECORDS, size_of(keys), least(lambda: distinct_hashes(keys), rounds))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    click.echo(f"peak memory: {peak:.0f} MB, input and output included")


if __name__ == "__main__":
    main()
