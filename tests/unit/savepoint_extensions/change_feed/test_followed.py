"""A job is followed while it makes checkpoints and deletes old ones."""

from __future__ import annotations

import shutil
import threading
from typing import TYPE_CHECKING

import pytest
from support.kept_states import KeptState, savepoint_of_states
from support.longs_by_text import savepoint_of_longs
from support.s3_server import S3Server

from savepoint_extensions.change_feed.followed import follow_changes
from savepoint_formats.errors import StateFileNotFoundError, StateNotFoundError, UsageError
from state_processor import CheckpointChanges, GoneCheckpointError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def chain(tmp_path: Path) -> Path:
    for number, totals in ((1, {"a": 1, "b": 2}), (2, {"a": 1, "b": 3, "c": 4}), (5, {"b": 3})):
        savepoint_of_longs(tmp_path / "job" / f"chk-{number}", totals)
    return tmp_path / "job"


def kinds(changes: CheckpointChanges) -> dict[str, str]:
    rows = (row for batch in changes.batches() for row in batch.to_pylist())
    return {row["key"]: row["kind"] for row in rows}


def test_each_checkpoint_has_the_changes_since_the_one_before(chain: Path) -> None:
    steps = [(it.since, it.checkpoint, kinds(it)) for it in follow_changes(chain)]
    assert steps == [
        (1, 2, {"b": "changed", "c": "added"}),
        (2, 5, {"a": "removed", "c": "removed"}),
    ]
    assert [(it.since, it.checkpoint) for it in follow_changes(chain, since=2)] == [(2, 5)]
    assert list(follow_changes(chain, since="newest")) == []


def test_what_was_read_stays_although_its_checkpoint_is_deleted(chain: Path) -> None:
    steps = follow_changes(chain)
    first = next(steps)
    shutil.rmtree(chain / "chk-1")
    shutil.rmtree(chain / "chk-2")
    assert kinds(first) == {"b": "changed", "c": "added"}
    with pytest.raises(GoneCheckpointError, match="checkpoint 2 is gone"):
        next(steps)


def test_a_checkpoint_that_is_gone_can_be_skipped(chain: Path) -> None:
    steps = follow_changes(chain, skip_gone=True)
    next(steps)
    shutil.rmtree(chain / "chk-2")
    savepoint_of_longs(chain / "chk-6", {"b": 4})
    second, third = steps
    assert (second.since, second.checkpoint, kinds(second)) == (2, 5, {})
    assert "from checkpoint 2 to 5 are unknown" in second.problem
    assert (third.since, third.checkpoint, kinds(third)) == (5, 6, {"b": "changed"})


def test_a_lost_file_of_a_checkpoint_that_is_there_is_no_deletion(
    samples: Path, tmp_path: Path
) -> None:
    """It is damage, which ``skip_gone`` must not hide."""
    for number in (1, 2):
        shutil.copytree(samples / "currency-1.20.5-rocksdb-native", tmp_path / f"chk-{number}")
    files = [path for path in tmp_path.glob("chk-2/*") if len(path.name) == 36]
    assert len(files) > 1
    for path in files:
        path.unlink()
    with pytest.raises(StateFileNotFoundError):
        list(follow_changes(tmp_path, skip_gone=True))


def test_it_waits_for_new_checkpoints(chain: Path) -> None:
    """Another process makes them, and deletes each before the last two."""
    steps = follow_changes(chain, since="newest", every=0.05)
    last, seen = {"b": 3}, []
    for number in range(6, 12):
        last = {**last, f"k{number}": number}
        path = savepoint_of_longs(chain / f".chk-{number}", last)
        threading.Timer(0.1, path.rename, [chain / f"chk-{number}"]).start()
        changes = next(steps)
        seen.append((changes.since, changes.checkpoint, kinds(changes)))
        shutil.rmtree(chain / f"chk-{changes.since}")
    assert seen == [(number - 1, number, {f"k{number}": "added"}) for number in range(6, 12)]


def test_a_job_on_s3_is_followed(server: S3Server, chain: Path) -> None:
    bucket = server.bucket("followed")

    def upload(folder: str) -> None:
        data = (chain / folder / "_metadata").read_bytes()
        server.client.put_object(Bucket=bucket, Key=f"job/{folder}/_metadata", Body=data)

    upload("chk-1")
    upload("chk-2")
    uri = f"s3://{bucket}/job?endpoint_override={server.address}&scheme=http&region=us-east-1"
    steps = follow_changes(uri, every=0.05)
    assert kinds(next(steps)) == {"b": "changed", "c": "added"}
    upload("chk-5")
    assert kinds(next(steps)) == {"a": "removed", "c": "removed"}
    server.client.delete_object(Bucket=bucket, Key="job/chk-5/_metadata")
    savepoint_of_longs(chain / "chk-6", {"b": 4})
    upload("chk-6")
    with pytest.raises(GoneCheckpointError, match="checkpoint 5 is gone"):
        next(steps)


@pytest.mark.parametrize("skips", [False, True])
def test_a_job_that_begins_anew_in_its_directory_is_not_waited_for(
    chain: Path, skips: bool
) -> None:
    """Without the state of its high availability, a job counts its checkpoints from 1 again."""
    steps = follow_changes(chain, since=2, skip_gone=skips, every=0.05)
    next(steps)
    shutil.rmtree(chain)
    savepoint_of_longs(chain / "chk-1", {"a": 1})
    if not skips:
        with pytest.raises(
            GoneCheckpointError, match=r"checkpoint 5 is gone, .* 5 to 1 are unknown"
        ):
            next(steps)
        return
    assert "checkpoint 5 is gone" in next(steps).problem
    savepoint_of_longs(chain / "chk-2", {"a": 2})
    assert kinds(next(steps)) == {"a": "changed"}


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with S3Server.running() as running:
        yield running


def test_wrong_calls_are_errors(chain: Path) -> None:
    with pytest.raises(UsageError, match="no checkpoint 7; its newest one is 5"):
        next(follow_changes(chain, since=7))
    with pytest.raises(ValueError, match="since is 'now', expected"):
        next(follow_changes(chain, since="now"))  # type: ignore[arg-type]
    with pytest.raises(StateNotFoundError, match="no state 'tota'"):
        next(follow_changes(chain, state="tota"))


def test_nothing_to_compare_is_no_silent_success(tmp_path: Path) -> None:
    (tmp_path / "chk-3").mkdir()
    with pytest.raises(UsageError, match="has no complete checkpoint yet"):
        next(follow_changes(tmp_path, since=2))


def test_states_that_take_turns_have_files_of_their_own(tmp_path: Path) -> None:
    """A range of key groups after another has all states of its keys."""
    old = {f"key {number}": KeptState(1, ("x",)) for number in range(300)}
    new = {f"key {number}": KeptState(2, ("y",)) for number in range(300)}
    savepoint_of_states(tmp_path / "chk-1", old)
    savepoint_of_states(tmp_path / "chk-2", new)
    (changes,) = follow_changes(tmp_path)
    states = [state.state for state, _ in changes.by_state()]
    assert states == ["total", "names"]
    assert sum(len(batch) for batch in changes.batches()) == 600


def test_files_of_changes_go_when_they_are_closed(
    chain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    aside = tmp_path / "aside"
    aside.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(aside))
    kept = []
    for changes in follow_changes(chain):
        kept.append(changes)
        assert list(aside.rglob("*.arrow"))
        changes.close()
        assert not list(aside.iterdir())
    assert kept
