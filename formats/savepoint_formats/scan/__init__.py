"""Reads tables: a plan from metadata, then Arrow batches split by split."""

from typing import TYPE_CHECKING

from savepoint_formats.lazy_names import lazy_names

if TYPE_CHECKING:
    from savepoint_formats.scan.look_up import asked_subtasks, keys_of_layout
    from savepoint_formats.scan.merged_columns import MergeInstances as MergeInstances
    from savepoint_formats.scan.merged_columns import instance_layout, merge_of, mergeable_states
    from savepoint_formats.scan.read_options import (
        ReadOptions,
        UndescribedSubclasses,
        checked_key_groups,
        checked_subclasses,
        narrowed,
    )
    from savepoint_formats.scan.scan import TableScan
    from savepoint_formats.scan.splits import (
        REASON,
        SPLIT_SIZE,
        KeyedSplit,
        Split,
        bytes_of_splits,
        check_subtasks,
        key_group_sizes,
        operator_splits,
        ranges_of_handle,
        rows_in,
    )
    from savepoint_formats.scan.subclasses_seen import (
        MOST_BYTES,
        Glance,
        SeenSubclasses,
        StoredValues,
        may_have,
        seen_subclasses,
    )
    from savepoint_formats.scan.subclasses_seen import Values as Values
    from savepoint_formats.scan.wanted_keys import keys_of
else:
    __getattr__ = lazy_names(__name__)[0]

__all__ = [
    "MOST_BYTES",
    "REASON",
    "SPLIT_SIZE",
    "Glance",
    "KeyedSplit",
    "ReadOptions",
    "SeenSubclasses",
    "Split",
    "StoredValues",
    "TableScan",
    "UndescribedSubclasses",
    "asked_subtasks",
    "bytes_of_splits",
    "check_subtasks",
    "checked_key_groups",
    "checked_subclasses",
    "instance_layout",
    "key_group_sizes",
    "keys_of",
    "keys_of_layout",
    "may_have",
    "merge_of",
    "mergeable_states",
    "narrowed",
    "operator_splits",
    "ranges_of_handle",
    "rows_in",
    "seen_subclasses",
]
