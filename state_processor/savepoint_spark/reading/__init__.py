"""State as rows: the data source, and functions of users that read."""

from typing import TYPE_CHECKING

from savepoint_formats.lazy_names import lazy_names

if TYPE_CHECKING:
    from savepoint_spark.reading.functions import (
        AnyState,
        GlobalWindow,
        KeyedStateReaderFunction,
        ReaderFunction,
        RuntimeContext,
        TimeWindow,
        WindowReaderFunction,
    )
    from savepoint_spark.reading.functions import OutputRow as OutputRow
    from savepoint_spark.reading.metadata_function import register_metadata_function
    from savepoint_spark.reading.per_key import (
        KeyedReaderJob,
        ReaderPlan,
        keys_of_function,
        row_types,
    )
    from savepoint_spark.reading.source_options import FORMAT, SourceOptions, path_options
    from savepoint_spark.reading.states import (
        AggregatingState,
        ListState,
        MapState,
        ReducingState,
        State,
        ValueState,
        hashable,
    )
    from savepoint_spark.reading.table_read import TableRead
    from savepoint_spark.reading.window_reader import WindowReaderJob
else:
    __getattr__ = lazy_names(__name__)[0]

__all__ = [
    "FORMAT",
    "AggregatingState",
    "AnyState",
    "GlobalWindow",
    "KeyedReaderJob",
    "KeyedStateReaderFunction",
    "ListState",
    "MapState",
    "ReaderFunction",
    "ReaderPlan",
    "ReducingState",
    "RuntimeContext",
    "SourceOptions",
    "State",
    "TableRead",
    "TimeWindow",
    "ValueState",
    "WindowReaderFunction",
    "WindowReaderJob",
    "hashable",
    "keys_of_function",
    "path_options",
    "register_metadata_function",
    "row_types",
]
