"""How fast records become Arrow arrays, on one core.

    python benchmarks/decode.py [--keys 5000000] [--rounds 5]

Prints the time of the first use in this process, rows and megabytes per second for records of
several layouts, the same for the keyed state of a job (a long and a 20-character string per key,
in canonical sections: taken apart, joined by key and decoded), and the peak memory. Times are
the least of all rounds.
"""

from __future__ import annotations

import resource
import struct
import time
from typing import TYPE_CHECKING, Any

import click
import numpy as np
import pyarrow as pa

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.entries.frames import section_frames
from savepoint_formats.layout import BinaryRow, Framed, Layout, LogicalType, Nullable, Struct
from savepoint_formats.program.assembly import program
from savepoint_formats.program.decode import decode
from savepoint_formats.sources.keyed_batch import KeyRows
from savepoint_formats.values.value_writer import write_value

if TYPE_CHECKING:
    from collections.abc import Callable

_RECORDS = 1_000_000
_DISTINCT = 10_000
_KEY_GROUPS = 128
_STATES = (layouts.Long(), layouts.Text())
_TEXT_SIZE = 20

_SQL = {
    "id": LogicalType("BIGINT"),
    "name": LogicalType("VARCHAR"),
    "price": LogicalType("DECIMAL", precision=10, scale=2),
    "count": LogicalType("INTEGER"),
}


def cases() -> dict[str, tuple[Layout, Callable[[int], Any]]]:
    """Layouts, and a value of each for a number."""
    pair = Struct(("f0", "f1"), (layouts.Long(), layouts.Text()))
    pojo_fields = (Nullable(layouts.Long()), Nullable(layouts.Text()), Nullable(layouts.Double()))
    row = Framed(BinaryRow(tuple(_SQL), tuple(_SQL.values())))
    return {
        "long": (layouts.Long(), lambda number: number),
        "tuple of long and text": (pair, lambda number: {"f0": number, "f1": f"{number:020}"}),
        "text, not ASCII": (layouts.Text(), lambda number: f"Straße {number:013}"),
        "POJO of long, text, double": (
            layouts.Pojo("P", ("a", "b", "c"), pojo_fields),
            lambda number: {"a": number, "b": f"{number:020}", "c": number / 7},
        ),
        "list of 10 longs": (
            layouts.Repeated(layouts.Long()),
            lambda number: list(range(number, number + 10)),
        ),
        "map of 3 texts to longs": (
            layouts.MapOf(layouts.Text(), layouts.Long()),
            lambda number: [(f"key-{index}", number) for index in range(3)],
        ),
        "SQL row of 4 fields": (
            row,
            lambda number: {
                "id": number,
                "name": f"{number:020}",
                "price": number,
                "count": None if number % 3 else number,
                "$row_kind": "+I",
            },
        ),
    }


def records_of(layout: Layout, value: Callable[[int], Any]) -> tuple[Chunk, Any, Any]:
    """A million records, of which some are distinct."""
    view = DataOutputView()
    positions = [0]
    for number in range(_DISTINCT):
        write_value(layout, value(number), view)
        positions.append(view.position)
    data = np.frombuffer(view.to_bytes() * (_RECORDS // _DISTINCT), np.uint8)
    offsets = np.arange(_RECORDS // _DISTINCT, dtype=np.int64)[:, None] * view.position
    starts = (offsets + np.array(positions[:-1])).ravel()
    ends = (offsets + np.array(positions[1:])).ravel()
    return Chunk(data), starts, ends


def section_of(key_group: int, keys: int, *, is_sorted: bool) -> Chunk:
    """A key group of two states of all keys, as a canonical file has it."""
    random = np.random.default_rng(key_group)
    data = b""
    numbers = np.arange(keys, dtype=np.int64) + key_group * keys
    for state, value_size in enumerate((8, _TEXT_SIZE + 1)):
        if not is_sorted:
            random.shuffle(numbers)
        names = ["key_size", "prefix", "key", "namespace", "value_size", "value"]
        formats = [">i4", "u1", ">i8", "u1", ">i4", f"V{value_size}"]
        entries = np.zeros(keys, np.dtype({"names": names, "formats": formats}))
        entries["key_size"], entries["prefix"], entries["key"] = 10, key_group, numbers
        entries["value_size"], entries["value"] = value_size, _values(state, numbers)
        entries["prefix"][-1] |= 0x80
        data += struct.pack(">H", state) + entries.tobytes()
    return Chunk(np.frombuffer(data + b"\xff\xff", np.uint8))


def _values(state: int, numbers: Any) -> Any:
    if state == 0:
        return numbers.astype(">i8").view("V8")
    texts = b"".join(b"%c%020d" % (_TEXT_SIZE + 1, number) for number in numbers.tolist())
    return np.frombuffer(texts, f"V{_TEXT_SIZE + 1}")


def keyed_state(chunk: Chunk, programs: tuple[Any, ...]) -> pa.RecordBatch:
    """A row per key, with a column per state."""
    by_state = section_frames(chunk, 0, len(_STATES)).by_state
    key_rows = KeyRows(chunk, prefix_size=1)
    rows = [key_rows.rows(places.key_starts, places.key_ends, 1) for places in by_state.values()]
    key_program, *state_programs = programs
    arrays = [decode(key_program, chunk, key_rows.key_starts, key_rows.key_ends - 1)]
    for places, of_state, state in zip(by_state.values(), rows, state_programs, strict=True):
        order = np.empty(len(key_rows), np.int64)
        order[of_state] = np.arange(len(of_state))
        arrays.append(decode(state, chunk, places.value_starts[order], places.value_ends[order]))
    return pa.RecordBatch.from_arrays(arrays, ["key", "total", "name"])


def least(work: Callable[[], object], rounds: int) -> float:
    """The seconds of the fastest round."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def report(name: str, rows: int, size: int, seconds: float) -> None:
    """One line."""
    speed = f"{rows / seconds / 1e6:8.1f} M rows/s {size / seconds / 1e6:8.0f} MB/s"
    click.echo(f"{name:40}{speed} {seconds * 1e3:8.0f} ms")


@click.command(help=__doc__)
@click.option("--keys", default=5_000_000, show_default=True, help="Keys of the keyed state.")
@click.option("--rounds", default=5, show_default=True, help="Rounds of each measurement.")
def main(keys: int, rounds: int) -> None:
    """Measures and prints."""
    start = time.perf_counter()
    decode(program(layouts.Long()), Chunk(np.zeros(8, np.uint8)), np.array([0]), np.array([8]))
    click.echo(f"first use in this process: {time.perf_counter() - start:.3f} s")
    for name, (layout, value) in cases().items():
        chunk, starts, ends = records_of(layout, value)
        prepared = program(layout)
        seconds = least(lambda: decode(prepared, chunk, starts, ends), rounds)  # noqa: B023
        report(name, _RECORDS, len(chunk), seconds)
    programs = tuple(map(program, (layouts.Long(), *_STATES)))
    for is_sorted in (True, False):
        groups = range(_KEY_GROUPS)
        sections = [section_of(group, keys // _KEY_GROUPS, is_sorted=is_sorted) for group in groups]
        name = f"keyed state, {'same order' if is_sorted else 'any order'}"
        size = sum(map(len, sections))
        seconds = least(lambda: sum(len(keyed_state(part, programs)) for part in sections), rounds)  # noqa: B023
        report(name, keys, size, seconds)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    click.echo(f"peak memory: {peak:.0f} MB, input and output included")


if __name__ == "__main__":
    main()
