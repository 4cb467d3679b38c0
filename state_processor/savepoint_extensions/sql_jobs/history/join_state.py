"""State of regular joins: the rows of both sides, and the number of matches of each row.

| an input has             | state | values                                                        |
|--------------------------|-------|---------------------------------------------------------------|
| no unique key            | map   | row -> number of equal rows; of an outer side with its matches |
| a unique key             | map   | unique key -> row; of an outer side with its matches          |
| one within the join's key| value | row; of an outer side with its matches                        |

An outer side is one whose rows are emitted without a match, and the left one of SEMI and ANTI.

Flink: ``JoinRecordStateViews``, ``OuterJoinRecordStateViews``, ``JoinInputSideSpec``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from savepoint_extensions.sql_jobs.history.node_state import (
    NodeState,
    StateColumns,
    entries,
    map_state,
    name_of,
    value_state,
)
from savepoint_formats.errors import PlanError
from savepoint_formats.snapshots import constructed
from savepoint_spark.writing import Grouping

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from savepoint_extensions.sql_jobs.history.node_state import HistoryRows, NodeHistory

_OUTER = {"LEFT": (True, False), "RIGHT": (False, True), "FULL": (True, True)}
_SEMI = {"SEMI": (True, False), "ANTI": (True, False)}
_MATCHES, _TIMES = "matches", "times"


@dataclass(frozen=True)
class JoinSide:
    """An input of a join.

    Attributes:
        state: Name of its state.
        rows: Its rows.
        key: Numbers of its columns in the join's key.
        unique_key: Numbers of the columns of its shortest unique key; empty if it has none.
        has_matches: Whether its rows have the number of their matches.
    """

    state: str
    rows: HistoryRows
    key: tuple[int, ...]
    unique_key: tuple[int, ...]
    has_matches: bool

    @property
    def is_unique(self) -> bool:
        """Whether the join's key has a unique key."""
        return bool(self.unique_key) and set(self.unique_key) <= set(self.key)

    def states(self, data: DataFrame) -> StateColumns:
        """The state of its rows, which have their matches."""
        row, matches = self.rows.struct(), F.col(_MATCHES)
        serializer, number = self.rows.serializer(), constructed.integer()
        with_matches = constructed.tuple_of([serializer, number])
        value = F.struct(row.alias("f0"), matches.alias("f1")) if self.has_matches else row
        stored = with_matches if self.has_matches else serializer
        names = self.rows.names(self.key)
        if self.is_unique:
            kept = data.withColumn(self.state, value)
            return StateColumns(kept, (value_state(self.state, stored),))
        if self.unique_key:
            by, by_serializer = (
                self.rows.struct(self.unique_key),
                self.rows.serializer(self.unique_key),
            )
            made = entries(by, value)
            grouped = Grouping.of(data, names).aggregated(made.alias(self.state))
            of_map = constructed.map_of(by_serializer, stored)
            return StateColumns(grouped, (map_state(self.state, of_map),))
        every = self.rows.names(range(len(self.rows.row)))
        equal = F.count(F.lit(1)).cast("int").alias(_TIMES)
        first = F.first(matches).alias(_MATCHES)
        counted = Grouping.of(data, every).aggregated(equal, first)
        times = F.col(_TIMES)
        value = F.struct(times.alias("f0"), matches.alias("f1")) if self.has_matches else times
        grouped = Grouping.of(counted, names).aggregated(entries(row, value).alias(self.state))
        stored = constructed.tuple_of([number, number]) if self.has_matches else number
        return StateColumns(
            grouped, (map_state(self.state, constructed.map_of(serializer, stored)),)
        )


def join(history: NodeHistory) -> NodeState:
    """The rows of both sides."""
    history.expect_no_ttl()
    kind = str(history.at("joinSpec", "joinType"))
    description = history.node.description
    counts = {**_OUTER, **_SEMI}.get(kind, (False, False))
    has_condition = history.at("joinSpec", "nonEquiCondition") is not None
    if history.has_rows and any(counts) and has_condition:
        raise PlanError(
            f"{description}: matches by a further condition can't be counted. Compute the"
            " condition in front of the join, or let the job read the history itself"
        )
    sides = [
        JoinSide(
            f"{name}-records",
            _surviving(history.inputs[number], _unique_key(history, name), description),
            history.numbers("joinSpec", f"{name}Keys"),
            _unique_key(history, name),
            counts[number],
        )
        for number, name in enumerate(("left", "right"))
    ]
    filters = history.at("joinSpec", "filterNulls") or [True] * len(sides[0].key)
    states = [
        side.states(_with_matches(side, other, filters))
        for side, other in zip(sides, reversed(sides), strict=True)
    ]
    return _of_both(sides, states)


def _surviving(rows: HistoryRows, unique_key: tuple[int, ...], description: str) -> HistoryRows:
    if not unique_key:
        return rows.surviving()
    rows.expect_order(f"{description} keeps the last row of each unique key")
    return rows.latest(unique_key, description)


def _of_both(sides: list[JoinSide], states: list[StateColumns]) -> NodeState:
    """Both sides have the types of the left key; columns of the right one get their names."""
    left, right = (side.rows.names(side.key) for side in sides)
    keys = tuple(f"key {number}" for number in range(len(left)))
    columns = []
    for names, of_side in zip((left, right), states, strict=True):
        data = of_side.data
        for name, key in zip(names, keys, strict=True):
            data = data.withColumn(key, F.col(name))
        columns.append(StateColumns(data, of_side.states))
    types = sides[0].rows.types(sides[0].key)
    return NodeState(keys, types, tuple(columns), has_timers=False)


def _with_matches(side: JoinSide, other: JoinSide, filters: list[bool]) -> DataFrame:
    if not side.has_matches:
        return side.rows.data.withColumn(_MATCHES, F.lit(0))
    names = tuple(f"other {number}" for number in range(len(other.key)))
    of_other = other.rows.data.select(
        *(F.col(name_of(number)).alias(name) for number, name in zip(other.key, names, strict=True))
    )
    counted = Grouping.of(of_other, names).aggregated(F.count(F.lit(1)).alias("rows of the other"))
    condition = [
        F.col(name_of(number)) == F.col(name)
        if is_filtered
        else F.col(name_of(number)).eqNullSafe(F.col(name))
        for number, name, is_filtered in zip(side.key, names, filters, strict=True)
    ]
    joined = (
        side.rows.data.join(counted, condition, "left")
        if names
        else side.rows.data.crossJoin(counted)
    )
    matches = F.coalesce(F.col("rows of the other"), F.lit(0)).cast("int")
    return joined.withColumn(_MATCHES, matches).drop("rows of the other", *names)


def _unique_key(history: NodeHistory, side: str) -> tuple[int, ...]:
    keys = history.at(f"{side}UpsertKeys") or history.at(f"{side}UniqueKeys") or ()
    join_key = set(history.numbers("joinSpec", f"{side}Keys"))
    within = [key for key in keys if set(key) <= join_key]
    return min(map(tuple, within or keys), key=len) if keys else ()
