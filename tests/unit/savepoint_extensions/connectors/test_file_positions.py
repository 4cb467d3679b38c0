"""Paths of files that a source won't read, as Flink writes and compares them."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.each import each

from savepoint_extensions.connectors.file_positions import FileSourceState


@each(
    ("file", "path"),
    [
        ("file:///in/a%20b%2541.txt", "file:/in/a b%41.txt"),
        ("/in/a b%41.txt", "file:/in/a b%41.txt"),
        (Path("/in/a b.txt"), "file:/in/a b.txt"),
        ("s3://bucket/in/%C3%BC.txt", "s3://bucket/in/ü.txt"),
        ("hdfs://host:8020/in/1.txt", "hdfs://host:8020/in/1.txt"),
    ],
)
def test_paths_are_those_of_flink(file: str | Path, path: str) -> None:
    assert FileSourceState.of([file]).processed == (path,)


def test_a_file_counts_once() -> None:
    state = FileSourceState.of(["/in/b", "/in/a", "file:///in/a"])
    assert state.processed == ("file:/in/a", "file:/in/b")
    assert FileSourceState.of([]).processed == ()


def test_what_is_no_list_of_files_is_refused() -> None:
    with pytest.raises(ValueError, match="is one text, expected the paths of files"):
        FileSourceState.of("/in/a")
    with pytest.raises(ValueError, match="a path of a file is empty"):
        FileSourceState.of(["/in/a", ""])
