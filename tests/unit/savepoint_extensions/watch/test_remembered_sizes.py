"""Runs from cron go on where the last one ended, with one retained checkpoint."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest
from support.commands import result_of
from support.watched_jobs import checkpoint

from savepoint_extensions.watch.growth import Series
from savepoint_extensions.watch.remembered_sizes import read_sizes, write_sizes
from savepoint_formats.errors import DescriptionError

if TYPE_CHECKING:
    from pathlib import Path


def test_what_is_written_is_read(tmp_path: Path) -> None:
    series = Series()
    for number in range(5000):
        series.add(60.0 * number, 1000.0 + number)
    sizes = {("orders", "open"): series, ("orders", 'sälé "x"'): Series()}
    write_sizes(tmp_path / "sizes", sizes)
    assert read_sizes(tmp_path / "sizes") == sizes
    write_sizes(tmp_path / "sizes", {})
    assert read_sizes(tmp_path / "sizes") == {}
    assert [path.name for path in tmp_path.iterdir()] == ["sizes"]


def test_without_a_file_there_is_no_size(tmp_path: Path) -> None:
    assert read_sizes(tmp_path / "none") == {}


ROW = {"operator": "a", "state": "b", "count": 2, "begin": 1, "times": [1, 2], "sizes": [3, 4]}


@pytest.mark.parametrize(
    "row",
    [
        ROW | {"times": [2, 1]},
        ROW | {"times": [1, 1]},
        ROW | {"times": [1]},
        ROW | {"sizes": [1, float("nan")]},
        ROW | {"count": -5},
        ROW | {"count": float("inf")},
        ROW | {"begin": 10**400},
        ROW | {"times": [*range(2000)], "sizes": [*range(2000)]},
        ROW | {"begin": "soon"},
        {"operator": "a"},
        3,
    ],
)
def test_a_file_of_something_else_is_an_error(tmp_path: Path, row: object) -> None:
    file = tmp_path / "sizes"
    file.write_text(json.dumps({"version": 1, "series": [row]}))
    with pytest.raises(DescriptionError, match="does not have the sizes of a watch: remove it"):
        read_sizes(file)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"version": 2, "series": []}', "[" * 100_000])
def test_another_text_is_an_error(tmp_path: Path, text: str) -> None:
    file = tmp_path / "sizes"
    file.write_text(text)
    with pytest.raises(DescriptionError):
        read_sizes(file)


def test_runs_with_one_retained_checkpoint_find_the_leak(tmp_path: Path) -> None:
    limits = tmp_path / "limits.yaml"
    limits.write_text("growth-per-day: 1 KB\nover: 6 checkpoints\nafter: 3 checkpoints\n")
    job, sizes = tmp_path / "job", tmp_path / "sizes"
    call: list[str | Path] = [
        "watch",
        job,
        "--once",
        "--thresholds",
        limits,
        "--remember",
        sizes,
        "--uid",
        "a",
    ]
    codes = []
    for number in range(1, 16):
        checkpoint(job, number, keys=10 + max(number - 8, 0))
        shutil.rmtree(job / f"chk-{number - 1}", ignore_errors=True)
        codes.append(result_of(*call).exit_code)
    first = codes.index(3) + 1
    assert 8 + 3 <= first <= 8 + 6
    assert codes == [0] * (first - 1) + [3] * (16 - first)
    # The same checkpoint again is no other size.
    assert result_of(*call).exit_code == 3
    assert len(read_sizes(sizes)["a", "total"].times) == 15


def test_remembering_needs_once(tmp_path: Path) -> None:
    result = result_of("watch", tmp_path, "--remember", tmp_path / "sizes")
    assert (result.exit_code, "--remember needs --once" in result.output) == (2, True)
