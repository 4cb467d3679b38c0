"""Processes that answer pages: a deadline ends the work, whatever it waits for."""

from __future__ import annotations

import os
import shutil
import signal
import socket
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.planted_modules import planted, ran

from savepoint_extensions.serving.pages import Pages, Question
from savepoint_extensions.serving.workers import NoAnswerError, OverdueError, Task, Workers

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.usefixtures("slow")

SAMPLE = "currency-2.2.1-hashmap-canonical"
TABLE = "table=summarize.keyed_state"
ENDLESS = "q=SELECT count(*) FROM range(10000000) a, range(10000000) b"
BIG = "q=SELECT repeat('x', 400000000) AS text"
STREAM = "q=SELECT range AS n, repeat('x', 300) AS text FROM range(10000000000)&page=100000000"
SETTINGS: dict[str, object] = {
    **dict.fromkeys(("uids", "kryo_classes", "allow_paths"), ()),
    "strict_paths": False,
    "key_types": {},
    "plan": None,
    "types": None,
}


def workers_of(path: Path | str, seconds: int) -> Workers:
    return Workers(Task(Pages({"s": str(path)}, SETTINGS, "50%"), seconds))


def children() -> set[int]:
    """Processes that any thread of this process has begun."""
    lists = Path("/proc/self/task").glob("*/children")
    return {int(number) for listed in lists for number in listed.read_text().split()}


@pytest.fixture
def silent() -> Iterator[str]:
    """A savepoint in a store that accepts connections, and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as store:
        port = store.getsockname()[1]
        yield f"s3://key:secret@jobs/sp?endpoint_override=127.0.0.1:{port}&scheme=http&region=x"


@pytest.mark.parametrize(
    ("view", "query", "form"),
    [
        ("sql", ENDLESS, "html"),
        ("sql", STREAM, "html"),
        ("sql", STREAM, "csv"),
        ("sql", BIG, "html"),
    ],
)
def test_work_that_takes_too_long_is_ended_with_its_process(
    samples: Path, tmp_path: Path, view: str, query: str, form: str
) -> None:
    # Spark may run as a child of this process, too.
    others = children()
    with closing(workers_of(samples / SAMPLE, 2)) as workers:
        begun = children() - others
        with pytest.raises(OverdueError, match="no answer within 2 s: ask about one table, "):
            workers.answer(Question("", "s", view, query, form, str(tmp_path)))
        assert begun
        assert not begun & children()
        # Another process has the next answer.
        assert workers.answer(Question("", "s", "verify")).status == 200


@pytest.mark.parametrize("view", ["", "verify", "key"])
def test_views_that_wait_for_a_store_are_ended(silent: str, view: str) -> None:
    others = children()
    with closing(workers_of(silent, 1)) as workers:
        begun = children() - others
        with pytest.raises(OverdueError, match="or start savepoint serve with more --seconds"):
            workers.answer(Question("", "s", view, "depth=deep&key=1"))
        assert begun
        assert not begun & children()


def test_a_process_answers_one_question_after_the_other(samples: Path) -> None:
    others = children()
    with closing(workers_of(samples / SAMPLE, 60)) as workers:
        begun = children() - others
        for _ in range(2):
            answer = workers.answer(Question("", "s", "table", TABLE))
            assert (answer.status, "<td>" in answer.text) == (200, True)
        assert len(begun) == 1
        assert children() - others == begun


def test_a_process_that_dies_is_told_and_replaced(samples: Path) -> None:
    others = children()
    with closing(workers_of(samples / SAMPLE, 60)) as workers:
        (process,) = children() - others
        os.kill(process, signal.SIGKILL)
        with pytest.raises(NoAnswerError, match="has ended with code -9"):
            workers.answer(Question("", "s"))
        assert workers.answer(Question("", "s")).status == 200
    assert not children() - others


def test_no_module_of_the_current_directory_is_imported(
    samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = planted(tmp_path / "stranger", samples / SAMPLE)
    monkeypatch.chdir(folder)
    with closing(workers_of(folder, 60)) as workers:
        assert workers.answer(Question("", "s")).status == 200
    assert ran(folder) == {}


def test_a_savepoint_that_is_gone_is_a_page_that_says_so(samples: Path, tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    shutil.copytree(samples / SAMPLE, folder)
    with closing(workers_of(folder, 60)) as workers:
        shutil.rmtree(folder)
        answer = workers.answer(Question("", "s"))
    assert answer.status == 400
    assert "gone does not exist" in answer.text
