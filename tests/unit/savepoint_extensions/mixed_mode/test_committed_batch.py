"""The offsets beside a savepoint are there as a whole, or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from savepoint_extensions.mixed_mode.committed_batch import OFFSETS_FILE, CommittedBatch
from savepoint_formats.errors import SavepointError, SavepointNotFoundError

if TYPE_CHECKING:
    from pathlib import Path


def test_offsets_take_the_place_of_others_as_a_whole(tmp_path: Path) -> None:
    first, second = CommittedBatch(1, 5, (None,)), CommittedBatch(2, 6, ({"0": 7}, None))
    first.write_beside(str(tmp_path))
    before = tmp_path / "before"
    before.hardlink_to(tmp_path / OFFSETS_FILE)
    written = before.read_bytes()
    second.write_beside(str(tmp_path))
    assert CommittedBatch.beside(str(tmp_path)) == second
    assert before.read_bytes() == written, "nothing was written over what somebody may be reading"
    assert {file.name for file in tmp_path.iterdir()} == {"before", OFFSETS_FILE}


def test_a_savepoint_without_offsets_is_told(tmp_path: Path) -> None:
    with pytest.raises(SavepointNotFoundError, match="not of a stream, or not complete"):
        CommittedBatch.beside(str(tmp_path))
    with pytest.raises(SavepointError, match="can't be written"):
        CommittedBatch(1, 5, ()).write_beside(str(tmp_path / "nowhere"))
