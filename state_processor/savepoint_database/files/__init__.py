"""Files of rows in the formats of other programs, and tables of databases."""

from typing import TYPE_CHECKING

from savepoint_formats.lazy_names import lazy_names

if TYPE_CHECKING:
    from savepoint_database.files.exported_table import export_table, write_table_file
    from savepoint_database.files.schema_texts import flink_type
    from savepoint_database.files.table_format import TableFormat, TableTarget
    from savepoint_formats.new_snapshot import whole_file, writing_errors

__all__ = [
    "TableFormat",
    "TableTarget",
    "export_table",
    "flink_type",
    "whole_file",
    "write_table_file",
    "writing_errors",
]

__getattr__ = lazy_names(__name__)[0]
