"""Rows of a scan that fulfil a condition; other rows end where they were decoded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from savepoint_database.rows.row_condition import RowCondition

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from savepoint_formats.scan.scan import TableScan
    from savepoint_formats.scan.splits import Split


@dataclass(frozen=True, slots=True)
class FilteredScan:
    """A scan and a condition on its rows; only the ``shown`` columns reach the reader."""

    scan: TableScan
    condition: RowCondition
    shown: tuple[str, ...]

    @classmethod
    def of(cls, scan: TableScan, where: str, shown: tuple[str, ...] | None = None) -> Self:
        """Filters a scan by a condition in SQL, which may use columns that are not shown.

        ``shown`` are the columns of the scan by default.

        Raises:
            ConditionError: The condition can't be understood, or uses an unknown column.
        """
        whole = replace(scan, options=replace(scan.options, columns=None))
        condition = RowCondition.of(where, whole.schema)
        names = tuple(scan.schema.names) if shown is None else shown
        # A batch without columns has no rows.
        read = tuple(dict.fromkeys((*names, *condition.columns))) or (whole.schema.names[0],)
        return cls(replace(scan, options=scan.options.of_columns(read)), condition, names)

    def read(self, split: Split) -> Iterator[pa.RecordBatch]:
        """Rows of a split that fulfil the condition, in batches that are not empty.

        Raises:
            ConditionError: The condition fails for a value.
            SavepointError: As ``TableScan.read``.
        """
        for batch in self.scan.read(split):
            chosen = self.condition.filtered(batch)
            if chosen.num_rows:
                yield chosen.select(self.shown)


def matching_rows(scan: FilteredScan, split: Split) -> int:
    """Number of rows of a split that fulfil the condition."""
    batches = scan.scan.read(split)
    return sum(scan.condition.filtered(batch).num_rows for batch in batches)
