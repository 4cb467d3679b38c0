"""The backend of RocksDB: state of all keys as bytes, in files of a temporary directory.

Each access reads or writes RocksDB, as in Flink's backend of this name.
"""

from __future__ import annotations

from contextlib import ExitStack
from heapq import merge
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeVar, cast

from rocksdict import Options, Rdict, WriteOptions

from savepoint_functions.functions.backends.backend import KeyedStateBackend
from savepoint_functions.functions.backends.rocksdb_states import (
    StoredListState,
    StoredMapState,
    StoredState,
    StoredValueState,
    framed,
    unframed,
)
from savepoint_functions.functions.backends.value_codec import ValueCodec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_formats.layout import Layout
    from savepoint_functions.functions.backends.backend import Clock

StoredT = TypeVar("StoredT", bound=StoredState)


class RocksDbBackend(KeyedStateBackend):
    """State of all keys in RocksDB."""

    name = "rocksdb"
    keeps_all_keys = True

    def __init__(self, key: Layout, clock: Clock | None = None) -> None:
        super().__init__(key, clock)
        self._key_codec = ValueCodec(key, "the keys")
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

    def keys(self) -> Iterator[tuple[Any, bytes]]:
        """Each key with its bytes, in the order of their sizes, then of their bytes."""
        before = None
        # In raw mode, keys are bytes.
        families = [cast("Iterator[bytes]", state.family.keys()) for state in self._stored]
        for entry in merge(*families):
            key_bytes = unframed(entry)
            if key_bytes != before:
                before = key_bytes
                yield self._key_codec.decode(key_bytes), key_bytes

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
