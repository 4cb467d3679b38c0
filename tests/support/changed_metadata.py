"""Savepoints of Flink whose ``_metadata`` says something else than Flink wrote."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
from savepoint_formats.metadata import CheckpointMetadata

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from savepoint_formats.metadata import OperatorState


def with_operators(
    savepoint: Path, out: Path, change: Callable[[OperatorState], OperatorState]
) -> Path:
    """A copy of a savepoint with other records of its operators, beside the same files."""
    shutil.copytree(savepoint, out)
    metadata = CheckpointMetadata.read(DataInputView((out / "_metadata").read_bytes()))
    view = DataOutputView()
    replace(metadata, operators=tuple(map(change, metadata.operators))).write(view)
    (out / "_metadata").write_bytes(view.to_bytes())
    return out


def renamed(savepoint: Path, out: Path, names: dict[str, str]) -> Path:
    """A copy of a savepoint whose operators have other uids."""
    return with_operators(
        savepoint,
        out,
        lambda operator: replace(operator, uid=names.get(operator.uid, operator.uid)),
    )
