"""``savepoint sinks``: pending commits and writers' states, and savepoints without them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.commands import run
from support.kafka_states import COLLECTORS, WRITERS, bytes_savepoint

if TYPE_CHECKING:
    from pathlib import Path

UIDS = ("--uid", "sink", "--uid", "committer")


@pytest.fixture
def job(tmp_path: Path) -> Path:
    return bytes_savepoint(
        tmp_path / "job",
        {
            "sink": {"writer_raw_states": [WRITERS["3.4.0-1.20"]]},
            "committer": {"streaming_committer_raw_states": list(COLLECTORS.values())},
        },
    )


def entries(path: Path) -> list[dict[str, object]]:
    code, text = run("sinks", path, *UIDS, "--output", "json")
    assert code == 0
    answer: list[dict[str, object]] = json.loads(text)["entries"]
    return answer


def test_a_table_for_people_and_json_for_programs(job: Path) -> None:
    code, text = run("sinks", job, *UIDS)
    assert code == 0
    assert "transactional_id=prefix-0-1" in text
    assert [entry["kind"] for entry in entries(job)].count("commit") == 2


def test_dropped_commits_are_told_and_saved(job: Path, tmp_path: Path) -> None:
    out, saved = tmp_path / "out", tmp_path / "dropped.jsonl"
    drop = ("sinks", job, *UIDS, "--drop", "kind = 'commit'", "--out", out, "--save", saved)
    code, text = run(*drop, "--dry-run")
    assert code == 0
    assert not out.exists()
    assert not saved.exists()
    code, text = run(*drop)
    assert code == 0
    assert text.count("drop commit") == 2
    lines = [json.loads(line) for line in saved.read_text().splitlines()]
    assert lines == [entry for entry in entries(job) if entry["kind"] == "commit"]
    assert [entry["kind"] for entry in entries(out)] == ["writer"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--drop", "all"), "a change needs OUT"),
        (("--out", "x"), "OUT needs a change"),
        (("--renumber", "3", "--out", "x", "--save", "y"), "--save needs --drop or --keep"),
        (("--drop", "all", "--keep", "all", "--out", "x"), "both drop and keep"),
        (("--drop", "chekpoint = 3", "--out", "x"), "did you mean 'checkpoint'"),
    ],
)
def test_wrong_calls_are_told_in_a_line(job: Path, options: tuple[str, ...], message: str) -> None:
    code, text = run("sinks", job, *UIDS, *options)
    assert code == 2
    assert message in " ".join(text.split())
