"""A state that two subtasks describe in two ways is an error, as in the diff of all rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.rocksdb_chains import TABLE, UID, Chain

from savepoint_formats.bytes import DataInputView, DataOutputView
from savepoint_formats.errors import StateTypeError
from savepoint_formats.metadata import CheckpointMetadata, IncrementalHandle, RelativeFile
from savepoint_formats.snapshots import constructed
from savepoint_formats.state_files.header import KeyedBackendHeader, KeyedStateType, StateMetaInfo
from state_processor import Savepoint, Types

if TYPE_CHECKING:
    from pathlib import Path


def _of_doubles() -> bytes:
    """A header that calls the longs of ``count`` doubles."""
    kinds = {
        "count": (KeyedStateType.VALUE, Types.DOUBLE()),
        "name": (KeyedStateType.VALUE, Types.STRING()),
        "tags": (KeyedStateType.MAP, Types.MAP(Types.STRING(), Types.LONG())),
    }
    infos = tuple(
        StateMetaInfo.of_keys(name, kind, constructed.void_namespace(), of.snapshot)
        for name, (kind, of) in kinds.items()
    )
    view = DataOutputView()
    KeyedBackendHeader.of(Types.LONG().snapshot, infos).write(view)
    return view.to_bytes()


def _with_other_header(folder: Path) -> Savepoint:
    """A checkpoint whose last subtask has another header."""
    metadata = CheckpointMetadata.read(
        DataInputView((folder / "_metadata").read_bytes(), "_metadata")
    )
    (operator,) = metadata.operators
    *others, last = operator.subtasks
    handle, header = last.managed_keyed_state, _of_doubles()
    assert isinstance(handle, IncrementalHandle)
    (folder / "other").write_bytes(header)
    changed = replace(handle, meta=RelativeFile("other", len(header)))
    subtasks = (*others, replace(last, managed_keyed_state=changed))
    view = DataOutputView()
    replace(metadata, operators=(replace(operator, subtasks=subtasks),)).write(view)
    (folder / "_metadata").write_bytes(view.to_bytes())
    return Savepoint.open(str(folder), uids=[UID])


@pytest.mark.parametrize("full", [False, True])
def test_a_state_that_is_described_in_two_ways_is_an_error(tmp_path: Path, *, full: bool) -> None:
    chain = Chain.begin(tmp_path / "chain")
    for key in range(40):
        chain.put("count", key, key.to_bytes(8, "big"))
    chain.checkpoint(2)
    for key in range(4):
        chain.put("count", key, bytes([64, *bytes(7)]))
    chain.checkpoint(2)
    chain.close()
    before, after = map(_with_other_header, chain.checkpoints)
    with pytest.raises(StateTypeError, match="values are double here, int64 elsewhere"):
        before.diff(after, full=full).to_arrow(TABLE)
