"""Tables that fit into terminals, and what they leave out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from savepoint_cli.terminal.cells import person_cell, plain_cell
from savepoint_cli.terminal.csv_output import CsvOutput
from savepoint_cli.terminal.folded_table import TextTable, folded, vertical
from savepoint_cli.terminal.output import Output, OutputFormat

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.mark.parametrize(
    ("value", "person", "plain"),
    [
        (1250268, "1250268", "1250268"),
        (-1250268.8125, "-1250268.8125", "-1250268.8125"),
        (True, "true", "true"),
        (None, "null", "null"),
        ("a\tb\x1b[2J", "a\\tb\\x1b[2J", "a\\tb\\x1b[2J"),
        (b"\x00\xff", "00ff (2 bytes)", "00ff"),
        (b"\x07", "07 (1 byte)", "07"),
        (b"\x01" * 20, "01" * 16 + "… (20 bytes)", "01" * 20),
        ({"f0": 1007, "f1": "Zoë"}, "{f0: 1007, f1: Zoë}", '{"f0": 1007, "f1": "Zoë"}'),
        ([("EUR", 5), ("SEK", None)], "{EUR: 5, SEK: null}", '[["EUR", 5], ["SEK", null]]'),
        ([1, [2]], "[1, [2]]", "[1, [2]]"),
        ([], "[]", "[]"),
        (float("nan"), "NaN", "NaN"),
        (float("-inf"), "-Infinity", "-Infinity"),
    ],
)
def test_cells(value: Any, person: str, plain: str) -> None:
    assert person_cell(value) == person
    assert plain_cell(value) == plain


CELLS = st.text("ab 語é🎁", max_size=60)


@given(
    st.integers(1, 9).flatmap(
        lambda count: st.tuples(
            st.lists(st.text("xyz", min_size=1, max_size=9), min_size=count, max_size=count),
            st.lists(st.lists(CELLS, min_size=count, max_size=count), max_size=4),
            st.sets(st.integers(0, count - 1)),
            st.sets(st.integers(0, count - 1)),
        )
    ),
    st.integers(20, 120),
)
def test_no_line_is_wider_than_the_terminal(
    parts: tuple[list[str], list[list[str]], set[int], set[int]], width: int
) -> None:
    names, rows, numbers, whole = parts
    table = TextTable(tuple(names), rows, frozenset(numbers), frozenset(whole), frozenset(whole))
    found = folded(table, width)
    assert all(cell_len(line) <= width for line in found.lines)
    assert len(found.lines) >= 2 + len(rows)
    if len(found.lines) > 2 + len(rows):
        assert table.wrapped is not None
        return
    is_all_there = all(
        cell.rstrip() in line
        for row, line in zip(rows, found.lines[2:], strict=True)
        for cell in row
    )
    assert is_all_there or found.note


def test_a_table_that_fits_says_nothing_more() -> None:
    found = folded(TextTable(("key", "n"), [["a", "1,000"], ["bcde", "7"]], frozenset({1})), 40)
    assert found.lines == ("key       n", "────  ─────", "a     1,000", "bcde      7")
    assert found.note == ""


def test_long_cells_are_shortened_and_then_columns_left_out_from_the_right() -> None:
    row = ["key", "x" * 100, "y" * 100, "z" * 100]
    found = folded(TextTable(("key", "x", "y", "z"), [row]), 30)
    assert found.note == ("1 column left out: z; 2 columns shortened: x, y (--vertical shows all)")
    assert found.lines[2].startswith("key  xxx")


def test_names_that_are_of_no_use_when_cut_are_whole_where_they_fit() -> None:
    row = [
        "transactions_source.keyed_state",
        "transactions_source.keyed_state",
        "key, value",
        "map",
    ]
    names = ("table", "sql", "columns", "kinds")
    for width, shown in ((80, 3), (66, 2)):
        table = folded(TextTable(names, [row], whole=frozenset({1})), width)
        assert row[1] in table.lines[2].split()
        assert table.lines[0].split() == list(names[:shown])
    assert row[1] not in folded(TextTable(names, [row], whole=frozenset({1})), 40).lines[2].split()


def test_names_that_share_their_beginning_still_differ_when_cut() -> None:
    names = [f"_timer_state/{name}_user-timers" for name in ("processing", "event")]
    rows = [["operator-of-a-job", name, "timers", "1,234"] for name in names]
    table = TextTable(("operator", "state", "kind", "size"), rows, frozenset({3}))
    for telling, shown in ((frozenset({0, 1}), 2), (frozenset[int](), 1)):
        lines = folded(replace(table, telling=telling), 44).lines[2:]
        assert len({line.split()[1] for line in lines}) == shown, lines


def test_cells_of_the_last_column_that_are_of_no_use_when_cut_have_several_lines() -> None:
    names, reference = ("path", "references"), "transactions 0: operator state"
    table = TextTable(names, [["a", reference], ["b", "c"]], whole=frozenset({1}))
    assert folded(table, 22).lines[2:] == (
        "a     transactions 0:",
        "      operator state",
        "b     c",
    )
    many = replace(table, rows=[["a", ", ".join([reference] * 9)]])
    assert len(folded(many, 22).lines) == 6
    assert folded(many, 22).lines[-1].endswith("…")
    assert [folded(it, 22).note for it in (table, many)] == [
        "",
        "1 column shortened: references (--vertical shows all)",
    ]


def test_numbers_are_never_cut() -> None:
    table = TextTable(("text", "number"), [["x" * 90, "1,234,567,890,123"]], frozenset({1}))
    assert "1,234,567,890,123" in folded(table, 40).lines[2]


def test_a_table_tells_what_its_rows_are_about_and_what_its_numbers_are() -> None:
    row = ["operator-with-a-name.keyed_state", "x" * 100, "7"]
    table = TextTable(("table", "text", "max parallelism"), [row], frozenset({2}))
    assert folded(table, 60).lines[2].startswith("operator-with-a-name.keyed_state  xxx")
    assert folded(table, 60).lines[0].endswith("  max paral…")


def test_programs_get_each_row_when_it_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    def rows() -> Iterator[dict[str, Any]]:
        yield {"n": 1250268}
        assert capsys.readouterr().out == "n\n1250268\n"
        yield {"n": 2}

    for output in (Output(OutputFormat.TEXT), CsvOutput()):
        assert output.values("", ["n"], rows()) == 2
        assert capsys.readouterr().out == "2\n"


def test_csv_has_plain_numbers_on_a_terminal_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    CsvOutput().values("", ["n"], [{"n": 1250268}])
    assert capsys.readouterr().out == "n\n1250268\n"


def test_vertical_shows_all() -> None:
    lines = vertical(TextTable(("key", "text"), [["a", "x" * 200]]))
    assert lines[1:] == ["key   a", "text  " + "x" * 200]
