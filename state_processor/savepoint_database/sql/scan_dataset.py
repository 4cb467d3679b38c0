"""A scan as a dataset of Arrow, which is what DuckDB hands columns and conditions to.

DuckDB asks for the schema when a query is bound, and for a scanner when rows are wanted; a table
that is there twice in a query has two. Nothing else is asked of a dataset.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow.dataset import Dataset

from savepoint_database.sql.key_conditions import Condition
from savepoint_database.types.schema import exported_schema
from savepoint_database.types.spark_values import to_exported
from savepoint_database.types.timer_dates import dated_columns, dated_schema, with_dates
from savepoint_formats.errors import SavepointError
from savepoint_formats.tables.tables import KEY

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow.compute as pc

    from savepoint_database.types.timer_dates import Times
    from savepoint_formats.scan.scan import TableScan


@dataclass(frozen=True, slots=True)
class SqlRows:
    """The rows of a scan as SQL sees them.

    Attributes:
        scan: The scan.
        times: What the times of timers are.
    """

    scan: TableScan
    times: Times = "numbers"

    @property
    def schema(self) -> pa.Schema:
        """The schema of the batches."""
        schema = exported_schema(self.scan.schema, self.scan.options.nanoseconds)
        return dated_schema(schema, self._dated)

    @property
    def _dated(self) -> tuple[str, ...]:
        return dated_columns(self.scan.table, self.times)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, split by split."""
        for batch in self.scan.batches():
            exported = to_exported(batch, self.scan.options.nanoseconds)
            yield with_dates(exported, self._dated) if self._dated else exported


class ScanDataset(Dataset):  # type: ignore[misc]  # pyarrow has no types
    """A dataset whose rows a scan reads when they are wanted.

    Attributes:
        rows: The rows, all of them.
        errors: What was wrong with the savepoint; DuckDB knows but its own errors.
    """

    def __init__(self, rows: SqlRows) -> None:
        # That of Dataset is for datasets in C++, and refuses to be called.
        self.rows = rows
        self.errors: list[SavepointError] = []

    @property
    def schema(self) -> pa.Schema:
        return self.rows.schema

    def scanner(
        self,
        columns: list[str] | None = None,
        filter: pc.Expression | None = None,  # noqa: A002  # DuckDB's name
        **_: Any,
    ) -> ScanReader:
        """What reads these columns of the rows that fulfil a condition."""
        return ScanReader(self, tuple(columns or self.schema.names), filter)


@dataclass(frozen=True, slots=True)
class ScanReader:
    """What DuckDB has a stream of batches of. Arrow's own scanner would read far ahead."""

    dataset: ScanDataset
    columns: tuple[str, ...]
    condition: pc.Expression | None

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
            condition = Condition.of(self.condition, KEY)
            columns = tuple(dict.fromkeys((*columns, *condition.columns)))
            if condition.keys is not None and _has_plain_keys(rows.schema):
                options = replace(options, keys=condition.keys)
        scan = replace(rows.scan, options=options.of_columns(columns))
        return SqlRows(scan, rows.times)


def _has_plain_keys(schema: pa.Schema) -> bool:
    """Whether keys are of a type of which a constant in a condition tells the key."""
    kind = schema.field(KEY).type
    is_plain = pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_boolean(kind)
    return bool(is_plain)
