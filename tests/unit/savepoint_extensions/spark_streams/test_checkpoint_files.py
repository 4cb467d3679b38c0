"""The logs of a streaming query's checkpoint, in both versions, and what is no checkpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.each import each

from savepoint_extensions.spark_streams.checkpoint_files import (
    committed_batch,
    expect_facts,
    expect_partitions,
    is_checkpoint,
)
from savepoint_formats.errors import (
    FormatError,
    NotFoundError,
    RefusedError,
    SavepointNotFoundError,
    UnsupportedVersionError,
)
from state_processor import SparkCheckpoint

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
    first = committed_batch(checkpoint(tmp_path / "1", FIRST))
    assert (first.batch_id, first.watermark) == (10, 5)
    assert first.offsets == {"0": {"orders": {"0": 23}}, "2": "mine"}
    assert first.settings["join.stateFormatVersion"] == "3"
    second = committed_batch(checkpoint(tmp_path / "2", SECOND) + "/", 9)
    assert (second.batch_id, second.offsets) == (9, {"0": {"orders": {"0": 23}}, "named": 7})


def test_the_watermark_of_evictions_is_that_of_the_batch_itself(tmp_path: Path) -> None:
    settings = SETTINGS.replace("{", '{"batchWatermarkMs": 3, ', 1)
    assert committed_batch(checkpoint(tmp_path / "1", ["v1", settings])).evicted == 3
    assert committed_batch(checkpoint(tmp_path / "2", FIRST)).evicted is None


def log(folder: Path, *numbers: str) -> None:
    """A log of a file source, with a file in each batch of its own."""
    folder.mkdir(parents=True)
    for name in numbers:
        last = int(name.removesuffix(".compact"))
        batches = range(last + 1) if name.endswith(".compact") else (last,)
        lines = [
            f'{{"path":"file:///in/{it}%20.json","timestamp":1,"batchId":{it}}}' for it in batches
        ]
        (folder / name).write_text("\n".join(["v1", *lines]))
    (folder / ".0.crc").write_text("crc")


FILES = ["v1", SETTINGS, '{"logOffset":11}', '{"orders":{"0":23}}']


@each(
    "names",
    [
        tuple(map(str, range(12))),
        ("9.compact", "10", "11", "12"),
        ("8", "9.compact", "10", "11", "19.compact"),
        ("19.compact", "20"),
    ],
)
def test_files_are_those_up_to_the_offset(
    tmp_path_factory: pytest.TempPathFactory, names: tuple[str, ...]
) -> None:
    folder = tmp_path_factory.mktemp("files")
    batch = committed_batch(checkpoint(folder / "checkpoint", FILES))
    log(folder / "checkpoint" / "sources" / "0", *names)
    assert batch.files("0") == tuple(f"file:///in/{number}%20.json" for number in range(12))


def test_a_log_with_a_gap_is_an_error(tmp_path: Path) -> None:
    batch = committed_batch(checkpoint(tmp_path, FILES))
    log(tmp_path / "sources" / "0", "9.compact", "11")
    with pytest.raises(FormatError, match="the log lacks batches before 11"):
        batch.files("0")
    (tmp_path / "sources" / "0" / "10").write_text("v2\n{}")
    with pytest.raises(UnsupportedVersionError, match="version 'v2', expected v1"):
        batch.files("0")


def test_a_log_that_lacks_most_batches_takes_no_memory(tmp_path: Path) -> None:
    offsets = ["v1", SETTINGS, f'{{"logOffset":{1 << 60}}}']
    batch = committed_batch(checkpoint(tmp_path, offsets))
    log(tmp_path / "sources" / "0", "0", "1")
    with pytest.raises(FormatError, match="the log lacks batches before"):
        batch.files("0")


@each(
    ("line", "message"),
    [
        ('{"timestamp":1}', "path is None, expected str"),
        ('{"path":"file:///in/a","batchId":"0"}', "batchId is '0', expected int"),
    ],
)
def test_a_damaged_entry_of_a_log_is_an_error(
    tmp_path_factory: pytest.TempPathFactory, line: str, message: str
) -> None:
    folder = tmp_path_factory.mktemp("entry")
    batch = committed_batch(checkpoint(folder, ["v1", SETTINGS, '{"logOffset":0}']))
    log(folder / "sources" / "0")
    (folder / "sources" / "0" / "0").write_text(f"v1\n{line}")
    with pytest.raises(FormatError, match=message):
        batch.files("0")


def test_only_a_line_feed_ends_a_line(tmp_path: Path) -> None:
    text = '{"at":"a\u2028b\x85c"}'
    batch = committed_batch(checkpoint(tmp_path, ["v1", SETTINGS, text, "7"]))
    assert batch.offsets == {"0": {"at": "a\u2028b\x85c"}, "1": 7}


@each("watermark", ["null", '"x"', "true", "1.5"])
def test_a_watermark_that_is_no_number_is_an_error(
    tmp_path_factory: pytest.TempPathFactory, watermark: str
) -> None:
    commit = f'{{"nextBatchWatermarkMs":{watermark}}}'
    batch = committed_batch(checkpoint(tmp_path_factory.mktemp("number"), FIRST, commit))
    with pytest.raises(FormatError, match=r"nextBatchWatermarkMs is .*, expected int"):
        assert batch.watermark is None


def test_only_a_source_of_files_has_files(tmp_path: Path) -> None:
    batch = committed_batch(checkpoint(tmp_path, FILES))
    with pytest.raises(RefusedError, match=r"source '1' of .* is no source of files"):
        batch.files("1")
    with pytest.raises(NotFoundError, match="no source '2' with data; it has 0, 1"):
        batch.files("2")


def test_operators_of_a_spark_that_stored_no_facts_are_refused(tmp_path: Path) -> None:
    path = checkpoint(tmp_path, FIRST)
    expect_facts(path)  # a query without state
    for number in (0, 1):
        (tmp_path / "state" / str(number) / "0").mkdir(parents=True)
    (tmp_path / "state" / "0" / "_metadata").mkdir()
    with pytest.raises(
        UnsupportedVersionError, match=r"operator 1 has no _metadata.* since 4.0: run a"
    ):
        expect_facts(path)
    (tmp_path / "state" / "1" / "_metadata").mkdir()
    expect_facts(path)


def test_missing_operators_and_partitions_are_named(tmp_path: Path) -> None:
    path = checkpoint(tmp_path, FIRST)
    for partition in ("0", "2", "_metadata"):
        (tmp_path / "state" / "1" / partition).mkdir(parents=True)
    with pytest.raises(FormatError, match=r"operator 0 is missing; there are 1\. Copy the whole"):
        expect_facts(path)
    with pytest.raises(FormatError, match="state/1: of 4 partitions of state, 1, 3 are missing"):
        expect_partitions(path, 1, 4)
    (tmp_path / "state" / "1" / "1").mkdir()
    expect_partitions(path, 1, 3)
    (tmp_path / "state" / "0" / "_metadata").mkdir(parents=True)
    expect_facts(path, ["1", "0"])
    with pytest.raises(
        FormatError, match=r"operator 2 is missing; there are 0, 1\. Copy the whole"
    ):
        expect_facts(path, ["1", "2", "0"])


def test_a_watermark_of_zero_has_not_begun(tmp_path: Path) -> None:
    path = checkpoint(tmp_path, FIRST, '{"nextBatchWatermarkMs":0}')
    assert committed_batch(path).watermark is None


def test_a_planned_batch_is_not_committed(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no committed batch 11; it has 9 to 10"):
        committed_batch(checkpoint(tmp_path, FIRST), 11)


def test_a_checkpoint_is_opened_by_load_alone() -> None:
    inherited = {*dir(SparkCheckpoint)} & {"of", "committed_batch"}
    assert not inherited


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
        committed_batch(path)


def test_a_path_without_anything_is_no_checkpoint(tmp_path: Path) -> None:
    assert not is_checkpoint(str(tmp_path / "nowhere"))


@each(
    ("offsets", "kind", "message"),
    [
        (["v3", SETTINGS], UnsupportedVersionError, "version 'v3', expected v1 or v2"),
        ([""], UnsupportedVersionError, "version ''"),
        (["v1", "{"], FormatError, "expected an object of JSON"),
        (["v1", "[]"], FormatError, "expected an object of JSON"),
        (["v1", "[" * 100_000], FormatError, "expected an object of JSON"),
        (["v1", '{"conf": null}'], FormatError, "conf is None, expected dict"),
    ],
)
def test_a_damaged_log_is_an_error(
    tmp_path_factory: pytest.TempPathFactory,
    offsets: list[str],
    kind: type[Exception],
    message: str,
) -> None:
    batch = committed_batch(checkpoint(tmp_path_factory.mktemp("damaged"), offsets))
    with pytest.raises(kind, match=message):
        assert batch.settings is None
