"""A watch survives what happens in a directory under a running job, and remembers little."""

from __future__ import annotations

import gc
import os
import shutil
import time
import tracemalloc
from itertools import islice
from typing import TYPE_CHECKING

import pytest
from support.nightly import is_night
from support.watched_jobs import checkpoint, incremental

from savepoint_extensions.watch.threshold_file import Thresholds
from savepoint_formats.locations.file_io import SnapshotDirectory
from savepoint_formats.metadata import FileStream, stream_references
from state_processor import (
    AmbiguousJobError,
    Savepoint,
    SavepointNotFoundError,
    Span,
    Watch,
    watch,
)

if TYPE_CHECKING:
    from pathlib import Path

    from state_processor import WatchRound

ENTRY = 1 + 10 + 1 + 8
"""A text of ten letters with its length, the namespace, and a long."""


def total(answer: WatchRound) -> tuple[int, int]:
    (state,) = answer.states
    assert state.state == "total"
    return state.entries, state.size


def watched(job: Path) -> Watch:
    return watch(job, over=Span(checkpoints=6), after=Span(checkpoints=3), uids=["a"])


def test_a_round_answers_about_the_newest_checkpoint(tmp_path: Path) -> None:
    checkpoint(tmp_path, 1, keys=3)
    watching = watched(tmp_path)
    first = watching.round()
    assert (first.id, first.measured, total(first)) == (1, (1,), (3, 3 * ENTRY))
    assert (first.intact_id, first.time, first.problems) == (1, "2023-11-14 22:14:20Z", ())
    for number in (2, 3):
        checkpoint(tmp_path, number, keys=number)
    second = watching.round()
    assert (second.id, second.measured, total(second)) == (3, (2, 3), (3, 3 * ENTRY))
    third = watching.round()
    assert (third.id, third.measured, third.read_size) == (3, (), 0)
    assert third.states == second.states
    assert second.to_arrow().column("size").to_pylist() == [3 * ENTRY]
    assert "total" in second._repr_html_()


def test_growth_goes_on_over_a_restart_in_another_directory(tmp_path: Path) -> None:
    watching = watched(tmp_path)
    for number in range(1, 7):
        checkpoint(tmp_path / "4f0e", number, keys=100)
    watching.round()
    for number in range(7, 16):
        checkpoint(tmp_path / "a1b2", number, keys=100 + 10 * number)
    answer = watching.round()
    assert (answer.job, answer.id) == (str(tmp_path / "a1b2"), 15)
    assert answer.states[0].steady_growth_per_day == pytest.approx(10 * ENTRY * 1440)


def test_a_checkpoint_of_a_clock_that_is_behind_is_the_newest(tmp_path: Path) -> None:
    """A job that fails over may write its next checkpoints where the clock shows less."""
    old = checkpoint(tmp_path, 1, keys=3, at=1000.0)
    watching = watched(tmp_path)
    assert watching.round().id == 1
    checkpoint(tmp_path, 2, keys=4, at=990.0)
    second = watching.round()
    assert (second.id, second.measured, total(second)[0]) == (2, (2,), 4)
    assert watching.round().measured == ()
    shutil.rmtree(old)
    checkpoint(tmp_path, 3, keys=5, at=995.0)
    assert watching.round().id == 3


def test_a_checkpoint_of_a_clock_that_is_ahead_is_not_new_for_ever(tmp_path: Path) -> None:
    """Its age would be 0 for a day, and no later checkpoint would count for the growth."""
    now, watching = time.time(), watched(tmp_path)
    for number in range(1, 4):
        checkpoint(tmp_path, number, at=now - 60 * (20 - number))
    checkpoint(tmp_path, 4, at=now + 86_400)
    ahead = watching.round()
    assert (ahead.id, len(ahead.problems)) == (4, 1)
    assert "a clock is wrong" in ahead.problems[0]
    time.sleep(0.01)
    again = watching.round()
    assert again.age_seconds is not None
    assert ahead.age_seconds is not None
    assert again.age_seconds >= ahead.age_seconds + 0.01
    for number in range(5, 17):
        checkpoint(tmp_path, number, keys=10 * number, at=now - 60 * (20 - number))
    later = watching.round()
    assert (later.id, later.problems) == (16, ())
    (state,) = later.states
    assert state.steady_growth_per_day == pytest.approx(10 * ENTRY * 1440)
    assert later.age_seconds == pytest.approx(240, abs=30)
    assert watching.round().measured == ()


@pytest.mark.parametrize("ahead", [1, 2])
def test_a_first_look_puts_a_checkpoint_from_the_future_before_later_ones(
    tmp_path: Path, ahead: int
) -> None:
    """A run from cron would otherwise judge the oldest checkpoint as long as it is retained."""
    now = time.time()
    for number in range(1, 5):
        checkpoint(tmp_path, number, at=now + (86_400 if number == ahead else 60 * number - 3600))
    watching = watched(tmp_path)
    answer = watching.round()
    assert (answer.measured, answer.id, answer.problems) == ((1, 2, 3, 4), 4, ())
    assert watching.round().measured == ()


@pytest.mark.parametrize("was_seen", [True, False])
def test_a_restart_is_followed_although_the_last_checkpoint_before_is_from_the_future(
    tmp_path: Path, was_seen: bool
) -> None:
    now, watching = time.time(), watched(tmp_path)
    checkpoint(tmp_path / "4f0e", 1, at=now - 3600)
    checkpoint(tmp_path / "4f0e", 2, at=now + 86_400)
    if was_seen:
        assert watching.round().id == 2
    for number in range(3, 6):
        checkpoint(tmp_path / "a1b2", number, at=now - 3600 + 60 * number)
    answer = watching.round()
    assert (answer.job, answer.id, answer.problems) == (str(tmp_path / "a1b2"), 5, ())
    shutil.rmtree(tmp_path / "4f0e" / "chk-2")
    checkpoint(tmp_path / "a1b2", 6, at=now)
    assert watching.round().measured == (6,)


def test_an_intact_checkpoint_from_the_future_is_as_old_as_the_next_one(tmp_path: Path) -> None:
    """Its age would be 0 until that time comes, and no threshold would be breached."""
    now, watching = time.time(), watch(tmp_path)
    checkpoint(tmp_path, 1, at=now + 86_400)
    damaged = incremental(tmp_path, 2)
    os.utime(damaged / "_metadata", (now - 7200, now - 7200))
    largest_file(damaged, ".sst").unlink()
    answer = watching.round()
    assert (answer.id, answer.intact_id) == (2, 1)
    assert any("chk-1: its _metadata is of" in problem for problem in answer.problems)
    limits = Thresholds.of_text("intact-age: 1h", "limits.yaml")
    (told,) = (it for it in limits.breaches(answer) if it.word != "problem")
    assert told.word == "intact-age"
    assert told.value == pytest.approx(7200, abs=60)


def test_older_checkpoints_of_a_job_that_counts_from_1_again_are_not_the_newest(
    tmp_path: Path,
) -> None:
    for number, at in ((40, 100.0), (41, 110.0), (1, 200.0)):
        checkpoint(tmp_path, number, at=at)
    watching = watched(tmp_path)
    assert watching.round().id == 1
    checkpoint(tmp_path, 2, at=210.0)
    assert [watching.round().id for _ in range(2)] == [2, 2]


def test_two_jobs_in_a_directory_at_the_same_time_are_told(tmp_path: Path) -> None:
    for number in (1, 3):
        checkpoint(tmp_path / "4f0e", number)
    checkpoint(tmp_path / "a1b2", 2)
    with pytest.raises(AmbiguousJobError, match="two jobs make checkpoints there"):
        watched(tmp_path).round()
    assert watched(tmp_path / "4f0e").round().id == 3


def test_a_directory_without_a_checkpoint_is_told_until_there_is_one(tmp_path: Path) -> None:
    (tmp_path / "chk-1").mkdir()
    watching = watched(tmp_path)
    with pytest.raises(SavepointNotFoundError, match="has no completed checkpoint that stays"):
        watching.round()
    answers = watching.rounds(every=0)
    before = next(answers)
    assert (before.id, before.states) == (None, ())
    assert "no completed checkpoint" in before.problems[0]
    (tmp_path / "chk-1").rmdir()
    checkpoint(tmp_path, 1)
    assert next(answers).id == 1


def largest_file(path: Path, role: str) -> Path:
    """The largest file of RocksDB of a checkpoint whose name there has this part."""
    streams = [
        reference.stream
        for operator in Savepoint.open(path).metadata.operators
        for reference in stream_references(operator)
        if role in reference.role and isinstance(reference.stream, FileStream)
    ]
    largest = max(streams, key=lambda stream: stream.size)
    return path.parent / "shared" / largest.path.rpartition("/")[2]


@pytest.mark.parametrize("role", [".sst", "MANIFEST"])
@pytest.mark.parametrize("how", ["gone", "cut", "damaged", "longer"])
def test_a_checkpoint_with_a_file_that_is_not_right_is_not_intact(
    tmp_path: Path, how: str, role: str
) -> None:
    watching = watch(tmp_path)
    checkpoint(tmp_path, 1)
    assert watching.round().intact_id == 1
    table = largest_file(incremental(tmp_path, 5), role)
    data = table.read_bytes()
    table.unlink()
    if how != "gone":
        flipped = data[:70] + b"\xff" + data[71:]
        table.write_bytes({"cut": data[:-9], "damaged": flipped, "longer": data + b"x"}[how])
    answer = watching.round()
    assert (answer.id, answer.intact_id) == (5, 1)
    assert any(table.name in problem for problem in answer.problems), answer.problems
    checkpoint(tmp_path, 8)
    later = watching.round()
    assert (later.intact_id, later.problems, total(later)[0]) == (8, (), 3)


@pytest.mark.parametrize("role", [".sst", "MANIFEST"])
@pytest.mark.parametrize("how", ["gone", "cut", "longer"])
@pytest.mark.parametrize("was_seen", [True, False])
@pytest.mark.usefixtures("slow")
def test_a_shared_file_that_is_lost_leaves_no_later_checkpoint_intact(
    tmp_path: Path, role: str, how: str, was_seen: bool
) -> None:
    watching = watch(tmp_path)
    checkpoint(tmp_path, 1)
    watching.round()
    lost = largest_file(incremental(tmp_path, 5), role)
    if was_seen:
        assert watching.round().intact_id == 5
        incremental(tmp_path, 6)
    data = lost.read_bytes()
    lost.unlink()
    if how != "gone":
        lost.write_bytes(data[:-9] if how == "cut" else data + b"x")
    intact = 5 if was_seen else 1
    for number in (7, 8):
        incremental(tmp_path, number)
        answer = watching.round()
        assert (answer.id, answer.intact_id) == (number, intact)
        assert any(lost.name in problem for problem in answer.problems), answer.problems
    lost.write_bytes(data)
    incremental(tmp_path, 9)
    mended = watching.round()
    assert (mended.intact_id, mended.problems) == (9, ())


def test_problems_of_the_newest_checkpoint_stay_until_there_is_a_newer_one(tmp_path: Path) -> None:
    largest_file(incremental(tmp_path, 5), ".sst").unlink()
    watching = watch(tmp_path)
    first, again = watching.round(), watching.round()
    assert first.problems
    assert (again.measured, again.problems) == ((), first.problems)
    checkpoint(tmp_path, 6)
    assert watching.round().problems == ()


def test_damaged_metadata_is_a_problem_and_the_next_checkpoint_is_read(tmp_path: Path) -> None:
    watching = watched(tmp_path)
    checkpoint(tmp_path, 1)
    checkpoint(tmp_path, 3)
    (tmp_path / "chk-3" / "_metadata").write_bytes(b"no metadata at all")
    answer = watching.round()
    assert (answer.id, answer.intact_id) == (1, 1)
    assert "chk-3" in answer.problems[0]
    checkpoint(tmp_path, 40)
    assert watching.round().intact_id == 40


@pytest.mark.parametrize("is_read", [False, True])
def test_a_checkpoint_that_the_job_deletes_while_it_is_read_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_read: bool
) -> None:
    watching = watched(tmp_path)
    checkpoint(tmp_path, 1)
    doomed = incremental(tmp_path, 2)
    read = SnapshotDirectory.read_metadata

    def deleted(directory: SnapshotDirectory) -> bytes:
        # Flink deletes an older checkpoint at any time: before _metadata is read, or behind it.
        data = read(directory) if is_read else b""
        if directory.uri == str(doomed):
            shutil.rmtree(doomed)
            shutil.rmtree(tmp_path / "shared")
        return data or read(directory)

    monkeypatch.setattr(SnapshotDirectory, "read_metadata", deleted)
    answer = watching.round()
    assert (answer.id, answer.measured, answer.problems) == (1, (1,), ())


def test_tables_that_checkpoints_share_are_read_once(tmp_path: Path) -> None:
    watching = watch(tmp_path)
    incremental(tmp_path, 5)
    first = watching.round()
    assert first.read_size > 2 * first.metadata_size
    incremental(tmp_path, 6)
    second = watching.round()
    # Files that are beside _metadata are new; the job's timers are in tables.
    assert second.read_size < first.read_size / 4
    assert second.read_size <= second.new_size + second.metadata_size
    assert [it.size for it in second.states] == [it.size for it in first.states]


@pytest.mark.usefixtures("slow")
def test_a_thousand_rounds_take_no_more_memory_than_a_hundred(tmp_path: Path) -> None:
    """By day 120 rounds; each has a new checkpoint, the job restarts, and deletes its older ones."""
    rounds, warm = (1000, 100) if is_night() else (120, 40)
    watching = watched(tmp_path)
    answers = watching.rounds(every=0)
    before = 0
    tracemalloc.start()
    try:
        for number in range(1, rounds + 1):
            job = tmp_path / f"job-{number // 50}"
            checkpoint(job, number, keys=20 + number % 7)
            if number > 3:
                shutil.rmtree(tmp_path / f"job-{(number - 3) // 50}" / f"chk-{number - 3}")
            (answer,) = islice(answers, 1)
            assert (answer.id, answer.problems) == (number, ())
            if number == warm:
                gc.collect()
                before = tracemalloc.get_traced_memory()[0]
        gc.collect()
        # A point of a series has 100 bytes or so, up to 1,024 of them.
        assert tracemalloc.get_traced_memory()[0] - before < 300_000
    finally:
        tracemalloc.stop()
    assert len(watching.memory.files) < 10


def test_a_wrong_call_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="over is 5 checkpoints, expected 6 checkpoints or more"):
        watch(tmp_path, over=Span(checkpoints=5))
    with pytest.raises(SavepointNotFoundError, match="the path is empty"):
        watch("")
