"""Forms of a scan's rows: a table of Arrow, pandas or Polars, or a relation of DuckDB."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from savepoint_formats.extras import imported
from savepoint_formats.printable import html_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import duckdb
    import pandas as pd
    import polars as pl

SLICE_SIZE = 16 << 20
"""Approximate bytes of the largest batch, unless a single row is larger."""


class TableResults(ABC):
    """Whole table of a scan, in the forms that other libraries take.

    Each call reads the files anew. Times with nanoseconds, or of years that 64 bits of nanoseconds
    do not reach, are a struct of ``seconds`` and ``nanos``, as in batches.
    """

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """Schema of the batches."""

    @property
    @abstractmethod
    def full_name(self) -> str:
        """``<operator>.<table>``, the operator by its uid or hash."""

    @abstractmethod
    def splits(self) -> Sequence[object]:
        """Splits of the table, which any process can read."""

    @abstractmethod
    def batches(self) -> Iterator[pa.RecordBatch]:
        """All rows, batch by batch."""

    def to_arrow(self) -> pa.Table:
        """All rows as one table of Arrow, in memory.

        Raises:
            StateFileNotFoundError: A file is gone.
            FormatError: A file is damaged; names state, key group, operator, table and subtask.

        Example:
            >>> savepoint.scan("summarize.keyed_state", columns=["key", "total"]).to_arrow()
        """
        return pa.Table.from_batches(self.batches(), self.schema)

    def to_pandas(self) -> pd.DataFrame:
        """All rows as a DataFrame of pandas, in memory.

        Maps become lists of pairs, as in Arrow's own conversion.

        Raises:
            MissingPackageError: pandas is not installed.
            SavepointError: As ``to_arrow``.

        Example:
            >>> savepoint.scan("summarize.keyed_state").to_pandas().describe()
        """
        imported("pandas")
        frame: pd.DataFrame = self.to_arrow().to_pandas()
        return frame

    def to_polars(self) -> pl.DataFrame:
        """All rows as a DataFrame of Polars, in memory.

        Raises:
            MissingPackageError: Polars is not installed.
            SavepointError: As ``to_arrow``.

        Example:
            >>> savepoint.scan("summarize.keyed_state").to_polars().sort("total")
        """
        polars = imported("polars")
        frame: pl.DataFrame = polars.from_arrow(self.to_arrow())
        return frame

    def to_duckdb(
        self, connection: duckdb.DuckDBPyConnection | None = None
    ) -> duckdb.DuckDBPyRelation:
        """Rows as a relation of DuckDB, which reads them batch by batch for each query.

        The table need not fit into memory. A fault of a file is then an error of DuckDB, whose
        message ends with the message of the ``SavepointError``.

        Args:
            connection: The connection of the relation; DuckDB's own by default.

        Raises:
            SavepointError: There is no such column or key.

        Example:
            >>> savepoint.scan("summarize.keyed_state").to_duckdb().filter("total > 100").count("*")
        """
        import duckdb  # noqa: PLC0415  # it is slow to import

        database = duckdb if connection is None else connection
        _ = self.schema
        relation: duckdb.DuckDBPyRelation = database.from_arrow(self)
        return relation

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        """Rows as a stream of Arrow's, which any library that knows its protocol can read."""
        reader = pa.RecordBatchReader.from_batches(self.schema, self.batches())
        return reader.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.full_name!r})"

    def _repr_html_(self) -> str:
        """Columns and number of splits, for notebooks."""
        splits = self.splits()
        title = f"{self.full_name}, read in {len(splits):,} splits"
        return html_table(
            title, ("column", "type"), ((field.name, field.type) for field in self.schema)
        )


def slices(batch: pa.RecordBatch, size: int = SLICE_SIZE) -> Iterator[pa.RecordBatch]:
    """Divides the rows of a batch to about ``size`` bytes; a single row may be larger."""
    count = min(-(-batch.nbytes // size), batch.num_rows)
    if count <= 1:
        yield batch
        return
    for index in range(count):
        start, end = (batch.num_rows * number // count for number in (index, index + 1))
        yield batch.slice(start, end - start)
