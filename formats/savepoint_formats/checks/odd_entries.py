"""Faults of entries that can be decoded, though Flink never writes their bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from savepoint_formats.errors import FormatError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from savepoint_formats.bytes.chunk import Chunk


class OddEntryError(FormatError):
    """An entry that can be read, but that Flink's own classes don't write."""


_WINDOW = pa.struct({"start": pa.int64(), "end": pa.int64()})


def expect_flags(chunk: Chunk, starts: NDArray[np.int64]) -> None:
    """Raises ``FormatError`` if a flag in front of a value is neither 0 nor 1.

    Java takes any other flag for a null, and does not read the value.
    """
    flags = chunk.data[starts]
    for record in np.flatnonzero(flags > 1)[:1].tolist():
        message = f"a flag of {flags[record]} in front of a value, expected 0 or 1"
        raise _of_record(chunk.error(message, int(starts[record]), FormatError), record)


def expect_windows(entries: pa.StructArray, chunk: Chunk, starts: NDArray[np.int64]) -> None:
    """Raises ``OddEntryError`` if the namespace of an entry is a window that ends before it begins."""
    if entries.type.get_field_index("namespace") < 0:
        return  # bytes of an unknown class
    namespaces = entries.field("namespace")
    if not namespaces.type.equals(_WINDOW):
        return
    begin, end = (np.asarray(namespaces.field(name)) for name in ("start", "end"))
    for record in np.flatnonzero(end < begin)[:1].tolist():
        message = f"a window from {begin[record]} to {end[record]}, which ends before it begins"
        raise _of_record(chunk.error(message, int(starts[record]), OddEntryError), record)


def _of_record(error: FormatError, record: int) -> FormatError:
    error.record = record
    return error
