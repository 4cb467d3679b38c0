"""Files of rows in the formats of other programs: Parquet, Avro, CSV, JSON lines."""

from typing import TYPE_CHECKING

from savepoint_database.types.lazy_names import lazy_names

if TYPE_CHECKING:
    from savepoint_database.files.exported_table import export_table, write_table_file
    from savepoint_database.files.table_format import TableFormat

__all__ = ["TableFormat", "export_table", "write_table_file"]

__getattr__ = lazy_names(__name__)[0]
