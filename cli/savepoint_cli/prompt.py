"""A prompt for SQL over a savepoint: history, completion, and a few commands with a dot."""

from __future__ import annotations

import re
from contextlib import suppress
from difflib import get_close_matches
from typing import TYPE_CHECKING

import click

from savepoint_cli.terminal.output import Output, OutputFormat
from savepoint_formats.errors import SavepointError
from savepoint_formats.extras import missing
from savepoint_formats.printable import printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_database.snapshot import SqlTable, SqlTables
    from state_processor import Savepoint

_MODES = {
    "line": OutputFormat.VERTICAL,
    "table": OutputFormat.TEXT,
    "json": OutputFormat.JSON,
    "csv": OutputFormat.CSV,
}
_COMMANDS = {
    ".tables": "the tables, with their SQL names",
    ".schema": "the columns of one table, or of all: .schema summarize.keyed_state",
    ".mode": f"how rows are shown: {', '.join(_MODES)}",
    ".help": "this list",
    ".quit": "end the prompt, like Ctrl-D",
}
_KEYWORDS = (
    *("SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "LIMIT", "JOIN", "LEFT JOIN", "USING"),
    *("HAVING", "DISTINCT", "COUNT", "SUM", "AVG", "MIN", "MAX", "CASE", "WHEN", "THEN", "ELSE"),
    *("END", "AND", "OR", "NOT", "NULL", "IS", "IN", "LIKE", "BETWEEN", "DESC", "WITH", "UNNEST"),
)
_MARKS = ("savepoint> ", "      ...> ")
_NAMED = re.compile(r'("[^"]+"|\w+)\s*\.\s*("[^"]+"|\w+)')


def _columns_of(table: SqlTable) -> list[str]:
    columns = table.operator.table(table.table).columns
    return [column.name if column.name.isidentifier() else f'"{column.name}"' for column in columns]


class Prompt:
    """Reads statements to the end; ``answer`` runs a query and prints its rows."""

    def __init__(
        self, savepoint: Savepoint, tables: SqlTables, answer: Callable[[Output, str], None]
    ) -> None:
        self._savepoint, self._tables, self._answer = savepoint, tables, answer
        self._output = Output(OutputFormat.TEXT)

    def run(self) -> None:
        read = self._reader()
        click.echo("SQL ends with a semicolon; .help shows commands, .quit ends.")
        while True:
            try:
                text = read().strip()
            except KeyboardInterrupt:
                continue
            except EOFError:
                return
            if text in {".quit", ".exit"}:
                return
            self._do(text)

    def _reader(self) -> Callable[[], str]:
        """Reads with history and completion, or without them if their library is not installed."""
        try:
            from savepoint_cli.line_editor import editing_reader  # noqa: PLC0415  # an extra
        except ImportError as error:
            click.echo(f"No history, no completion: {missing(error)}")
            return _plain_reader()
        return editing_reader(self._words, _is_whole, *_MARKS)

    def _words(self, before: str, text: str) -> list[str]:
        names = [table.sql for table in self._tables]
        if before.startswith("."):
            if " " not in before:
                return list(_COMMANDS)
            return list(_MODES) if before.startswith(".mode") else names
        tables = (self._tables.find(*named) for named in _NAMED.findall(text))
        readable = (table for table in tables if table is not None and table.problem is None)
        columns = dict.fromkeys(name for table in readable for name in _columns_of(table))
        return [*columns, *names, *_KEYWORDS]

    def _do(self, text: str) -> None:
        try:
            if text.startswith("."):
                self._command(*text.rstrip(";").split(maxsplit=1))
            elif query := text.rstrip("; \n"):
                self._answer(self._output, query)
        except SavepointError as error:
            click.echo(f"Error: {printable(str(error))}", err=True)
        except KeyboardInterrupt:
            click.echo("stopped", err=True)

    def _command(self, name: str, argument: str | None = None) -> None:
        match name:
            case ".tables":
                for table in self._tables:
                    problem = "" if table.problem is None else f": {table.problem}"
                    click.echo(printable(table.sql + problem))
            case ".schema":
                self._schema(argument)
            case ".mode" if argument in _MODES:
                self._output = Output(_MODES[argument])
            case ".mode":
                click.echo(f"expected one of {', '.join(_MODES)}", err=True)
            case ".help":
                for command, text in _COMMANDS.items():
                    click.echo(f"{command:<9} {text}")
            case _:
                meant = get_close_matches(name, _COMMANDS, 1)
                hint = f"; did you mean {meant[0]}?" if meant else ""
                click.echo(f"there is no command {printable(name)}{hint}", err=True)

    def _schema(self, name: str | None) -> None:
        if name is None:
            self._output.rows("", self._savepoint.schema())
            return
        named = _NAMED.fullmatch(name.strip())
        names = ("", name) if named is None else (named[1], named[2])
        table = self._tables.find(*names)
        if table is None:
            raise self._tables.unknown(*names)
        self._output.rows("", self._savepoint.schema(table.full_name))


def _is_whole(text: str) -> bool:
    """Whether Enter submits ``text``: a command, or SQL that ends with a semicolon."""
    text = text.strip()
    return not text or text.startswith(".") or text.endswith(";")


def _plain_reader() -> Callable[[], str]:
    with suppress(ImportError):
        import readline  # noqa: F401, PLC0415  # input() edits lines by it, where Python has it

    def read() -> str:
        text = input(_MARKS[0])
        while not _is_whole(text):
            text += "\n" + input(_MARKS[1])
        return text

    return read
