"""``savepoint changes`` as a user calls it."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.changelog_jobs import put, registrations
from support.commands import lines, run
from support.hand_made import changelog, in_memory, operator_with
from support.kept_states import KeptState, savepoint_of_states
from support.longs_by_text import savepoint_of_longs

from savepoint_cli import STOPPED_CODE
from savepoint_extensions.change_feed import change_feed, feed_commands, feed_tables
from savepoint_formats.bytes import DataOutputView
from savepoint_formats.key_groups import OperatorId
from savepoint_formats.metadata import CheckpointMetadata

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ["operator", "state", "subtask", "key", "namespace", "map_key", "before", "after", "kind"]


@pytest.fixture
def chain(tmp_path: Path) -> Path:
    for number, totals in ((1, {"b": 2}), (2, {"b": 3, "c": 4}), (5, {"b": 3})):
        savepoint_of_longs(tmp_path / "job" / f"chk-{number}", totals)
    return tmp_path / "job"


def test_rows_have_typed_values(tmp_path: Path) -> None:
    old = {"k": KeptState(1, ("a", "a"), {"d": None}, panes={(0, 10): 3})}
    new = {"k": KeptState(1, ("a",), {"d": 3}, panes={(0, 10): 4})}
    before = savepoint_of_states(tmp_path / "before", old)
    after = savepoint_of_states(tmp_path / "after", new)
    rows = lines("changes", before, after, "--uid", "a")
    assert [[row[name] for name in feed_commands._NAMES] for row in rows] == [
        ["a", "names", None, "k", None, None, ["a", "a"], ["a"], "changed"],
        ["a", "by_day", None, "k", None, "d", None, 3, "changed"],
        ["a", "panes", None, "k", {"start": 0, "end": 10}, None, 3, 4, "changed"],
    ]
    assert list(rows[0]) == NAMES == change_feed.ALL.names
    (row,) = lines("changes", before, after, "--uid", "a", "--state", "panes")
    assert row["state"] == "panes"


def test_a_name_with_half_a_surrogate_pair_is_escaped(tmp_path: Path) -> None:
    """Java writes such a text; UTF-8 has none."""
    before, after = (
        savepoint_of_longs(tmp_path / str(total), {"b": total}, state="to\ud800tal")
        for total in (2, 3)
    )
    (row,) = lines("changes", before, after, "--uid", "a", "--state", r"to\ud800tal")
    assert (row["state"], row["before"], row["after"]) == (r"to\ud800tal", 2, 3)
    for words in ((), ("--full",)):
        code, text = run("diff", before, after, "--changes", *words)
        assert code == 3
        assert text.splitlines()[0].split("\t")[-1] == r"to\ud800tal"


def test_both_are_opened_with_the_same_options(tmp_path: Path) -> None:
    """No file of a changelog says which type its keys have."""
    paths = [tmp_path / "before", tmp_path / "after"]
    for total, path in enumerate(paths):
        records = [registrations()[0], put("a", total)]
        operator = operator_with(changelog(in_memory(records)))
        view = DataOutputView()
        CheckpointMetadata.new((replace(operator, operator_id=OperatorId.from_uid("a")),)).write(
            view
        )
        path.mkdir()
        (path / "_metadata").write_bytes(view.to_bytes())
    (row,) = lines("changes", *paths, "--uid", "a", "--key-type", "a=STRING")
    assert (row["key"], row["before"], row["after"]) == ("a", 0, 1)


def test_programs_get_one_table_of_all_checkpoints(chain: Path) -> None:
    code, text = run("changes", chain, "--uid", "a")
    assert code == 0
    assert [line.split("\t") for line in text.splitlines()] == [
        ["checkpoint", *NAMES],
        ["2", "a", "total", *["null", "c", "null", "null", "null", "4", "added"]],
        ["2", "a", "total", *["null", "b", "null", "null", "2", "3", "changed"]],
        ["5", "a", "total", *["null", "c", "null", "null", "4", "null", "removed"]],
    ]
    rows = lines("changes", chain, "--since", "2", "--uid", "a")
    assert [(row["checkpoint"], row["key"], row["kind"]) for row in rows] == [(5, "c", "removed")]


def test_people_get_a_table_per_checkpoint_without_empty_columns(chain: Path) -> None:
    code, text = run("changes", chain, "--uid", "a", "--output", "vertical")
    assert code == 0
    assert "Changes from checkpoint 1 to 2" in text
    assert "Changes from checkpoint 2 to 5" in text
    assert "namespace" not in text


def test_a_checkpoint_that_is_gone_is_an_error_or_skipped(chain: Path) -> None:
    shutil.rmtree(chain / "chk-1")
    code, text = run("changes", chain, "--since", "1")
    assert code == 1
    assert "checkpoint 1 is gone" in text
    code, text = run("changes", chain, "--since", "1", "--skip-gone", "--uid", "a")
    assert code == 0
    assert "Changes from checkpoint 1 to 2: checkpoint 1 is gone" in text
    assert "removed" in text


def test_wrong_calls_are_told(chain: Path) -> None:
    for words, message in (
        ((chain / "chk-1", chain / "chk-2", "--follow"), "--follow and --since need a directory"),
        ((chain, "--since", "soon"), "expected the id of a checkpoint"),
        ((chain, "--since", "99"), "has no checkpoint 99; its newest one is 5"),
        ((chain / "chk-1",), "has no checkpoints"),
        ((chain, "--follow", "--every", "0s"), "expected a time such as 10s"),
    ):
        code, text = run("changes", *words)
        assert code in (1, 2), text
        assert message in text
    assert feed_tables.Wanted().new_types == "refuse"


@pytest.mark.usefixtures("slow")
def test_a_job_is_followed_until_the_command_is_stopped(chain: Path) -> None:
    words = ["changes", str(chain), "--follow", "--every", "100ms", "--output", "json"]
    program = [sys.executable, "-c", "from savepoint_cli.start import main; main()", *words]
    is_read = threading.Event()

    def work() -> None:
        """A job that makes checkpoints until the test has read a change."""
        for number in range(6, 300):
            new = savepoint_of_longs(chain / f".chk-{number}", {"b": number})
            new.rename(chain / f"chk-{number}")
            if is_read.wait(0.2):
                return

    job = threading.Thread(target=work)
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        job.start()
        rows = [json.loads(process.stdout.readline()) for _ in range(3)]
        process.send_signal(signal.SIGINT)
        is_read.set()
        assert process.wait(30) == STOPPED_CODE
    job.join()
    first = rows[0]["checkpoint"]
    assert [(row["checkpoint"], row["before"], row["after"]) for row in rows] == [
        (number, 3 if number == 6 else number - 1, number) for number in range(first, first + 3)
    ]
