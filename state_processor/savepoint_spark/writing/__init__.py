"""New state on its way from rows to the files of a savepoint."""

from typing import TYPE_CHECKING

from savepoint_formats.lazy_names import lazy_names

if TYPE_CHECKING:
    from savepoint_spark.writing.grouped_rows import Grouping, merged_windows
    from savepoint_spark.writing.keyed_plan import KeyedPlan, RunRows, in_arrow_batches_of
    from savepoint_spark.writing.keyed_rows import Key, KeyedRows, NewState
    from savepoint_spark.writing.operator_plan import (
        ELEMENTS,
        ElementEncoding,
        ElementRows,
        NewOperatorState,
        OperatorPlan,
        OperatorRows,
        spread_rows,
    )
    from savepoint_spark.writing.routed_rows import routed
    from savepoint_spark.writing.run_encoding import (
        BATCH_SIZE,
        HASH_SIZE,
        KEY,
        KEY_GROUP,
        NAMESPACE,
        RUN_SCHEMA,
        TIMESTAMPS,
        RunEncoding,
        StateColumn,
        checked_key_groups,
        gathered,
        present,
        run_rows,
    )
    from savepoint_spark.writing.shuffled_runs import RunSource
    from savepoint_spark.writing.stored_types import StoredTypes, expect_key_types
    from savepoint_spark.writing.write_context import (
        GoingOn,
        OfKeyGroups,
        PlannedTransformation,
        StateTransformation,
        WriteContext,
    )
else:
    __getattr__ = lazy_names(__name__)[0]

__all__ = [
    "BATCH_SIZE",
    "ELEMENTS",
    "HASH_SIZE",
    "KEY",
    "KEY_GROUP",
    "NAMESPACE",
    "RUN_SCHEMA",
    "TIMESTAMPS",
    "ElementEncoding",
    "ElementRows",
    "GoingOn",
    "Grouping",
    "Key",
    "KeyedPlan",
    "KeyedRows",
    "NewOperatorState",
    "NewState",
    "OfKeyGroups",
    "OperatorPlan",
    "OperatorRows",
    "PlannedTransformation",
    "RunEncoding",
    "RunRows",
    "RunSource",
    "StateColumn",
    "StateTransformation",
    "StoredTypes",
    "WriteContext",
    "checked_key_groups",
    "expect_key_types",
    "gathered",
    "in_arrow_batches_of",
    "merged_windows",
    "present",
    "routed",
    "run_rows",
    "spread_rows",
]
