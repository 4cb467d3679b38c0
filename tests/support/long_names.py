"""The savepoint of a job with forty operators, whose long uids differ only in the middle."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
from savepoint_formats.entries.stored_entries import StoredEntries, runs
from savepoint_formats.key_groups.operator_id import OperatorId
from savepoint_formats.key_groups.ranges import KeyGroupRange, key_groups_of, prefix_size
from savepoint_formats.metadata import (
    CheckpointMetadata,
    OperatorState,
    RelativeFile,
    SubtaskState,
)
from savepoint_formats.program.byte_ranges import large_binary
from savepoint_formats.snapshots import constructed
from savepoint_formats.state_files.canonical_file import CanonicalFile
from savepoint_formats.state_files.header import KeyedBackendHeader, KeyedStateType, StateMetaInfo
from state_processor import Types
from support.sample_rows import SAMPLES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pyarrow as pa

LONG = "com.acme.payments.risk.streaming.{}-v2--region-eu-west-1"
NAMES = tuple(
    f"{subject}-{work}"
    for subject in (
        "customer",
        "merchant",
        "card",
        "account",
        "device",
        "transfer",
        "refund",
        "loan",
    )
    for work in ("profile-enricher", "velocity-counter", "deduplicator", "session-window", "scorer")
)
"""What differs in the uids of forty operators."""

MANY_STATES, LARGEST = 0, 7
"""Places of the operator with many states, and of the one that has nearly all bytes."""

_MAX_PARALLELISM = 128
_PICTURE = 1_000_000  # bytes of the value of a key of the largest operator


def job_of_long_names(folder: Path, keys: int = 500) -> Path:
    """A savepoint of forty operators: one has many states, the others two small ones each.

    One has a megabyte for each of so many ``keys``, in a real file.
    """
    savepoint = folder / "savepoint-of-long-names"
    savepoint.mkdir()
    samples = [SAMPLES / f"{name}-2.2.1-hashmap-canonical" for name in ("states", "currency")]
    operators = []
    for sample, uid in zip(samples, ("stateful", "summarize"), strict=True):
        metadata = CheckpointMetadata.read(DataInputView((sample / "_metadata").read_bytes()))
        operators += [operator for operator in metadata.operators if operator.uid == uid]
        for file in sample.iterdir():
            if file.name not in ("_metadata", "expected.json"):
                shutil.copy(file, savepoint)
    many_states, small = operators
    others = {MANY_STATES: many_states, LARGEST: _of_pictures(savepoint / "pictures", keys)}
    renamed = [
        replace(others.get(place, small), operator_id=OperatorId.from_uid(uid), uid=uid, name=uid)
        for place, uid in enumerate(map(LONG.format, NAMES))
    ]
    view = DataOutputView()
    replace(metadata, operators=tuple(renamed)).write(view)
    (savepoint / "_metadata").write_bytes(view.to_bytes())
    return savepoint


def _of_pictures(file: Path, keys: int) -> OperatorState:
    """An operator with a megabyte of bytes per key."""
    picture = Types.PRIMITIVE_ARRAY(Types.BYTE())
    state = StateMetaInfo.of_keys(
        "picture", KeyedStateType.VALUE, constructed.void_namespace(), picture.snapshot
    )
    header = KeyedBackendHeader.of(Types.LONG().snapshot, (state,))
    key_groups = KeyGroupRange(0, _MAX_PARALLELISM - 1)
    with file.open("wb") as output:
        written = CanonicalFile.write(output, header, key_groups, _sections(keys))
    subtask = SubtaskState(
        0, managed_keyed_state=written.handle(RelativeFile(file.name, written.size))
    )
    return OperatorState(OperatorId.from_uid("pictures"), 1, _MAX_PARALLELISM, (subtask,))


def _sections(count: int) -> Iterator[tuple[int, list[pa.Buffer]]]:
    """The entries of each key group, one group in memory at a time."""
    numbers = np.arange(count, dtype=np.int64)
    groups = key_groups_of(numbers.astype(np.int32), _MAX_PARALLELISM)
    for group in sorted(set(groups.tolist())):
        keys = numbers[groups == group]
        stored = np.zeros((len(keys), 9), np.uint8)  # the key, and a namespace that there is not
        stored[:, :8] = keys.astype(">i8").view(np.uint8).reshape(len(keys), 8)
        values = np.zeros((len(keys), 4 + _PICTURE), np.uint8)  # a length, then bytes
        values[:, :4] = np.frombuffer(_PICTURE.to_bytes(4, "big"), np.uint8)
        entries = StoredEntries(_column(stored), _column(values))
        rows = runs(entries, groups[groups == group], 0, prefix_size(_MAX_PARALLELISM))
        yield group, [run.as_buffer() for run in rows.column("run")]


def _column(values: np.ndarray) -> pa.LargeBinaryArray:
    """A row of bytes per value."""
    count, width = values.shape
    return large_binary(np.arange(count + 1, dtype=np.int64) * width, values.ravel())
