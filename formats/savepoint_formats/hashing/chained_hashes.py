"""Hash codes of texts, bytes and lists, computed by the kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from savepoint_formats.program.kernel import REFUSED, HashJob, hash_bytes, hash_lists, hash_texts

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Hashes = NDArray[np.int32]
    Entry = Callable[[HashJob], tuple[int, int]]

_MURMUR_SEED = 42
_FRAME_SIZE = 4


def text_hashes(texts: pa.Array) -> Hashes:
    """Hash codes of Java's strings.

    Raises:
        ValueError: A text is not in UTF-8.
    """
    return _of_items(hash_texts, texts.cast(pa.large_utf8()))


def bytes_hashes(items: pa.Array) -> Hashes:
    """Hash codes of binary rows without the size in front:."""
    return _of_items(hash_bytes, items.cast(pa.large_binary()), start=_MURMUR_SEED)


def framed_hashes(items: pa.Array) -> Hashes:
    """Hash codes of binary rows as serializers write them: i32 size, then the row.

    Raises:
        ValueError: A row is null or has no size in front.
    """
    framed = items.cast(pa.large_binary())
    return _of_items(hash_bytes, framed, start=_MURMUR_SEED, skip=_FRAME_SIZE)


def list_hashes(elements: Hashes, sizes: NDArray[np.int64], start: int = 1) -> Hashes:
    """The 31-chains of lists, given the hash codes of all elements and the lengths of the lists.

    ``start`` is the hash code of an empty list.
    """
    elements = np.ascontiguousarray(elements, np.int32)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return _run(hash_lists, elements.ctypes.data, len(elements), offsets, start=start)


def _of_items(entry: Entry, items: pa.Array, start: int = 0, skip: int = 0) -> Hashes:
    _, offsets, data = items.buffers()
    offsets_of_items = np.frombuffer(offsets, np.int64)[
        items.offset : items.offset + len(items) + 1
    ]
    if items.null_count and skip:
        raise ValueError(f"{items.null_count} nulls among serialized keys")
    address, size = (0, 0) if data is None else (data.address, data.size)
    return _run(entry, address, size, offsets_of_items, start=start, skip=skip)


def _run(
    entry: Entry, address: int, size: int, offsets: NDArray[np.int64], *, start: int, skip: int = 0
) -> Hashes:
    hashes = np.empty(len(offsets) - 1, np.int32)
    job = HashJob(
        data=address,
        size=size,
        offsets=offsets.ctypes.data,
        skip=skip,
        start=start,
        total=len(hashes),
        hashes=hashes.ctypes.data,
    )
    status, item = entry(job)
    if status == REFUSED:
        raise ValueError(f"item {item} is damaged: bytes {offsets[item]} to {offsets[item + 1]}")
    return hashes
