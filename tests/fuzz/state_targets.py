"""Files of state, and whole savepoints."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from fuzz.promises import BrokenPromiseError
from fuzz.samples import InMemory, Inputs, batches, rows
from fuzz.structure import canonical_places, heap_places, metadata_places
from fuzz.target import MEMORY_OF_ROCKSDB, Seed, Target
from savepoint_database.checks.verification import Verification
from savepoint_database.snapshot.operator import Operator
from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
from savepoint_formats.errors import SavepointError
from savepoint_formats.key_groups.ranges import prefix_size
from savepoint_formats.locations.state_file import StateFile
from savepoint_formats.metadata import (
    ChangelogHandle,
    CheckpointMetadata,
    InlineStream,
    KeyGroupsHandle,
)
from savepoint_formats.metadata.references import FileKind, stream_references
from savepoint_formats.sources.entry_source import SourceSettings
from savepoint_formats.sources.keyed_source import keyed_source
from savepoint_formats.state_files.canonical_entries import is_canonical
from savepoint_formats.state_files.header import HeaderBytes, KeyedBackendHeader
from savepoint_formats.state_files.rocksdb.checksums import (
    CHECKSUMS,
    NO_CHECKSUM,
    masked_crc32c,
)
from savepoint_formats.state_files.rocksdb.manifest import live_tables
from savepoint_formats.state_files.rocksdb.sst import Sst
from savepoint_formats.state_files.rocksdb.sst_blocks import Blocks
from savepoint_formats.state_files.rocksdb.sst_scan import ScannedSst, SstScan
from savepoint_formats.state_files.state import key_layout
from savepoint_formats.tables.catalog import base_handles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

    from savepoint_database.snapshot.snapshot import Snapshot
    from savepoint_formats.entries.entry_ranges import EntryRanges
    from savepoint_formats.layout import Layout

_SST_FOOTER = 53
_RECORD_HEAD, _RECORD_TYPE = 7, 6
_MANIFEST_BLOCK = 32 << 10

Context = tuple[InMemory, str]


def _files(inputs: Inputs, kind: str) -> Iterator[tuple[Context, bytes]]:
    """The files of a kind of all operators; equal bytes of operators of one name come once."""
    seen = set()
    for operator in inputs.operators:
        for name, (data, of) in operator.files.items():
            if kind_of(operator, name, of) == kind and data and (data, of) not in seen:
                seen.add((data, of))
                yield (operator, name), data


def kind_of(operator: InMemory, name: str, kind: str) -> str:
    """The kind of a file by its format; ``kind`` is that of its handle."""
    if kind != FileKind.KEYED_STATE:
        return "raw" if kind == FileKind.RAW else kind.rpartition(" ")[2].lower() or kind
    handle = _key_groups_handle(operator, name)
    if handle is None:
        return "rocksdb header"
    if "compressed" in operator.sample:
        return "compressed"
    file = StateFile(name, data=operator.files[name][0])
    header = KeyedBackendHeader.parse(HeaderBytes.of_keyed_state(operator.directory, handle))
    return "canonical" if is_canonical(file, handle, header) else "heap"


def _key_groups_handle(operator: InMemory, name: str) -> KeyGroupsHandle | None:
    """The handle whose sections lie in a stream of this name."""
    for subtask in operator.record.subtasks:
        for handle in base_handles(subtask.managed_keyed_state):
            stream = handle.stream if isinstance(handle, KeyGroupsHandle) else None
            if isinstance(stream, InlineStream) and stream.name == name:
                return handle  # type: ignore[return-value]
    return None


def _read(data: bytes, context: Context) -> list[pa.RecordBatch]:
    """All rows of the subtask, one of whose files is other bytes."""
    operator, name = context
    record = operator.with_file(name, data)
    own = tuple(one for one in record.subtasks if name in _streams(operator)[one.index])
    return list(batches(operator.opened(replace(record, subtasks=own))))


@cache
def _streams(operator: InMemory) -> dict[int, set[str]]:
    """Names of the streams of each subtask."""
    names: dict[int, set[str]] = {}
    for reference in stream_references(operator.record):
        names.setdefault(reference.subtask, set()).add(getattr(reference.stream, "name", ""))
    return names


def _verify(data: bytes, context: Context) -> list[str]:
    """``verify`` raises nothing, and has a fault for what reading refuses."""
    operator, name = context
    snapshot = operator.opened(operator.with_file(name, data))
    verified = Verification.of(snapshot)
    try:
        return rows(operator.opened(operator.with_file(name, data)))
    except SavepointError as error:
        if not verified.faults:
            raise BrokenPromiseError(f"verify names no fault, and reading says {error}") from error
        raise


def _expect_told(
    snapshot: Snapshot, expected: list[str], reopened: Callable[[], Snapshot]
) -> list[str]:
    """The rows; raises ``BrokenPromiseError`` if they are others than expected, and nobody says so."""
    read = rows(snapshot)
    if read != expected and not Verification.of(reopened()).faults:
        raise BrokenPromiseError(
            f"{len(read)} rows for {len(expected)}: {_example(read, expected)}"
        )
    return read


def _example(read: list[str], expected: list[str]) -> str:
    """A row that is another one, in one line."""
    others = [row for row in read if row not in expected] or [
        row for row in expected if row not in read
    ]
    return " ".join("".join(others[:1]).split())


@cache
def _expected(operator: InMemory) -> list[str]:
    return rows(operator.opened(operator.record))


def _read_structure(data: bytes, context: Context) -> list[str]:
    operator, name = context
    changed = operator.with_file(name, data)
    snapshot = operator.opened(changed)
    return _expect_told(snapshot, _expected(operator), lambda: operator.opened(changed))


def _state_files(name: str, kind: str) -> Callable[[Inputs], Target]:
    def target(inputs: Inputs) -> Target:
        return Target(name, [Seed(data, context) for context, data in _files(inputs, kind)], _read)

    return target


def verified(inputs: Inputs) -> Target:
    """Files of every kind, looked at by ``verify``."""
    kinds = ("canonical", "heap", "compressed", "state", "changelog", "raw", "rocksdb")
    seeds = [Seed(data, context) for kind in kinds for context, data in _files(inputs, kind)]
    return Target("verify", seeds, _verify, MEMORY_OF_ROCKSDB)


def tables(inputs: Inputs) -> Target:
    """RocksDB's files, with checksums and, so that damage comes further, without."""

    def seeds() -> Iterator[Seed]:
        for context, data in _files(inputs, "rocksdb"):
            yield Seed(data, context)
            if context[1].endswith(".sst"):
                yield Seed(_unchecked(data), context)

    return Target("tables", list(seeds()), _read, MEMORY_OF_ROCKSDB)


def tables_alone(inputs: Inputs) -> Target:
    """Each of RocksDB's tables alone: with checksums, with such as fit the damage, and without."""

    def read(data: bytes, _: Any) -> object:
        table = Sst.open(StateFile("000001.sst", data=data), len(data))
        index = table.read_index()
        entries = list(Blocks.of(table.read_blocks(index, slice(None))).plain_entries())
        scan = SstScan((ScannedSst(table, index),), 1)
        living, ranges = scan.read((b"", b"\xff" * 8))
        return entries, [living[start:end].tobytes() for start, end in _places(ranges)]

    def seeds() -> Iterator[Seed]:
        for (_, name), data in _files(inputs, "rocksdb"):
            if name.endswith(".sst"):
                yield Seed(data)
                yield Seed(_unchecked(data))
                yield Seed(data, places=tuple(range(len(data))), mend=_checked(data))

    return Target("sst", list(seeds()), read)


def _places(ranges: EntryRanges) -> Iterator[tuple[int, int]]:
    """Borders of the keys and of the values."""
    for starts, ends in (
        (ranges.key_starts, ranges.key_ends),
        (ranges.value_starts, ranges.value_ends),
    ):
        yield from zip(starts.tolist(), ends.tolist(), strict=True)


def _unchecked(data: bytes) -> bytes:
    """A table whose footer says that blocks have no checksums."""
    changed = bytearray(data)
    changed[len(data) - _SST_FOOTER] = NO_CHECKSUM
    return bytes(changed)


def _checked(original: bytes) -> Callable[[bytes], bytes]:
    """Gives the blocks of a table of equal size the checksums of what they have."""
    table = Sst.open(StateFile("000001.sst", data=original), len(original))
    index, footer = table.read_index(), table.footer
    ends = (index.offsets + index.sizes).tolist()
    blocks = [*zip(index.offsets.tolist(), ends, strict=True)]
    blocks += [(it.offset, it.offset + it.size) for it in (table.index_handle, footer.metaindex)]
    checksum = CHECKSUMS[footer.checksum.number]

    def checked(data: bytes) -> bytes:
        changed = bytearray(data)
        for start, end in blocks:
            computed = checksum(memoryview(bytes(changed[start : end + 1])))
            changed[end + 1 : end + 5] = computed.to_bytes(4, "little")
        return bytes(changed)

    return checked


def entries(inputs: Inputs) -> Target:
    """Where the entries of a keyed file lie, and the bytes of each."""

    def read(data: bytes, context: Context) -> list[tuple[str, list[bytes], list[bytes]]]:
        operator, name = context
        settings = SourceSettings(operator.record.max_parallelism, operator.snapshot.kryo)
        record, found = operator.with_file(name, data), []
        for subtask in record.subtasks:
            for handle in base_handles(subtask.managed_keyed_state):
                stream = handle.stream if isinstance(handle, KeyGroupsHandle) else None
                if isinstance(stream, InlineStream) and stream.name == name:
                    key = _key(operator)
                    source: Any = keyed_source(operator.directory, handle, key, settings)
                    names = frozenset(state.name for state in source.states)
                    for chunk in source.state_chunks(names, handle.key_groups):
                        keys, values = chunk.entries.keys, chunk.entries.values
                        found.append((chunk.state.name, keys.to_pylist(), values.to_pylist()))
        return found

    kinds = ("canonical", "heap", "compressed")
    seeds = [Seed(data, context) for kind in kinds for context, data in _files(inputs, kind)]
    return Target("entries", seeds, read)


@cache
def _key(operator: InMemory) -> Layout:
    (whole,) = operator.opened(operator.record).operators()
    return key_layout(next(state for state in whole.catalog.states if state.kind.is_keyed))


def manifests(inputs: Inputs) -> Target:
    """RocksDB's manifests, with checksums that are right."""

    def read(data: bytes, _: Any) -> object:
        return live_tables(StateFile("MANIFEST", data=data))

    seeds = [
        Seed(data, mend=_signed)
        for context, data in _files(inputs, "rocksdb")
        if "MANIFEST" in context[1]
    ]
    return Target("manifests", seeds, read)


def _signed(data: bytes) -> bytes:
    """A manifest of which each record has the checksum of what it has."""
    signed, position = bytearray(data), 0
    while position + _RECORD_HEAD <= len(data):
        size = int.from_bytes(data[position + 4 : position + 6], "little")
        end = min(position + _RECORD_HEAD + size, len(data))
        computed = masked_crc32c(bytes(signed[position + _RECORD_TYPE : end]))
        signed[position : position + 4] = computed.to_bytes(4, "little")
        position = end
    return bytes(signed)


def structure(inputs: Inputs) -> Target:
    """Bytes of structure: what changes rows is told."""

    def seeds() -> Iterator[Seed]:
        for kind in ("canonical", "heap"):
            for (operator, name), data in _files(inputs, kind):
                handle = _key_groups_handle(operator, name)
                assert handle is not None
                if isinstance(operator.record.subtasks[0].managed_keyed_state, ChangelogHandle):
                    continue
                size = prefix_size(operator.record.max_parallelism)
                is_heap = kind == "heap"
                found = heap_places(handle) if is_heap else canonical_places(data, handle, size)
                if places := tuple(sorted(set(found))):
                    yield Seed(data, (operator, name), places, name=f"{operator.sample} {name}")
        for kind in ("compressed", "rocksdb"):
            for context, data in _files(inputs, kind):
                yield Seed(
                    data, context, tuple(range(len(data))), name=f"{context[0].sample} {context[1]}"
                )

    return Target("structure", list(seeds()), _read_structure, MEMORY_OF_ROCKSDB)


def opened_metadata(data: bytes, original: Snapshot) -> Snapshot:
    """A snapshot with other bytes in its ``_metadata``, and the same files."""
    metadata = CheckpointMetadata.read(DataInputView(data, "_metadata"))
    made = tuple(
        Operator(record, None, original.directory, original.kryo) for record in metadata.operators
    )
    return replace(original, metadata=metadata, _operators=made, plan=None, metadata_bytes=data)


def metadata_structure(inputs: Inputs) -> Target:
    """Bytes of ``_metadata`` beside whole files: what changes rows is told."""

    expected: dict[str, list[str]] = {}

    def read(data: bytes, original: Snapshot) -> list[str]:
        return _expect_told(
            opened_metadata(data, original),
            expected[original.path],
            lambda: opened_metadata(data, original),
        )

    def seeds() -> Iterator[Seed]:
        for snapshot in inputs.snapshots:
            view = DataOutputView()
            snapshot.metadata.write(view)
            data = view.to_bytes()
            try:
                expected[snapshot.path] = rows(opened_metadata(data, snapshot))
            except SavepointError:
                continue
            yield Seed(data, snapshot, metadata_places(data, snapshot.metadata), name=snapshot.path)

    return Target("metadata-structure", list(seeds()), read, MEMORY_OF_ROCKSDB)


canonical_files = _state_files("canonical", "canonical")
heap_files = _state_files("heap", "heap")
compressed_files = _state_files("compressed", "compressed")
operator_state_files = _state_files("operator-state", "state")
changelogs = _state_files("changelogs", "changelog")
raw_timers = _state_files("raw-timers", "raw")
