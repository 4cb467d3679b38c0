"""The command line as people have it: in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.many_operators import job_of_many_operators
from support.sample_rows import SAMPLES
from support.slow_cases import nightly_unless
from support.terminal import Terminal

if TYPE_CHECKING:
    from pathlib import Path

CURRENCY = SAMPLES / "currency-2.2.1-hashmap-canonical"
STATES = SAMPLES / "states-2.2.1-hashmap-canonical"


@pytest.mark.usefixtures("slow")
def test_a_wide_table_fits_and_says_what_it_leaves_out() -> None:
    with Terminal(("show", STATES, "stateful.keyed_state", "-n", "3"), columns=80) as terminal:
        assert terminal.finish() == 0
    shown = terminal.text.splitlines()
    assert max(map(len, shown[:5])) <= 80
    assert "columns left out: " in terminal.text
    assert "(--vertical shows all)" in terminal.text


@pytest.mark.usefixtures("slow")
def test_a_description_is_one_screen_unless_all_is_asked_for() -> None:
    with Terminal(("describe", STATES), lines=24) as terminal:
        assert terminal.finish() == 0
    with Terminal(("describe", STATES, "--all"), lines=24) as whole:
        assert whole.finish() == 0
    assert len(terminal.text.splitlines()) <= 24
    assert "(--all shows it)" in terminal.text
    assert "customer" not in terminal.text
    assert "customer" in whole.text
    assert "more (--all" not in whole.text


@pytest.mark.parametrize(
    ("lines", "columns"), nightly_unless((24, 80).__eq__, [(24, 80), (50, 200)])
)
def test_a_job_of_many_operators_is_one_screen_with_a_line_for_each_that_has_state(
    tmp_path: Path, lines: int, columns: int
) -> None:
    savepoint = job_of_many_operators(tmp_path)
    with Terminal(("describe", savepoint), lines=lines, columns=columns) as terminal:
        assert terminal.finish() == 0
    shown = terminal.text.splitlines()
    # A terminal shows a long path on several lines.
    assert sum(1 + (len(line) - 1) // columns for line in shown) < lines
    assert max(map(len, shown[1:])) <= columns
    assert "Operators with state (21 of 56)" in shown
    (line,) = [line for line in shown if line.startswith("objects-payments ")]
    assert line.split(maxsplit=2)[1:] == ["9,432", "memo, payment, id, timers"]
    assert "(--all shows " in shown[-1]
    assert "Description" not in terminal.text


@pytest.mark.usefixtures("slow")
def test_what_is_read_is_told_where_that_takes_long(tmp_path: Path) -> None:
    savepoint = job_of_many_operators(tmp_path)
    with Terminal(("verify", savepoint), patience_seconds=0) as terminal:
        # One operator has objects of a class that isn't described.
        assert terminal.finish() == 3
    assert f"Reading {savepoint} ...\n" in terminal.text


@pytest.mark.usefixtures("slow")
def test_no_colors_where_none_are_wanted() -> None:
    with Terminal(("list", CURRENCY), environment={"NO_COLOR": "1"}) as terminal:
        assert terminal.finish() == 0
    assert "summarize.keyed_state" in terminal.text
    assert "\x1b[" not in terminal.raw


@pytest.mark.usefixtures("slow")
def test_the_prompt_answers_completes_and_remembers(tmp_path: Path) -> None:
    where = {"XDG_STATE_HOME": str(tmp_path)}
    with Terminal(("query", CURRENCY), environment=where) as terminal:

        def ask(typed: str, answer: str) -> None:
            terminal.wait_for("savepoint>")
            terminal.type(typed)
            terminal.wait_for(answer)

        ask(".tables\n", "\nsummarize.keyed_state")
        ask("SELECT count(*) AS n\nFROM summ\t", "arize.keyed_state")
        terminal.type(";\n")
        terminal.wait_for("1 row by duckdb")
        ask("SELECT totl FROM summarize.keyed_state;\n", "did you mean 'total'?")
        ask(".schema summarize.keyed_state\n", "DOUBLE")
        ask(".tabels\n", "did you mean .tables?")
        ask(".mode json\n", "\n")
        ask("SELECT total FROM summarize.keyed_state WHERE key = -7;\n", '{"total": 913265.84375}')
        terminal.wait_for("savepoint>")
        terminal.type(".quit\n")
        assert terminal.finish() == 0
    history = (tmp_path / "savepoint-state-processor" / "history").read_text()
    assert "+FROM summarize.keyed_state;" in history


@pytest.mark.usefixtures("slow")
def test_the_prompt_answers_without_the_library_of_its_extra(tmp_path: Path) -> None:
    (tmp_path / "prompt_toolkit.py").write_text(
        'raise ModuleNotFoundError("No module", name="prompt_toolkit")', encoding="utf-8"
    )
    with Terminal(("query", CURRENCY), environment={"PYTHONPATH": str(tmp_path)}) as terminal:
        terminal.wait_for("No history, no completion: prompt_toolkit is not installed;")
        terminal.wait_for("savepoint>")
        terminal.type("SELECT count(*) AS n\n")
        terminal.wait_for("...>")
        terminal.type("FROM summarize.keyed_state;\n")
        terminal.wait_for("1 row by duckdb")
        terminal.wait_for("savepoint>")
        terminal.type("\x04")
        assert terminal.finish() == 0


WINDOWS = SAMPLES / "windows-1.20.5-rocksdb-native"
HASH = "1228afe0298b7812a54a8a47f0a2c61f"


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize(
    ("command", "options"),
    nightly_unless(
        lambda case: case[0] in ("doctor", "list"),
        [
            ("list", ()),
            ("doctor", ("--target", "2.2")),
            ("stats", ("--all",)),
            ("describe", ("--all",)),
            ("key", ("1",)),
            ("files", ()),
        ],
    ),
)
def test_a_terminal_shows_the_first_digits_of_hashes(
    command: str, options: tuple[str, ...]
) -> None:
    with Terminal((command, WINDOWS, *options), columns=160) as terminal:
        terminal.finish()
    assert HASH[:8] in terminal.text
    assert HASH not in terminal.text
    with Terminal((command, WINDOWS, *options, "--vertical"), columns=160) as whole:
        whole.finish()
    assert HASH in whole.text


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize("words", [("doctor", "--target", "2.2"), ("describe", "--all")])
def test_rows_of_an_operator_are_a_group(words: tuple[str, ...]) -> None:
    with Terminal((words[0], WINDOWS, *words[1:]), columns=160) as terminal:
        terminal.finish()
    lines = terminal.text.splitlines()
    start = lines.index("States")
    states = lines[start : lines.index("", start) if "" in lines[start:] else None]
    (first,) = [place for place, line in enumerate(states) if line.startswith(HASH[:8])]
    assert all(line.startswith(" " * 8) for line in states[first + 1 : first + 3])


@pytest.mark.usefixtures("slow")
def test_keys_can_be_pasted_into_a_command() -> None:
    query = "SELECT min(key), max(key) FROM summarize.keyed_state"
    with Terminal(("query", CURRENCY, query)) as terminal:
        assert terminal.finish() == 0
    keys = terminal.text.splitlines()[2].split()
    assert keys == ["-2147483648", "2147483647"]
    for key in keys:
        with Terminal(("key", CURRENCY, key)) as terminal:
            assert terminal.finish() == 0
        assert key in terminal.text.split()


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize("lines", nightly_unless((24).__eq__, [24, 40]))
def test_stats_are_one_screen_with_what_is_largest_first(lines: int) -> None:
    with Terminal(("stats", STATES), lines=lines, columns=140) as terminal:
        assert terminal.finish() == 0
    shown = terminal.text.splitlines()
    assert len(shown) <= lines
    key = f"key {'x' * 40}… has 14.5% of operator stateful"
    assert shown[2] == "size     24.9 kB"
    assert shown[3] == f"verdict  stateful.recent_by_currency has 13.2% of 24.9 kB; {key}"
    start = next(place for place, line in enumerate(shown) if line.startswith("States: "))
    first, second = (line.split() for line in shown[start + 3 : start + 5])
    assert first[:6] == ["stateful", "recent_by_currency", "map", "3.3", "kB", "13.2%"]
    assert second[:5] == ["changes", "map", "3.0", "kB", "12.0%"]
    assert "Largest keys" in shown
