"""The savepoint of a job with many operators: those of several samples, each under a name of its own."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
from savepoint_formats.key_groups.operator_id import OperatorId
from savepoint_formats.metadata import CheckpointMetadata
from support.sample_rows import SAMPLES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from savepoint_formats.metadata import OperatorState

# Flink stored an operator without state first in the first of them.
_JOBS = ("objects", "currency", "states", "windows", "sql")


def job_of_many_operators(folder: Path) -> Path:
    """A savepoint of 56 operators with 77 states; the first operator has none."""
    savepoint = folder / "savepoint-of-many"
    savepoint.mkdir()
    operators: list[OperatorState] = []
    for job in _JOBS:
        sample = SAMPLES / f"{job}-2.2.1-hashmap-canonical"
        metadata = CheckpointMetadata.read(DataInputView((sample / "_metadata").read_bytes()))
        operators += _renamed(job, metadata)
        for file in sample.iterdir():
            if file.name not in ("_metadata", "expected.json"):
                shutil.copy(file, savepoint)
    view = DataOutputView()
    replace(metadata, operators=tuple(operators)).write(view)
    (savepoint / "_metadata").write_bytes(view.to_bytes())
    return savepoint


def _renamed(job: str, metadata: CheckpointMetadata) -> Iterator[OperatorState]:
    for operator in metadata.operators:
        uid = f"{job}-{operator.uid}"
        yield replace(operator, operator_id=OperatorId.from_uid(uid), uid=uid)
