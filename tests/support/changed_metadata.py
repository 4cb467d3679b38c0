"""Savepoints of Flink whose ``_metadata`` says something else than Flink wrote."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
from savepoint_formats.metadata import CheckpointMetadata

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_formats.metadata import OperatorState


def with_operators(
    savepoint: Path,
    out: Path,
    change: Callable[[OperatorState], OperatorState],
    below: str = "",
) -> Path:
    """A copy of a savepoint with other records of its operators, beside the same files.

    Args:
        savepoint: The savepoint, or the directory of a job.
        out: Path of the copy.
        change: Gives the new record of each operator.
        below: The directory of a checkpoint in that of the job.
    """
    copy = Path(shutil.copytree(savepoint, out)) / below
    metadata = CheckpointMetadata.read(DataInputView((copy / "_metadata").read_bytes()))
    view = DataOutputView()
    replace(metadata, operators=tuple(map(change, metadata.operators))).write(view)
    (copy / "_metadata").write_bytes(view.to_bytes())
    return copy


def renamed(savepoint: Path, out: Path, names: dict[str, str]) -> Path:
    """A copy of a savepoint whose operators have other uids."""
    return with_operators(
        savepoint,
        out,
        lambda operator: replace(operator, uid=names.get(operator.uid, operator.uid)),
    )
