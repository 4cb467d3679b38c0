"""The backend of RocksDB: state of all keys as bytes, in files of a temporary directory.

Each access reads or writes RocksDB, as in Flink's backend of this name. Each state has a column
family of its own.

| state | key                                 | value                                      |
|-------|-------------------------------------|--------------------------------------------|
| value | prefix                              | the value                                  |
| list  | prefix, u64 number of the element   | the element                                |
| map   | prefix, the user key                | a flag of null, then the value             |

The prefix is the key and then, if the state has namespaces, the namespace. A u32 with the size
precedes both, so that the entries of two keys never begin alike. Adding an element does
not read earlier elements, because numbers only grow.
"""

from __future__ import annotations

import struct
from contextlib import ExitStack
from itertools import count, groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeVar, cast

from rocksdict import Options, Rdict, ReadOptions, WriteOptions

from savepoint_formats.values import NullableRest
from savepoint_functions.functions.backends.backend import KeyedStateBackend
from savepoint_functions.functions.backends.namespaces import plain, plain_namespace
from savepoint_functions.functions.backends.value_codec import ValueCodec
from savepoint_functions.functions.backends.wrapping_states import (
    ChangeableListState,
    ChangeableMapState,
    present,
)
from savepoint_spark.reading import State, ValueState

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator

    from savepoint_formats.layout import Layout
    from savepoint_functions.functions.backends.backend import Clock


_SIZE = struct.Struct(">I")
_NUMBER = struct.Struct(">Q")


class StoredState(State):
    """State in a column family; ``namespace`` is None if it has only the void one."""

    def __init__(self, name: str, family: Rdict, namespace: Layout | None) -> None:
        super().__init__(name)
        self.family = family
        self._namespaces = (
            None if namespace is None else ValueCodec(namespace, f"the namespace of state {name!r}")
        )
        self._namespace: Hashable = None
        self._key_prefix = b""
        self._prefix = b""

    def set_current_prefix(self, key_prefix: bytes) -> None:
        """Shows the state of the key with this prefix."""
        self._key_prefix = key_prefix
        self._prefix = key_prefix if self._namespaces is None else self._of(self._namespace)

    def set_current_namespace(self, namespace: Hashable) -> None:
        has_namespaces = self._namespaces is not None
        self._namespace = plain_namespace(self, namespace, has_namespaces=has_namespaces)
        self._prefix = self._of(self._namespace)

    def clear(self) -> None:
        for key, _ in list(self._entries()):
            del self.family[key]

    def snapshot(self) -> Any:
        if self._namespaces is None:
            return self.contents()
        return self._snapshots(self._namespaces.decode) or None

    def contents(self) -> Any:
        """The contents in the current namespace for a snapshot; None for nothing."""
        raise NotImplementedError

    def restore(self, contents: Any) -> None:
        if self._namespaces is None:
            self.fill(contents)
            return
        current = self._prefix
        for namespace, stored in contents:
            self._prefix = self._of(namespace)
            self.fill(stored)
        self._prefix = current

    def fill(self, contents: Any) -> None:
        """Gives the current key and namespace, which have no state, the contents of a snapshot."""
        raise NotImplementedError

    def _entries(self, prefix: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        """The entries with a prefix; by default that of key and namespace."""
        lower = self._prefix if prefix is None else prefix
        options = ReadOptions()
        options.set_iterate_upper_bound(_behind(lower))
        # The options hold the bound, and must live as long as the iterator.
        items = self.family.items(from_key=lower, read_opt=options)
        # In raw mode, keys and values are bytes.
        yield from cast("Iterator[tuple[bytes, bytes]]", items)

    def _of(self, namespace: Hashable) -> bytes:
        if namespace is None or self._namespaces is None:
            return self._key_prefix + framed(b"")
        return self._key_prefix + framed(self._namespaces.encode(namespace))

    def _snapshots(self, decoded: Callable[[bytes], Any]) -> list[tuple[Any, Any]]:
        current, start = self._prefix, len(self._key_prefix)
        keys = [key for key, _ in self._entries(self._key_prefix)]
        snapshots = []
        for framed_bytes, _ in groupby(keys, lambda key: framed(unframed(key, start))):
            self._prefix = self._key_prefix + framed_bytes
            data = framed_bytes[_SIZE.size :]
            namespace = plain(decoded(data)) if data else None
            snapshots.append((namespace, self.contents()))
        self._prefix = current
        return snapshots


class StoredValueState(StoredState, ValueState):
    """A value."""

    def __init__(self, name: str, family: Rdict, stored: Layout, namespace: Layout | None) -> None:
        super().__init__(name, family, namespace)
        self._codec = ValueCodec(stored, f"state {name!r}")

    def value(self) -> Any:
        data = self.family.get(self._prefix)
        return None if data is None else self._codec.decode(data)

    def update(self, value: Any) -> None:
        if value is None:
            self.clear()
        else:
            self.family[self._prefix] = self._codec.encode(value)

    def clear(self) -> None:
        del self.family[self._prefix]

    def contents(self) -> Any:
        return self.value()

    def fill(self, contents: Any) -> None:
        self.update(contents)


class StoredListState(StoredState, ChangeableListState):
    """A list."""

    def __init__(self, name: str, family: Rdict, element: Layout, namespace: Layout | None) -> None:
        super().__init__(name, family, namespace)
        self._codec = ValueCodec(element, f"state {name!r}")
        self._numbers = count()

    def get(self) -> list[Any]:
        return [self._codec.decode(data) for _, data in self._entries()]

    def add(self, value: Any) -> None:
        data = self._codec.encode(present(self, value))
        self.family[self._prefix + _NUMBER.pack(next(self._numbers))] = data

    def update(self, values: Iterable[Any]) -> None:
        elements = list(values)
        self.clear()
        self.add_all(elements)

    def contents(self) -> Any:
        return self.get() or None

    def fill(self, contents: Any) -> None:
        self.add_all(contents)


class StoredMapState(StoredState, ChangeableMapState):
    """A map."""

    def __init__(
        self, name: str, family: Rdict, entry: tuple[Layout, Layout], namespace: Layout | None
    ) -> None:
        super().__init__(name, family, namespace)
        user_key, user_value = entry
        self._key_codec = ValueCodec(user_key, f"the user keys of state {name!r}")
        self._codec = ValueCodec(NullableRest(user_value), f"state {name!r}")

    def get(self, key: Any) -> Any:
        data = self.family.get(self._entry(key))
        return None if data is None else self._codec.decode(data)

    def contains(self, key: Any) -> bool:
        return self.family.get(self._entry(key)) is not None

    def put(self, key: Any, value: Any) -> None:
        self.family[self._entry(key)] = self._codec.encode(value)

    def remove(self, key: Any) -> None:
        del self.family[self._entry(key)]

    def items(self) -> list[tuple[Any, Any]]:
        start, user_key = len(self._prefix), self._key_codec.decode
        return [(user_key(key[start:]), self._codec.decode(data)) for key, data in self._entries()]

    def is_empty(self) -> bool:
        return next(self._entries(), None) is None

    def contents(self) -> Any:
        return self.items() or None

    def fill(self, contents: Any) -> None:
        self.put_all(contents)

    def _entry(self, key: Any) -> bytes:
        return self._prefix + self._key_codec.encode(key)


def framed(data: bytes) -> bytes:
    """Bytes with their size in front."""
    return _SIZE.pack(len(data)) + data


def unframed(data: bytes, start: int) -> bytes:
    """The bytes that ``framed`` was given."""
    (size,) = _SIZE.unpack_from(data, start)
    return data[start + _SIZE.size : start + _SIZE.size + size]


def _behind(prefix: bytes) -> bytes:
    """The first bytes after all that begin with a prefix; no size in it is all FF."""
    head = prefix.rstrip(b"\xff")
    return head[:-1] + bytes([head[-1] + 1])


StoredT = TypeVar("StoredT", bound=StoredState)


class RocksDbBackend(KeyedStateBackend):
    """State of all keys in RocksDB."""

    name = "rocksdb"

    def __init__(self, key: Layout, clock: Clock | None = None) -> None:
        super().__init__(key, clock)
        self._stored: list[StoredState] = []
        self._resources = ExitStack()
        root = self._resources.enter_context(TemporaryDirectory(prefix="state-rocksdb-"))
        self._database = Rdict(str(Path(root, "db")), Options(raw_mode=True))
        self._resources.callback(self._database.close)

    def set_current_key(self, key: Any, key_bytes: bytes) -> None:
        if key_bytes == self.key_bytes:
            return
        self.current_key, self.key_bytes = key, key_bytes
        prefix = framed(key_bytes)
        for state in self._stored:
            state.set_current_prefix(prefix)

    def close(self) -> None:
        for state in self._stored:
            state.family.close()
        self._stored.clear()
        self._resources.close()

    def value_state(self, name: str, stored: Layout, namespace: Layout | None) -> StoredValueState:
        return self._added(StoredValueState(name, self._family(name), stored, namespace))

    def list_state(self, name: str, element: Layout, namespace: Layout | None) -> StoredListState:
        return self._added(StoredListState(name, self._family(name), element, namespace))

    def map_state(
        self, name: str, user_key: Layout, user_value: Layout, namespace: Layout | None
    ) -> StoredMapState:
        entry = (user_key, user_value)
        return self._added(StoredMapState(name, self._family(name), entry, namespace))

    def _family(self, name: str) -> Rdict:
        family = self._database.create_column_family(name, Options(raw_mode=True))
        # A task that loses its process makes its state anew, so no log is needed.
        options = WriteOptions()
        options.disable_wal = True  # type: ignore[method-assign,assignment]  # a property
        family.set_write_options(options)
        return family

    def _added(self, state: StoredT) -> StoredT:
        self._stored.append(state)
        return state
