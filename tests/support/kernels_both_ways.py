"""Calls each kernel as machine code and as Python, and compares: ``python kernels_both_ways.py SAMPLES``.

It needs only what the package needs, because an emulator of another machine runs it; see .ci/aarch64.
"""

from __future__ import annotations

import platform
import sys
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from savepoint_extensions.privacy.hidden_contents import table_versions
from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.entries.stored_entries import StoredEntries, distinct_hashes, runs
from savepoint_formats.errors import ColumnTypeError, UnencodableError
from savepoint_formats.hashing.scalar_hashes import bytes_hashes, list_hashes, text_hashes
from savepoint_formats.layout import Kryo
from savepoint_formats.locations.state_file import StateFile
from savepoint_formats.program.byte_ranges import bytes_of, ranges_in
from savepoint_formats.program.encode import Encoder
from savepoint_formats.program.kernel.code.library import library
from savepoint_formats.program.kernel.code.machine_code import KERNELS, Kernel
from savepoint_formats.values.kryo.descriptions import kryo_class
from savepoint_formats.values.kryo.dialect import KryoVersion
from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from savepoint_formats.layout import Layout

_TABLE_FILE = bytes.fromhex("f7cff485b741e288")  # at the end of each file of RocksDB

SAMPLES = (
    *("currency-2.2.1-rocksdb-native", "states-2.2.1-hashmap-canonical"),
    "objects-2.2.1-hashmap-canonical",
)
CALLS: Counter[str] = Counter()
_call = Kernel.__call__


def counted(kernel: Kernel[..., Any], *arguments: Any, **named: Any) -> Any:
    """Counts calls of machine code."""
    if not kernel.is_interpreted:
        CALLS[kernel.function.__name__] += 1
    return _call(kernel, *arguments, **named)


def rows_of(sample: Path) -> Iterator[tuple[str, Any]]:
    """The rows of each table, and the bytes of its keyed states, written again; of large key groups, chunk by chunk."""
    savepoint = Savepoint.open(str(sample))
    for operator in savepoint.operators():
        for table in operator.readable_tables:
            name = f"{operator.name}.{table.name}"
            for size in (None, 64):
                scan = savepoint.with_forms(undescribed_subclasses="bytes").scan(
                    name, chunk_size=size
                )
                batches = [*scan.batches()]
                yield f"{name} by {size} bytes", [batch.to_pylist() for batch in batches]
            for column, state in table.state_columns() if table.name == "keyed_state" else ():
                for batch in batches:
                    yield f"{name}.{column.name} written", written(state.stored, batch[column.name])


def written(layout: Layout, column: pa.Array) -> list[bytes] | str:
    """The bytes of a column, or why it has none."""
    try:
        data: list[bytes] = Encoder(layout).encode(column).to_pylist()
    except (ColumnTypeError, UnencodableError) as error:
        return str(error)
    return data


def versions(sample: Path) -> Iterator[tuple[str, Any]]:
    """All versions of entries in the files of RocksDB."""
    for path in sorted(sample.rglob("*")):
        if path.is_file() and path.read_bytes()[-8:] == _TABLE_FILE:
            yield path.name, [*table_versions(StateFile(path.name, path.read_bytes()))]


def made_values() -> Iterator[tuple[str, Any]]:
    """Hashes, runs and bytes of values that are made here."""
    texts = pa.array([f"key {number} é" for number in range(500)])
    yield "hashes of texts", text_hashes(texts).tolist()
    yield "hashes of bytes", bytes_hashes(texts.cast(pa.binary())).tolist()
    numbers = np.arange(700, dtype=np.int32)
    yield "hashes of lists", list_hashes(numbers, np.full(100, 7)).tolist()
    keys = texts.cast(pa.large_binary())
    yield "hashes of bytes that are compared", distinct_hashes(keys).tolist()
    groups = (np.arange(500) % 128).astype(np.uint16)
    data, places = ranges_in(keys)
    yield "joined ranges", bytes_of(Chunk(data), places, places).to_pylist()
    yield "runs", runs(StoredEntries(keys, keys), groups, 3, 1).to_pydict()
    parcel = kryo_class("shop.Parcel", {"id": "long", "content": "java.lang.String"})
    graph = Kryo("shop.Parcel", classes=(parcel,), version=KryoVersion.V5_6.value)
    parcels = [{"id": number, "content": f"é {number}"} for number in range(100)]
    yield "objects of Kryo", written(graph, pa.array(parcels, Encoder(graph).type))


def compared(values: Callable[[], Iterator[tuple[str, Any]]]) -> int:
    """The number of values that machine code and Python made alike."""
    Kernel.is_python_wanted = True
    expected = dict(values())
    Kernel.is_python_wanted = False
    made = dict(values())
    assert made.keys() == expected.keys()
    for name, value in expected.items():
        assert repr(made[name]) == repr(value), name
    return len(made)


def main(samples: Path) -> None:
    """Raises ``AssertionError`` where a kernel is never called, or differs from Python."""
    assert library() is not None, "there is no library for this machine"
    Kernel.__call__ = counted  # type: ignore[assignment]
    count = compared(made_values)
    for name in SAMPLES:
        count += compared(partial(rows_of, samples / name)) + compared(
            partial(versions, samples / name)
        )
    names = {kernel.function.__name__ for kernel in KERNELS}
    assert names == set(CALLS), f"never called: {sorted(names - set(CALLS))}"
    print(
        f"{platform.machine()}: {len(names)} kernels, {CALLS.total():,} calls, {count} values as in Python"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
