"""The table function ``changes`` in queries: the changes as the feed has them, if queries may read files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.kept_states import KeptState, savepoint_of_states

from savepoint_extensions.change_feed import sql_function
from savepoint_formats.errors import QueryError, SavepointNotFoundError, StateNotFoundError
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

KEYS = [
    {"k": KeptState(1, ("a", "a"), {"d": None})},
    {"k": KeptState(1, ("a",), {"d": 3}), "l": KeptState(5)},
    {"l": KeptState(6)},
]


@pytest.fixture
def paths(tmp_path: Path) -> list[Path]:
    return [savepoint_of_states(tmp_path / str(place), keys) for place, keys in enumerate(KEYS)]


def test_a_query_reads_changes_like_a_table(paths: list[Path]) -> None:
    first, second, third = (Savepoint.open(path, uids=["a"]) for path in paths)
    whole = first.sql(f"FROM changes('{paths[1]}')", allow_files=True)
    assert whole.to_pylist() == first.changes(second).to_arrow().to_pylist()
    typed = first.sql(
        f"FROM changes('{paths[1]}', '{paths[2]}', state := 'a.total') ORDER BY key",
        allow_files=True,
    )
    expected = second.changes(third).to_arrow("a.total").sort_by("key")
    assert typed.to_pylist() == expected.to_pylist()
    both = first.sql(
        f"SELECT count(*) AS rows FROM changes('{paths[1]}') JOIN changes('{paths[2]}') USING (key)"
        " JOIN a.keyed_state USING (key)",
        allow_files=True,
    )
    joined = [len(first.changes(it, state=None).to_arrow()) for it in (second, third)]
    assert joined[0] > 0
    assert joined[1] > 0
    of_k = [
        sum(row["key"] == "k" for row in first.changes(it).to_arrow().to_pylist())
        for it in (second, third)
    ]
    assert both.to_pylist() == [{"rows": of_k[0] * of_k[1]}]


def test_paths_that_differ_by_case_are_others_and_may_have_quotes(tmp_path: Path) -> None:
    names = ("old", "new", "NEW", 'N"E.W', "N'E W")
    keys = {
        "a": KeptState(1),
        "b": KeptState(2),
        "c": KeptState(3),
        "d": KeptState(4),
        "e": KeptState(5),
    }
    for count, name in enumerate(names, 1):
        some = dict(list(keys.items())[:count])
        savepoint_of_states(tmp_path / name, some)
    old = Savepoint.open(tmp_path / "old")
    counts = (
        "(SELECT count(*) FROM changes('{}')) AS c{}".format(
            str(tmp_path / it).replace("'", "''"), at
        )
        for at, it in enumerate(names)
    )
    row = old.sql(f"SELECT {', '.join(counts)}", allow_files=True).to_pylist()[0]
    assert list(row.values()) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("query", "error", "message"),
    [
        ("FROM changes(3)", QueryError, "a wrong call of changes, expected"),
        ("FROM changes('{}', whence := 'x')", QueryError, "a wrong call of changes"),
        ("FROM changes()", QueryError, "changes without a savepoint"),
        ("FROM changes('{}-gone')", SavepointNotFoundError, "does not exist"),
        ("FROM changes('{}', state := 'a.x')", StateNotFoundError, r"no state 'a\.x'"),
    ],
)
def test_a_wrong_call_is_an_error(
    paths: list[Path], query: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        Savepoint.open(paths[0], uids=["a"]).sql(query.format(paths[1]), allow_files=True)


def test_a_query_that_may_read_no_files_gets_no_changes(paths: list[Path]) -> None:
    assert sql_function.__doc__
    with pytest.raises(QueryError, match=r"reads other savepoints .*allow_files=True"):
        Savepoint.open(paths[0], uids=["a"]).sql(f"FROM changes('{paths[1]}')")
