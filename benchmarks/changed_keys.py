"""Cost of `diff` where few keys changed, beside what it would cost to read everything, in one run.

    python benchmarks/changed_keys.py [--keys 1000000 5000000] [--rounds 2] [--only pojo chain]

`pojo`: canonical savepoints of a million objects of 33 fields, 0.5 GB each, of which 76 differ; the
yardstick is `stats` of both. `chain`: two incremental checkpoints of a RocksDB, of two value states, a
long and 100 random characters, as Flink lays out its files; 1 % of the keys changed in between. They are neighbours, or
every hundredth key. The yardstick is `diff --full`. The savepoints are made once, without Flink.

Each way has a process of its own, so that its peak memory is known; it goes its way twice, and the second time counts, so that
imports do not. Bytes read are the system's count. Least of all rounds.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

import numpy as np
import pyarrow as pa
from checks import UID, column
from measure import sizes_parser
from rocksdb_scan import BATCH, options
from rocksdict import Rdict, WriteBatch

from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.entries.stored_entries import StoredEntries, runs
from savepoint_formats.key_groups.operator_id import OperatorId
from savepoint_formats.key_groups.ranges import KeyGroupRange, key_groups_of
from savepoint_formats.metadata import (
    CheckpointMetadata,
    IncrementalHandle,
    KeyedHandleType,
    LocalFile,
    OperatorState,
    RelativeFile,
    SubtaskState,
)
from savepoint_formats.program.encode import Encoder
from savepoint_formats.snapshots import constructed
from savepoint_formats.state_files.canonical_file import CanonicalFile
from savepoint_formats.state_files.header import KeyedBackendHeader, KeyedStateType, StateMetaInfo
from state_processor import Savepoint, Types

if TYPE_CHECKING:
    from collections.abc import Iterable

    from savepoint_formats.metadata import KeyedStateHandle
    from state_processor import TypeInformation

TABLE = f"{UID}.keyed_state"
GROUPS = 128
FIELDS = 11
"""Number of longs, doubles and texts each in an object."""
CHANGED = 76
SHARE = 100


def write_metadata(path: Path, handle: KeyedStateHandle) -> None:
    """Writes the `_metadata` of a snapshot of one operator with one subtask."""
    subtask = SubtaskState(0, managed_keyed_state=handle)
    operator = OperatorState(OperatorId.from_uid(UID), 1, GROUPS, (subtask,))
    view = DataOutputView()
    CheckpointMetadata.new((operator,)).write(view)
    (path / "_metadata").write_bytes(view.to_bytes())


def header_of(**states: TypeInformation) -> KeyedBackendHeader:
    """Header of value states without namespaces, by keys that are longs."""
    infos = tuple(
        StateMetaInfo.of_keys(name, KeyedStateType.VALUE, constructed.void_namespace(), of.snapshot)
        for name, of in states.items()
    )
    return KeyedBackendHeader.of(Types.LONG().snapshot, infos)


def stored_keys(numbers: np.ndarray) -> pa.LargeBinaryArray:
    """Keys as entries have them, without their key group."""
    stored = np.zeros((len(numbers), 9), np.uint8)  # the key, and a namespace that there is not
    stored[:, :8] = numbers.astype(">i8").view(np.uint8).reshape(-1, 8)
    return column(stored)


def make_objects(path: Path, keys: int, changed: int) -> None:
    """Writes a canonical savepoint of objects, if it is not there."""
    if (path / "_metadata").exists():
        return
    path.mkdir(parents=True)
    fields = {
        **{f"count{number}": Types.LONG() for number in range(FIELDS)},
        **{f"price{number}": Types.DOUBLE() for number in range(FIELDS)},
        **{f"text{number}": Types.STRING() for number in range(FIELDS)},
    }
    kind = Types.POJO("com.acme.Order", fields)
    numbers = np.arange(keys, dtype=np.int64)
    is_other = numbers % (keys // changed) == 1 if changed else np.zeros(keys, np.bool_)
    is_other &= np.cumsum(is_other) <= changed
    encoder = Encoder(kind.snapshot.layout())
    sections: dict[int, list[pa.Buffer]] = {}
    for start in range(0, keys, 100_000):
        chosen = numbers[start : start + 100_000]
        longs = pa.array(chosen * 7 + is_other[chosen])
        texts = pa.array(np.char.add("a text of some length ", chosen.astype("U8")))
        columns = {
            name: longs if name == "count3" else pa.array(chosen * 3) if name.startswith("c")
            else pa.array(chosen / 7) if name.startswith("p") else texts
            for name in fields
        }  # fmt: skip
        struct = pa.StructArray.from_arrays(
            [columns[each.name] for each in encoder.type], fields=list(encoder.type)
        )
        entries = StoredEntries(stored_keys(chosen), encoder.encode(struct))
        run_rows = runs(entries, key_groups_of(chosen.astype(np.int32), GROUPS), 0, 1)
        for group, run in zip(
            run_rows.column("key_group").to_pylist(), run_rows.column("run"), strict=True
        ):
            sections.setdefault(group, []).append(run.as_buffer())
    with (path / "state").open("wb") as output:
        file = CanonicalFile.write(
            output, header_of(order=kind), KeyGroupRange(0, GROUPS - 1), sorted(sections.items())
        )
    write_metadata(path, file.handle(RelativeFile("state", file.size)))


def make_chain(folder: Path, keys: int) -> None:
    """Writes checkpoints: before, and after neighbours, or each hundredth key, were changed."""
    if (folder / "spread" / "_metadata").exists():
        return
    everything = np.random.default_rng(0).permutation(keys)
    put_all(folder / "db", everything, 0)
    checkpoint(folder, "before")
    put_all(folder / "db", np.arange(keys // 2, keys // 2 + keys // SHARE), 1)
    checkpoint(folder, "near")
    # Both chains begin with the first checkpoint.
    for path in (folder / "db").iterdir():
        path.unlink()
    for name in (folder / "before.files").iterdir():
        os.link(name, folder / "db" / name.name)
    put_all(folder / "db", np.arange(0, keys, SHARE), 1)
    checkpoint(folder, "spread")


def put_all(path: Path, numbers: np.ndarray, more: int) -> None:
    """Writes both states of these keys, and flushes them."""
    names = ("count", "name")
    families = {name: options() for name in ("default", *names)} if path.exists() else None
    database = Rdict(str(path), options(), families)
    texts = np.random.default_rng(1)
    for name in names:
        state = (
            database.get_column_family(name)
            if families
            else database.create_column_family(name, options())
        )
        family = database.get_column_family_handle(name)
        batch = WriteBatch(raw_mode=True)
        groups = key_groups_of(numbers.astype(np.int32), GROUPS).tolist()
        for group, number in zip(groups, numbers.tolist(), strict=True):
            key = group.to_bytes(1, "big") + number.to_bytes(8, "big") + b"\0"
            value = (number + more).to_bytes(8, "big")
            if name == "name":
                value = b"\x65" + texts.bytes(50).hex().encode()
            batch.put(key, value, family)
            if len(batch) == BATCH:
                database.write(batch)
                batch = WriteBatch(raw_mode=True)
        database.write(batch)
        state.flush()
        state.close()
    database.close()


def checkpoint(folder: Path, name: str) -> None:
    """Copies new files to where incremental checkpoints share them, as Flink does."""
    database, shared, own = folder / "db", folder / "shared", folder / name
    shared.mkdir(exist_ok=True)
    own.mkdir()
    files = folder / f"{name}.files"
    files.mkdir()
    tables = []
    for path in sorted(database.glob("*.sst")):
        # Files of one inode are one file.
        place = shared / str(UUID(int=path.stat().st_ino))
        if not place.exists():
            os.link(path, place)
        tables.append(
            LocalFile(path.name, RelativeFile(f"../shared/{place.name}", path.stat().st_size))
        )
    others = []
    for path in (database / "CURRENT", *database.glob("MANIFEST-*"), *database.glob("OPTIONS-*")):
        (own / path.name).write_bytes(path.read_bytes())
        others.append(LocalFile(path.name, RelativeFile(path.name, path.stat().st_size)))
    for path in database.iterdir():
        if path.suffix == ".sst":
            os.link(path, files / path.name)
        elif path.name in {other.name for other in others} | {"IDENTITY"}:
            (files / path.name).write_bytes(path.read_bytes())
    view = DataOutputView()
    header_of(count=Types.LONG(), name=Types.STRING()).write(view)
    (own / "meta").write_bytes(view.to_bytes())
    meta = RelativeFile("meta", len(view.to_bytes()))
    groups = KeyGroupRange(0, GROUPS - 1)
    kind = KeyedHandleType.INCREMENTAL
    write_metadata(
        own, IncrementalHandle(kind, 1, "", groups, 0, meta, tuple(tables), tuple(others), "h")
    )


def run_way(way: str, before: str, after: str, updated: int) -> None:
    """Does one thing twice in this process, and prints what the second time took.

    CPU seconds, bytes read, and the peak memory in MB of both.
    """
    for _ in range(2):
        first, second = (Savepoint.open(path, uids=[UID]) for path in (before, after))
        size, used = read_bytes(), time.process_time()
        if way == "stats":
            for savepoint in (first, second):
                assert savepoint.stats(TABLE).states[0].entries
        else:
            (table,) = first.diff(second, full=way == "full").tables
            assert (table.inserted, table.deleted, table.updated) == (0, 0, updated)
        took = time.process_time() - used, read_bytes() - size
    print(*took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)


def read_bytes() -> int:
    """Bytes that this process has read."""
    text = Path("/proc/self/io").read_text(encoding="ascii")
    return int(text.split("rchar: ")[1].split()[0])


def measure(
    title: str, before: Path, after: Path, updated: int, ways: Iterable[str], rounds: int
) -> None:
    """Prints a row per way."""
    places = (
        [before / "state"] if (before / "state").exists() else (before.parent / "shared").iterdir()
    )
    size = sum(path.stat().st_size for path in places)
    print(f"{title}; {size / 1e6:,.0f} MB; load {os.getloadavg()[0]:.0f}")
    for way in ways:
        command = [sys.executable, __file__, "--way", way, str(before), str(after), str(updated)]
        runs_of_way = [
            tuple(map(float, subprocess.check_output(command, text=True).split()))
            for _ in range(rounds)
        ]
        cpu, read, peak = min(runs_of_way)
        print(f"  {way:6} {cpu:7.2f} s CPU  {read / 1e6:8.1f} MB read  {peak:6.0f} MB peak")


def main() -> None:
    """Makes what is not there, measures, prints."""
    parser = sizes_parser(__doc__, keys=1_000_000)
    parser.add_argument("--rounds", type=int, default=2, help="processes of each")
    parser.add_argument("--only", nargs="+", default=["pojo", "chain"])
    given = parser.parse_args()
    for keys in given.keys:
        if "pojo" in given.only:
            folder = given.folder / f"objects-{keys}"
            make_objects(folder / "before", keys, 0)
            make_objects(folder / "after", keys, CHANGED)
            title = f"{keys:,} objects of {3 * FIELDS} fields, {CHANGED} changed"
            sides = folder / "before", folder / "after"
            measure(title, *sides, CHANGED, ("stats", "full", "diff"), given.rounds)
        if "chain" in given.only:
            folder = given.folder / f"chain-{keys}"
            make_chain(folder, keys)
            for name in ("near", "spread"):
                title = f"{keys:,} keys in incremental checkpoints, 1 % changed, {name}"
                sides = folder / "before", folder / name
                measure(title, *sides, keys // SHARE, ("stats", "full", "diff"), given.rounds)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--way"]:
        run_way(sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5]))
    else:
        main()
