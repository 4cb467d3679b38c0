"""How fast state of each type becomes Arrow, out of real files, on one core.

    python benchmarks/read_types.py [--keys 1000000 5000000 20000000] [--rounds 3] [--only text]
    python benchmarks/read_types.py --general

Each savepoint has a long as key, and one value state, or list or map state, of a type; max
parallelism 128, one subtask. ``long and text`` has two value states, and is read with each number
of keys: its cost is linear. All others are read with the first number.

| form      | from                                                                         |
|-----------|------------------------------------------------------------------------------|
| canonical | a DataFrame, written by this project                                         |
| native    | the same entries put into RocksDB, with Flink's settings, in a random order  |

What is there is not made again. Both must be equal row by row when they are made. CPU time of this
process (user and system), the least of all rounds, files in the system's cache. MB are those of
the canonical file for both forms, so that MB/s of the two compare; ``file MB`` is what the native
one has on the disk.

``--general`` measures the forms that go value by value instead: see ``general_forms.py``.
"""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import general_forms
import numpy as np
from customers import MAX_PARALLELISM, TABLE, UID
from make_savepoint import METADATA, size_of
from measure import sizes_parser
from rocksdb_scan import handle_of, options
from rocksdict import Rdict, WriteBatch

from savepoint_database.types.types import TypeInformation
from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
from savepoint_formats.entries.entry_ranges import EntryRanges
from savepoint_formats.key_groups.ranges import KeyGroupRange
from savepoint_formats.locations.file_io import SnapshotDirectory
from savepoint_formats.metadata import CheckpointMetadata, InlineStream, KeyGroupsHandle
from savepoint_formats.snapshots import TypeSerializerSnapshot
from savepoint_formats.sources.entry_source import SourceSettings
from savepoint_formats.sources.keyed_source import keyed_source
from savepoint_formats.state_files.state import key_layout
from state_processor import (
    ListStateDescriptor,
    MapStateDescriptor,
    OperatorTransformation,
    Savepoint,
    Types,
    ValueStateDescriptor,
    kryo_class,
    local_session,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from pathlib import Path

    from savepoint_database.types.descriptors import StateDescriptor
    from savepoint_formats.sources.entry_source import EntrySource

BATCH = 50_000
"""Entries that are put into RocksDB at once."""

ALL_GROUPS = KeyGroupRange(0, MAX_PARALLELISM - 1)

AVRO_SCHEMA = (
    '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"},'
    ' {"name": "name", "type": "string"}, {"name": "price", "type": "double"}]}'
)
AVRO = TypeInformation.of(
    TypeSerializerSnapshot(
        "org.apache.flink.formats.avro.typeutils.AvroSerializerSnapshot",
        3,
        ("org.apache.avro.generic.GenericRecord", AVRO_SCHEMA),
        ("runtime_class", "schema"),
    )
)
ORDER = kryo_class("com.acme.Order", {"id": "long", "name": "java.lang.String", "price": "double"})
KRYO = Types.KRYO("com.acme.Order", ORDER, flink="2.2")

LONG, TEXT, DOUBLE = Types.LONG(), Types.STRING(), Types.DOUBLE()
PRICED = {"id": LONG, "name": TEXT, "price": DOUBLE}
NAME = "lpad(id, 20, '0')"
PARCEL = {
    **PRICED,
    "pieces": Types.INT(),
    "is_paid": Types.BOOLEAN(),
    "sent_ms": LONG,
    "city": TEXT,
}
PARCEL_RECORD = (
    f"named_struct('id', id, 'name', {NAME}, 'price', id / 7, 'pieces', cast(id % 9 as int), 'is_paid',"
    " id % 2 = 0, 'sent_ms', id * 1000, 'city', concat('c', id % 100))"
)
RECORD = f"named_struct('id', id, 'name', {NAME}, 'price', id / 7)"
ROW_DATA = [
    ("id", "BIGINT"),
    ("name", "VARCHAR(2147483647)"),
    ("price", "DECIMAL(10, 2)"),
    ("count", "INT"),
]
SQL_ROW = (
    f"named_struct('id', id, 'name', {NAME}, 'price', cast(id % 1000000 / 100 as decimal(10, 2)),"
    " 'count', if(id % 3 = 0, null, cast(id as int)))"
)
NANOS = "timestamp_micros(1700000000000000 + id * 1001)"


@dataclass(frozen=True, slots=True)
class Case:
    """State of a type.

    Attributes:
        name: What the table calls it.
        states: Each state, and the values of its keys as an expression of Spark, by ``id``.
        share: Of so many keys one: for what is read value by value.
    """

    name: str
    states: tuple[tuple[StateDescriptor, str], ...]
    share: int = 1


def _value(name: str, value_type: TypeInformation, expression: str, share: int = 1) -> Case:
    return Case(name, ((ValueStateDescriptor("value", value_type), expression),), share)


LONG_AND_TEXT = Case(
    "long and text",
    (
        (ValueStateDescriptor("count", LONG), "id + 1"),
        (ValueStateDescriptor("name", TEXT), NAME),
    ),
)
CASES = (
    _value("long", LONG, "id"),
    _value("text", TEXT, NAME),
    _value("text, not ASCII", TEXT, "concat('Straße ', lpad(id, 13, '0'))"),
    _value("big decimal", Types.BIG_DEC(), "concat(id, '.25')"),
    _value("instant", Types.INSTANT(), NANOS),
    _value("local date and time", Types.LOCAL_DATE_TIME(), f"cast({NANOS} as timestamp_ntz)"),
    _value("bytes", Types.PRIMITIVE_ARRAY(Types.BYTE()), f"cast({NAME} as binary)"),
    _value("value: list of 10 longs", Types.LIST(LONG), "sequence(id, id + 9)"),
    Case(
        "list state: 10 longs",
        ((ListStateDescriptor("value", LONG), "sequence(id, id + 9)"),),
    ),
    Case(
        "map state: 3 texts to longs",
        (
            (
                MapStateDescriptor("value", TEXT, LONG),
                "map('key-0', id, 'key-1', id + 1, 'key-2', id + 2)",
            ),
        ),
    ),
    _value("tuple of long and text", Types.TUPLE([LONG, TEXT]), f"struct(id as f0, {NAME} as f1)"),
    _value("POJO of 3 fields", Types.POJO("com.acme.Order", PRICED), RECORD),
    _value("POJO of 7 fields", Types.POJO("com.acme.Parcel", PARCEL), PARCEL_RECORD),
    _value("row of 3 fields", Types.ROW_NAMED(list(PRICED), list(PRICED.values())), RECORD),
    _value("SQL row of 4 fields", Types.ROW_DATA(ROW_DATA), SQL_ROW),
    _value("Avro record of 3 fields", AVRO, RECORD, share=10),
    _value("Kryo object of 3 fields", KRYO, RECORD),
    LONG_AND_TEXT,
)
FORMS = ("canonical", "native")


@dataclass(frozen=True, slots=True)
class TypeSavepoint:
    """A savepoint of a case.

    Attributes:
        folder: Where it and its like are.
        case: The case.
        keys: How many keys it has.
    """

    folder: Path
    case: Case
    keys: int

    def path(self, form: str) -> Path:
        """Its own folder in this form."""
        name = "".join(letter if letter.isalnum() else "-" for letter in self.case.name)
        return self.folder / "types" / f"{name}-{self.keys}-{form}"

    def make(self) -> None:
        """Does nothing if it is there."""
        if self.path("native").exists():
            return
        canonical, native = self.path("canonical"), self.path("native")
        if not canonical.exists():
            self._write_canonical(canonical)
        draft = native.with_suffix(".draft")
        shutil.rmtree(draft, ignore_errors=True)
        self._write_native(canonical, draft)
        classes = [ORDER]
        difference = Savepoint.open(str(canonical), kryo_classes=classes).diff(
            Savepoint.open(str(draft), kryo_classes=classes)
        )
        if any(not table.is_equal for table in difference.tables):
            raise ValueError(f"{draft} has other rows than {canonical}")
        draft.rename(native)

    def _write_canonical(self, path: Path) -> None:
        spark = local_session()
        columns = [f"{text} as {state.name}" for state, text in self.case.states]
        rows = spark.range(self.keys).selectExpr("id as key", *columns)
        keyed = OperatorTransformation.bootstrap_with(rows).key_by("key")
        transformation = keyed.with_state(self.case.states[0][0])
        for state, _ in self.case.states[1:]:
            transformation = transformation.with_state(state)
        writer = Savepoint.create(spark, max_parallelism=MAX_PARALLELISM, parallelism=1)
        writer.with_operator(UID, transformation).write(str(path))

    def _write_native(self, canonical: Path, path: Path) -> None:
        """The entries of a canonical savepoint, as a job on RocksDB would have them."""
        metadata = CheckpointMetadata.read(DataInputView((canonical / METADATA).read_bytes()))
        (operator,) = metadata.operators
        (subtask,) = operator.subtasks
        handle = subtask.managed_keyed_state
        assert isinstance(handle, KeyGroupsHandle)
        directory = SnapshotDirectory.of(str(canonical))
        # Key groups without entries have the offset 0.
        header_size = min(offset for offset in handle.groups.offsets if offset)
        header = directory.file(handle.stream).read(0, header_size)
        (state, *_) = Savepoint.open(str(canonical)).scan(TABLE).table.states
        source = keyed_source(directory, handle, key_layout(state), SourceSettings(MAX_PARALLELISM))
        _make_database(path, source)  # type: ignore[arg-type]  # canonical files are entries
        incremental = replace(handle_of(path), backend_id=UID, meta=InlineStream(UID, header))
        native = replace(operator, subtasks=(replace(subtask, managed_keyed_state=incremental),))
        view = DataOutputView()
        replace(metadata, operators=(native,)).write(view)
        (path / METADATA).write_bytes(view.to_bytes())


def _make_database(path: Path, source: EntrySource) -> None:
    """A column family per state; its keys come in a random order."""
    database = Rdict(str(path), options())
    names = [state.name for state in source.states]
    for name in names:
        state = database.create_column_family(name, options())
        family = database.get_column_family_handle(name)
        for keys, values in _shuffled(source, name):
            batch = WriteBatch(raw_mode=True)
            for key, value in zip(keys, values, strict=True):
                batch.put(key, value, family)
            database.write(batch)
        state.flush()
        state.close()
    database.close()


def _shuffled(source: EntrySource, name: str) -> Iterator[tuple[list[bytes], list[bytes]]]:
    """The keys and the values of a state, some at a time."""
    pieces, parts, base = [], [], 0
    for chunk, by_state in source.blocks(frozenset([name]), ALL_GROUPS):
        pieces.append(chunk.data)
        parts.extend(ranges.moved(base) for ranges in by_state.values())
        base += len(chunk)
    data, ranges = np.concatenate(pieces), EntryRanges.joined(parts)
    # The first bit says that an entry is its state's last, which RocksDB does not say.
    data[ranges.key_starts] &= 0x7F
    order = np.random.default_rng(0).permutation(len(ranges))
    content = data.data
    for first, last in pairwise([*range(0, len(order), BATCH), len(order)]):
        chosen = ranges.chosen(order[first:last])
        borders = [positions.tolist() for positions in chosen.arrays()]
        keys = [bytes(content[at:end]) for at, end in zip(*borders[:2], strict=True)]
        yield keys, [bytes(content[at:end]) for at, end in zip(*borders[2:], strict=True)]


def cpu_seconds(path: Path, keys: int, rounds: int) -> float:
    """The least CPU time of some readings, the first of which does not count."""
    times = []
    for _ in range(rounds + 1):
        start = time.process_time()
        scan = Savepoint.open(str(path), kryo_classes=[ORDER]).scan(TABLE)
        rows = sum(batch.num_rows for batch in scan.batches())
        times.append(time.process_time() - start)
        if rows != keys:
            raise ValueError(f"{path} gave {rows} keys, expected {keys}")
    return min(times[1:])


def report(savepoint: TypeSavepoint, rounds: int) -> None:
    """A line of the table."""
    size = size_of(savepoint.path("canonical")) / 1e6
    cells = [savepoint.case.name, f"{savepoint.keys:,}", f"{size:,.1f}"]
    for form in FORMS:
        seconds = cpu_seconds(savepoint.path(form), savepoint.keys, rounds)
        cells += [f"{savepoint.keys / seconds / 1e6:.2f}", f"{size / seconds:,.0f}"]
    cells.append(f"{size_of(savepoint.path('native')) / 1e6:,.1f}")
    print(f"| {' | '.join(cells)} |", flush=True)


def measured(arguments: argparse.Namespace) -> Iterator[TypeSavepoint]:
    """The types that are read, in the order of the table."""
    first, *others = arguments.keys
    for case in CASES:
        if not arguments.only or case.name in arguments.only:
            yield TypeSavepoint(arguments.folder, case, max(first // case.share, 1))
            if case is LONG_AND_TEXT:
                yield from (TypeSavepoint(arguments.folder, case, keys) for keys in others)


def main() -> None:
    """Makes what is not there, measures, prints."""
    parser = sizes_parser(__doc__, keys=1_000_000)
    parser.add_argument("--rounds", type=int, default=3, help="readings after the first")
    parser.add_argument("--only", nargs="+", choices=[case.name for case in CASES], help="types")
    parser.add_argument("--general", action="store_true", help="what goes value by value")
    arguments = parser.parse_args()
    if arguments.general:
        general_forms.report()
        return
    savepoints = list(measured(arguments))
    for savepoint in savepoints:
        savepoint.make()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    print(f"load {os.getloadavg()[0]:.1f}\n")
    print("| state | keys | MB | canonical, M rows/s | MB/s | native, M rows/s | MB/s | file MB |")
    print(f"|{'---|' * 8}")
    for savepoint in savepoints:
        report(savepoint, arguments.rounds)


if __name__ == "__main__":
    main()
