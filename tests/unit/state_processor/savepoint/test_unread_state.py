"""State whose files can't be read is not left out of what is written from it."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from savepoint_formats.errors import SavepointError
from savepoint_formats.metadata import RelativeFile
from savepoint_formats.metadata.references import stream_references
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

    from state_processor import SavepointWriter

SAMPLE = "currency-2.2.1-hashmap-canonical"


def damaged(samples: Path, folder: Path, operator: str, damage: str) -> Savepoint:
    """A sample without readable files of an operator."""
    path = shutil.copytree(samples / SAMPLE, folder / "savepoint")
    uids = ["summarize", "currency_converter"]
    savepoint = Savepoint.open(str(path), uids=uids)
    record = savepoint.operator(operator).record
    for reference in stream_references(record):
        assert isinstance(reference.stream, RelativeFile)
        file = path / reference.stream.path
        if damage == "missing":
            file.unlink()
        else:
            file.write_bytes(b"\xff" * file.stat().st_size)
    return Savepoint.open(str(path), uids=uids)


@pytest.mark.parametrize("damage", ["missing", "overwritten"])
@pytest.mark.parametrize("operator", ["summarize", "currency_converter"])
@pytest.mark.parametrize("verb", ["rescale", "convert and rescale"])
def test_is_an_error_of_a_rescale(
    samples: Path, tmp_path: Path, operator: str, damage: str, verb: str
) -> None:
    savepoint = damaged(samples, tmp_path, operator, damage)
    start: Savepoint | SavepointWriter = savepoint.convert() if "convert" in verb else savepoint
    writer = start.rescale(max_parallelism=600)
    with pytest.raises(SavepointError, match=f"subtask 0, operator {operator}"):
        writer.plan(str(tmp_path / "new"), "error", check=True)
