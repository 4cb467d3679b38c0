"""Savepoints far larger than usual, made by hand: seconds, CPU seconds and memory of commands on them.

    PYTHONPATH=…:tests python -m faults.extremes --case operators --case files

Each command is a process of its own, on a machine that may have other work: CPU seconds are the figure,
and the load stands beside them.
"""

from __future__ import annotations

import argparse
import gc
import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
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
from support.sample_rows import SAMPLES

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

    from numpy.typing import NDArray

_READS = ("describe", "verify", "stats", "doctor", "diff")
_ENTRY = [("key_size", ">i4"), ("group", "u1"), ("key", ">i8"), ("namespace", "u1"),
          ("size", ">i4"), ("value", ">i8")]  # fmt: skip
_HEAP_ENTRY = [("namespace", "u1"), ("key", ">i8"), ("value", ">i8")]
_ROCKSDB_KEY = [("group", "u1"), ("key", ">i8"), ("namespace", "u1")]
_TABLE_KEYS = 2_500_000
_MAX_PARALLELISM = 128
_EVERYTHING = KeyGroupRange(0, _MAX_PARALLELISM - 1)
_LOOKS = 10
"""How often the memory of many openings is told."""


@dataclass(frozen=True)
class Case:
    """A savepoint, and what is asked of it.

    Attributes:
        make: Writes it.
        commands: Commands that are run on it.
        readers: Processes that run the same command at once.
    """

    make: Callable[[Path], None]
    commands: tuple[str, ...] = _READS
    readers: int = 1


def _write(folder: Path, *operators: OperatorState) -> None:
    view = DataOutputView()
    CheckpointMetadata.new(operators).write(view)
    (folder / "_metadata").write_bytes(view.to_bytes())


def _write_alone(folder: Path, subtask: SubtaskState) -> None:
    _write(folder, _operator("a", [subtask], _MAX_PARALLELISM))


def _operator(uid: str, subtasks: Sequence[SubtaskState], max_parallelism: int) -> OperatorState:
    return OperatorState(
        OperatorId.from_uid(uid), len(subtasks), max_parallelism, tuple(subtasks), uid=uid
    )


def _file(
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


def _entry(prefix: bytes, key: str, value: bytes, *, is_last: bool) -> bytes:
    stored = prefix + encoded(Text(), key) + b"\0"
    first = bytes([stored[0] | 0x80]) if is_last else stored[:1]
    return i32(len(stored)) + first + stored[1:] + i32(len(value)) + value


def _many_operators(folder: Path) -> None:
    _write(
        folder,
        *(OperatorState(OperatorId(n.to_bytes(16, "big")), 1, 128, ()) for n in range(100_000)),
    )


def _many_states(count: int, folder: Path) -> None:
    """States of ten keys each."""
    head = header(*(meta_info(f"s{number}", "VALUE", LONG) for number in range(count)))
    keys = _by_group([f"key-{number}" for number in range(10)])
    sections = {
        group: [
            b"".join(
                number.to_bytes(2, "big")
                + b"".join(
                    _entry(bytes([group]), key, number.to_bytes(8, "big"), is_last=key is own[-1])
                    for key in own
                )
                for number in range(count)
            ),
            b"\xff\xff",
        ]
        for group, own in keys.items()
    }
    _write_alone(folder, _file(folder, "f", head, sections, _EVERYTHING))


def _by_group(keys: Iterable[str], max_parallelism: int = _MAX_PARALLELISM) -> dict[int, list[str]]:
    groups: dict[int, list[str]] = {}
    for key in keys:
        groups.setdefault(key_group(java_hash(Text(), key), max_parallelism), []).append(key)
    return dict(sorted(groups.items()))


def _many_files(subtasks: int, folder: Path) -> None:
    """A file for each subtask, and a key in each key group or so."""
    head = header(meta_info("s", "VALUE", LONG))
    keys = _by_group((f"key-{number}" for number in range(20_000)), subtasks)
    records = []
    for index in range(subtasks):
        own = keys.get(index, [])
        prefix = index.to_bytes(2, "big")
        entries = [_entry(prefix, key, bytes(8), is_last=key is own[-1]) for key in own]
        sections = {index: [b"\0\0", *entries, b"\xff\xff"]} if own else {}
        groups = KeyGroupRange(index, index)
        records.append(_file(folder, f"f-{index:05}", head, sections, groups, index=index))
    _write(folder, _operator("a", records, subtasks))


def _large_keys(count: int, size: int, folder: Path) -> None:
    """Keys of so many bytes each."""
    keys = _by_group(f"{number:07}" + "k" * (size - 7) for number in range(count))
    sections = {
        group: [b"\0\0"]
        + [_entry(bytes([group]), key, bytes(8), is_last=key is own[-1]) for key in own]
        + [b"\xff\xff"]
        for group, own in keys.items()
    }
    subtask = _file(folder, "f", header(meta_info("s", "VALUE", LONG)), sections, _EVERYTHING)
    _write_alone(folder, subtask)


def _long_list(count: int, folder: Path) -> None:
    """A list of longs, of one key."""
    elements = np.zeros(count, [("value", ">i8"), ("comma", "u1")])
    elements["value"], elements["comma"] = np.arange(count), ord(",")
    _one_value(folder, meta_info("s", "LIST", list_of(LONG)), elements.tobytes()[:-1])


def _long_text(size: int, folder: Path) -> None:
    """A text of so many letters, of one key."""
    view = DataOutputView()
    view.write_varint(size + 1)
    _one_value(folder, meta_info("s", "VALUE", STRING), view.to_bytes(), b"x" * size)


def _one_value(folder: Path, state: bytes, *value: bytes) -> None:
    """Writes a value of one key."""
    ((group, (key,)),) = _by_group(["key"]).items()
    entry = _entry(bytes([group]), key, b"", is_last=True)[: -len(i32(0))]
    section = [b"\0\0", entry, i32(sum(map(len, value))), *value, b"\xff\xff"]
    subtask = _file(folder, "f", header(state), {group: section}, _EVERYTHING)
    _write_alone(folder, subtask)


def _many_keys(count: int, form: str) -> Callable[[Path], None]:
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
        _write_alone(folder, _file(folder, "f", head, sections, _EVERYTHING, kind))

    return make


def _rocksdb(count: int) -> Callable[[Path], None]:
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
        _write_alone(folder, subtask)

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


def _cases(keys: int) -> dict[str, Case]:
    millions = f"{keys / 1e6:g} M keys"
    large = ("verify", "stats", "diff", "show")
    return {
        "100,000 operators": Case(_many_operators, (*_READS, "list", "copy")),
        "2,000 states": Case(partial(_many_states, 2000), (*_READS, "list", "copy")),
        "20,000 states": Case(partial(_many_states, 20_000)),
        "1,024 files": Case(partial(_many_files, 1024), (*_READS, "files", "copy")),
        "32,768 files": Case(partial(_many_files, 32_768), (*_READS, "files", "copy")),
        "200 keys of 1 MB": Case(partial(_large_keys, 200, 1_000_000), large),
        "key of 100 MB": Case(partial(_large_keys, 1, 100_000_000), large),
        "list of 10 M": Case(partial(_long_list, 10_000_000), large),
        "list of 100 M": Case(partial(_long_list, 100_000_000), ("verify", "stats")),
        "list of 1 M": Case(partial(_long_list, 1_000_000), large),
        "10,000 states": Case(partial(_many_states, 10_000)),
        "text of 200 MB": Case(partial(_long_text, 200_000_000), (*large, "export")),
        "text of 1 GB": Case(partial(_long_text, 1_000_000_000), large),
        "text of 2 GB": Case(partial(_long_text, 2_000_000_000), large),
        f"{millions}, canonical": Case(_many_keys(keys, "canonical"), ("verify", "stats", "diff")),
        f"{millions}, heap": Case(_many_keys(keys, "heap"), ("verify", "stats", "diff")),
        f"{millions}, RocksDB": Case(_rocksdb(keys), (*large, "describe", "query")),
        "20 readers at once": Case(_many_keys(keys // 20, "canonical"), ("verify",), readers=20),
    }


def _run(case: str, command: str, path: Path, readers: int, memory: float | None) -> bool:
    """Runs a command, prints a row of the table; returns whether it ended as it must."""
    words = [str(Path(sys.executable).with_name("savepoint")), command, str(path)]
    words += {
        "diff": [str(path)],
        "copy": [str(path / "copy")],
        "export": ["a.keyed_state", str(path / "rows"), "--to", "parquet", "--uid", "a"],
        "show": ["a.keyed_state", "--uid", "a", "-n", "1"],
        "query": ["SELECT count(*), sum(s) FROM a.keyed_state", "--uid", "a"],
        "rescale": [str(path / "rescaled"), "--parallelism", "4"],
    }.get(command, [])
    words += ["--target", "2.2"] if command == "doctor" else []
    if memory:
        words = ["prlimit", f"--as={int(memory * 2**30)}", *words]
    start = time.perf_counter()
    with tempfile.TemporaryFile() as errors:
        pids = [_started([*words, "--output", "json"], errors.fileno()) for _ in range(readers)]
        ends = [os.wait4(pid, 0) for pid in pids]
        seconds = time.perf_counter() - start
        errors.seek(0)
        said = errors.read().decode(errors="replace").strip().splitlines()
    cpu = sum(usage.ru_utime + usage.ru_stime for _, _, usage in ends)
    memory = max(usage.ru_maxrss for *_, usage in ends) / 1024
    codes = {os.waitstatus_to_exitcode(status) for _, status, _ in ends}
    end = "" if codes <= {0, 3} else f"exit codes {codes}: {said[-1] if said else ''}"
    print(
        f"| {case} | {command} | {seconds:.1f} | {cpu:.1f} | {memory:,.0f} | {os.getloadavg()[0]:.0f} | {end} |",
        flush=True,
    )
    return not end


def _started(words: Sequence[str], errors: int) -> int:
    with Path(os.devnull).open("wb") as nothing:
        return subprocess.Popen(words, stdout=nothing, stderr=errors).pid


def _openings(count: int) -> None:
    """Opens samples again and again in one process, reads a table of each; prints what it has."""
    from state_processor import Savepoint  # noqa: PLC0415

    samples = [
        SAMPLES / name
        for name in ("currency-2.2.1-hashmap-canonical", "currency-2.2.1-rocksdb-native")
    ]
    for number in range(count + 1):
        if number % (count // _LOOKS) == 0:
            gc.collect()
            files, threads = len(os.listdir("/proc/self/fd")), threading.active_count()
            status = Path("/proc/self/status").read_text("ascii")
            memory = next(
                line.split()[1] for line in status.splitlines() if line.startswith("VmRSS")
            )
            print(
                f"| {number:,} openings | memory {int(memory) >> 10} MB | files {files} | threads {threads} |",
                flush=True,
            )
        savepoint = Savepoint.open(str(samples[number % 2]))
        savepoint.describe()
        savepoint.scan("summarize.keyed_state").to_arrow()


def main() -> int:
    """Makes each savepoint, runs the commands on it; returns how many ended otherwise than they must."""
    parser = argparse.ArgumentParser(prog="python -m faults.extremes")
    parser.add_argument("--case", action="append", help="the beginning of its name; all by default")
    parser.add_argument("--command", action="append", help="all of a case by default")
    parser.add_argument("--memory", type=float, help="GiB of addresses; no limit by default")
    parser.add_argument("--keys", type=int, default=20_000_000, help="of the cases with many keys")
    parser.add_argument("--openings", type=int, default=10_000, help="of one process")
    options = parser.parse_args()
    wrong = 0
    print(
        "| savepoint | command | seconds | CPU seconds | MB | load | |\n|---|---|---:|---:|---:|---:|---|"
    )
    for name, case in _cases(options.keys).items():
        if options.case and not any(name.startswith(given) for given in options.case):
            continue
        with tempfile.TemporaryDirectory() as folder:
            # Commands begin with the memory of their parent, which stays small.
            maker = get_context("fork").Process(target=case.make, args=[Path(folder)])
            maker.start()
            maker.join()
            if maker.exitcode:
                raise RuntimeError(f"the savepoint of {name!r} could not be made")
            for command in options.command or case.commands:
                wrong += not _run(name, command, Path(folder), case.readers, options.memory)
    if not options.case or "openings" in options.case:
        _openings(options.openings)
    return wrong


if __name__ == "__main__":
    sys.exit(main())
