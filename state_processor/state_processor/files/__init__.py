"""Files of rows, in formats that other programs write and read: Parquet, Avro, CSV, JSON lines."""

from state_processor.files.new_table_file import expect_free, write_table_file
from state_processor.files.table_files import TableFiles
from state_processor.files.table_format import FileSplit, TableFormat

__all__ = ["FileSplit", "TableFiles", "TableFormat", "expect_free", "write_table_file"]
