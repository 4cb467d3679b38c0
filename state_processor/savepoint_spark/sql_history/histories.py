"""Kinds of nodes whose state can be made of history, and how."""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_spark.sql_history.aggregate_state import group_aggregate
from savepoint_spark.sql_history.join_state import join
from savepoint_spark.sql_history.kept_rows import (
    changelog_normalize,
    deduplicate,
    upsert_materialize,
)
from savepoint_spark.sql_history.over_aggregate_state import over_aggregate
from savepoint_spark.sql_history.rank_state import rank
from savepoint_spark.sql_history.window_aggregate_state import window_aggregate

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_spark.sql_history.node_history import NodeHistory
    from savepoint_spark.sql_history.node_state import NodeState

HISTORIES: dict[str, Callable[[NodeHistory], NodeState]] = {
    "group-aggregate": group_aggregate,
    "global-group-aggregate": group_aggregate,
    "deduplicate": deduplicate,
    "rank": rank,
    "join": join,
    "changelog-normalize": changelog_normalize,
    "sink": upsert_materialize,
    "window-aggregate": window_aggregate,
    "global-window-aggregate": window_aggregate,
    "over-aggregate": over_aggregate,
}
"""Kind of a node -> its state."""
