"""State of new operators, from the columns of DataFrames."""

from typing import TYPE_CHECKING

from savepoint_formats.lazy_names import lazy_names

if TYPE_CHECKING:
    from savepoint_spark.bootstrapping.keyed_columns import KeyedColumns, columns_of_key, key_of
    from savepoint_spark.bootstrapping.windowed_transformation import (
        CONTENTS,
        MERGING_SET,
        WINDOW,
        OperatorStateTransformation,
        WindowedStateTransformation,
        window_column,
    )
else:
    __getattr__ = lazy_names(__name__)[0]

__all__ = [
    "CONTENTS",
    "MERGING_SET",
    "WINDOW",
    "KeyedColumns",
    "OperatorStateTransformation",
    "WindowedStateTransformation",
    "columns_of_key",
    "key_of",
    "window_column",
]
