"""State of the first rows of each partition by an order (TOP N).

| strategy                | state                  | values                                            |
|-------------------------|------------------------|---------------------------------------------------|
| the first row alone     | Top1-Rank-State        | the row                                           |
| inserts alone           | data-state-with-append | columns of the order -> rows, as they came        |
| updates by a unique key | data-state-with-update | unique key -> row, place among rows of its order  |
| rows taken back         | data-state             | columns of the order -> all rows, as they came    |
|                         | sorted-map             | columns of the order -> number of rows            |

Flink: ``AppendOnlyTopNFunction``, ``FastTop1Function``, ``UpdatableTopNFunction``,
``RetractableTopNFunction``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from savepoint_formats.errors import PlanError
from savepoint_formats.snapshots import constructed
from savepoint_formats.snapshots.sorted_maps import SortColumn, sorted_map
from savepoint_spark.sql_history.history_rows import ORDER, in_order, name_of
from savepoint_spark.sql_history.node_state import (
    NodeState,
    StateColumns,
    entries,
    map_state,
    value_state,
)
from savepoint_spark.writing.grouped_rows import Grouping

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from savepoint_spark.sql_history.history_rows import HistoryRows
    from savepoint_spark.sql_history.node_state import NodeHistory

_TOP_1, _APPEND, _UPDATE = "Top1-Rank-State", "data-state-with-append", "data-state-with-update"
_ALL, _SORTED = "data-state", "sorted-map"
_ROW, _PLACE, _RANK = "row", "place", "rank"


@dataclass(frozen=True)
class Ranking:
    """A node of the first rows: partition, order, and number of rows.

    Attributes:
        rows: The rows of its input.
        key: Numbers of the columns of the partition.
        order: Number of each column of the order, whether it ascends, and whether nulls are last.
        last: Number of rows.
    """

    rows: HistoryRows
    key: tuple[int, ...]
    order: tuple[tuple[int, bool, bool], ...]
    last: int

    @property
    def sort_key(self) -> tuple[int, ...]:
        """Numbers of the columns of the order."""
        return tuple(number for number, _, _ in self.order)

    def first(self) -> DataFrame:
        """The first rows of each partition; of equal ones those that came first."""
        order = [_ordered(F.col(name_of(number)), *how) for number, *how in self.order]
        of_key = Grouping.of(self.rows.data, self.rows.names(self.key))
        return of_key.placed(_PLACE, *order, F.asc(ORDER)).where(F.col(_PLACE) <= self.last)

    def state(self, columns: StateColumns) -> NodeState:
        """The state, by partition."""
        return NodeState(self.rows.names(self.key), self.rows.types(self.key), (columns,))


def rank(history: NodeHistory) -> NodeState:
    """The first rows of each partition."""
    history.expect_no_ttl()
    node, last = history.node, _last(history)
    strategy = str(history.at("rankStrategy", "type"))
    rows = history.rows
    primary = history.numbers("rankStrategy", "primaryKeys")
    if strategy == "AppendFast":
        rows.expect_inserts(node.description)
    elif strategy == "UpdateFast":
        rows = rows.latest((*history.numbers("partition", "fields"), *primary), node.description)
    elif strategy == "Retract":
        rows = rows.surviving()
    else:
        raise PlanError(f"{node.description}: the strategy {strategy!r} is not known")
    rows.expect_order(f"{node.description} keeps the first of equal rows")
    ranking = Ranking(rows, history.numbers("partition", "fields"), _order(history.at), last)
    if strategy == "Retract":
        return _taken_back(ranking)
    if last == 1:
        data = ranking.first().withColumn(_TOP_1, rows.struct())
        return ranking.state(StateColumns(data, (value_state(_TOP_1, rows.serializer()),)))
    if strategy == "AppendFast":
        return ranking.state(_listed(ranking, ranking.first(), _PLACE, _APPEND))
    return _updated(ranking, primary)


def _taken_back(ranking: Ranking) -> NodeState:
    """All rows, and their number in the order."""
    rows, by, key = ranking.rows, ranking.sort_key, ranking.key
    names = rows.names(dict.fromkeys((*key, *by)))
    counted = Grouping.of(rows.data, names).aggregated(F.count(F.lit(1)).alias(_RANK))
    made = entries(rows.struct(by), F.col(_RANK)).alias(_SORTED)
    numbers = Grouping.of(counted, rows.names(key)).aggregated(made)
    columns = [
        SortColumn(logical_type, is_ascending, is_null_last)
        for logical_type, (_, is_ascending, is_null_last) in zip(
            rows.types(by), ranking.order, strict=True
        )
    ]
    state = value_state(_SORTED, sorted_map(columns, constructed.long()))
    listed = _listed(ranking, rows.data, ORDER, _ALL)
    return NodeState(rows.names(key), rows.types(key), (listed, StateColumns(numbers, (state,))))


def _listed(ranking: Ranking, data: DataFrame, place: str, state: str) -> StateColumns:
    """The rows of each partition by their columns of the order."""
    rows = ranking.rows
    by, key = ranking.sort_key, ranking.key
    names = rows.names(dict.fromkeys((*key, *by)))
    listed = Grouping.of(data, names).aggregated(in_order(place, rows.struct()).alias(_ROW))
    made = entries(rows.struct(by), F.col(_ROW)).alias(state)
    grouped = Grouping.of(listed, rows.names(key)).aggregated(made)
    serializer = constructed.map_of(rows.serializer(by), constructed.list_of(rows.serializer()))
    return StateColumns(grouped, (map_state(state, serializer),))


def _updated(ranking: Ranking, primary: tuple[int, ...]) -> NodeState:
    rows, key = ranking.rows, ranking.key
    names = rows.names(dict.fromkeys((*key, *ranking.sort_key)))
    data = Grouping.of(ranking.first(), names).placed(_RANK, F.asc(_PLACE))
    value = F.struct(rows.struct().alias("f0"), F.col(_RANK).alias("f1"))
    made = entries(rows.struct(primary), value).alias(_UPDATE)
    grouped = Grouping.of(data, rows.names(key)).aggregated(made)
    pair = constructed.tuple_of([rows.serializer(), constructed.integer()])
    serializer = constructed.map_of(rows.serializer(primary), pair)
    return ranking.state(StateColumns(grouped, (map_state(_UPDATE, serializer),)))


def _last(history: NodeHistory) -> int:
    match history.at("rankRange"):
        case {"type": "Constant", "end": int(end)} if history.at("rankType") == "ROW_NUMBER":
            return end
        case _:
            raise PlanError(
                f"{history.node.description}: only ROW_NUMBER up to a constant number can be made"
                " of history"
            )


def _order(at: Any) -> tuple[tuple[int, bool, bool], ...]:
    return tuple(
        (int(field["index"]), bool(field["isAscending"]), bool(field["nullIsLast"]))
        for field in at("orderBy", "fields") or ()
    )


def _ordered(column: Column, is_ascending: bool, is_null_last: bool) -> Column:
    if is_ascending:
        return column.asc_nulls_last() if is_null_last else column.asc_nulls_first()
    return column.desc_nulls_last() if is_null_last else column.desc_nulls_first()
