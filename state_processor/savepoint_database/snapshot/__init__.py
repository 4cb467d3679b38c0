"""A stored savepoint or checkpoint: operators, tables, descriptions."""

from typing import TYPE_CHECKING

from savepoint_formats.lazy_names import lazy_names

if TYPE_CHECKING:
    from savepoint_database.snapshot.key_types import described_job_types, types_of_text
    from savepoint_database.snapshot.opening import opening_of
    from savepoint_database.snapshot.retained import snapshots
    from savepoint_database.snapshot.sql_tables import SqlTables
    from savepoint_formats.scan.read_options import ReadOptions

__all__ = [
    "ReadOptions",
    "SqlTables",
    "described_job_types",
    "opening_of",
    "snapshots",
    "types_of_text",
]

__getattr__ = lazy_names(__name__)[0]
