"""Entries per second out of RocksDB tables: read directly, and by RocksDB seen from Python.

    python benchmarks/rocksdb_scan.py [KEYS] [FOLDER]

Makes databases of two value states, a long and a string of 20 characters, as a job writes them:
keys in random order, several levels with overlapping tables; one with Snappy, and one with each
other compression. A folder that holds one from an earlier run is used again. All are read in turns,
and compared with the one of Snappy.

Then what reading directly consists of, each step by itself: the bytes, their checksums, and the merge of
tables, with the decompression of their blocks. Beside it the decompression alone. CPU time (user and system), the least of three rounds.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from rocksdict import (
    AccessType,
    BlockBasedOptions,
    ChecksumType,
    DBCompressionType,
    Options,
    Rdict,
    WriteBatch,
)

from savepoint_formats.key_groups.ranges import KeyGroupRange, key_groups_of
from savepoint_formats.locations.file_io import SnapshotDirectory
from savepoint_formats.metadata import (
    EmptySegment,
    IncrementalHandle,
    KeyedHandleType,
    LocalFile,
    RelativeFile,
)
from savepoint_formats.state_files.rocksdb.checksums import NO_CHECKSUM, ChecksumKind, first_damaged
from savepoint_formats.state_files.rocksdb.sst import Sst
from savepoint_formats.state_files.rocksdb.sst_blocks import Blocks, StoredBlocks
from savepoint_formats.state_files.rocksdb.sst_merge import Room, living_entries
from savepoint_formats.state_files.rocksdb.sst_scan import ScannedSst, SstScan
from savepoint_formats.state_files.rocksdb.states import DEFAULT_CHUNK_SIZE, RocksDbState

MAX_PARALLELISM = 128
STATES = ("count", "name")
BATCH = 50_000
ROUNDS = 3
EXPANSION, LEAST_ENTRY = 3, 32
"""Largest ratio of keys and values to the bytes of blocks, and the fewest bytes of an entry."""


COMPRESSIONS = {
    "snappy": DBCompressionType.snappy,
    "lz4": DBCompressionType.lz4,
    "zstd": DBCompressionType.zstd,
}


def options(compression: str = "snappy") -> Options:
    """The settings of Flink that matter for reading."""
    table = BlockBasedOptions()
    table.set_format_version(5)
    table.set_checksum_type(ChecksumType.xxh3())
    result = Options(raw_mode=True)
    result.set_block_based_table_factory(table)
    result.set_compression_type(COMPRESSIONS[compression]())
    return result


def make_database(folder: Path, count: int, compression: str) -> None:
    """Writes ``count`` keys of each state."""
    numbers = np.random.default_rng(0).permutation(count).astype(np.int32)
    groups = key_groups_of(numbers, MAX_PARALLELISM).tolist()
    database = Rdict(str(folder), options(compression))
    for name in STATES:
        state = database.create_column_family(name, options(compression))
        family = database.get_column_family_handle(name)
        batch = WriteBatch(raw_mode=True)
        for group, number in zip(groups, numbers.tolist(), strict=True):
            key = group.to_bytes(1, "big") + number.to_bytes(8, "big") + b"\0"
            value = number.to_bytes(8, "big") if name == "count" else b"\x15customer-%011d" % number
            batch.put(key, value, family)
            if len(batch) == BATCH:
                database.write(batch)
                batch = WriteBatch(raw_mode=True)
        database.write(batch)
        state.flush()
        state.close()
    database.close()
    (folder / "_metadata").touch()


def handle_of(folder: Path) -> IncrementalHandle:
    """Description of the database, as a savepoint gives it."""
    manifest = (folder / "CURRENT").read_text().strip()
    names = sorted(path.name for path in folder.glob("*.sst"))

    def local_files(*names: str) -> tuple[LocalFile, ...]:
        sizes = [(folder / name).stat().st_size for name in names]
        return tuple(
            LocalFile(name, RelativeFile(name, size))
            for name, size in zip(names, sizes, strict=True)
        )

    return IncrementalHandle(
        KeyedHandleType.INCREMENTAL,
        1,
        "",
        KeyGroupRange(0, MAX_PARALLELISM - 1),
        0,
        EmptySegment(),
        local_files(*names),
        local_files("CURRENT", manifest),
        "",
    )


@dataclass(frozen=True, slots=True)
class Measurement:
    """How long it took to read so many entries."""

    what: str
    entries: int
    seconds: float

    def __str__(self) -> str:
        rate = self.entries / self.seconds / 1e6
        return f"{self.what:32} {self.entries:>10,} entries {self.seconds:7.2f} s {rate:6.2f} M/s"


def measure_direct(directory: SnapshotDirectory, handle: IncrementalHandle) -> Measurement:
    """All states, opening included."""
    start = time.perf_counter()
    state = RocksDbState(directory, handle, MAX_PARALLELISM)
    entries = sum(len(spans) for name in STATES for _, spans in state.chunks(name))
    return Measurement("read directly", entries, time.perf_counter() - start)


def print_compressions(folders: dict[str, Path]) -> None:
    """CPU time of reading each database, in turns; the least of some rounds."""
    watches: dict[str, list[float]] = {name: [] for name in folders}
    for _ in range(ROUNDS):
        for name, folder in folders.items():
            with (watch := Watch()):
                measure_direct(SnapshotDirectory.of(str(folder)), handle_of(folder))
            watches[name].append(watch.seconds)
    least = {name: min(seconds) for name, seconds in watches.items()}
    for name, seconds in least.items():
        print(f"  blocks of {name:22} {seconds:7.2f} s {seconds / least['snappy']:6.2f} x snappy")


def measure_rocksdb(directory: SnapshotDirectory, _: IncrementalHandle) -> Measurement:
    """Reads the same entries by RocksDB itself."""
    start = time.perf_counter()
    path, families = directory.location.path, dict.fromkeys((*STATES, "default"), options())
    database = Rdict(path, options(), families, AccessType.read_only())
    entries = 0
    for name in STATES:
        family = database.get_column_family(name)
        entries += sum(1 for _ in family.items())
        family.close()
    database.close()
    return Measurement("read by RocksDB", entries, time.perf_counter() - start)


def measure_key_groups(directory: SnapshotDirectory, handle: IncrementalHandle) -> Measurement:
    """All states, key group by key group, as a task that is one of many would."""
    start = time.perf_counter()
    entries = 0
    for group in handle.key_groups:
        state = RocksDbState(directory, handle, MAX_PARALLELISM)
        wanted = KeyGroupRange(group, group)
        entries += sum(len(spans) for name in STATES for _, spans in state.chunks(name, wanted))
    return Measurement("a task per key group", entries, time.perf_counter() - start)


def measure_steps(directory: SnapshotDirectory, handle: IncrementalHandle) -> list[Measurement]:
    """All states, each step of reading directly by itself; the least of some rounds."""
    rounds = [steps(directory, handle) for _ in range(ROUNDS)]
    return [min(step, key=lambda measured: measured.seconds) for step in zip(*rounds, strict=True)]


def steps(directory: SnapshotDirectory, handle: IncrementalHandle) -> list[Measurement]:
    """One round."""
    read, checked, merged, decompressed = (Watch() for _ in range(4))
    tables = [Sst.open(directory.file(file.stream), file.stream.size) for file in handle.shared]
    count = 0
    for name in STATES:
        of_state = [table for table in tables if table.column_family == name]
        scan = SstScan(tuple(ScannedSst(table, table.read_index()) for table in of_state), 1)
        for bounds in scan.plan(handle.key_groups, DEFAULT_CHUNK_SIZE):
            stored = []
            for table in scan.tables:
                sst, index = table.sst, table.index
                chosen = slice(*index.blocks_between(*bounds))
                unchecked = replace(sst.footer, checksum=ChecksumKind(NO_CHECKSUM))
                with read:
                    blocks = StoredBlocks.read(
                        sst.table, unchecked, index.offsets[chosen], index.sizes[chosen]
                    )
                with checked:
                    parts = blocks.data, blocks.starts, blocks.ends
                    first_damaged(*parts, sst.footer.checksum, blocks.offsets)
                stored.append(blocks)
            room = Room(2 * sum(blocks.data.size for blocks in stored) * EXPANSION)
            with merged:
                living = living_entries(
                    [Blocks.of(each) for each in stored], bounds, room, room.rest // LEAST_ENTRY
                )
            count += len(living[1])
            with decompressed:
                for blocks in stored:
                    Blocks.of(blocks)
    watches = {
        "  bytes read": read,
        "  checksums": checked,
        "  merge, blocks unpacked before": merged,
        "  (decompression alone)": decompressed,
    }
    return [Measurement(what, count, watch.seconds) for what, watch in watches.items()]


class Watch:
    """Adds up the CPU time of what is done in its ``with`` statements."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __enter__(self) -> None:
        self.seconds -= time.process_time()

    def __exit__(self, *_: object) -> None:
        self.seconds += time.process_time()


def main() -> None:
    """Prints a line per way of reading; the first run of one compiles and fills the cache."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("keys", type=int, nargs="?", default=5_000_000, help="of each state")
    parser.add_argument("folder", type=Path, nargs="?", help="where the database is kept")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        parent = arguments.folder or Path(temporary)
        folders = {name: parent / name for name in COMPRESSIONS}
        for name, place in folders.items():
            place.mkdir(parents=True, exist_ok=True)
            if not (place / "_metadata").exists():
                make_database(place, arguments.keys, name)
        folder = folders["snappy"]
        directory, handle = SnapshotDirectory.of(str(folder)), handle_of(folder)
        for measure in (measure_direct, measure_direct, measure_key_groups, measure_rocksdb):
            print(measure(directory, handle))
        for step in measure_steps(directory, handle):
            print(step)
        print_compressions(folders)


if __name__ == "__main__":
    main()
