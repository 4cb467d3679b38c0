"""A condition on rows in SQL, which DuckDB evaluates batch by batch.

A condition only chooses rows. DuckDB opens no file here, sees no variable of the program, and its
settings are locked. A condition that contains a query is refused. Rows that do not fulfil it end where
they were decoded.
"""

from __future__ import annotations

import atexit
import re
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa

from savepoint_database.types.spark_values import to_comparable
from savepoint_database.types.sql_names import nodes, parse_tree, unused
from savepoint_formats.errors import ConditionError
from savepoint_formats.printable import did_you_mean
from savepoint_formats.scan import narrowed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import duckdb

    from savepoint_formats.scan import Split, TableScan

_NO_COLUMN = re.compile(r'Referenced (?:column|table) "([^"]+)" not found')
# Expressions that may mean any column without naming it: COLUMNS('f.*'), #1.
_UNNAMED = {"STAR", "POSITIONAL_REFERENCE"}


@dataclass(frozen=True, slots=True)
class RowCondition:
    """A condition on rows, the columns of the table that it may use, in order, and whether it has operators alone."""

    text: str
    columns: tuple[str, ...]
    is_plain: bool = False

    @classmethod
    def of(cls, text: str, schema: pa.Schema) -> Self:
        """Checks a condition on rows with these columns; ``ConditionError`` if it can't be understood."""
        empty = pa.RecordBatch.from_arrays(
            [pa.array([], field.type) for field in schema], schema=schema
        )
        tree, parts = _parsed(text, "condition", "a condition on columns")
        # Raises for everything but a single expression.
        _chosen(empty, text, schema.names)
        if tree["error"]:
            raise ConditionError(f"condition {text!r}: {tree['error_message']}")
        if any(node.get("class") in _UNNAMED for node in parts):
            return cls(text, tuple(schema.names))
        # Each part of a name, because it may be a column or a field of a struct.
        named = [set(map(str.casefold, node.get("column_names", ()))) for node in parts]
        columns = tuple(name for name in schema.names if any(name.casefold() in it for it in named))
        # A function may answer by chance, or by the time: those without arguments look like columns.
        is_plain = all(node.get("is_operator", True) for node in parts)
        known = set(map(str.casefold, columns))
        return cls(text, columns, is_plain and all(not it or it & known for it in named))

    def keeps_nulls(self, schema: pa.Schema) -> bool:
        """Whether a row that is null in all columns may fulfil it, or make it fail."""
        nulls = pa.RecordBatch.from_pylist([{}], schema=pa.schema(map(schema.field, self.columns)))
        with suppress(ConditionError):
            return not self.is_plain or bool(_chosen(nulls, self.text, self.columns))
        return True

    def filtered(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Rows that fulfil the condition, with all columns; ``ConditionError`` if it fails for a value."""
        rows = _chosen(batch, self.text, self.columns)
        return batch if len(rows) == batch.num_rows else batch.take(rows)


def _chosen(batch: pa.RecordBatch, text: str, names: Sequence[str]) -> pa.Array:
    """Numbers of the rows that fulfil a condition on these columns."""
    import duckdb  # noqa: PLC0415  # only conditions need it

    number = unused("$row", names)
    rows = pa.array(np.arange(batch.num_rows))
    columns = [*to_comparable(batch.select(names)).columns, rows]
    numbered = pa.Table.from_arrays(columns, names=[*names, number])
    try:
        chosen = _connection().cursor().from_arrow(numbered).filter(text)
        return pa.array(chosen.project(f'"{number}"').fetchnumpy()[number])
    except duckdb.Error as error:
        reason = _reason(error, names)
        raise ConditionError(f"condition {text!r}: {reason}") from error


def _parsed(text: str, what: str, expected: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The tree of DuckDB and its nodes. Raises ``ConditionError`` if there is a query among them."""
    tree = parse_tree(_connection().cursor(), f"SELECT {text}")
    parts = list(nodes(tree))
    if any(node.get("class") == "SUBQUERY" for node in parts):
        raise ConditionError(f"{what} {text!r}: it contains a query, expected {expected}")
    return tree, parts


def evaluated(values: pa.Array, text: str) -> pa.Array:
    """Values of an expression in SQL over a column ``value``, with the type of the column.

    Raises ``ConditionError`` if it can't be understood, fails, or gives other values than one each.
    """
    import duckdb  # noqa: PLC0415  # only conditions need it

    _parsed(text, "expression", "an expression over a value")
    rows = pa.Table.from_arrays([values], names=["value"])
    try:
        result = (
            _connection().cursor().from_arrow(rows).project(f"({text}) AS value").to_arrow_table()
        )
        column = result.column("value").cast(values.type).combine_chunks()
    except (duckdb.Error, pa.ArrowException) as error:
        raise ConditionError(f"expression {text!r}: {_reason(error, ['value'])}") from error
    if len(column) != len(values):
        raise ConditionError(f"expression {text!r}: it gives no value for each value")
    return column if isinstance(column, pa.Array) else column.chunk(0)


def _reason(error: Exception, known: Sequence[str]) -> str:
    # The rest is a place in a statement that the user did not write.
    reason = " ".join(str(error).partition("LINE ")[0].split())
    unknown = _NO_COLUMN.search(reason)
    if unknown is None:
        return reason
    hint = did_you_mean(unknown[1], known)
    return f"there is no column {unknown[1]!r}; there are: {', '.join(known)}{hint}"


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


@dataclass(frozen=True, slots=True)
class FilteredScan:
    """A scan and a condition on its rows; only the ``shown`` columns reach the reader."""

    scan: TableScan
    condition: RowCondition
    shown: tuple[str, ...]

    @classmethod
    def of(cls, scan: TableScan, where: str, shown: tuple[str, ...] | None = None) -> Self:
        """Filters a scan by a condition in SQL; ``shown`` are the columns of the scan by default.

        The condition may use columns that are not shown. Raises ``ConditionError`` if it can't be understood.
        """
        whole = replace(scan, options=replace(scan.options, columns=None))
        condition = RowCondition.of(where, whole.schema)
        names = tuple(scan.schema.names) if shown is None else shown
        # A batch without columns has no rows.
        read = tuple(dict.fromkeys((*names, *condition.columns))) or (whole.schema.names[0],)
        asked = replace(scan, options=scan.options.of_columns(read))
        keeps_nulls = partial(condition.keeps_nulls, whole.schema)
        return cls(narrowed(asked, condition.columns, keeps_nulls), condition, names)

    def read(self, split: Split) -> Iterator[pa.RecordBatch]:
        """Rows of a split that fulfil the condition, in batches that are not empty."""
        for batch in self.scan.read(split):
            chosen = self.condition.filtered(batch)
            if chosen.num_rows:
                yield chosen.select(self.shown)


def matching_rows(scan: FilteredScan, split: Split) -> int:
    """Number of rows of a split that fulfil the condition."""
    batches = scan.scan.read(split)
    return sum(scan.condition.filtered(batch).num_rows for batch in batches)
