"""Answers as tables of Markdown, for a ticket, a pull request or a wiki."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from savepoint_cli.terminal.cells import plain_cell, plain_field, plain_fields
from savepoint_cli.terminal.output import Output, OutputFormat
from savepoint_formats.printable import fields_of, printable, without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from savepoint_cli.terminal.folded_table import TextTable

# Names come from savepoints, which a stranger may have written: they are neither links nor HTML.
_MARKS = re.compile(r"([\\|*_`\[\]~#!])")


class MarkdownOutput(Output):
    """Prints all tables of an answer as a program gets them, below headings of the third level."""

    def __init__(self) -> None:
        super().__init__(OutputFormat.MARKDOWN, is_whole=True)
        self.is_for_people = False

    def values(self, title: str, names: Sequence[str], rows: Iterable[dict[str, Any]]) -> int:
        """Prints a line per row; returns their number."""
        del title
        for line in _heading(names):
            click.echo(line)
        count = 0
        for row in rows:
            click.echo(_line(plain_cell(row[name]) for name in names))
            count += 1
        return count

    def _field_lines(self, record: Any) -> list[str]:
        said = fields_of(record)
        facts = [
            (name.replace("_", " "), plain_field(said[name])) for name in plain_fields([record])
        ]
        return [*_heading(("field", "value")), *(_line(fact) for fact in facts if fact[1])]

    def _print_heading(self, title: str) -> None:
        click.echo(f"### {_escaped(without_secrets(title))}\n")

    def _print_table(self, title: str, table: TextTable) -> None:
        del title
        for line in (*_heading(table.names), *map(_line, table.rows)):
            click.echo(line)


def _heading(names: Sequence[str]) -> Iterator[str]:
    yield _line(names)
    yield "|---" * len(names) + "|"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(map(_escaped, cells))} |"


def _escaped(text: str) -> str:
    return _MARKS.sub(r"\\\1", printable(text, keep="")).replace("&", "&amp;").replace("<", "&lt;")
