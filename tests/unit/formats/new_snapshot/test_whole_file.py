"""Files that appear only when they are complete."""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.new_snapshot.signs_of_life import locked
from savepoint_formats.new_snapshot.whole_file import whole_file

if TYPE_CHECKING:
    from pathlib import Path

    from support.s3_server import S3Server


def test_files_of_dead_processes_are_removed_and_those_of_others_stay(tmp_path: Path) -> None:
    dead, living, foreign = (f".rows.csv-{digit * 32}" for digit in "abx")
    for name in (dead, foreign):
        (tmp_path / name).write_bytes(b"half")
    with (
        locked(str(tmp_path / living)),
        whole_file(str(tmp_path / "rows.csv"), is_overwritten=False) as file,
    ):
        file.write(b"rows")
    assert {path.name for path in tmp_path.iterdir()} == {"rows.csv", living, foreign}
    assert (tmp_path / "rows.csv").read_bytes() == b"rows"


def test_files_of_the_dead_on_a_store_are_removed_after_a_day(s3_server: S3Server) -> None:
    bucket, dead, recent = (
        s3_server.bucket("asides"),
        ".rows.csv-" + "a" * 32,
        ".rows.csv-" + "b" * 32,
    )
    for name in (dead, recent):
        s3_server.put(bucket, f"out/{name}", b"half")
    s3_server.age(bucket, f"out/{dead}", 25 * 3600)
    s3_server.age(bucket, f"out/{recent}", 23 * 3600)
    with whole_file(s3_server.uri(bucket, "out/rows.csv"), is_overwritten=False) as file:
        file.write(b"rows")
    assert s3_server.keys(bucket) == {f"out/{recent}", "out/rows.csv"}
