"""SQL over the tables of a savepoint without Spark: DuckDB asks, our scans answer in Arrow."""

from typing import TYPE_CHECKING

from savepoint_formats.lazy_names import lazy_names

if TYPE_CHECKING:
    from savepoint_database.sql.sql_database import SqlDatabase, SqlResult
    from savepoint_database.sql.sql_text import expect_spark_query
    from savepoint_database.sql.table_cache import TableCache

__all__ = ["SqlDatabase", "SqlResult", "TableCache", "expect_spark_query"]

__getattr__ = lazy_names(__name__)[0]
