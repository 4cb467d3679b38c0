"""Makes the savepoints that ``hot_spots.py`` reads, without Spark and without Flink.

An operator ``hot`` with one subtask, keyed by a long, max parallelism 128; in each format.

| case  | states                                      | what is hot                                    |
|-------|---------------------------------------------|------------------------------------------------|
| list  | ``items``, a list of longs                  | a key has all elements, of 1,000 others each 3 |
| map   | ``items``, a map of longs to longs          | the same with entries                          |
| group | ``count``, a long; ``name``, a text         | a key group has half of all keys               |
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from rocksdict import BlockBasedOptions, ChecksumType, DBCompressionType, Options, Rdict, WriteBatch

from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.entries.stored_entries import StoredEntries, runs
from savepoint_formats.key_groups.operator_id import OperatorId
from savepoint_formats.key_groups.ranges import KeyGroupRange, key_groups_of
from savepoint_formats.metadata import (
    CheckpointMetadata,
    IncrementalHandle,
    KeyedHandleType,
    KeyGroupRangeOffsets,
    KeyGroupsHandle,
    LocalFile,
    OperatorState,
    RelativeFile,
    SubtaskState,
)
from savepoint_formats.program.byte_ranges import large_binary
from savepoint_formats.snapshots import constructed
from savepoint_formats.state_files.canonical_file import CanonicalFile
from savepoint_formats.state_files.header import KeyedBackendHeader, KeyedStateType, StateMetaInfo
from state_processor import Types

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from savepoint_formats.metadata.keyed_handles import BaseHandle

    Bytes = NDArray[np.uint8]

UID = "hot"
HOT_KEY = 7
CASES = ("list", "map", "group")
FORMATS = ("canonical", "heap", "rocksdb")

MAX_PARALLELISM = 128
KEY_GROUPS = KeyGroupRange(0, MAX_PARALLELISM - 1)
OTHER_KEYS = 1000
OTHER_ITEMS = 3
_NAME_SIZE = 20
_BATCH = 10_000


@dataclass(frozen=True, slots=True, eq=False)
class Values:
    """A state of some keys.

    Attributes:
        name: Its name.
        kind: Its kind.
        keys: The keys; sorted by key group.
        entries: The entries as canonical files and RocksDB have them.
        entry_keys: Which of the keys each entry is of.
        heap: The values as heap files have them, one per key.
    """

    name: str
    kind: KeyedStateType
    keys: NDArray[np.int64]
    entries: StoredEntries
    entry_keys: NDArray[np.int64]
    heap: pa.LargeBinaryArray

    def groups(self) -> NDArray[np.uint16]:
        """The key group of each entry."""
        return groups_of(self.keys)[self.entry_keys]


def make(path: Path, case: str, form: str, items: int) -> None:
    """Writes a savepoint, if it is not there; ``items`` are elements, entries or keys."""
    if (path / "_metadata").exists():
        return
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    states = _customers(items) if case == "group" else (_collections(case, items),)
    header = _header(case)
    write: dict[str, Callable[..., BaseHandle]] = {
        "canonical": _canonical,
        "heap": _heap,
        "rocksdb": _rocksdb,
    }
    subtask = SubtaskState(0, managed_keyed_state=write[form](path, header, states))
    operator = OperatorState(OperatorId.from_uid(UID), 1, MAX_PARALLELISM, (subtask,))
    view = DataOutputView()
    CheckpointMetadata.new((operator,)).write(view)
    (path / "_metadata").write_bytes(view.to_bytes())


def groups_of(keys: NDArray[np.int64]) -> NDArray[np.uint16]:
    """The key groups of keys, of which each is its own hash code."""
    return key_groups_of(keys.astype(np.int32), MAX_PARALLELISM)


def group_keys(count: int) -> NDArray[np.int64]:
    """Keys, half of them in one key group."""
    half = count // 2
    keys, found, start = [np.arange(half)], 0, half
    while found < count - half:
        numbers = np.arange(start, start + (1 << 22))
        own = numbers[groups_of(numbers) == HOT_KEY][: count - half - found]
        keys.append(own)
        found, start = found + len(own), start + (1 << 22)
    return np.concatenate(keys)


def _header(case: str) -> KeyedBackendHeader:
    longs, void = Types.LONG().snapshot, constructed.void_namespace()
    kinds = {
        "list": [("items", KeyedStateType.LIST, Types.LIST(Types.LONG()))],
        "map": [("items", KeyedStateType.MAP, Types.MAP(Types.LONG(), Types.LONG()))],
        "group": [
            ("count", KeyedStateType.VALUE, Types.LONG()),
            ("name", KeyedStateType.VALUE, Types.STRING()),
        ],
    }
    infos = (StateMetaInfo.of_keys(name, kind, void, of.snapshot) for name, kind, of in kinds[case])
    return KeyedBackendHeader.of(longs, tuple(infos))


def _customers(count: int) -> tuple[Values, ...]:
    """A count and a name per key."""
    keys = group_keys(count)
    keys = keys[np.argsort(groups_of(keys), kind="stable")]
    texts = np.full((count, _NAME_SIZE + 1), _NAME_SIZE + 1, np.uint8)
    for digit in range(_NAME_SIZE):
        texts[:, _NAME_SIZE - digit] = ord("0") + keys // 10**digit % 10 if digit < 11 else ord("-")
    numbers = np.arange(count)
    of_keys = partial(StoredEntries, _fixed(_identities(keys)))
    return tuple(
        Values(name, KeyedStateType.VALUE, keys, of_keys(values), numbers, values)
        for name, values in (("count", _fixed(_longs(keys + 1))), ("name", _fixed(texts)))
    )


def _collections(case: str, items: int) -> Values:
    """A list or a map per key, of which one is large."""
    keys = np.arange(OTHER_KEYS)
    keys = keys[np.argsort(groups_of(keys), kind="stable")]
    sizes = np.where(keys == HOT_KEY, items, OTHER_ITEMS)
    elements = _longs(np.arange(sizes.sum()))
    counts = sizes.astype(">i4").view(np.uint8).reshape(-1, 4)
    if case == "list":
        delimited = np.insert(elements, 8, ord(","), axis=1)
        ends = np.cumsum(sizes * 9)
        # The comma behind the last element of each list goes.
        whole = np.delete(delimited.ravel(), ends - 1)
        offsets = np.append(0, ends - np.arange(1, len(ends) + 1))
        values = large_binary(offsets, whole)
        entries = StoredEntries(_fixed(_identities(keys)), values)
        heap = _counted(counts, elements, sizes)
        return Values("items", KeyedStateType.LIST, keys, entries, np.arange(len(keys)), heap)
    rows = np.repeat(np.arange(len(keys)), sizes)
    whole_keys = np.concatenate([_identities(keys)[rows], elements], axis=1)
    flagged = np.insert(elements, 0, 0, axis=1)
    entries = StoredEntries(_fixed(whole_keys), _fixed(flagged))
    heap = _counted(counts, np.concatenate([elements, flagged], axis=1), sizes)
    return Values("items", KeyedStateType.MAP, keys, entries, rows, heap)


def _counted(counts: Bytes, items: Bytes, sizes: NDArray[np.int64]) -> pa.LargeBinaryArray:
    """Collections of items that have all as many bytes, behind their number."""
    firsts = (np.cumsum(sizes) - sizes) * items.shape[1]
    places = np.repeat(firsts, counts.shape[1])
    data = np.insert(items.ravel(), places, counts.ravel())
    return large_binary(np.append(0, np.cumsum(sizes * items.shape[1] + counts.shape[1])), data)


def _longs(numbers: NDArray[np.int64]) -> Bytes:
    return numbers.astype(">i8").view(np.uint8).reshape(-1, 8)


def _identities(keys: NDArray[np.int64]) -> Bytes:
    """Each key, and the byte of a namespace that there is not."""
    return np.insert(_longs(keys), 8, 0, axis=1)


def _fixed(values: Bytes) -> pa.LargeBinaryArray:
    count, width = values.shape
    return large_binary(np.arange(count + 1, dtype=np.int64) * width, values.ravel())


def _canonical(path: Path, header: KeyedBackendHeader, states: tuple[Values, ...]) -> BaseHandle:
    sections: dict[int, list[pa.Buffer]] = {}
    for number, state in enumerate(states):
        of_state = runs(state.entries, state.groups(), number, 1)
        pairs = zip(of_state.column("key_group").to_pylist(), of_state.column("run"), strict=True)
        for group, run in pairs:
            sections.setdefault(group, []).append(run.as_buffer())
    with (path / "state").open("wb") as output:
        file = CanonicalFile.write(output, header, KEY_GROUPS, sorted(sections.items()))
    return file.handle(RelativeFile("state", file.size))


def _heap(path: Path, header: KeyedBackendHeader, states: tuple[Values, ...]) -> BaseHandle:
    view = DataOutputView()
    header.write(view)
    offsets = []
    with (path / "state").open("wb") as output:
        output.write(view.to_bytes())
        for group in KEY_GROUPS:
            offsets.append(output.tell())
            output.write(group.to_bytes(4, "big"))
            for number, state in enumerate(states):
                rows = np.flatnonzero(groups_of(state.keys) == group)
                output.write(number.to_bytes(2, "big") + len(rows).to_bytes(4, "big"))
                output.write(_heap_entries(state, rows))
        size = output.tell()
    groups = KeyGroupRangeOffsets(KEY_GROUPS, tuple(offsets))
    return KeyGroupsHandle(KeyedHandleType.KEY_GROUPS, groups, RelativeFile("state", size), "heap")


def _heap_entries(state: Values, rows: NDArray[np.int64]) -> memoryview:
    """Namespace, key and value of some keys, one behind the other."""
    identities = np.insert(_longs(state.keys[rows]), 0, 0, axis=1)
    nothing = pa.scalar(b"", pa.large_binary())
    pieces = [_fixed(identities).cast(pa.large_binary()), state.heap.take(pa.array(rows))]
    joined = pa.compute.binary_join_element_wise(*pieces, nothing)
    return memoryview(b"".join(joined.to_pylist()))


def _rocksdb(path: Path, header: KeyedBackendHeader, states: tuple[Values, ...]) -> BaseHandle:
    view = DataOutputView()
    header.write(view)
    (path / "header").write_bytes(view.to_bytes())
    options = _options()
    database = Rdict(str(path / "db"), options)
    for state in states:
        family = database.create_column_family(state.name, options)
        handle = database.get_column_family_handle(state.name)
        groups, entries = state.groups().tolist(), state.entries
        for start in range(0, len(groups), _BATCH):
            batch = WriteBatch(raw_mode=True)
            chosen = slice(start, start + _BATCH)
            keys, values = entries.keys[chosen].to_pylist(), entries.values[chosen].to_pylist()
            for group, key, value in zip(groups[chosen], keys, values, strict=True):
                batch.put(bytes([group]) + key, value, handle)
            database.write(batch)
        family.flush()
        family.close()
    database.close()
    names = {"CURRENT", (path / "db" / "CURRENT").read_text().strip()}
    files = sorted(
        file for file in (path / "db").iterdir() if file.suffix == ".sst" or file.name in names
    )
    local = tuple(
        LocalFile(file.name, RelativeFile(f"db/{file.name}", file.stat().st_size)) for file in files
    )
    return IncrementalHandle(
        type=KeyedHandleType.INCREMENTAL,
        checkpoint_id=1,
        backend_id="hot",
        key_groups=KEY_GROUPS,
        checkpointed_size=0,
        meta=RelativeFile("header", (path / "header").stat().st_size),
        shared=tuple(file for file in local if file.name.endswith(".sst")),
        private=tuple(file for file in local if not file.name.endswith(".sst")),
        handle_id="hot",
    )


def _options() -> Options:
    table = BlockBasedOptions()
    table.set_format_version(5)
    table.set_checksum_type(ChecksumType.xxh3())
    options = Options(raw_mode=True)
    options.set_compression_type(DBCompressionType.snappy())
    options.set_block_based_table_factory(table)
    options.set_disable_auto_compactions(True)
    return options
