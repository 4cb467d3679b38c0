"""Tables: which states they show, and how they are read as Arrow batches."""

from typing import TYPE_CHECKING

from savepoint_formats.lazy_names import lazy_names

if TYPE_CHECKING:
    from savepoint_formats.tables.catalog import (
        CatalogProblem,
        OperatorCatalog,
        base_handles,
        keyed_headers,
        operator_infos,
        problems_by_table,
        raw_timers,
        registered_infos,
    )
    from savepoint_formats.tables.remarks import column_remarks, has_slices, state_remarks
    from savepoint_formats.tables.tables import (
        KEY,
        KEY_GROUP,
        KEYED_STATE,
        NAMESPACE,
        SUBTASK,
        TIMERS,
        WINDOW_STATE,
        Column,
        Table,
        column_type,
        distinct_names,
        tables_of,
    )
    from savepoint_formats.tables.visible import (
        PROCESSING_TIME,
        TIME_DOMAINS,
        stored_key,
        stream_elements,
        timer_service,
        visible_elements,
        visible_key,
        with_times,
    )
else:
    __getattr__ = lazy_names(__name__)[0]

__all__ = [
    "KEY",
    "KEYED_STATE",
    "KEY_GROUP",
    "NAMESPACE",
    "PROCESSING_TIME",
    "SUBTASK",
    "TIMERS",
    "TIME_DOMAINS",
    "WINDOW_STATE",
    "CatalogProblem",
    "Column",
    "OperatorCatalog",
    "Table",
    "base_handles",
    "column_remarks",
    "column_type",
    "distinct_names",
    "has_slices",
    "keyed_headers",
    "operator_infos",
    "problems_by_table",
    "raw_timers",
    "registered_infos",
    "state_remarks",
    "stored_key",
    "stream_elements",
    "tables_of",
    "timer_service",
    "visible_elements",
    "visible_key",
    "with_times",
]
