"""Chains of incremental checkpoints of a RocksDB made here, as Flink lays out their files."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

import numpy as np
from rocksdict import Rdict

from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.key_groups.operator_id import OperatorId
from savepoint_formats.key_groups.ranges import KeyGroupRange, key_groups_of
from savepoint_formats.metadata import (
    CheckpointMetadata,
    FileStream,
    IncrementalHandle,
    KeyedHandleType,
    LocalFile,
    OperatorState,
    RelativeFile,
    SubtaskState,
)
from savepoint_formats.snapshots import constructed
from savepoint_formats.state_files.header import KeyedBackendHeader, KeyedStateType, StateMetaInfo
from state_processor import Savepoint, Types
from support.rocksdb_databases import table_options

if TYPE_CHECKING:
    from pathlib import Path

GROUPS = 4
UID = "a"
TABLE = f"{UID}.keyed_state"
STATES = ("count", "name", "tags")
"""A value of a long, one of a text, and a map from texts to longs; keys are longs."""


@dataclass
class Chain:
    """A running job's database, and the checkpoints of it."""

    folder: Path
    _database: Rdict
    _states: dict[str, Rdict]
    checkpoints: list[Path] = field(default_factory=list)

    @classmethod
    def begin(cls, folder: Path, block_size: int = 32) -> Self:
        """By default, blocks have one entry or two, so that a few keys have many of them."""
        (folder / "shared").mkdir(parents=True)
        options = table_options(table={"block_size": block_size})
        database = Rdict(str(folder / "db"), options)
        states = {name: database.create_column_family(name, options) for name in STATES}
        return cls(folder, database, states)

    def close(self) -> None:
        for state in self._states.values():
            state.close()
        self._database.close()

    def put(self, state: str, key: int, value: bytes, user_key: str = "") -> None:
        self._states[state][_stored(key, user_key)] = value

    def delete(self, state: str, key: int, user_key: str = "") -> None:
        del self._states[state][_stored(key, user_key)]

    def delete_group(self, state: str, group: int) -> None:
        """Deletes a range of keys."""
        self._states[state].delete_range(bytes([group]), bytes([group + 1]))

    def flush(self) -> None:
        for state in self._states.values():
            state.flush()

    def compact(self, state: str) -> None:
        self._states[state].compact_range(None, None)

    def checkpoint(self, parallelism: int = 1, *, in_place: bool = True) -> Savepoint:
        """A checkpoint of so many subtasks, which all have the same files.

        Unless it is ``in_place``, it has all files for itself, as a savepoint.
        """
        self.flush()
        own = self.folder / f"chk-{len(self.checkpoints) + 1}"
        own.mkdir()
        self.checkpoints.append(own)
        database = self.folder / "db"
        shared = [self._shared(path, own, in_place) for path in sorted(database.glob("*.sst"))]
        private = []
        for path in (database / "CURRENT", database / (database / "CURRENT").read_text().strip()):
            (own / path.name).write_bytes(path.read_bytes())
            private.append(LocalFile(path.name, RelativeFile(path.name, path.stat().st_size)))
        view = DataOutputView()
        _header().write(view)
        (own / "meta").write_bytes(view.to_bytes())
        subtasks = tuple(
            SubtaskState(
                number,
                managed_keyed_state=IncrementalHandle(
                    KeyedHandleType.INCREMENTAL,
                    len(self.checkpoints),
                    "backend",
                    KeyGroupRange.of_subtask(number, parallelism, GROUPS),
                    0,
                    RelativeFile("meta", len(view.to_bytes())),
                    tuple(shared),
                    tuple(private),
                    f"handle {number}",
                ),
            )
            for number in range(parallelism)
        )
        operator = OperatorState(OperatorId.from_uid(UID), parallelism, GROUPS, subtasks, uid=UID)
        view = DataOutputView()
        CheckpointMetadata.new((operator,)).write(view)
        (own / "_metadata").write_bytes(view.to_bytes())
        return Savepoint.open(str(own), uids=[UID])

    def _shared(self, path: Path, own: Path, in_place: bool) -> LocalFile:
        size = path.stat().st_size
        if not in_place:
            (own / path.name).write_bytes(path.read_bytes())
            return LocalFile(path.name, RelativeFile(path.name, size))
        place = self.folder / "shared" / path.name
        if not place.exists():
            os.link(path, place)
        return LocalFile(path.name, FileStream(size, str(place)))


def text(value: str) -> bytes:
    """A short text as Flink stores it."""
    return bytes([len(value) + 1]) + value.encode()


def _stored(key: int, user_key: str) -> bytes:
    (group,) = key_groups_of(np.array([key], np.int32), GROUPS).tolist()
    namespace = b"\0"
    return (
        bytes([group]) + key.to_bytes(8, "big") + namespace + (text(user_key) if user_key else b"")
    )


def _header() -> KeyedBackendHeader:
    kinds = {
        "count": (KeyedStateType.VALUE, Types.LONG()),
        "name": (KeyedStateType.VALUE, Types.STRING()),
        "tags": (KeyedStateType.MAP, Types.MAP(Types.STRING(), Types.LONG())),
    }
    infos = tuple(
        StateMetaInfo.of_keys(name, kind, constructed.void_namespace(), of.snapshot)
        for name, (kind, of) in kinds.items()
    )
    return KeyedBackendHeader.of(Types.LONG().snapshot, infos)
