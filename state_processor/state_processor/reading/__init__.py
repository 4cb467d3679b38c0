"""State as rows: the data source, and functions of users that read."""

from typing import TYPE_CHECKING

from state_processor.types.lazy_names import lazy_names

if TYPE_CHECKING:
    from state_processor.reading.spark_rows import query_table

__all__ = ["query_table"]

__getattr__ = lazy_names(__name__, {"query_table": ".spark_rows"})
