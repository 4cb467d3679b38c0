"""A condition on rows in SQL, which DuckDB evaluates batch by batch.

A condition only chooses rows. DuckDB opens no file here, sees no variable of the program, and its
settings are locked. A condition that contains a query is refused.
"""

from __future__ import annotations

import atexit
import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Self

import numpy as np
import pyarrow as pa

from savepoint_database.sql.parse_tree import nodes, parse_tree
from savepoint_database.types.spark_values import to_comparable
from savepoint_formats.errors import ConditionError
from savepoint_formats.printable import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb

_NO_COLUMN = re.compile(r'Referenced (?:column|table) "([^"]+)" not found')
# Expressions that may mean any column without its name: COLUMNS('f.*'), #1.
_UNNAMED = {"STAR", "POSITIONAL_REFERENCE"}


@dataclass(frozen=True, slots=True)
class RowCondition:
    """A condition on the rows of a table.

    ``columns`` are the columns that the condition may use, in the order of the table.
    """

    text: str
    columns: tuple[str, ...]

    @classmethod
    def of(cls, text: str, schema: pa.Schema) -> Self:
        """Checks a condition on rows with these columns.

        Raises:
            ConditionError: It can't be understood, or there is no such column.
        """
        empty = pa.RecordBatch.from_arrays(
            [pa.array([], field.type) for field in schema], schema=schema
        )
        tree = parse_tree(_connection().cursor(), f"SELECT {text}")
        parts = list(nodes(tree))
        if any(node.get("class") == "SUBQUERY" for node in parts):
            raise ConditionError(f"condition {text!r}: it holds a query, expected one on columns")
        # Raises for everything but a single expression.
        _chosen(empty, text, schema.names)
        if tree["error"]:
            raise ConditionError(f"condition {text!r}: {tree['error_message']}")
        if any(node.get("class") in _UNNAMED for node in parts):
            return cls(text, tuple(schema.names))
        # Each part of a name, because it may be a column or a field of a struct.
        named = {part.casefold() for node in parts for part in node.get("column_names", ())}
        return cls(text, tuple(name for name in schema.names if name.casefold() in named))

    def filtered(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Rows that fulfil the condition, with all columns.

        Raises:
            ConditionError: The condition fails for a value.
        """
        rows = _chosen(batch, self.text, self.columns)
        return batch if len(rows) == batch.num_rows else batch.take(rows)


def _chosen(batch: pa.RecordBatch, text: str, names: Sequence[str]) -> pa.Array:
    """Numbers of the rows that fulfil a condition on these columns."""
    import duckdb  # noqa: PLC0415  # only conditions need it

    number = _unused("$row", names)
    rows = pa.array(np.arange(batch.num_rows))
    columns = [*to_comparable(batch.select(names)).columns, rows]
    numbered = pa.Table.from_arrays(columns, names=[*names, number])
    try:
        chosen = _connection().cursor().from_arrow(numbered).filter(text)
        return pa.array(chosen.project(f'"{number}"').fetchnumpy()[number])
    except duckdb.Error as error:
        reason = _reason(error, names)
        raise ConditionError(f"condition {text!r}: {reason}") from error


def _reason(error: Exception, known: Sequence[str]) -> str:
    # The rest is a place in a statement that the user did not write.
    reason = " ".join(str(error).partition("LINE ")[0].split())
    unknown = _NO_COLUMN.search(reason)
    if unknown is None:
        return reason
    hint = did_you_mean(unknown[1], known)
    return f"there is no column {unknown[1]!r}; there are: {', '.join(known)}{hint}"


def _unused(name: str, names: Sequence[str]) -> str:
    """The name, with ``$`` in front until no column has it, in any case."""
    taken = {other.casefold() for other in names}
    while name.casefold() in taken:
        name = f"${name}"
    return name


@cache
def _connection() -> duckdb.DuckDBPyConnection:
    """A database in this process without tables or access to files; a cursor of it is cheap."""
    import duckdb  # noqa: PLC0415  # only conditions need it

    connection = duckdb.connect(
        config={"enable_external_access": False, "python_enable_replacements": False, "threads": 1}
    )
    # The zone of Spark sessions for savepoints, so that a text means the same time everywhere.
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    connection.execute("SET GLOBAL lock_configuration = true")
    # DuckDB warns of objects that outlive Python.
    atexit.register(_connection.cache_clear)
    return connection
