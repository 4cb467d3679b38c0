"""Files are the same where handles lead to the same place, and only there."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

from support.rocksdb_chains import UID, Chain

from savepoint_extensions.narrowed_diff.same_files import SnapshotFile
from savepoint_formats.metadata import SegmentStream
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

    from support.s3_server import S3Server


def _uploaded(server: S3Server, bucket: str, folder: Path, count: int) -> Savepoint:
    """A job's checkpoint in a store, whose handles name the paths on this machine."""
    chain = Chain.begin(folder)
    for key in range(100):
        chain.put("count", key, (key * count).to_bytes(8, "big"))
    chain.checkpoint()
    chain.close()
    shutil.rmtree(folder / "db")
    server.bucket(bucket)
    for path in folder.rglob("*"):
        if path.is_file():
            server.client.upload_file(str(path), bucket, f"job/{path.relative_to(folder)}")
    shutil.rmtree(folder)
    options = f"endpoint_override={server.address}&scheme=http"
    return Savepoint.open(f"s3://{bucket}/job/chk-1?{options}", uids=[UID])


def test_equal_handles_of_two_buckets_are_two_files(tmp_path: Path, s3_server: S3Server) -> None:
    folder = tmp_path / "job"
    before = _uploaded(s3_server, "first-of-two", folder, 1)
    after = _uploaded(s3_server, "second-of-two", folder, 2)
    first, second = (
        side.operators()[0].record.subtasks[0].managed_keyed_state for side in (before, after)
    )
    assert first == second
    (table,) = before.diff(after).tables
    assert (table.inserted, table.deleted, table.updated) == (0, 0, 99)
    (copy,) = before.diff(before).tables
    assert (copy.is_equal, copy.unchanged) == (True, None)


def test_a_segment_of_a_merged_file_has_one_place(samples: Path) -> None:
    savepoint = Savepoint.open(str(samples / "states-2.2.1-rocksdb-filemerging" / "chk-2"))
    directory = savepoint.operators()[0].directory
    segments = [
        file.stream
        for operator in savepoint.operators()
        for subtask in operator.record.subtasks
        for file in getattr(subtask.managed_keyed_state, "private", ())
        if isinstance(file.stream, SegmentStream) and file.stream.start
    ]
    assert segments
    for segment in segments:
        assert SnapshotFile(directory, segment).is_at(SnapshotFile(directory, segment))
        later = replace(segment, start=segment.start - 1)
        assert not SnapshotFile(directory, segment).is_at(SnapshotFile(directory, later))
