"""Tables that are kept as Parquet: the same rows, converted once, and never those of another savepoint."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from savepoint_database.sql import SqlDatabase, TableCache
from state_processor import QueryError, Savepoint

if TYPE_CHECKING:
    from pathlib import Path

STATES = "states-2.2.1-rocksdb-native"
QUESTIONS = (
    "SELECT * FROM stateful.keyed_state ORDER BY key",
    "SELECT key, by_currency['EUR'], customer FROM stateful.keyed_state WHERE last_id > 230 ORDER BY ALL",
    "SELECT count(*), max(timestamp) FROM stateful.timers WHERE key = 'customer-001'",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "new" / "cache"


@pytest.mark.parametrize("question", QUESTIONS)
def test_rows_are_the_same_with_and_without_it(samples: Path, folder: Path, question: str) -> None:
    savepoint = Savepoint.open(samples / STATES)
    expected = savepoint.sql(question)
    for _ in range(2):
        assert savepoint.sql(question, cache=folder).equals(expected)


def test_a_table_is_converted_once_and_that_is_told(samples: Path, folder: Path) -> None:
    told: list[str] = []
    cache = TableCache(str(folder), told.append)
    for question in (*QUESTIONS, *QUESTIONS):
        with SqlDatabase(Savepoint.open(samples / STATES), cache=cache) as database:
            database.query(question).read_all()
    assert [line.split()[0] for line in told] == ["stateful.keyed_state", "stateful.timers"]
    assert len(list(folder.iterdir())) == 2


def test_another_savepoint_at_the_same_path_is_read_anew(
    samples: Path, folder: Path, tmp_path: Path
) -> None:
    path = tmp_path / "savepoint"
    counts = []
    for name in ("windows-2.2.1-hashmap-native", "windows-2.2.1-rocksdb-canonical"):
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(samples / name, path)
        Savepoint.open(path).sql('SELECT * FROM "session".window_state', cache=folder)
        counts.append(len(list(folder.iterdir())))
    assert counts == [1, 2]


def test_a_table_is_cached_for_the_metadata_that_was_opened(
    samples: Path, folder: Path, tmp_path: Path
) -> None:
    path = tmp_path / "savepoint"
    shutil.copytree(samples / "windows-2.2.1-hashmap-native", path)
    opened = Savepoint.open(path)
    shutil.copy(samples / "windows-2.2.1-rocksdb-canonical" / "_metadata", path)
    question = 'SELECT count(*) FROM "session".window_state'
    opened.sql(question, cache=folder)
    Savepoint.open(samples / "windows-2.2.1-hashmap-native").sql(question, cache=folder)
    assert len(list(folder.iterdir())) == 1


def test_another_form_of_times_is_another_file(samples: Path, folder: Path) -> None:
    savepoint, question = (
        Savepoint.open(samples / STATES),
        "SELECT max(timestamp) AS t FROM stateful.timers",
    )
    kinds = [
        str(savepoint.sql(question, times=times, cache=folder).schema.field("t").type)
        for times in ("numbers", "dates", "numbers")
    ]
    assert kinds[0] == kinds[2] == "int64"
    assert kinds[1].startswith("timestamp")
    assert len(list(folder.iterdir())) == 2


def test_a_query_reads_no_other_file_of_the_folder(samples: Path, folder: Path) -> None:
    savepoint = Savepoint.open(samples / STATES)
    savepoint.sql(QUESTIONS[0], cache=folder)
    (file,) = folder.iterdir()
    with pytest.raises(QueryError, match="disabled"):
        savepoint.sql(f"FROM read_parquet('{file}')", cache=folder)
