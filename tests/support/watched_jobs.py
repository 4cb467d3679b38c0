"""Directories of checkpoints as a running job leaves them: real ones, of ours and of Flink's."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

from savepoint_formats.bytes import DataInputView, DataOutputView
from savepoint_formats.metadata import CheckpointMetadata
from support.longs_by_text import savepoint_of_longs
from support.sample_rows import SAMPLES

if TYPE_CHECKING:
    from pathlib import Path

INCREMENTAL = SAMPLES / "states-2.2.1-rocksdb-incremental"
"""A job's directory with the files of RocksDB that Flink shares between checkpoints."""

START = 1_700_000_000.0


def checkpoint(job: Path, number: int, keys: int = 3, *, at: float | None = None) -> Path:
    """A checkpoint with a long for each of some keys, completed ``at`` seconds since the epoch."""
    path = job / f"chk-{number}"
    savepoint_of_longs(path, {f"key {key:06}": 1 for key in range(keys)})
    _number(path, number, START + 60 * number if at is None else at)
    return path


def incremental(job: Path, number: int) -> Path:
    """The checkpoint of Flink under another number; its tables stay in the job's shared directory."""
    if not (job / "shared").exists():
        shutil.copytree(INCREMENTAL / "shared", job / "shared")
    path = job / f"chk-{number}"
    shutil.copytree(INCREMENTAL / "chk-2", path)
    _number(path, number, START + 60 * number)
    return path


def _number(path: Path, number: int, at: float) -> None:
    file = path / "_metadata"
    metadata = CheckpointMetadata.read(DataInputView(file.read_bytes()))
    view = DataOutputView()
    replace(metadata, checkpoint_id=number).write(view)
    file.write_bytes(view.to_bytes())
    os.utime(file, (at, at))
