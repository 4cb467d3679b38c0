"""The rows of a scan that fulfil a condition; the others end where they were decoded."""

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
    """A scan and a condition on its rows.

    Attributes:
        scan: What is read: the columns that are shown, and behind them those that only the
            condition is about.
        condition: Which rows are shown.
        shown: The names of the columns that are shown.
    """

    scan: TableScan
    condition: RowCondition
    shown: tuple[str, ...]

    @classmethod
    def of(cls, scan: TableScan, where: str, shown: tuple[str, ...] | None = None) -> Self:
        """What reads the rows of a scan that fulfil a condition.

        Args:
            scan: What is read; its condition may be about columns that it does not show.
            where: The condition, in SQL.
            shown: The columns that are shown; those of the scan by default.

        Raises:
            ConditionError: The condition can't be understood, or is about a column that is not
                there.
        """
        whole = replace(scan, options=replace(scan.options, columns=None))
        condition = RowCondition.of(where, whole.schema)
        names = tuple(scan.schema.names) if shown is None else shown
        # A batch without columns has no rows.
        read = tuple(dict.fromkeys((*names, *condition.columns))) or (whole.schema.names[0],)
        return cls(replace(scan, options=scan.options.of_columns(read)), condition, names)

    def read(self, split: Split) -> Iterator[pa.RecordBatch]:
        """The rows of a split that fulfil the condition, batch by batch; none is empty.

        Raises:
            ConditionError: A value makes no sense to the condition.
            SavepointError: As ``TableScan.read``.
        """
        for batch in self.scan.read(split):
            chosen = self.condition.filtered(batch)
            if chosen.num_rows:
                yield chosen.select(self.shown)


def matching_rows(scan: FilteredScan, split: Split) -> int:
    """The number of rows of a split that fulfil the condition."""
    batches = scan.scan.read(split)
    return sum(scan.condition.filtered(batch).num_rows for batch in batches)
