"""A committer's state: read as Flink wrote it, written with fewer commits."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest
from support.kafka_states import COLLECTORS, COMMITTABLE

from savepoint_extensions.connectors.kafka.versioned import Versioned
from savepoint_extensions.connectors.sinks.committer_state import (
    END_OF_INPUT,
    CheckpointCommits,
    CommitRequest,
    CommitterState,
    RequestState,
    SubtaskCommits,
)
from savepoint_formats.errors import FormatError, UnsupportedVersionError

_BODY = Versioned.whole(COMMITTABLE, "committable").data
# Version 1: a magic number, then a list of committables.
LEGACY = struct.pack(">iIIiii", 1, 4 + 12 + len(_BODY), 0xB91F252C, 1, 1, len(_BODY)) + _BODY


def request(text: str, state: RequestState = RequestState.RECEIVED) -> CommitRequest:
    return CommitRequest(Versioned(1, text.encode()), 0, state)


def subtask(number: int, *texts: str, version: int = 2) -> SubtaskCommits:
    requests = tuple(map(request, texts))
    drained = None if version == 2 else 0
    return SubtaskCommits(
        number if version else None, requests, 0, len(texts) + 3, drained, failed=3
    )


STATE = CommitterState(
    (
        CheckpointCommits(7, 2, (subtask(0, "a", "b"), subtask(1, "c")), 2),
        CheckpointCommits(8, 2, (subtask(0, "d"), subtask(1)), 2),
        CheckpointCommits(END_OF_INPUT, 2, (subtask(0, "e"), subtask(1)), 2),
    ),
    1,
)


def texts(state: CommitterState) -> list[str]:
    return [commit.committable.data.decode() for commit in state.commits()]


@pytest.mark.parametrize("release", list(COLLECTORS))
def test_the_state_of_each_release_is_read_and_written_again(release: str) -> None:
    state = CommitterState.of(COLLECTORS[release], "state")
    (commit,) = state.commits()
    assert (commit.checkpoint_id, commit.subtask, commit.retries) == (1, 0, 0)
    assert commit.state is RequestState.RECEIVED
    assert commit.committable == Versioned.whole(COMMITTABLE, "committable")
    assert state.to_bytes() == COLLECTORS[release]


def test_the_state_of_a_sink_of_flink_1_14() -> None:
    state = CommitterState.of(LEGACY, "state")
    (commit,) = state.commits()
    assert commit.committable == Versioned(1, _BODY)
    assert (commit.checkpoint_id, commit.subtask, commit.state) == (None, None, None)
    assert state.to_bytes() == LEGACY
    assert not list(CommitterState.of(state.kept(lambda _: False).to_bytes(), "x").commits())


@pytest.mark.parametrize("version", [0, 1, 2])
def test_each_version_of_subtasks_is_written_as_it_was(version: int) -> None:
    checkpoint = CheckpointCommits(7, None, (subtask(3, "a", version=version),), version)
    state = CommitterState((checkpoint,), 0)
    assert CommitterState.of(state.to_bytes(), "state") == state


def test_commits_go_and_their_subtasks_stay() -> None:
    kept = STATE.kept(lambda number: number in (0, 3))
    assert texts(kept) == ["a", "d"]
    first, second = kept.checkpoints
    # Flink waits for as many committables as these numbers say.
    assert [one.committables for one in first.subtasks] == [4, 3]
    assert [one.committables for one in second.subtasks] == [4, 3]
    assert CommitterState.of(kept.to_bytes(), "state") == kept


def test_a_checkpoint_goes_with_its_last_commit() -> None:
    kept = STATE.kept(lambda number: number != 3)
    assert [checkpoint.checkpoint_id for checkpoint in kept.checkpoints] == [7, END_OF_INPUT]
    assert STATE.kept(lambda _: True) == STATE
    empty = CheckpointCommits(9, 2, (subtask(0), subtask(1)), 2)
    kept = replace(STATE, checkpoints=(*STATE.checkpoints, empty)).kept(lambda _: False)
    assert kept.checkpoints == (empty,)


def test_checkpoints_get_other_ids_and_the_end_of_the_input_keeps_its_own() -> None:
    ids = [checkpoint.checkpoint_id for checkpoint in STATE.renumbered(-5).checkpoints]
    assert ids == [2, 3, END_OF_INPUT]


@pytest.mark.parametrize("size", range(0, len(COLLECTORS["4.0.1-2.0"]), 7))
def test_what_is_cut_or_longer_is_an_error(size: int) -> None:
    for whole in (COLLECTORS["4.0.1-2.0"], LEGACY):
        with pytest.raises(FormatError):
            CommitterState.of(whole[: min(size, len(whole) - 1)], "cut")
        with pytest.raises(FormatError):
            CommitterState.of(whole + b"\0", "longer")


def test_unknown_versions_and_states_are_errors() -> None:
    state = COLLECTORS["4.0.1-2.0"]
    with pytest.raises(UnsupportedVersionError):
        CommitterState.of(b"\0\0\0\x07" + state[4:], "unknown")
    with pytest.raises(FormatError, match="B91F252C"):
        CommitterState.of(state[:8] + b"\0\0\0\0" + state[12:], "magic")
    wrong = CommitRequest(Versioned(1, b""), 0, RequestState.COMMITTED).to_bytes()[:-1] + b"\x04"
    with pytest.raises(FormatError, match="state 4"):
        CommitRequest.whole(wrong, "request")
