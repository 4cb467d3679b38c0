"""Names of a savepoint's tables in SQL, the same for DuckDB and Spark.

An operator is a database. Names in Spark's catalog consist of letters, digits and ``_``; other
characters of a uid or state become ``_``. ``distinct_names`` distinguishes names that become equal, in any
case. In quotes, a uid and a table may be written as they are: ``"session-window".window_state``. A
name that fits several is an error.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from savepoint_database.snapshot.operator import ambiguous, ids_beginning
from savepoint_database.types.sql_names import double_quoted, plain_name, quoted, unquoted
from savepoint_formats.errors import AmbiguousOperatorError, TableNotFoundError
from savepoint_formats.printable import did_you_mean
from savepoint_formats.tables import distinct_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from savepoint_database.snapshot.operator import Operator
    from savepoint_formats.tables import CatalogProblem


@dataclass(frozen=True, slots=True)
class SqlTable:
    """A table: ``database`` and ``name`` in SQL, its own ``table``, and the ``problem`` with reading it."""

    database: str
    name: str
    operator: Operator
    table: str
    problem: CatalogProblem | None = None

    @property
    def full_name(self) -> str:
        return f"{self.operator.name}.{self.table}"

    @property
    def sql(self) -> str:
        """Name in a query; quoted where it begins with a digit."""
        parts = (self.database, self.name)
        return ".".join(part if part.isidentifier() else double_quoted(part) for part in parts)

    @property
    def exact_sql(self) -> str:
        """Its own names, in quotes."""
        return f"{double_quoted(self.operator.name)}.{double_quoted(self.table)}"

    @property
    def spark_sql(self) -> str:
        parts = (self.database, self.name)
        return ".".join(part if part.isidentifier() else quoted(part) for part in parts)


class SqlTables:
    """Tables of a savepoint by their names in SQL.

    The headers of an operator's files are read when one of its tables is asked for.
    """

    def __init__(self, operators: Iterable[Operator]) -> None:
        self._operators = tuple(operators)
        self._tables: dict[str, tuple[SqlTable, ...]] = {}

    @cached_property
    def databases(self) -> dict[str, str]:
        """Name of an operator -> name of its database."""
        return distinct_names((operator.name for operator in self._operators), plain_name)

    def __iter__(self) -> Iterator[SqlTable]:
        """All tables, operator by operator. Reads the headers of all state files."""
        for operator in self._operators:
            yield from self.of_operator(operator)

    def of_operator(self, operator: Operator) -> tuple[SqlTable, ...]:
        if operator.id not in self._tables:
            unread = operator.unread_tables
            names = distinct_names(
                (*(table.name for table in operator.readable_tables), *unread), plain_name
            )
            self._tables[operator.id] = tuple(
                SqlTable(
                    self.databases[operator.name],
                    name,
                    operator,
                    table,
                    unread[table][0] if table in unread else None,
                )
                for table, name in names.items()
            )
        return self._tables[operator.id]

    def operators(self, name: str) -> list[Operator]:
        """Operators that a query may mean: by a uid, a hash or its first digits, a database, a name.

        In quotes, or with characters that SQL quotes, a name means exactly that uid.
        """
        plain = unquoted(name)
        exact = [operator for operator in self._operators if plain in (operator.uid, operator.id)]
        if exact and _is_exact(name):
            return exact
        named = [
            operator
            for operator in self._operators
            if _fits(plain, operator.id)
            or _fits(plain, operator.name, self.databases[operator.name])
        ]
        meant = [] if named else self._ids_beginning(plain)
        named = named or [operator for operator in self._operators if operator.id in meant]
        return named or [it for it in self._operators if it.record.name == plain != ""]

    def _ids_beginning(self, digits: str) -> list[str]:
        return ids_beginning(digits, {operator.id: operator.uid for operator in self._operators})

    def single(self, name: str) -> Operator:
        """The only operator with this name. Raises ``TableNotFoundError`` for none or several."""
        operators = self.operators(name)
        if len(operators) != 1:
            raise self.unknown(name, "*")
        return operators[0]

    def tables(self, operator: str, table: str) -> list[SqlTable]:
        """Tables that a query may mean by these names, as they are written."""
        tables = [shown for owner in self.operators(operator) for shown in self.of_operator(owner)]
        plain = unquoted(table)
        exact = [shown for shown in tables if shown.table == plain]
        if exact and _is_exact(table):
            return exact
        return [shown for shown in tables if _fits(plain, shown.table, shown.name)]

    def find(self, operator: str, table: str) -> SqlTable | None:
        """The only table that a query may mean by these names; None for none or several."""
        if len(self.operators(operator)) != 1:
            return None
        tables = self.tables(operator, table)
        return tables[0] if len(tables) == 1 else None

    def without_table(self) -> set[tuple[str, str]]:
        """Names, database and table, that fit several tables and therefore none."""
        plain = (
            (plain_name(shown.operator.name), plain_name(shown.table), shown) for shown in self
        )
        return {
            (database.casefold(), name.casefold())
            for database, name, table in plain
            if (database, name) != (table.database, table.name)
        }

    def unknown(self, operator: str, table: str) -> TableNotFoundError | AmbiguousOperatorError:
        """The error for names of no table, or of several. May read the headers of all files."""
        if len(owners := self.operators(operator)) > 1:
            ids = self._ids_beginning(unquoted(operator))
            if {owner.id for owner in owners} == set(ids):
                return ambiguous(owners[0].directory.uri, operator, ids)
            meant = (f"{double_quoted(it.name)} ({self.databases[it.name]})" for it in owners)
            return _ambiguous("operator", operator, meant)
        if not operator and (named := self.operators(table)):
            own = sorted(shown.sql for owner in named for shown in self.of_operator(owner))
            return TableNotFoundError(
                f"{table} is an operator, not a table; its tables: {', '.join(own) or 'none'}"
            )
        name = f"{operator}.{table}" if operator else table
        if len(tables := self.tables(operator, table)) > 1:
            meant = (f"{shown.exact_sql} ({shown.sql})" for shown in tables)
            return _ambiguous("table", name, meant)
        known = sorted(table.sql for table in self)
        return TableNotFoundError(
            f"there is no table {name}; there are: {', '.join(known) or 'none'}"
            f"{did_you_mean(name, known)}"
        )


def _ambiguous(what: str, name: str, meant: Iterable[str]) -> TableNotFoundError:
    return TableNotFoundError(
        f"the name {name} fits several {what}s; write one of these, or its name in parentheses:"
        f" {', '.join(sorted(meant))}"
    )


def _is_exact(name: str) -> bool:
    """Whether SQL takes the name exactly."""
    return unquoted(name) != name or plain_name(name) != name


def _fits(name: str, *names: str) -> bool:
    """Whether a name equals one of these in any case, or the SQL form of the first."""
    wanted = name.casefold()
    folded = {*(other.casefold() for other in names), plain_name(names[0]).casefold()}
    return wanted in folded
