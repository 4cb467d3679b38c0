"""The commands for those who look after a job, as a user calls them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.commands import lines, run
from support.sample_rows import Sample, copy_of, file_of

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def states(samples: Path) -> Path:
    return samples / "states-2.2.1-hashmap-canonical"


def test_stats_is_one_json_object(states: Path) -> None:
    (told,) = lines("stats", states, "--at", "2030-01-01T00:00:00Z", "--ttl", "recent_memo=1d")
    assert told["at"] == "2030-01-01 00:00:00.000Z"
    by_name = {state["state"]: state for state in told["states"]}
    assert by_name["by_currency"]["entries"] == 93
    assert by_name["by_currency"]["items"]["total"] == 93
    assert by_name["last_id"]["sizes"]["max"] == by_name["last_id"]["sizes"]["p99"] > 0
    assert by_name["recent_memo"]["expired_share"] == 1
    assert {timers["overdue"] for timers in told["timers"]} == {0, None}
    assert told["skew"][0]["over"] == "key groups"
    assert len(told["largest_keys"]) == 10
    assert told["problems"] == []


def test_stats_of_a_table_shows_tables_to_people(states: Path) -> None:
    code, output = run("stats", states, "stateful.timers", "--top", "1", "--key-groups")
    assert code == 0
    for fact in ("EVENT_TIME", "54", "Key groups", "xxxx"):
        assert fact in output
    assert "by_currency" not in output


def test_stats_of_what_cannot_be_read_is_exit_code_1(tmp_path: Path) -> None:
    savepoint = copy_of(Sample("states-2.2.1-hashmap-canonical"), tmp_path)
    file_of(savepoint, "stateful 0: keyed state").unlink()
    code, output = run("stats", savepoint.path)
    assert code == 1
    assert "does not exist" in output
    assert "buffer" in output


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--at", "noon", "'noon' is no time such as 2026-01-31T12:00:00Z"),
        ("--ttl", "7d", "expected a state and a time, such as sessions=7d"),
        ("--ttl", "recent_memo=7 moons", "expected a duration such as 10 s"),
    ],
)
def test_options_of_stats_that_say_nothing_are_refused(
    states: Path, option: str, value: str, message: str
) -> None:
    code, output = run("stats", states, option, value)
    assert code == 2
    assert message in " ".join(output.split())


def test_key_shows_states_and_timers_of_one_key(states: Path) -> None:
    code, output = run("key", states, "customer-001")
    assert code == 0
    for fact in ("stateful.keyed_state", "stateful.timers", "customer-001", "EVENT_TIME"):
        assert fact in output
    assert "customer-002" not in output
    told = lines("key", states, "customer-001", "--operator", "stateful")
    assert {line["table"] for line in told} == {"keyed_state", "timers"}
    assert {line["row"]["key"] for line in told} == {"customer-001"}
    assert {line["operator"] for line in told} == {"stateful"}


def test_a_key_that_nobody_has_is_exit_code_3(states: Path) -> None:
    code, output = run("key", states, "nobody")
    assert (code, output) == (3, "no operator has the key nobody\n")


def test_snapshots_lists_what_is_below_a_directory(samples: Path, tmp_path: Path) -> None:
    folder = samples / "states-2.2.1-rocksdb-incremental"
    (told,) = lines("snapshots", folder)
    assert (told["id"], told["kind"], told["is_complete"]) == (2, "checkpoint", True)
    code, output = run("snapshots", folder)
    # A long path is folded, wherever that is.
    assert (code, "checkpoint" in output) == (0, True)
    code, output = run("snapshots", tmp_path)
    assert (code, "none" in output) == (3, True)


def test_of_a_directory_of_checkpoints_the_newest_is_read(samples: Path) -> None:
    folder = samples / "states-2.2.1-rocksdb-incremental"
    code, output = run("list", folder)
    assert code == 0
    assert "Warning: " in output
    assert "chk-2 is read, the newest complete snapshot of 1" in output


def test_schema_prints_a_text_to_copy(states: Path) -> None:
    code, output = run("schema", states, "stateful.keyed_state", "--format", "ddl")
    assert code == 0
    assert "CREATE TABLE state_table (" in output
    (told,) = lines("schema", states, "stateful.keyed_state", "--format", "spark")
    assert told["text"].startswith("key: STRING, ")
    code, output = run("schema", states, "--format", "ddl")
    assert (code, "--format needs a TABLE" in output) == (2, True)


def test_history_shows_a_key_in_each_snapshot(samples: Path) -> None:
    folder = samples / "states-2.2.1-rocksdb-incremental"
    (told,) = lines("history", folder, "stateful.timers", "--key", "customer-001")
    assert (told["id"], len(told["rows"]), told["problem"]) == (2, 6, "")
    code, output = run("history", folder, "stateful.timers", "--key", "customer-001", "--changes")
    assert (code, "PROCESSING_TIME" in output) == (0, True)
    code, output = run("history", folder, "stateful.timers", "--key", "nobody")
    assert (code, "none" in output) == (3, True)


@pytest.mark.usefixtures("slow")
def test_a_page_takes_the_place_of_another_as_a_whole(states: Path, tmp_path: Path) -> None:
    code, output = run("stats", states, "--html", tmp_path / "nowhere" / "report.html")
    assert (code, "report.html can't be written" in output) == (1, True)
    file, before = tmp_path / "report.html", tmp_path / "before.html"
    file.write_text("mine")
    before.hardlink_to(file)
    code, output = run("stats", states, "--html", file)
    assert (code, output) == (0, f"path\t{file}\nsize\t{file.stat().st_size}\n")
    assert before.read_text() == "mine", "nothing was written over what somebody may be reading"
    assert file.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert set(tmp_path.iterdir()) == {file, before}


@pytest.mark.usefixtures("slow")
def test_stats_writes_a_page(states: Path, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    code, output = run("stats", states, "--html", file)
    assert (code, str(file) in output) == (0, True)
    text = file.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert "canonical savepoint" in text
