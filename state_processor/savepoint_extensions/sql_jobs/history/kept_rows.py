"""State of operators that keep rows: deduplication, TOP N, normalised changelogs, upserts.

| operator                                  | state                        | values                          |
|-------------------------------------------|------------------------------|---------------------------------|
| first row of processing time              | deduplicate-state            | true                            |
| last row; first or last one of event time | deduplicate-state            | the row                         |
| first row of event time, only inserts     | waiting-to-emit-on-timer     | the row, until the watermark    |
|                                           | already-emitted-state-boolean| true, from then on              |
| normalised changelog                      | deduplicate-state            | the row                         |
| upserts of a sink                         | values                       | rows of the key, as they came   |

The first rows of each partition by an order (TOP N):

| strategy                | state                  | values                                            |
|-------------------------|------------------------|---------------------------------------------------|
| only the first row      | Top1-Rank-State        | the row                                           |
| only inserts            | data-state-with-append | columns of the order -> rows, as they came        |
| updates by a unique key | data-state-with-update | unique key -> row, place among rows of its order  |
| rows taken back         | data-state             | columns of the order -> all rows, as they came    |
|                         | sorted-map             | columns of the order -> number of rows            |

Flink: ``StreamExecDeduplicate``, ``ProcTimeDeduplicateKeepLastRowFunction``,
``RowTimeDeduplicateKeepFirstRowFunction``, ``SinkUpsertMaterializer``, ``AppendOnlyTopNFunction``,
``FastTop1Function``, ``UpdatableTopNFunction``, ``RetractableTopNFunction``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pyspark.sql import Window
from pyspark.sql import functions as F

from savepoint_extensions.sql_jobs.history.node_state import (
    ORDER,
    SIGN,
    NodeState,
    StateColumns,
    entries,
    in_order,
    map_state,
    name_of,
    row_struct,
    type_of,
    value_state,
)
from savepoint_extensions.sql_jobs.history.operator_maps import SortColumn, sorted_map
from savepoint_extensions.sql_jobs.plans.compiled_plan import NamedColumn, parse_type
from savepoint_formats.errors import PlanError
from savepoint_formats.snapshots import constructed, row_data
from savepoint_spark.writing import Grouping

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from savepoint_extensions.sql_jobs.history.node_state import HistoryRows, NodeHistory


_KEPT, _WAITING, _EMITTED = (
    "deduplicate-state",
    "waiting-to-emit-on-timer",
    "already-emitted-state-boolean",
)
_VALUES, _TIMER = "values", "timer"
_MINI_BATCH = "table.exec.mini-batch.enabled"
_MATERIALIZE = "table.exec.sink.upsert-materialize-strategy.type"


def changelog_normalize(history: NodeHistory) -> NodeState:
    """The last row of each key, unless it was deleted."""
    history.expect_no_ttl()
    key = history.numbers("uniqueKeys")
    if history.at("filterCondition") is not None:
        raise PlanError(
            f"{history.node.description}: it keeps only rows of a condition, which is the planner's"
            " expression. Compile the plan without pushing filters down"
        )
    rows = history.rows.latest(key, history.node.description)
    return _kept(rows, key)


def deduplicate(history: NodeHistory) -> NodeState:
    """The first or last row of each key."""
    history.expect_no_ttl()
    _expect_no_mini_batch(history)
    rows, key = history.rows, history.numbers("uniqueKeys")
    description = history.node.description
    rows.expect_inserts(description)
    is_last = bool(history.at("keepLastRow"))
    if history.at("isRowtime"):
        time = rowtime(rows, description)
        if not is_last and history.at("outputInsertOnly"):
            return _first_on_timer(history, rows, key, time)
        rows.expect_order(f"{description} keeps one of the rows of equal times")
        return _kept(_of_time(rows, key, time, is_last), key)
    if is_last:
        return _kept(rows.latest(key, description), key)
    names = rows.names(key)
    data = Grouping.of(rows.data.select(*names), names).distinct()
    states = StateColumns(
        data.withColumn(_KEPT, F.lit(True)), (value_state(_KEPT, constructed.boolean()),)
    )
    return NodeState(names, rows.types(key), (states,))


def upsert_materialize(history: NodeHistory) -> NodeState:
    """The rows of each primary key, in the order of arrival."""
    history.expect_no_ttl()
    rows, description = history.rows, history.node.description
    strategy = (history.at("configuration") or {}).get(_MATERIALIZE, "LEGACY")
    if strategy != "LEGACY":
        raise PlanError(
            f"{description}: its strategy is {strategy}, whose state can't be made of history."
            f" Compile the plan with {_MATERIALIZE}=LEGACY"
        )
    rows.expect_order(f"{description} keeps the rows of a key as they came")
    schema = history.at("dynamicTableSink", "table", "resolvedTable", "schema") or {}
    given = schema.get("columns") or ()
    names = [column.get("name") for column in given]
    primary = (schema.get("primaryKey") or {}).get("columns") or ()
    key = tuple(names.index(name) for name in primary)
    if not key or len(names) != len(rows.row) or any("dataType" not in it for it in given):
        raise PlanError(
            f"{description}: the plan doesn't tell the table's primary key. Compile it with"
            " table.plan.compile.catalog-objects=ALL"
        )
    types = tuple(
        type_of(NamedColumn(name, parse_type(column["dataType"])))
        for name, column in zip(names, given, strict=True)
    )
    upsert_key = history.numbers("inputUpsertKey")
    if upsert_key:
        left = _materialized(rows, tuple(dict.fromkeys((*key, *upsert_key))))
    else:
        left = rows.surviving().data.withColumn("place", F.col(ORDER))
    struct = row_struct([F.col(name_of(i)) for i in range(len(types))], types)
    listed = in_order("place", struct).alias(_VALUES)
    data = Grouping.of(left, rows.names(key)).aggregated(listed)
    state = value_state(_VALUES, constructed.list_of(row_data(types)))
    of_key = tuple(types[number] for number in key)
    return NodeState(rows.names(key), of_key, (StateColumns(data, (state,)),), has_timers=False)


def _materialized(rows: HistoryRows, key: tuple[int, ...]) -> DataFrame:
    """The last remaining row of each upsert key, with its place in the list.

    A row that is added again takes the place of the old one; one that was taken back comes last.
    """
    grouping = Grouping.of(rows.data, rows.names(key))
    same = [F.col(name) for name in grouping.columns]
    of_key = Window.partitionBy(*same)
    taken_back = F.max(F.when(F.col(SIGN) < 0, F.col(ORDER))).over(of_key)
    data = grouping.data.withColumn("taken back", taken_back).where(
        (F.col(SIGN) > 0) & (F.col("taken back").isNull() | (F.col(ORDER) > F.col("taken back")))
    )
    data = data.withColumn("place", F.min(ORDER).over(of_key))
    newest = F.row_number().over(of_key.orderBy(F.desc(ORDER)))
    data = data.withColumn("newest", newest).where(F.col("newest") == 1)
    return data.drop("newest", "taken back", *grouping.added)


def rowtime(rows: HistoryRows, description: str) -> int:
    """The number of the column of event time."""
    for number, column in enumerate(rows.row):
        if type_of(column).kind == "ROWTIME":
            return number
    raise PlanError(f"{description}: none of its columns is event time")


def rowtime_ms(rows: HistoryRows, number: int) -> Column:
    """Event time in ms, as Flink counts it: a time without zone as if it were UTC."""
    column = F.col(name_of(number))
    if type_of(rows.row[number]).root == "TIMESTAMP_WITHOUT_TIME_ZONE":
        # A mere cast would depend on the session's zone.
        column = F.concat(column.cast("string"), F.lit("Z")).cast("timestamp")
    return F.unix_millis(column)


def _of_time(rows: HistoryRows, key: tuple[int, ...], time: int, is_last: bool) -> HistoryRows:
    """The row of each key with the first or last time; at equal times, the first or last to come."""
    by = (F.desc(name_of(time)), F.desc(ORDER)) if is_last else (F.asc(name_of(time)), F.asc(ORDER))
    data = Grouping.of(rows.data, rows.names(key)).placed("place", *by)
    return replace(rows, data=data.where("place = 1").drop("place"))


def _first_on_timer(
    history: NodeHistory, rows: HistoryRows, key: tuple[int, ...], time: int
) -> NodeState:
    rows.expect_order(f"{history.node.description} keeps one of the rows of equal times")
    first = _of_time(rows, key, time, is_last=False)
    at = rowtime_ms(rows, time)
    is_emitted = at <= history.watermark_ms()
    data = first.data.withColumn(_WAITING, F.when(~is_emitted, first.struct()))
    data = data.withColumn(_EMITTED, F.when(is_emitted, F.lit(True)))
    data = data.withColumn(_TIMER, F.when(~is_emitted, at))
    states = (
        value_state(_WAITING, rows.serializer()),
        value_state(_EMITTED, constructed.boolean()),
    )
    return NodeState(rows.names(key), rows.types(key), (StateColumns(data, states, _TIMER),))


def _kept(rows: HistoryRows, key: tuple[int, ...]) -> NodeState:
    data = rows.data.withColumn(_KEPT, rows.struct())
    states = StateColumns(data, (value_state(_KEPT, rows.serializer()),))
    return NodeState(rows.names(key), rows.types(key), (states,))


def _expect_no_mini_batch(history: NodeHistory) -> None:
    if str((history.at("configuration") or {}).get(_MINI_BATCH, "false")).lower() == "true":
        raise PlanError(
            f"{history.node.description}: mini-batch keeps other state, which can't be made of"
            f" history. Compile the plan with {_MINI_BATCH}=false"
        )


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
        """The first rows of each partition; of equal rows, the earliest."""
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
