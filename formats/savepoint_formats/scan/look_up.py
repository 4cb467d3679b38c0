"""The subtasks that a look-up of keys asks for their states.

The catalog of an operator is put together from the headers of all its subtasks, which may differ in the
states that they have. Of a store each takes a request. The rows of a key have values of the subtask alone
that has its key group. So a look-up asks for these headers:

| header                             | for                                                           |
|------------------------------------|---------------------------------------------------------------|
| of the first subtask               | the type of keys, hence their key groups                      |
| of those that have the key groups  | their states, and how to read their files                     |
| of one of each other length        | states that only others have: columns that are null for the keys |
| of all that lie in `_metadata`     | the same; they are there already                              |

Handles say how long headers are. So what a look-up may not know is a state that its own subtasks lack, in
a header that is as long as theirs. It has no column then, unless it is asked for by name.
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
    """The operator with managed keyed state of those subtasks alone that a look-up asks.

    Args:
        directory: Where the savepoint is.
        operator: The operator.
        options: What is read, with keys.
        kryo: What is known of the Kryo that wrote object graphs.

    Returns:
        None where all have to be asked: there are changelogs, or no header tells the type of keys.

    Raises:
        KeyTypeError: A key is none of the type of keys.
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
    """The operator with nothing but the keyed state of some subtasks."""
    subtasks = tuple(
        replace(subtask, managed_operator_state=None, raw_operator_state=None, raw_keyed_state=None)
        for subtask, _ in keyed
    )
    return replace(operator, subtasks=subtasks, coordinator_state=None)


def _asked(handles: Sequence[BaseHandle], has_keys: Sequence[bool]) -> Iterator[int]:
    """The places of the handles whose headers are read."""
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
