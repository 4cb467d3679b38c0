"""Look-ups of keys: the key groups, rows and subtasks that they need.

The key group of a key follows from its Java hash. If a layout can't tell the hash, or might tell
a wrong one, all key groups are read and the rows are compared.

The catalog of an operator comes from the headers of all its subtasks, which may have different
states. In a store each header takes a request. Only the subtask that has a key's key group has
values for its row. So a look-up asks for these headers:

| header                             | for                                                       |
|------------------------------------|-----------------------------------------------------------|
| of the first subtask               | the type of keys, hence their key groups                  |
| of those that have the key groups  | their states, and how to read their files                 |
| of one of each other length        | states of others alone: columns that are null for the keys |
| of all that lie in `_metadata`     | the same; they are there already                          |

Handles have the lengths of headers. A look-up misses a state only if its own subtasks lack it and
the other header is as long as theirs. Then the state has no column, unless you name it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
from savepoint_formats.errors import KeyTypeError, UnstableHashError
from savepoint_formats.hashing.key_hash import java_hash
from savepoint_formats.key_groups import MAX_PARALLELISM, KeyGroupRange, key_group
from savepoint_formats.layout import nodes_of
from savepoint_formats.metadata.keyed_handles import ChangelogHandle, header_of
from savepoint_formats.metadata.stream_handles import EmptySegment, InlineStream
from savepoint_formats.scan.wanted_keys import keys_of
from savepoint_formats.state_files.state import key_layout
from savepoint_formats.tables.catalog import OperatorCatalog
from savepoint_formats.tables.visible import visible_key
from savepoint_formats.values.arrow_types import arrow_type, visible_key_type
from savepoint_formats.values.kinds.precise_times import is_precise, texts_of
from savepoint_formats.values.plain_columns import comparable, plain_values
from savepoint_formats.values.value_writer import write_value
from savepoint_formats.values.values import read_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from savepoint_formats.layout import Layout
    from savepoint_formats.locations.file_io import SnapshotDirectory
    from savepoint_formats.metadata import OperatorState
    from savepoint_formats.metadata.checkpoint import SubtaskState
    from savepoint_formats.metadata.keyed_handles import BaseHandle, KeyedStateHandle
    from savepoint_formats.scan.read_options import ReadOptions
    from savepoint_formats.values.kryo.dialect import KryoDialect

# Types whose layout no other Java class with another hash has. A LongValue is written like a Long
# and has another hash, but Flink's keyBy doesn't take it for a Long.
_HASHED = (layouts.Boolean, layouts.Byte, layouts.Short, layouts.Int, layouts.Long, layouts.Text)

# Types of which not every text of their column is a value.
_NARROW = (layouts.BigInteger, layouts.BigDecimal, layouts.Char)


@dataclass(frozen=True, slots=True)
class KeyFilter:
    """Rows of the wanted keys, or of all if None, in ascending ranges of key groups.

    ``written`` has the serialized keys of each key group; None if it is unknown.
    """

    keys: pa.Array | None
    key_groups: tuple[KeyGroupRange, ...]
    written: Mapping[int, tuple[bytes, ...]] | None = None

    @classmethod
    def of(
        cls,
        key: Layout,
        max_parallelism: int,
        keys: tuple[Any, ...] | None,
        within: KeyGroupRange | None,
    ) -> KeyFilter:
        """Makes a filter; ``keys`` or ``within`` are None if all keys or key groups are wanted.

        Raises ``KeyTypeError`` for a key that is not of the layout's type.
        """
        everything = within or KeyGroupRange(0, MAX_PARALLELISM - 1)
        if keys is None:
            return cls(None, (everything,))
        wanted = keys_of_layout(keys, key)
        if not isinstance(key, _HASHED):
            return cls(wanted, (everything,))
        written: dict[int, set[bytes]] = {}
        try:
            for value in plain_values(wanted):
                group = key_group(java_hash(key, value), max_parallelism)
                written.setdefault(group, set()).add(_written(key, value))
        except UnstableHashError:
            return cls(wanted, (everything,))
        groups = sorted(group for group in written if group in everything)
        ranges = tuple(KeyGroupRange(group, group) for group in groups)
        return cls(wanted, ranges, {group: tuple(sorted(written[group])) for group in groups})

    def parts(self, key_groups: KeyGroupRange) -> Iterator[KeyGroupRange]:
        """Key groups of a range that can hold the keys."""
        for wanted in self.key_groups:
            if part := wanted.intersection(key_groups):
                yield part

    def apply(self, columns: dict[str, pa.Array]) -> dict[str, pa.Array]:
        """Rows of the keys."""
        if self.keys is None:
            return columns
        own_keys = columns["key"]
        if is_precise(own_keys.type):
            is_wanted = pc.is_in(texts_of(own_keys), value_set=texts_of(self.keys))
        elif pa.types.is_nested(own_keys.type):
            keys = set(comparable(self.keys))
            is_wanted = pa.array([value in keys for value in comparable(own_keys)], pa.bool_())
        else:
            is_wanted = pc.is_in(own_keys, value_set=self.keys)
        return {name: values.filter(is_wanted) for name, values in columns.items()}


def keys_of_layout(keys: Iterable[Any], layout: Layout) -> pa.Array:
    """Keys as a key column shows them; ``KeyTypeError`` for one that its serializer does not have."""
    wanted = keys_of(keys, visible_key_type(arrow_type(layout)))
    unwritten = (layouts.Kryo, layouts.JavaObject, layouts.Opaque, layouts.Coded)
    is_written = not any(nodes_of(layout, *unwritten))
    if not is_written or not any(nodes_of(layout, *_NARROW)):
        return wanted
    shown = []
    for value in plain_values(wanted):
        try:
            view = DataInputView(_written(layout, value))
        except (ValueError, TypeError) as error:
            name = type(next(nodes_of(layout, *_NARROW))).__name__
            raise KeyTypeError(f"{value!r} is not a key of type {name}: {error}") from error
        shown.append(read_value(layout, view))
    return visible_key(pa.array(shown, arrow_type(layout)))


def _written(key: Layout, value: Any) -> bytes:
    view = DataOutputView()
    write_value(key, value, view)
    return view.to_bytes()


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
