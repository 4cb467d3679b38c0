"""Chooses the subtasks that a look-up of keys asks for their states.

The catalog of an operator comes from the headers of all its subtasks, which may have different
states. In a store each header takes a request. Only the subtask that has a key's key group has
values for its row. So a look-up asks for these headers:

| header                             | for                                                           |
|------------------------------------|---------------------------------------------------------------|
| of the first subtask               | the type of keys, hence their key groups                      |
| of those that have the key groups  | their states, and how to read their files                     |
| of one of each other length        | states that only others have: columns that are null for the keys |
| of all that lie in `_metadata`     | the same; they are there already                              |

Handles have the lengths of headers. A look-up misses a state only if its own subtasks lack it and
the other header is as long as theirs. It has no column then, unless it is asked for by name.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from savepoint_formats.metadata.keyed_handles import ChangelogHandle, header_of
from savepoint_formats.metadata.stream_handles import EmptySegment, InlineStream
from savepoint_formats.scan.filter import KeyFilter
from savepoint_formats.state_files.state import key_layout
from savepoint_formats.tables.catalog import OperatorCatalog

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from savepoint_formats.locations.file_io import SnapshotDirectory
    from savepoint_formats.metadata import OperatorState
    from savepoint_formats.metadata.checkpoint import SubtaskState
    from savepoint_formats.metadata.keyed_handles import BaseHandle, KeyedStateHandle
    from savepoint_formats.scan.read_options import ReadOptions
    from savepoint_formats.values.kryo.dialect import KryoDialect


def asked_subtasks(
    directory: SnapshotDirectory,
    operator: OperatorState,
    options: ReadOptions,
    kryo: KryoDialect | None,
) -> OperatorState | None:
    """Operator with the managed keyed state of only those subtasks that a look-up asks.

    None if all must be asked: there are changelogs, or no header has the type of keys.
    Raises ``KeyTypeError`` for a key of another type.
    """
    keyed = [
        (subtask, subtask.managed_keyed_state)
        for subtask in operator.subtasks
        if subtask.managed_keyed_state is not None
    ]
    handles = [handle for _, handle in keyed if not isinstance(handle, ChangelogHandle)]
    if not keyed or len(handles) < len(keyed):
        return None
    first = _of(operator, [keyed[0]])
    states = OperatorCatalog.of(directory, first, kryo).states
    if not states:
        return None
    wanted = KeyFilter.of(
        key_layout(states[0]), operator.max_parallelism, options.keys, options.key_groups
    )
    has_keys = [any(wanted.parts(handle.key_groups)) for handle in handles]
    return _of(operator, [keyed[place] for place in _asked(handles, has_keys)])


def _of(
    operator: OperatorState, keyed: Sequence[tuple[SubtaskState, KeyedStateHandle]]
) -> OperatorState:
    """Operator with only the keyed state of some subtasks."""
    subtasks = tuple(
        replace(subtask, managed_operator_state=None, raw_operator_state=None, raw_keyed_state=None)
        for subtask, _ in keyed
    )
    return replace(operator, subtasks=subtasks, coordinator_state=None)


def _asked(handles: Sequence[BaseHandle], has_keys: Sequence[bool]) -> Iterator[int]:
    """Places of the handles whose headers are read."""
    known = {
        _header_size(handle) for place, handle in enumerate(handles) if has_keys[place] or not place
    }
    for place, handle in enumerate(handles):
        size = _header_size(handle)
        is_there = isinstance(header_of(handle)[0], InlineStream | EmptySegment)
        if has_keys[place] or not place or is_there or size not in known:
            known.add(size)
            yield place


def _header_size(handle: BaseHandle) -> int:
    stream, end = header_of(handle)
    return stream.size if end is None else end
