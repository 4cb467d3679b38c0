"""The logs of a streaming query's checkpoint, in both versions, and what is no checkpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.each import each

from savepoint_extensions.spark_streams.checkpoint_files import CommittedBatch, is_checkpoint
from savepoint_formats.errors import (
    FormatError,
    NotFoundError,
    SavepointNotFoundError,
    UnsupportedVersionError,
)

if TYPE_CHECKING:
    from pathlib import Path

SETTINGS = '{"conf": {"spark.sql.streaming.join.stateFormatVersion": "3"}}'
FIRST = ["v1", SETTINGS, '{"orders":{"0":23}}', "-", "mine"]
SECOND = ["v2", SETTINGS, '0:{"orders":{"0":23}}', "named:7"]


def checkpoint(folder: Path, offsets: list[str], commit: str = '{"nextBatchWatermarkMs":5}') -> str:
    """A checkpoint as Spark writes it, with batch 10 committed after batch 9, and 11 planned."""
    for name in ("offsets", "commits"):
        (folder / name).mkdir(parents=True)
    (folder / "metadata").write_text("{}")
    for number in (9, 10, 11):
        (folder / "offsets" / str(number)).write_text("\n".join(offsets))
    for number in (9, 10):
        (folder / "commits" / str(number)).write_text(f"v1\n{commit}")
    (folder / "commits" / ".10.crc").write_text("crc")
    return str(folder)


def test_positions_are_those_of_the_last_commit_in_both_versions(tmp_path: Path) -> None:
    first = CommittedBatch.of(checkpoint(tmp_path / "1", FIRST))
    assert (first.number, first.watermark_ms) == (10, 5)
    assert first.offsets == {"0": {"orders": {"0": 23}}, "2": "mine"}
    assert first.settings["join.stateFormatVersion"] == "3"
    second = CommittedBatch.of(checkpoint(tmp_path / "2", SECOND) + "/", 9)
    assert (second.number, second.offsets) == (9, {"0": {"orders": {"0": 23}}, "named": 7})


def test_a_watermark_of_zero_has_not_begun(tmp_path: Path) -> None:
    path = checkpoint(tmp_path, FIRST, '{"nextBatchWatermarkMs":0}')
    assert CommittedBatch.of(path).watermark_ms is None


def test_a_planned_batch_is_not_committed(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no committed batch 11; it has 9 to 10"):
        CommittedBatch.of(checkpoint(tmp_path, FIRST), 11)


@each("name", ["metadata", "offsets", "commits"])
def test_a_directory_that_lacks_a_part_is_no_checkpoint(
    tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    folder = tmp_path_factory.mktemp("part")
    path = checkpoint(folder, FIRST)
    assert is_checkpoint(path)
    (folder / name).rename(folder / "other")
    assert not is_checkpoint(path)
    with pytest.raises(SavepointNotFoundError, match="no checkpoint of a streaming query"):
        CommittedBatch.of(path)


def test_a_path_without_anything_is_no_checkpoint(tmp_path: Path) -> None:
    assert not is_checkpoint(str(tmp_path / "nowhere"))


@each(
    ("offsets", "kind", "message"),
    [
        (["v3", SETTINGS], UnsupportedVersionError, "version 'v3', expected v1 or v2"),
        ([""], UnsupportedVersionError, "version ''"),
        (["v1", "{"], FormatError, "is no JSON"),
        (["v1", "[]"], FormatError, "expected an object of JSON"),
    ],
)
def test_a_damaged_log_is_an_error(
    tmp_path_factory: pytest.TempPathFactory,
    offsets: list[str],
    kind: type[Exception],
    message: str,
) -> None:
    batch = CommittedBatch.of(checkpoint(tmp_path_factory.mktemp("damaged"), offsets))
    with pytest.raises(kind, match=message):
        assert batch.settings is None
