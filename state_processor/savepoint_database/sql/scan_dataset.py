"""A scan as a dataset of Arrow, to which DuckDB passes columns and conditions.

DuckDB asks for the schema when it binds a query, and for a scanner when it wants rows. A table
that a query names twice has two scanners. DuckDB asks nothing else of a dataset.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow.dataset import Dataset

from savepoint_database.types.spark_values import exported_schema, to_exported
from savepoint_database.types.timer_dates import dated_columns, dated_schema, with_dates
from savepoint_formats.errors import SavepointError
from savepoint_formats.tables.tables import KEY

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow.compute as pc

    from savepoint_database.sql.key_conditions import Keys
    from savepoint_database.types.timer_dates import Times
    from savepoint_formats.scan.scan import TableScan


@dataclass(frozen=True, slots=True)
class SqlRows:
    """The rows of a scan as SQL sees them."""

    scan: TableScan
    times: Times = "numbers"

    @property
    def schema(self) -> pa.Schema:
        schema = exported_schema(self.scan.schema, self.scan.options.nanoseconds)
        return dated_schema(schema, self._dated)

    @property
    def _dated(self) -> tuple[str, ...]:
        return dated_columns(self.scan.table, self.times)

    def batches(self) -> Iterator[pa.RecordBatch]:
        for batch in self.scan.batches():
            exported = to_exported(batch, self.scan.options.nanoseconds)
            yield with_dates(exported, self._dated) if self._dated else exported


class ScanDataset(Dataset):  # type: ignore[misc]  # pyarrow has no types
    """A dataset whose rows a scan reads when they are wanted.

    ``errors`` has faults of the savepoint, because DuckDB passes on only its own errors. ``keys`` maps
    columns of a scan to the keys that the query wants, see ``scanned_keys``.
    """

    def __init__(self, rows: SqlRows) -> None:
        # Dataset.__init__ refuses to be called.
        self.rows = rows
        self.errors: list[SavepointError] = []
        self.keys: dict[tuple[str, ...], Keys] = {}

    @property
    def schema(self) -> pa.Schema:
        return self.rows.schema

    def scanner(
        self,
        columns: list[str] | None = None,
        filter: pc.Expression | None = None,  # noqa: A002  # DuckDB's name
        **_: Any,
    ) -> ScanReader:
        projected = tuple(columns or self.schema.names)
        # Another query may give the dataset other keys before this one is read.
        return ScanReader(self, projected, filter, self.keys.get(projected))


@dataclass(frozen=True, slots=True)
class ScanReader:
    """A stream of batches for DuckDB. Arrow's own scanner would read far ahead."""

    dataset: ScanDataset
    columns: tuple[str, ...]
    condition: pc.Expression | None
    keys: Keys

    def to_reader(self) -> pa.RecordBatchReader:
        schema = self.dataset.schema
        wanted = pa.schema([schema.field(name) for name in self.columns])
        return pa.RecordBatchReader.from_batches(wanted, self._batches())

    def _batches(self) -> Iterator[pa.RecordBatch]:
        try:
            for batch in self._rows().batches():
                selected = batch if self.condition is None else batch.filter(self.condition)
                if selected.num_rows:
                    yield selected.select(self.columns)
        except SavepointError as error:
            self.dataset.errors.append(error)
            raise

    def _rows(self) -> SqlRows:
        rows, columns = self.dataset.rows, self.columns
        options = rows.scan.options
        if self.condition is not None:
            # A column that only the condition is about; the text may hold other names by chance.
            text = str(self.condition)
            columns = tuple(
                name for name in rows.schema.names if name in self.columns or name in text
            )
            if self.keys is not None and _has_plain_keys(rows.schema):
                options = replace(options, keys=tuple(self.keys))
        scan = replace(rows.scan, options=options.of_columns(columns))
        return SqlRows(scan, rows.times)


def _has_plain_keys(schema: pa.Schema) -> bool:
    """Whether a constant in a condition says which key it means."""
    kind = schema.field(KEY).type
    is_plain = pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_boolean(kind)
    return bool(is_plain)
