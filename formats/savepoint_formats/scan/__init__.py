"""Reading tables: planned from metadata, read split by split as Arrow batches."""

from savepoint_formats.scan.operator_scan import OperatorStateSplit
from savepoint_formats.scan.scan_options import ReadOptions
from savepoint_formats.scan.table_scan import KeyedSplit, Split, TableScan

__all__ = ["KeyedSplit", "OperatorStateSplit", "ReadOptions", "Split", "TableScan"]
