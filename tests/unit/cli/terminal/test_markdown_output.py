"""Markdown: tables that GitHub shows, whatever a name has in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.commands import run

from savepoint_cli.terminal.markdown_output import MarkdownOutput

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

CURRENCY = "currency-2.2.1-hashmap-canonical"


def test_a_table_has_a_heading_a_rule_and_rows(samples: Path) -> None:
    query = "SELECT key, count FROM summarize.keyed_state ORDER BY key LIMIT 1"
    code, output = run("query", samples / CURRENCY, query, "--output", "markdown")
    assert code == 0
    assert output.splitlines()[:3] == ["| key | count |", "|---|---|", "| -2147483648 | 9 |"]


def test_a_page_has_its_fields_and_all_its_tables(samples: Path) -> None:
    code, output = run("describe", samples / CURRENCY, "--output", "markdown")
    assert code == 0
    assert "| keyed formats | canonical |\n" in output
    assert "\n\n### Operators\n\n| uid | hash | name |" in output
    assert "\n\n### States\n\n| operator | state |" in output
    assert "| currency\\_converter | rates | broadcast | INT |  | DOUBLE |" in output


def test_a_name_is_neither_a_link_nor_html_nor_a_cell(capsys: pytest.CaptureFixture[str]) -> None:
    name = "a|b [c](https://d) <img> `e` \\"
    MarkdownOutput().values("", ["x"], [{"x": name}])
    assert capsys.readouterr().out.splitlines()[2] == (
        "| a\\|b \\[c\\](https://d) &lt;img> \\`e\\` \\\\ |"
    )
