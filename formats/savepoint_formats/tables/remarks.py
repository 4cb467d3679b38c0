"""Remarks on states: who wrote bytes that are not decoded, and which numbers are times."""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.layout import BinaryRow, Bytes, Framed, Long, Repeated
from savepoint_formats.tables.tables import NAMESPACE
from savepoint_formats.values.undecoded import remarks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_formats.state_files.state import State
    from savepoint_formats.tables.tables import Column, Table

SLICE_END = (
    "the end of a window or slice of Flink SQL, exclusive, in milliseconds since 1970; of windows"
    " over local timestamps it is local time"
)

_SPLITS = "i32 version, i32 size, and a split as the connector's own serializer writes it"
_WRITERS = "i32 version, i32 size, and a state as the sink's own serializer writes it"
_BYTES_OF = {
    "SourceReaderState": _SPLITS,
    "writer_raw_states": _WRITERS,
    "streaming_committer_raw_states": _WRITERS,
    "bucket-states": _WRITERS,
}
_OWN_BYTES = "a byte array: the savepoint does not say what the job wrote into it"


def has_slices(state: State) -> bool:
    """Whether the namespaces of a state are ends of slices or windows of Flink SQL."""
    is_row = isinstance(state.key, Framed) and isinstance(state.key.inner, BinaryRow)
    return is_row and isinstance(state.namespace, Long)


def state_remarks(state: State) -> Iterator[str]:
    """Remarks on key, namespace and values of a state; some come more than once."""
    for layout in (state.key, state.namespace):
        if layout is not None:
            yield from remarks(layout)
    if has_slices(state):
        yield f"{NAMESPACE}: {SLICE_END}"
    yield from value_remarks(state)


def value_remarks(state: State) -> Iterator[str]:
    """Remarks on values of a state."""
    if state.names is not None:
        yield from state.names.remarks(state.name)
    yield from remarks(state.value)
    match state.value:
        case Bytes() | Repeated(Bytes()):
            yield _BYTES_OF.get(state.name, _OWN_BYTES)


def column_remarks(table: Table, column: Column) -> Iterator[str]:
    """Remarks on a column of a table."""
    of_states = dict(table.state_columns())
    if not table.states[0].kind.is_keyed and column.name == "value":
        yield from value_remarks(table.states[0])
    elif column in of_states:
        yield from value_remarks(of_states[column])
    else:
        yield from remarks(column.layout)
        if column.name == NAMESPACE and has_slices(table.states[0]):
            yield SLICE_END
