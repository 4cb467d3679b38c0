"""Rows of a table as a person or a condition asks for them, without Spark."""

from typing import TYPE_CHECKING

from savepoint_formats.lazy_names import lazy_names

if TYPE_CHECKING:
    from savepoint_database.rows.rows import first_rows, result_rows

__all__ = ["first_rows", "result_rows"]

__getattr__ = lazy_names(__name__)[0]
