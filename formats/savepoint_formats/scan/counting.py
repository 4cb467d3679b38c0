"""Counts the rows of a table split by split; only values that rows depend on are decoded."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from savepoint_formats.scan.operator_scan import OperatorStateSplit
from savepoint_formats.state_files.state import StateKind
from savepoint_formats.tables.tables import KEY

if TYPE_CHECKING:
    from savepoint_formats.scan.scan import TableScan
    from savepoint_formats.scan.splits import Split

_LISTS = {StateKind.OPERATOR_LIST, StateKind.UNION_LIST}


def rows_in(scan: TableScan, split: Split) -> int:
    """Number of rows of a split.

    Elements of list and union list state are counted in ``_metadata``; no file is read.
    """
    if scan.kind in _LISTS and isinstance(split, OperatorStateSplit):
        (state,) = scan.table.states
        return split.element_count(state.name)
    names = [column.name for column in scan.table.columns]
    column = KEY if KEY in names else names[0]
    counted = replace(scan, options=replace(scan.options.of_columns((column,)), merge=None))
    return sum(batch.num_rows for batch in counted.read(split))
