"""A real job that watched a directory becomes one with a ``FileSource``; ``test_file_migration.py`` runs it."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.commands import run
from support.file_states import DIRECTORY, METADATA, NEWEST_MS, UIDS

from savepoint_extensions.connectors.byte_elements import byte_elements
from savepoint_extensions.connectors.connector_rows import READER_STATE
from savepoint_extensions.connectors.kafka.kafka_source import CoordinatorState
from savepoint_extensions.connectors.kafka.versioned import Versioned
from savepoint_extensions.connectors.monitored_files import ONCE
from savepoint_extensions.connectors.renewal.file_source import (
    flink_path,
    renewed_reader,
    without_time,
)
from savepoint_extensions.connectors.renewal.renewed_operator import RenewalOptions, has_list
from savepoint_extensions.connectors.source_splits.file_splits import FileEnumerator, FileSplit
from savepoint_formats.errors import MigrationError, RefusedError
from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZES = {"a.txt": 50, "b0.txt": 60, "b1.txt": 60, "b2.txt": 60, "read.txt": 7, "new.txt": 9}


@pytest.fixture
def folder() -> Iterator[Path]:
    """A directory whose path is as long as that of the job."""
    made = Path(tempfile.mkdtemp(dir="/tmp", prefix="fm"))
    assert len(str(made)) == len(DIRECTORY)
    for name, size in SIZES.items():
        (made / name).write_bytes(b"x" * size)
        seconds = NEWEST_MS / 1000 + (1 if name == "new.txt" else 0)
        os.utime(made / name, (seconds, seconds))
    yield made
    shutil.rmtree(made)


@pytest.fixture
def files(folder: Path, tmp_path: Path) -> Savepoint:
    (tmp_path / "old").mkdir()
    data = METADATA.replace(DIRECTORY.encode(), str(folder).encode())
    (tmp_path / "old" / "_metadata").write_bytes(data)
    return Savepoint.open(tmp_path / "old", uids=UIDS)


def test_files_that_were_read_and_those_that_wait(
    files: Savepoint, folder: Path, tmp_path: Path
) -> None:
    path = f"file:{folder}/a.txt"
    position = f'{path}={{"offset": -1, "records": 10}}'
    command = ("sources", files.path, tmp_path / "new", "--to-new", "lines", "--uid", "lines")
    code, printed = run(*command, "--directory", folder, "--set", position)
    assert code == 0, printed
    assert "won't read 5 files" in printed
    moved = Savepoint.open(tmp_path / "new", uids=UIDS)
    operator = moved.operator("lines")
    elements = byte_elements(operator, [READER_STATE])
    splits = [FileSplit.of(Versioned.whole(it.data, ""), "") for it in elements]
    assert [(split.path, split.length, split.position) for split in splits] == [
        (path, 50, (-1, 10)),
        *((f"file:{folder}/b{number}.txt", 60, None) for number in range(3)),
    ]
    state = operator.record.coordinator_state
    assert state is not None
    enumerator = FileEnumerator.of(CoordinatorState.of(state.data, "").enumerator, "")
    old = sorted(SIZES.keys() - {"new.txt"})
    assert enumerator.processed == tuple(f"file:{folder}/{name}" for name in old)
    names = {known.name for each in moved.operators() for known in each.catalog.states}
    assert not names & {"splits", "file-monitoring-state"}
    moved.migrate()


def test_what_is_not_known_is_refused(files: Savepoint, folder: Path) -> None:
    with pytest.raises(MigrationError, match="--directory URI lists them"):
        files.migrate()
    with pytest.raises(MigrationError, match=r"a\.txt: a part of it was read"):
        files.renew_connectors("lines", directory=str(folder))
    (folder / "b1.txt").unlink()
    with pytest.raises(MigrationError, match="was not read to its end, and is not in the"):
        files.renew_connectors("lines", directory=str(folder))
    (folder / "b1.txt").write_bytes(b"x" * 70)
    with pytest.raises(MigrationError, match=r"b1\.txt: only some of its parts were read"):
        files.renew_connectors("lines", directory=str(folder))


def test_a_reader_without_the_time_of_one_function_is_refused(
    files: Savepoint, folder: Path
) -> None:
    reader = files.operator("lines")
    for times in ((), (1, 2)):
        options = RenewalOptions(directory=str(folder), newest_files_ms=times)
        with pytest.raises(RefusedError, match=f"{len(times)} monitoring functions"):
            renewed_reader(reader, options)


def test_a_job_that_was_stopped_has_no_time(files: Savepoint, folder: Path) -> None:
    """A real one stored the greatest number, and read no new file when it was restored."""
    reader = files.operator("lines")
    stopped = RenewalOptions(directory=str(folder), newest_files_ms=(ONCE,), is_stopped=True)
    with pytest.raises(RefusedError, match="stores no time of the newest file"):
        renewed_reader(reader, stopped)
    position = {f"file:{folder}/a.txt": '{"offset": -1, "records": 10}'}
    once = replace(stopped, is_stopped=False, positions=position)
    state = renewed_reader(reader, once).record.coordinator_state
    assert state is not None
    enumerator = FileEnumerator.of(CoordinatorState.of(state.data, "").enumerator, "")
    assert len(enumerator.processed) == len(SIZES)


def test_the_function_loses_its_time(files: Savepoint) -> None:
    (monitor,) = (known for known in files.operators() if has_list(known, "file-monitoring-state"))
    changed = replace(monitor, record=without_time(monitor).record)
    assert not has_list(changed, "file-monitoring-state")


def test_the_function_does_not_lose_its_time_alone(files: Savepoint) -> None:
    (monitor,) = (known for known in files.operators() if has_list(known, "file-monitoring-state"))
    with pytest.raises(MigrationError, match="no reader of files is renewed with it"):
        files.renew_connectors(monitor.name)
    without = files.remove_operator("lines")
    with pytest.raises(MigrationError, match="the new job would read all of them again"):
        without.migrate()
    without.remove_operator(monitor.name).migrate()


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///tmp/a b", "file:/tmp/a b"),
        ("file:/tmp/a", "file:/tmp/a"),
        ("s3://bucket/a", "s3://bucket/a"),
        ("hdfs://node:8020/a", "hdfs://node:8020/a"),
    ],
)
def test_paths_are_those_of_flink(uri: str, path: str) -> None:
    assert flink_path(uri) == path
    split = FileSplit.of_file("0000000001", path, 5, 7)
    again = FileSplit.of(split.to_versioned(), "split")
    assert (again.path, again.length, again.position) == (path, 5, None)
    enumerator = FileEnumerator((split,), (path,))
    assert FileEnumerator.of(enumerator.to_versioned(), "").processed == (path,)
