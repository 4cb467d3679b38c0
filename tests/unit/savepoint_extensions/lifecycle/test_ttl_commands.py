"""``set-ttl`` and ``expire`` as a user calls them, as far as they need no Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.commands import result_of
from support.each import each

from savepoint_extensions.lifecycle import ttl_commands

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def states(samples: Path) -> Path:
    return samples / "states-2.2.1-rocksdb-native"


@pytest.mark.parametrize(
    "words", [("set-ttl", "stateful", "memos", "on"), ("expire", "stateful", "--older-than", "7d")]
)
def test_a_dry_run_reads_and_encodes(states: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    out, (command, *rest) = tmp_path / "out", words
    place = 1 if "--older-than" in rest else len(rest)
    rest.insert(place, str(out))
    result = result_of(command, states, *rest, "--dry-run", "--uid", "stateful")
    assert result.exit_code == 0, result.output
    assert not out.exists()


@each(
    ("words", "message"),
    [
        (("set-ttl", "stateful", "memos", "off"), "state 'memos' has no time to live already"),
        (("set-ttl", "stateful", "recent_memo", "on"), "has a time to live already"),
        (("set-ttl", "stateful", "memo", "on"), "has no state 'memo'"),
        (("set-ttl", "stateful", "memos", "on", "--at", "soon"), "is no time such as"),
        (("expire", "stateful", "--older-than", "7"), "has no unit"),
        (
            ("expire", "stateful", "--older-than", "7d", "--state", "memos"),
            "has a time to live, so",
        ),
        (("expire", "buffer", "--older-than", "7d"), "no keyed state of operator buffer"),
    ],
    ids=lambda row: " ".join(row[0]),
)
def test_a_wrong_call_says_what_is_wrong(
    samples: Path, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    states = samples / "states-2.2.1-rocksdb-native"
    command, *rest = words
    places = [*rest[:1], *rest[1:], str(tmp_path / "out")]
    if "--older-than" in rest or "--at" in rest:
        first = next(number for number, word in enumerate(rest) if word.startswith("--"))
        places = [*rest[:first], str(tmp_path / "out"), *rest[first:]]
    result = result_of(
        command, str(states), *places, "--dry-run", "--uid", "stateful", "--uid", "buffer"
    )
    assert result.exit_code != 0
    assert message in result.output


def test_both_commands_have_a_page_of_help() -> None:
    for command in (ttl_commands.set_ttl, ttl_commands.expire):
        assert "Copy the savepoint at PATH to OUT" in str(command.help)
