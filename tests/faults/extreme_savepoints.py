"""Makes savepoints that are far larger than usual, by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from rocksdict import (
    BottommostLevelCompaction,
    CompactOptions,
    IngestExternalFileOptions,
    Rdict,
    SstFileWriter,
)
from support.hand_made import LONG, STRING, encoded, header, i32, list_of, meta_info
from support.rocksdb_databases import files_of, table_options

from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.hashing.key_hash import java_hash
from savepoint_formats.key_groups.operator_id import OperatorId
from savepoint_formats.key_groups.ranges import KeyGroupRange, key_group, key_groups_of
from savepoint_formats.layout import Text
from savepoint_formats.metadata import (
    CheckpointMetadata,
    InlineStream,
    KeyedHandleType,
    KeyGroupRangeOffsets,
    KeyGroupsHandle,
    OperatorState,
    RelativeFile,
    SubtaskState,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

_ENTRY = [("key_size", ">i4"), ("group", "u1"), ("key", ">i8"), ("namespace", "u1"),
          ("size", ">i4"), ("value", ">i8")]  # fmt: skip
_HEAP_ENTRY = [("namespace", "u1"), ("key", ">i8"), ("value", ">i8")]
_ROCKSDB_KEY = [("group", "u1"), ("key", ">i8"), ("namespace", "u1")]
_TABLE_KEYS = 2_500_000
_MAX_PARALLELISM = 128
EVERYTHING = KeyGroupRange(0, _MAX_PARALLELISM - 1)


def write(folder: Path, *operators: OperatorState) -> None:
    view = DataOutputView()
    CheckpointMetadata.new(operators).write(view)
    (folder / "_metadata").write_bytes(view.to_bytes())


def write_alone(folder: Path, subtask: SubtaskState) -> None:
    write(folder, _operator("a", [subtask], _MAX_PARALLELISM))


def _operator(uid: str, subtasks: Sequence[SubtaskState], max_parallelism: int) -> OperatorState:
    return OperatorState(
        OperatorId.from_uid(uid), len(subtasks), max_parallelism, tuple(subtasks), uid=uid
    )


def file_of(
    folder: Path, name: str, head: bytes, sections: Mapping[int, Iterable[bytes]], groups: KeyGroupRange,
    kind: KeyedHandleType = KeyedHandleType.CANONICAL_SAVEPOINT, index: int = 0,
) -> SubtaskState:  # fmt: skip
    """Writes a file of a subtask with these sections, of the kind of its handle."""
    starts = {}
    with (folder / name).open("wb") as file:
        file.write(head)
        for group, data in sections.items():
            starts[group] = file.tell()
            for part in data:
                file.write(part)
        size = file.tell()
    offsets = KeyGroupRangeOffsets(groups, tuple(starts.get(group, 0) for group in groups))
    handle_id = None if kind is KeyedHandleType.CANONICAL_SAVEPOINT else name
    handle = KeyGroupsHandle(kind, offsets, RelativeFile(name, size), handle_id)
    return SubtaskState(index, managed_keyed_state=handle)


def written_entry(prefix: bytes, key: str, value: bytes, *, is_last: bool) -> bytes:
    stored = prefix + encoded(Text(), key) + b"\0"
    first = bytes([stored[0] | 0x80]) if is_last else stored[:1]
    return i32(len(stored)) + first + stored[1:] + i32(len(value)) + value


def many_operators(folder: Path) -> None:
    write(
        folder,
        *(OperatorState(OperatorId(n.to_bytes(16, "big")), 1, 128, ()) for n in range(100_000)),
    )


def many_states(count: int, folder: Path) -> None:
    """States of ten keys each."""
    head = header(*(meta_info(f"s{number}", "VALUE", LONG) for number in range(count)))
    keys = groups_of([f"key-{number}" for number in range(10)])
    sections = {
        group: [
            b"".join(
                number.to_bytes(2, "big")
                + b"".join(
                    written_entry(
                        bytes([group]), key, number.to_bytes(8, "big"), is_last=key is own[-1]
                    )
                    for key in own
                )
                for number in range(count)
            ),
            b"\xff\xff",
        ]
        for group, own in keys.items()
    }
    write_alone(folder, file_of(folder, "f", head, sections, EVERYTHING))


def groups_of(keys: Iterable[str], max_parallelism: int = _MAX_PARALLELISM) -> dict[int, list[str]]:
    groups: dict[int, list[str]] = {}
    for key in keys:
        groups.setdefault(key_group(java_hash(Text(), key), max_parallelism), []).append(key)
    return dict(sorted(groups.items()))


def many_files(subtasks: int, folder: Path) -> None:
    """A file for each subtask, and a key in each key group or so."""
    head = header(meta_info("s", "VALUE", LONG))
    keys = groups_of((f"key-{number}" for number in range(20_000)), subtasks)
    records = []
    for index in range(subtasks):
        own = keys.get(index, [])
        prefix = index.to_bytes(2, "big")
        entries = [written_entry(prefix, key, bytes(8), is_last=key is own[-1]) for key in own]
        sections = {index: [b"\0\0", *entries, b"\xff\xff"]} if own else {}
        groups = KeyGroupRange(index, index)
        records.append(file_of(folder, f"f-{index:05}", head, sections, groups, index=index))
    write(folder, _operator("a", records, subtasks))


def large_keys(count: int, size: int, folder: Path) -> None:
    """Keys of so many bytes each."""
    keys = groups_of(f"{number:07}" + "k" * (size - 7) for number in range(count))
    sections = {
        group: [b"\0\0"]
        + [written_entry(bytes([group]), key, bytes(8), is_last=key is own[-1]) for key in own]
        + [b"\xff\xff"]
        for group, own in keys.items()
    }
    subtask = file_of(folder, "f", header(meta_info("s", "VALUE", LONG)), sections, EVERYTHING)
    write_alone(folder, subtask)


def long_list(count: int, folder: Path) -> None:
    """A list of longs, of one key."""
    elements = np.zeros(count, [("value", ">i8"), ("comma", "u1")])
    elements["value"], elements["comma"] = np.arange(count), ord(",")
    one_value(folder, meta_info("s", "LIST", list_of(LONG)), elements.tobytes()[:-1])


def long_text(size: int, folder: Path) -> None:
    """A text of so many letters, of one key."""
    view = DataOutputView()
    view.write_varint(size + 1)
    one_value(folder, meta_info("s", "VALUE", STRING), view.to_bytes(), b"x" * size)


def wide_row(count: int, size: int, folder: Path) -> None:
    """So many states of one key, each a text of so many letters."""
    head = header(*(meta_info(f"s{number}", "VALUE", STRING) for number in range(count)))
    view = DataOutputView()
    view.write_varint(size + 1)
    value = view.to_bytes() + b"x" * size
    ((group, (key,)),) = groups_of(["key"]).items()
    entry = written_entry(bytes([group]), key, value, is_last=True)
    parts = (part for number in range(count) for part in (number.to_bytes(2, "big"), entry))
    subtask = file_of(folder, "f", head, {group: (*parts, b"\xff\xff")}, EVERYTHING)
    write_alone(folder, subtask)


def one_value(folder: Path, state: bytes, *value: bytes) -> None:
    """Writes a value of one key."""
    ((group, (key,)),) = groups_of(["key"]).items()
    entry = written_entry(bytes([group]), key, b"", is_last=True)[: -len(i32(0))]
    section = [b"\0\0", entry, i32(sum(map(len, value))), *value, b"\xff\xff"]
    subtask = file_of(folder, "f", header(state), {group: section}, EVERYTHING)
    write_alone(folder, subtask)


def many_keys(count: int, form: str) -> Callable[[Path], None]:
    """So many longs under as many keys, canonical or as the hashmap backend writes them."""

    def make(folder: Path) -> None:
        numbers = np.arange(count, dtype=np.int64)
        groups = key_groups_of(numbers.astype(np.int32), _MAX_PARALLELISM)
        order = np.argsort(groups, kind="stable")
        borders = np.searchsorted(groups[order], np.arange(_MAX_PARALLELISM + 1))
        section = _section if form == "canonical" else _heap_section
        sections = {
            group: section(group, order[borders[group] : borders[group + 1]])
            for group in range(_MAX_PARALLELISM)
        }
        head = header(meta_info("s", "VALUE", LONG), key=LONG)
        kind = (
            KeyedHandleType.CANONICAL_SAVEPOINT
            if form == "canonical"
            else KeyedHandleType.KEY_GROUPS
        )
        write_alone(folder, file_of(folder, "f", head, sections, EVERYTHING, kind))

    return make


def rocksdb(count: int) -> Callable[[Path], None]:
    """So many longs under as many keys, in tables of a RocksDB."""

    def make(folder: Path) -> None:
        keys = np.zeros(count, _ROCKSDB_KEY)
        keys["key"] = numbers = np.arange(count)
        keys["group"] = key_groups_of(numbers.astype(np.int32), _MAX_PARALLELISM)
        keys.sort(order=["group", "key"])
        options, paths = table_options(), []
        for first in range(0, count, _TABLE_KEYS):
            some = keys[first : first + _TABLE_KEYS]
            stored, values = some.tobytes(), some["key"].tobytes()
            table = SstFileWriter(options)
            paths.append(str(folder / f"{first}.made"))
            table.open(paths[-1])
            for index in range(len(some)):
                table[stored[10 * index : 10 * index + 10]] = values[8 * index : 8 * index + 8]
            table.finish()
        database, moved = Rdict(str(folder), options), IngestExternalFileOptions()
        moved.set_move_files(True)
        state = database.create_column_family("s", options)
        state.ingest_external_file(paths, moved)
        # Flink's jobs have no tables with ingested entries.
        written = CompactOptions()
        written.set_bottommost_level_compaction(BottommostLevelCompaction.force())
        state.compact_range(None, None, written)
        state.close()
        database.close()
        head = InlineStream("head", header(meta_info("s", "VALUE", LONG), key=LONG))
        handle = replace(files_of(folder).handle, meta=head)
        subtask = SubtaskState(0, managed_keyed_state=handle)
        write_alone(folder, subtask)

    return make


def _section(group: int, keys: NDArray[np.int64]) -> Iterator[bytes]:
    entries = np.zeros(len(keys), _ENTRY)
    entries["key_size"], entries["group"], entries["size"] = 10, group, 8
    entries["key"], entries["value"] = keys, keys
    entries["group"][-1:] |= 0x80
    yield b"\0\0" + entries.tobytes() + b"\xff\xff"


def _heap_section(group: int, keys: NDArray[np.int64]) -> Iterator[bytes]:
    entries = np.zeros(len(keys), _HEAP_ENTRY)
    entries["key"], entries["value"] = keys, keys
    yield i32(group) + b"\0\0" + i32(len(keys)) + entries.tobytes()
