"""What SQL calls the tables of a savepoint; the same names for DuckDB and for Spark.

An operator is a database. Names of Spark's catalog consist of letters, digits and ``_``; what else
a uid or the name of a state has becomes ``_``, and a number behind it tells apart what would be the
same. In quotes, a uid and a table may be written as they are: ``"session-window".window_state``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from savepoint_formats.errors import AmbiguousOperatorError, TableNotFoundError
from savepoint_formats.printable import did_you_mean
from state_processor.snapshot.operator_names import ids_beginning
from state_processor.types.sql_names import double_quoted, plain_name, quoted, unused

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from savepoint_formats.tables.catalog_problem import CatalogProblem
    from state_processor.snapshot.operator import Operator


@dataclass(frozen=True, slots=True)
class SqlTable:
    """A table, and what SQL calls it.

    Attributes:
        database: The name of the operator in SQL.
        name: The name of the table in SQL.
        operator: The operator.
        table: The name of the table as the operator has it.
        problem: Why the table can't be read; None if it can.
    """

    database: str
    name: str
    operator: Operator
    table: str
    problem: CatalogProblem | None = None

    @property
    def full_name(self) -> str:
        """``<operator>.<table>``."""
        return f"{self.operator.name}.{self.table}"

    @property
    def sql(self) -> str:
        """What a query calls it; in quotes where a name begins with a digit."""
        parts = (self.database, self.name)
        return ".".join(part if part.isidentifier() else double_quoted(part) for part in parts)

    @property
    def spark_sql(self) -> str:
        """What Spark calls it."""
        parts = (self.database, self.name)
        return ".".join(part if part.isidentifier() else quoted(part) for part in parts)


class SqlTables:
    """The tables of a savepoint by their names in SQL.

    The headers of an operator's files are read when one of its tables is asked for.
    """

    def __init__(self, operators: Iterable[Operator]) -> None:
        self._operators = tuple(operators)
        self._found: dict[str, tuple[SqlTable, ...]] = {}

    @cached_property
    def databases(self) -> dict[str, list[Operator]]:
        """The database, in small letters -> the operators whose tables are in it."""
        databases: dict[str, list[Operator]] = {}
        for operator in self._operators:
            databases.setdefault(plain_name(operator.name).casefold(), []).append(operator)
        return databases

    def __iter__(self) -> Iterator[SqlTable]:
        """All tables, operator by operator. Reads the headers of all state files."""
        for operator in self._operators:
            for table in self.of_database(plain_name(operator.name)):
                if table.operator is operator:
                    yield table

    def of_database(self, name: str) -> tuple[SqlTable, ...]:
        """The tables of a database; none if there is no such database."""
        key = name.casefold()
        if key not in self._found:
            self._found[key] = tuple(_named(self.databases.get(key, ())))
        return self._found[key]

    def database(self, name: str) -> str | None:
        """The database that an operator is, by any of its names.

        Those are uid, hash, name in SQL, and the first digits of the hash if no other begins so.
        """
        for operator in self._operators:
            if name in (operator.uid, operator.id):
                return plain_name(operator.name)
        plain = plain_name(name)
        operators = self.databases.get(plain.casefold())
        is_name = operators and (
            plain == name or any(_is(operator.name, name) for operator in operators)
        )
        if operators and is_name:
            return plain_name(operators[0].name)
        meant = ids_beginning(name, self._uids)
        if len(meant) != 1:
            return None
        return next(
            plain_name(operator.name) for operator in self._operators if operator.id == meant[0]
        )

    @cached_property
    def _uids(self) -> dict[str, str | None]:
        return {operator.id: operator.uid for operator in self._operators}

    def find(self, operator: str, table: str) -> SqlTable | None:
        """The table of these names, each as it is or as SQL has it; None if there is none."""
        database = self.database(operator)
        tables = () if database is None else self.of_database(database)
        for is_meant in (
            lambda candidate: candidate.table == table and candidate.operator.name == operator,
            lambda candidate: candidate.name == table,
            lambda candidate: (
                table in (candidate.table, candidate.name) or _is(candidate.name, table)
            ),
        ):
            if meant := next(filter(is_meant, tables), None):
                return meant
        return None

    def unknown(self, name: str) -> TableNotFoundError | AmbiguousOperatorError:
        """What is raised for the name of a table that there is not. Reads the headers of all files."""
        database = name.partition(".")[0]
        meant = ids_beginning(database, self._uids)
        if len(meant) > 1 and self.database(database) is None:
            return AmbiguousOperatorError.among(self._operators[0].directory.uri, database, meant)
        if database == name and (known_as := self.database(name)):
            own = sorted(table.sql for table in self.of_database(known_as))
            return TableNotFoundError(
                f"{name} is an operator, not a table; its tables: {', '.join(own) or 'none'}"
            )
        known = sorted(table.sql for table in self)
        return TableNotFoundError(
            f"there is no table {name}; there are: {', '.join(known) or 'none'}"
            f"{did_you_mean(name, known)}"
        )


def _named(operators: Iterable[Operator]) -> Iterator[SqlTable]:
    taken: set[str] = set()
    for operator in operators:
        unread = operator.unread_tables
        for name in (*(table.name for table in operator.tables), *unread):
            own = unused(plain_name(name), taken)
            taken.add(own)
            problem = unread[name][0] if name in unread else None
            yield SqlTable(plain_name(operator.name), own, operator, name, problem)


def _is(name: str, other: str) -> bool:
    return name.casefold() == other.casefold()
