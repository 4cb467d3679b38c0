"""Files that appear only when they are complete."""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.new_snapshot.signs_of_life import locked
from savepoint_formats.new_snapshot.whole_file import whole_file

if TYPE_CHECKING:
    from pathlib import Path


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
