"""A scan as a dataset of Arrow, to which DuckDB passes columns and conditions.

DuckDB asks for the schema when it binds a query, and for a scanner when it wants rows. A table
that a query names twice has two scanners. DuckDB asks nothing else of a dataset.

Its plan shows the conditions that it pushes down to scans as SQL, and ``sqlglot`` reads the wanted keys
in them. A condition that is not understood costs speed only: then all keys are read.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import sqlglot
from pyarrow.dataset import Dataset
from sqlglot import exp
from sqlglot.errors import SqlglotError

from savepoint_database.sql.parallel_batches import cores, parallel_batches
from savepoint_database.types.spark_values import EXPORTED
from savepoint_database.types.timer_dates import dated_columns, dated_schema, with_dates
from savepoint_formats.errors import SavepointError
from savepoint_formats.scan import narrowed, rows_in
from savepoint_formats.tables import KEY
from savepoint_formats.values import is_precise

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow.compute as pc

    from savepoint_database.types.timer_dates import Times
    from savepoint_formats.scan import Split, TableScan

Keys = frozenset[Any] | None
"""Keys, possibly more than fulfil a condition, never fewer; None for all."""


@dataclass(frozen=True, slots=True)
class SqlRows:
    """The rows of a scan as SQL sees them."""

    scan: TableScan
    times: Times = "numbers"

    @property
    def schema(self) -> pa.Schema:
        schema = EXPORTED[self.scan.options.nanoseconds].schema(self.scan.schema)
        return dated_schema(schema, self._dated)

    @property
    def _dated(self) -> tuple[str, ...]:
        return dated_columns(self.scan.table, self.times)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All rows, decoded on all cores."""
        return parallel_batches(self.scan.splits(), self._read, cores())

    def nulls(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Rows of nulls, one per stored row; no value is decoded."""
        nulls = [pa.nulls(1 << 14, field.type) for field in schema]
        batch = pa.RecordBatch.from_arrays(nulls, schema=schema)
        for rows in parallel_batches(self.scan.splits(), self._count, cores()):
            yield from (batch[: rows - start] for start in range(0, rows, len(batch)))

    def _count(self, split: Split) -> Iterator[int]:
        yield rows_in(self.scan, split)

    def _read(self, split: Split) -> Iterator[pa.RecordBatch]:
        for batch in self.scan.read(split):
            exported = EXPORTED[self.scan.options.nanoseconds].batch(batch)
            yield with_dates(exported, self._dated) if self._dated else exported


class ScanDataset(Dataset):  # type: ignore[misc]  # pyarrow has no types
    """A dataset whose rows a scan reads when they are wanted.

    ``errors`` has faults of the savepoint and a lack of memory, because DuckDB passes on only its own errors. ``keys`` maps
    columns of a scan to the keys that the query wants, see ``scanned_keys``; ``counted`` are columns whose
    values it does not use. ``stored`` are the same rows in files, which are read instead.
    """

    def __init__(self, rows: SqlRows, stored: Dataset | None = None) -> None:
        # Dataset.__init__ refuses to be called.
        self.rows, self._stored = rows, stored
        self.errors: list[SavepointError | MemoryError] = []
        self.keys: dict[tuple[str, ...], Keys] = {}
        self.counted: frozenset[tuple[str, ...]] = frozenset()

    @property
    def schema(self) -> pa.Schema:
        return self.rows.schema

    def scanner(
        self,
        columns: list[str] | None = None,
        filter: pc.Expression | None = None,  # noqa: A002  # DuckDB's name
        **others: Any,
    ) -> Any:
        if self._stored is not None:
            return self._stored.scanner(columns=columns, filter=filter, **others)
        projected = tuple(columns or self.schema.names)
        # Another query may give the dataset other keys before this one is read.
        is_counted = projected in self.counted
        return ScanReader(self, projected, filter, self.keys.get(projected), is_counted)


@dataclass(frozen=True, slots=True)
class ScanReader:
    """A stream of batches for DuckDB. Arrow's own scanner would read far ahead."""

    dataset: ScanDataset
    columns: tuple[str, ...]
    condition: pc.Expression | None
    keys: Keys
    is_counted: bool

    def to_reader(self) -> pa.RecordBatchReader:
        schema = self.dataset.schema
        wanted = pa.schema([schema.field(name) for name in self.columns])
        return pa.RecordBatchReader.from_batches(wanted, self._batches(wanted))

    def _batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        try:
            if self.is_counted and self.condition is None:
                yield from self.dataset.rows.nulls(schema)
                return
            for batch in self._rows().batches():
                selected = batch if self.condition is None else batch.filter(self.condition)
                if selected.num_rows:
                    yield selected.select(self.columns)
        except (SavepointError, MemoryError) as error:
            self.dataset.errors.append(error)
            raise

    def _rows(self) -> SqlRows:
        rows = self.dataset.rows
        text = "" if self.condition is None else str(self.condition)
        options = rows.scan.options
        # The columns that the condition is about; the text may hold other names by chance.
        tested = [field for field in rows.scan.schema if field.name in text]
        may_cut = self.is_counted and options.nanoseconds == "refuse"
        if may_cut and not any(_has_digits(field.type) for field in tested):
            options = replace(options, nanoseconds="truncate")
        if self.condition is not None and self.keys is not None and _has_plain_keys(rows.schema):
            options = replace(options, keys=tuple(self.keys))
        names = [field.name for field in tested]
        asked = [name for name in rows.schema.names if name in self.columns or name in names]
        scan = replace(rows.scan, options=options.of_columns(tuple(asked)))
        return SqlRows(narrowed(scan, names, self._keeps_nulls), rows.times)

    def _keeps_nulls(self) -> bool:
        nulls = pa.RecordBatch.from_pylist([{}], schema=self.dataset.schema)
        return bool(nulls.filter(self.condition).num_rows)


def _has_digits(data_type: pa.DataType) -> bool:
    """Whether values of a type have digits that a timestamp lacks."""
    return is_precise(data_type) or any(
        _has_digits(data_type.field(index).type) for index in range(data_type.num_fields)
    )


def _has_plain_keys(schema: pa.Schema) -> bool:
    """Whether a constant in a condition says which key it means."""
    kind = schema.field(KEY).type
    is_plain = pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_boolean(kind)
    return bool(is_plain)


def scanned_keys(plan: str, key: str) -> dict[tuple[str, ...], Keys]:
    """Columns that a scan of Arrow data projects -> keys that it lets pass.

    ``plan`` is the answer to ``EXPLAIN (FORMAT json)``, ``key`` the column of keys. Scans that project
    columns of the same names share their keys, since a plan names no tables.
    """
    scanned: dict[tuple[str, ...], Keys] = {}
    for scan, _ in _arrow_scans(json.loads(plan)):
        columns = tuple(_texts(scan.get("Projections")))
        keys: Keys = None
        for text in _texts(scan.get("Filters")):
            keys = _of_both(keys, _filter_keys(text, key))
        scanned[columns] = _of_either(scanned[columns], keys) if columns in scanned else keys
    return scanned


def counted_columns(plan: str) -> frozenset[tuple[str, ...]]:
    """Columns that scans project only to count rows."""
    counted, used = set[tuple[str, ...]](), set[tuple[str, ...]]()
    for scan, is_counted in _arrow_scans(json.loads(plan)):
        (counted if is_counted else used).add(tuple(_texts(scan.get("Projections"))))
    return frozenset(counted - used)


def _arrow_scans(
    nodes: list[Any], *, is_counted: bool = False
) -> Iterator[tuple[dict[str, Any], bool]]:
    """The details of each scan of Arrow data, and whether only ``count(*)`` is above it.

    Projections show aliases, so no text of theirs tells what they use; aggregates show functions.
    """
    for node in nodes:
        details, name = node["extra_info"], node["name"]
        if str(details.get("Function", "")).endswith("ARROW_SCAN"):
            yield details, is_counted
        counts = name == "UNGROUPED_AGGREGATE" and details["Aggregates"] == "count_star()"
        passes = is_counted and name in {"PROJECTION", "CROSS_PRODUCT"}
        yield from _arrow_scans(node["children"], is_counted=counts or passes)


def _texts(value: str | list[str] | None) -> list[str]:
    return [value] if isinstance(value, str) else value or []


def _filter_keys(text: str, key: str) -> Keys:
    try:
        return _keys(sqlglot.parse_one(text, read="duckdb"), key)
    except SqlglotError:
        return None


def _keys(condition: exp.Expression, key: str) -> Keys:
    match condition:
        case exp.Paren():
            return _keys(condition.this, key)
        case exp.And():
            return _of_both(_keys(condition.left, key), _keys(condition.right, key))
        case exp.Or():
            return _of_either(_keys(condition.left, key), _keys(condition.right, key))
        case exp.EQ() if _is_key(condition.left, key):
            return _constants([condition.right])
        case exp.EQ() if _is_key(condition.right, key):
            return _constants([condition.left])
        case exp.In() if _is_key(condition.this, key) and condition.expressions:
            return _constants(condition.expressions)
        case _:
            return None


def _of_both(first: Keys, second: Keys) -> Keys:
    if first is None or second is None:
        return second if first is None else first
    return first & second


def _of_either(first: Keys, second: Keys) -> Keys:
    return None if first is None or second is None else first | second


def _is_key(node: exp.Expression, key: str) -> bool:
    return isinstance(node, exp.Column) and node.parts[-1].name == key and len(node.parts) == 1


def _constants(nodes: list[exp.Expression]) -> Keys:
    """Constants that are equal in DuckDB if they are equal in Java, so no floating point."""
    is_plain = all(isinstance(node, exp.Boolean) or node.is_string or node.is_int for node in nodes)
    return frozenset(node.to_py() for node in nodes) if is_plain else None
