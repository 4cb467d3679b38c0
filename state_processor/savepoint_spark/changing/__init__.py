"""Changes of existing state: replaced, renamed, removed, or passed through."""

from typing import TYPE_CHECKING

from savepoint_formats.lazy_names import lazy_names
from savepoint_spark.changing.canonical import is_of_forst, needs_conversion

if TYPE_CHECKING:
    from savepoint_spark.changing.change import Change, ChosenKeys, Part
    from savepoint_spark.changing.changed_operator import ChangedOperator
    from savepoint_spark.changing.changed_table import ChangedTable
    from savepoint_spark.changing.header_changes import HeaderChanges
    from savepoint_spark.changing.key_choice import DeletedKeys
    from savepoint_spark.changing.local_write import LocalKeyedPlan, LocalStateRows, merge_instances
    from savepoint_spark.changing.local_write import Merge as Merge
    from savepoint_spark.changing.made_rows import MadeEntries, MadeRows
    from savepoint_spark.changing.named_classes import snapshots_of
    from savepoint_spark.changing.operator_changes import OperatorChanges
    from savepoint_spark.changing.order import StageRule
    from savepoint_spark.changing.present_names import BEFORE
    from savepoint_spark.changing.state_recoding import EntryRecoding, StateRecoding
    from savepoint_spark.changing.stored_operator_state import (
        element_arrays,
        element_layout,
        operator_states,
        rewritten_state,
        stored_elements,
    )
    from savepoint_spark.changing.stored_rows import StoredKeyedRows, StoredSplit, stored_chunks
    from savepoint_spark.changing.struct_columns import type_at
    from savepoint_spark.changing.table_rows import TableRows
else:
    __getattr__ = lazy_names(__name__)[0]

__all__ = [
    "BEFORE",
    "Change",
    "ChangedOperator",
    "ChangedTable",
    "ChosenKeys",
    "DeletedKeys",
    "EntryRecoding",
    "HeaderChanges",
    "LocalKeyedPlan",
    "LocalStateRows",
    "MadeEntries",
    "MadeRows",
    "OperatorChanges",
    "Part",
    "StageRule",
    "StateRecoding",
    "StoredKeyedRows",
    "StoredSplit",
    "TableRows",
    "element_arrays",
    "element_layout",
    "is_of_forst",
    "merge_instances",
    "needs_conversion",
    "operator_states",
    "rewritten_state",
    "snapshots_of",
    "stored_chunks",
    "stored_elements",
    "type_at",
]
