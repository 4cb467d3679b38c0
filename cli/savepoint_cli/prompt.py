"""A prompt for SQL over a savepoint: history, completion, and a few commands with a dot."""

from __future__ import annotations

import os
import re
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

import click
from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.completion import Completer, Completion
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings

from savepoint_cli.terminal.output import Output, OutputFormat
from savepoint_formats.errors import SavepointError
from savepoint_formats.printable import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from prompt_toolkit.completion import CompleteEvent
    from prompt_toolkit.document import Document
    from prompt_toolkit.key_binding import KeyPressEvent

    from savepoint_database.snapshot.sql_tables import SqlTable, SqlTables
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
_WORD = re.compile(r'[\w."$-]*$')
_NAMED = re.compile(r'("[^"]+"|\w+)\s*\.\s*("[^"]+"|\w+)')


class Names(Completer):
    """Completes tables, columns of tables in the text, SQL keywords and commands."""

    def __init__(self, tables: SqlTables) -> None:
        self._tables = tables

    def get_completions(self, document: Document, _event: CompleteEvent) -> Iterator[Completion]:
        start = _WORD.search(document.text_before_cursor)
        word = start[0] if start else ""
        for name in self._fitting(document):
            if name.casefold().startswith(word.casefold()):
                yield Completion(name, -len(word))

    def _fitting(self, document: Document) -> list[str]:
        text = document.text_before_cursor
        if text.startswith("."):
            if " " not in text:
                return list(_COMMANDS)
            return list(_MODES) if text.startswith(".mode") else self._table_names()
        return [*self._columns(document.text), *self._table_names(), *_KEYWORDS]

    def _table_names(self) -> list[str]:
        return [table.sql for table in self._tables]

    def _columns(self, text: str) -> list[str]:
        tables = (self._tables.find(*names) for names in _NAMED.findall(text))
        readable = (table for table in tables if table is not None and table.problem is None)
        return list(dict.fromkeys(name for table in readable for name in _columns_of(table)))


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
        session: PromptSession[str] = PromptSession(
            "savepoint> ",
            multiline=True,
            prompt_continuation="      ...> ",
            key_bindings=_bindings(),
            completer=Names(self._tables),
            complete_while_typing=False,
            history=_history(),
        )
        click.echo("SQL ends with a semicolon; .help shows commands, .quit ends.")
        while True:
            try:
                text = session.prompt().strip()
            except KeyboardInterrupt:
                continue
            except EOFError:
                return
            if text in {".quit", ".exit"}:
                return
            self._do(text)

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


def _bindings() -> KeyBindings:
    """Enter submits a command, or a text that ends with a semicolon; other texts continue."""
    bindings = KeyBindings()

    @Condition
    def is_whole() -> bool:
        text = get_app().current_buffer.text.strip()
        return not text or text.startswith(".") or text.endswith(";")

    @bindings.add("enter", filter=is_whole)
    def _accept(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    return bindings


def _history() -> History:
    """Earlier statements, from the user's state folder, or else only of this session."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    file = Path(state, "savepoint-state-processor", "history")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(mode=0o600)
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(file))
