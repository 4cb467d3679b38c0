"""SST files: the sorted tables of RocksDB, found by their footer.

::

    data blocks · filter · index · compression dictionary · range deletions · properties ·
    metaindex · footer

A table with features that are not read here is a ``RocksDbError``; damage is a ``FormatError``.

RocksDB: ``BlockBasedTableBuilder``, ``TableProperties``.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Self

import numpy as np

from savepoint_formats.errors import FormatError, RocksDbError, TruncatedError
from savepoint_formats.state_files.rocksdb import sst_kernel
from savepoint_formats.state_files.rocksdb.footer import FOOTER_SIZE, BlockHandle, Footer
from savepoint_formats.state_files.rocksdb.sst_blocks import Blocks, StoredBlocks, TableBytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from savepoint_formats.locations.state_file import StateFile

COMPARATOR = b"leveldb.BytewiseComparator"
MERGE_OPERATORS = (b"StringAppendTESTOperator", b"StringAppendOperator", b"nullptr", b"")

_TRAILER = sst_kernel.TRAILER_SIZE

_INDEX = b"rocksdb.index"
_FAMILY = b"rocksdb.column.family.id"
# RocksDB: kUnknownColumnFamily, of tables that were written outside of a database.
_UNKNOWN_FAMILY = (1 << 31) - 1

# Compression and beginnings that keys share rarely save more. Memory grows where entries need it.
_MOST_EXPANSION = 1 << 10

_LONGEST_VARINT = 10

BINARY_INDEX = 0
TWO_LEVEL_INDEX = 2


@dataclass(frozen=True, slots=True, eq=False)
class Separators:
    """Keys of an index, in order. There may be many, but few are looked at."""

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, index: int) -> bytes:
        return self.data[self.starts[index] : self.ends[index]].tobytes()

    def key_groups(self, first: int, last: int, prefix_size: int) -> NDArray[np.int64]:
        """Key group of each separator from ``first`` on; missing bytes of a prefix are 0."""
        starts, ends = self.starts[first:last], self.ends[first:last]
        groups = np.zeros(len(starts), np.int64)
        for position in (starts + distance for distance in range(prefix_size)):
            bytes_there = np.zeros(len(starts), np.int64)
            is_there = position < ends
            bytes_there[is_there] = self.data[position[is_there]]
            groups = groups << 8 | bytes_there
        return groups


@dataclass(frozen=True, slots=True, eq=False)
class BlockIndex:
    """Data blocks of a table: offsets, sizes, and a separator each.

    A separator is at least as great as the last key of its block, and not greater than the first
    key of the next one.
    """

    separators: Separators
    offsets: NDArray[np.int64]
    sizes: NDArray[np.int64]

    @classmethod
    def read(cls, block: NDArray[np.uint8], *, has_deltas: bool, has_trailers: bool) -> Self | None:
        """Index in a block; None if it has none."""
        stored = block.ctypes.data, len(block), has_deltas
        status, count, size = sst_kernel.read_index(sst_kernel.IndexBlock(*stored, 0, 0, 0, 0, 0))
        if status != sst_kernel.OK:
            return None
        keys, ends = np.empty(size, np.uint8), np.zeros(count, np.int64)
        offsets, sizes = np.empty((2, count), np.int64)
        targets = (array.ctypes.data for array in (keys, ends, offsets, sizes))
        if count:
            sst_kernel.read_index(sst_kernel.IndexBlock(*stored, count, *targets))
        starts = np.concatenate([np.zeros(1, np.int64), ends])[:count]
        trailer = _TRAILER if has_trailers else 0
        separators = Separators(keys, starts, np.maximum(ends - trailer, starts))
        return cls(separators, offsets, sizes)

    def blocks_between(self, lower: bytes, upper: bytes) -> tuple[int, int]:
        """First block, and end, of those that may hold keys from ``lower`` to before ``upper``."""
        first = bisect_left(self.separators, lower)
        last = bisect_left(self.separators, upper) + 1
        return first, min(last, len(self.separators))

    @classmethod
    def joined(cls, indexes: list[BlockIndex]) -> Self:
        """One index from those of a two-level index."""
        keys = [index.separators for index in indexes]
        sizes, counts = [len(each.data) for each in keys], [len(each) for each in keys]
        bases = np.repeat(np.cumsum([0, *sizes[:-1]]), counts)
        separators = Separators(
            np.concatenate([each.data for each in keys]),
            np.concatenate([each.starts for each in keys]) + bases,
            np.concatenate([each.ends for each in keys]) + bases,
        )
        offsets = np.concatenate([index.offsets for index in indexes])
        return cls(separators, offsets, np.concatenate([index.sizes for index in indexes]))


@dataclass(frozen=True, slots=True)
class RangeDeletion:
    """Deletes the entries from ``start`` to before ``end`` with smaller sequence numbers."""

    start: bytes
    end: bytes
    sequence: int


@dataclass(frozen=True, slots=True, eq=False)
class Sst:
    """An open SST file, with RocksDB's notes about it and the ranges of keys that it deletes.

    ``reach_is_known`` says whether these ranges are known to lie within the table's own keys.
    """

    table: TableBytes
    footer: Footer
    index_handle: BlockHandle
    properties: dict[bytes, bytes]
    range_deletions: tuple[RangeDeletion, ...]
    reach_is_known: bool = True

    @classmethod
    def open(cls, file: StateFile, size: int) -> Self:
        """Opens the table in a file of ``size`` bytes.

        Raises ``RocksDbError`` for a feature that is not read here.
        """
        table = TableBytes.open(file, size)
        if size < FOOTER_SIZE:
            raise TruncatedError(f"an SST file of {size} bytes", file.path, 0)
        offset = size - FOOTER_SIZE
        footer = Footer.read(table.read(offset, size), file.path, offset)
        metaindex = dict(_read_block(table, footer, footer.metaindex).plain_entries())
        index = footer.index or _named_place(table, footer, metaindex, _INDEX)
        if index is None:
            raise FormatError("a metaindex without an index", table.path, footer.metaindex.offset)
        properties = dict(_named_block(table, footer, metaindex, b"rocksdb.properties"))
        deletions = _named_block(table, footer, metaindex, b"rocksdb.range_del")
        # A trailer follows the key under which a range deletion is noted.
        ranges = tuple(
            RangeDeletion(key[:-_TRAILER], end, int.from_bytes(key[-_TRAILER:], "little") >> 8)
            for key, end in deletions
        )
        sst = cls(table, footer, index, properties, ranges)
        sst._check_supported(metaindex)
        return sst

    def _check_supported(self, metaindex: dict[bytes, bytes]) -> None:
        """Raises ``RocksDbError`` if entries might mean something else than in other tables."""
        comparator = self.properties.get(b"rocksdb.comparator", COMPARATOR)
        operator = self.properties.get(b"rocksdb.merge.operator", b"")
        reasons = {
            f"index type {self._index_type}":
                self._index_type not in (BINARY_INDEX, TWO_LEVEL_INDEX),
            f"comparator {comparator.decode(errors='replace')}": comparator != COMPARATOR,
            f"merge operator {operator.decode(errors='replace')}": operator not in MERGE_OPERATORS,
            "a compression dictionary": b"rocksdb.compression_dict" in metaindex,
            # The sequence numbers of an ingested file are in the MANIFEST.
            "ingested entries": b"rocksdb.external_sst_file.version" in self.properties,
            "no name of a column family":
                not self.column_family and not 0 < self._number(_FAMILY) < _UNKNOWN_FAMILY,
        }  # fmt: skip
        for reason, is_so in reasons.items():
            if is_so:
                raise RocksDbError(f"an SST file with {reason}", self.table.path, 0)

    @property
    def column_family(self) -> str:
        """Name of the state whose entries it holds; RocksDB leaves out the empty one."""
        name = self.properties.get(b"rocksdb.column.family.name", b"")
        return name.decode("utf-8", "surrogateescape")

    @property
    def expansion(self) -> float:
        """Bytes of keys and values per byte of its blocks, as far as a table may be believed."""
        data_size = self._number(b"rocksdb.data.size")
        raw_size = self._number(b"rocksdb.raw.key.size") + self._number(b"rocksdb.raw.value.size")
        return min(raw_size / data_size, _MOST_EXPANSION) if data_size else 1.0

    @property
    def density(self) -> float:
        """Entries per byte of its blocks."""
        data_size = self._number(b"rocksdb.data.size")
        return self._number(b"rocksdb.num.entries") / data_size if data_size else 1.0

    @property
    def has_operands(self) -> bool:
        """Whether some entries are merge operands, as those of lists are."""
        return self._number(b"rocksdb.merge.operands") > 0

    @property
    def _index_type(self) -> int:
        data = self.properties.get(b"rocksdb.block.based.table.index.type", b"")
        return int.from_bytes(data, "little")

    def _number(self, name: bytes) -> int:
        return _varint(self.properties.get(name, b"\0")[:_LONGEST_VARINT])

    def read_index(self) -> BlockIndex:
        index = self._read_index(self.index_handle)
        if self._index_type == BINARY_INDEX:
            return index
        handles = zip(index.offsets.tolist(), index.sizes.tolist(), strict=True)
        indexes = [self._read_index(BlockHandle(offset, size)) for offset, size in handles]
        return BlockIndex.joined(indexes) if indexes else index

    def _read_index(self, handle: BlockHandle) -> BlockIndex:
        block = _read_block(self.table, self.footer, handle)
        index = BlockIndex.read(
            block.data,
            has_deltas=self._number(b"rocksdb.index.value.is.delta.encoded") != 0,
            has_trailers=self._number(b"rocksdb.index.key.is.user.key") == 0,
        )
        if index is None:
            raise block.stored.error(0, "a damaged index")
        return index

    def read_blocks(self, index: BlockIndex, chosen: slice | NDArray[np.int64]) -> StoredBlocks:
        """Reads some of the data blocks; numbers of blocks must grow."""
        return StoredBlocks.read(
            self.table, self.footer, index.offsets[chosen], index.sizes[chosen]
        )


@lru_cache(maxsize=1 << 10)
def _varint(data: bytes) -> int:
    """The number; each batch asks for some of a table's."""
    array = np.frombuffer(data, np.uint8)
    value, _ = sst_kernel.read_varint(array.ctypes.data, 0, len(array))
    return value


def _read_block(table: TableBytes, footer: Footer, handle: BlockHandle) -> Blocks:
    return Blocks.of(stored_block(table, footer, handle))


def stored_block(table: TableBytes, footer: Footer, handle: BlockHandle) -> StoredBlocks:
    """A single block."""
    place = np.array([handle.offset]), np.array([handle.size])
    return StoredBlocks.read(table, footer, *place)


def _named_place(
    table: TableBytes, footer: Footer, metaindex: dict[bytes, bytes], name: bytes
) -> BlockHandle | None:
    """Place of a block that the metaindex names; None if it doesn't."""
    if name not in metaindex:
        return None
    handle, end = BlockHandle.read(np.frombuffer(metaindex[name], np.uint8), 0)
    if end < 0:
        message = f"a metaindex without the place of {name.decode()}"
        raise FormatError(message, table.path, footer.metaindex.offset)
    return handle


def _named_block(
    table: TableBytes, footer: Footer, metaindex: dict[bytes, bytes], name: bytes
) -> Iterator[tuple[bytes, bytes]]:
    """Entries of a block that the metaindex names; empty if it doesn't."""
    handle = _named_place(table, footer, metaindex, name)
    return iter(()) if handle is None else _read_block(table, footer, handle).plain_entries()
