"""A node of a plan: the rows of its inputs, and the keyed states that are made of them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from savepoint_formats.errors import PlanError
from savepoint_formats.metadata import DistributionMode
from savepoint_formats.plans.node_rows import NodeRows
from savepoint_formats.snapshots import constructed
from savepoint_formats.snapshots.constructed_sql import row_data
from savepoint_formats.state_files.header import KeyedStateType, StateMetaInfo
from savepoint_spark.sql_history.history_rows import row_struct
from savepoint_spark.writing.keyed_plan import KeyedPlan
from savepoint_spark.writing.keyed_rows import Key, KeyedRows, NewState
from savepoint_spark.writing.operator_plan import OperatorPlan
from savepoint_spark.writing.operator_rows import NewOperatorState, OperatorRows
from savepoint_spark.writing.run_encoding import KEY, NAMESPACE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from savepoint_formats.layout import LogicalType
    from savepoint_formats.plans.compiled_plan import CompiledPlan, PlanNode
    from savepoint_formats.snapshots import TypeSerializerSnapshot
    from savepoint_spark.sql_history.history_rows import HistoryRows


_FIRST_WITH_EQUALS = (2, 1)


@dataclass(frozen=True)
class NodeHistory:
    """A node and the rows of its inputs."""

    plan: CompiledPlan
    node: PlanNode
    inputs: tuple[HistoryRows, ...]
    watermark: datetime | None = None

    @property
    def rows(self) -> HistoryRows:
        """The rows of the only input."""
        return self.inputs[0]

    @property
    def comparison(self) -> str:
        """The comparison of structured types in the release of the plan."""
        release = tuple(map(int, re.findall(r"\d+", self.plan.flink_version)[:2]))
        return "NONE" if release < _FIRST_WITH_EQUALS else "EQUALS"

    @property
    def names(self) -> NodeRows:
        """The node with the columns of its inputs."""
        return NodeRows(self.node, tuple(rows.row for rows in self.inputs))

    def at(self, *path: str) -> Any:
        """The value at a path of names in the node's JSON; None if there is none."""
        return self.names.at(*path)

    def numbers(self, *path: str) -> tuple[int, ...]:
        """Numbers of columns at a path."""
        numbers = self.at(*path)
        return tuple(numbers) if isinstance(numbers, list) else ()

    def watermark_ms(self) -> int:
        """The watermark in ms, or ``ValueError``."""
        if self.watermark is None:
            raise ValueError(
                f"{self.node.description}: event time decides what is still open: give watermark=…"
            )
        return int(self.watermark.replace(tzinfo=UTC).timestamp() * 1000)

    def expect_no_ttl(self) -> None:
        """Raises ``PlanError`` if values live for a time only."""
        for state in self.node.states:
            if not state.ttl.startswith("0 "):
                raise PlanError(
                    f"{self.node.description}: its state lives {state.ttl}, and history doesn't"
                    " tell when it was used. Compile the plan without table.exec.state.ttl"
                )


_WATERMARK = "watermark"
_USER_TIMERS, _WINDOW_TIMERS = "user-timers", "window-timers"


@dataclass(frozen=True)
class StateColumns:
    """Rows of keys with their states: for each state its column, kind and serializer."""

    data: DataFrame
    states: tuple[tuple[str, KeyedStateType, TypeSerializerSnapshot], ...]
    timers: str | None = None


@dataclass(frozen=True)
class NodeState:
    """The state of an operator that will be written.

    Attributes:
        key: Names of the columns of its key, in the data of each ``StateColumns``.
        types: Their SQL types.
        columns: The states. The column of a state has its name.
        has_windows: Whether values belong to windows, whose ends are in the column ``namespace``.
        watermark: The watermark in ms, if the operator keeps it.
        has_timers: Whether the operator registers a timer service.
    """

    key: tuple[str, ...]
    types: tuple[LogicalType, ...]
    columns: tuple[StateColumns, ...]
    has_windows: bool = False
    watermark: int | None = None
    has_timers: bool = field(default=True, kw_only=True)

    def plan(self) -> OperatorPlan:
        """The files' contents."""
        key = Key((KEY,), row_data(self.types))
        rows = [self._rows(columns, key) for columns in self.columns]
        infos = {state.name: state.info for of_states in rows for state in of_states.states}
        keyed = KeyedPlan(key.snapshot, tuple(infos.values()), tuple(rows))
        return OperatorPlan(keyed, () if self.watermark is None else (self._watermark(),))

    def _watermark(self) -> OperatorRows:
        single = self.columns[0].data.sparkSession.range(1)
        state = NewOperatorState(_WATERMARK, DistributionMode.UNION, constructed.long())
        data = single.select(F.lit(self.watermark).cast("bigint").alias(_WATERMARK))
        return OperatorRows.of(data, state, (_WATERMARK,))

    def _rows(self, columns: StateColumns, key: Key) -> KeyedRows:
        void = constructed.void_namespace()
        window = constructed.long() if self.has_windows else void
        states = [
            NewState(StateMetaInfo.of_keys(name, kind, window, serializer), name)
            for name, kind, serializer in columns.states
        ]
        if self.has_timers:
            service = _WINDOW_TIMERS if self.has_windows else _USER_TIMERS
            states += [
                NewState.of_timers(
                    service,
                    domain,
                    columns.timers if domain == "event" else None,
                    key.snapshot,
                    window,
                )
                for domain in ("processing", "event")
            ]
        struct = row_struct([F.col(name) for name in self.key], self.types)
        data = columns.data.withColumn(KEY, struct)
        namespace = (F.col(NAMESPACE), window) if self.has_windows else None
        # Several rows of a key are those of different states; each has one by the way it is made.
        return KeyedRows(data, key, tuple(states), namespace, len(self.columns) == 1)


def value_state(
    name: str, serializer: TypeSerializerSnapshot
) -> tuple[str, KeyedStateType, TypeSerializerSnapshot]:
    """A state of one value."""
    return name, KeyedStateType.VALUE, serializer


def map_state(
    name: str, serializer: TypeSerializerSnapshot
) -> tuple[str, KeyedStateType, TypeSerializerSnapshot]:
    """A state of a map; the serializer is that of maps."""
    return name, KeyedStateType.MAP, serializer


def entries(key: Column, value: Column, condition: Column | None = None) -> Column:
    """A map of the entries of a group, those of a condition; null if there are none."""
    pair = F.struct(key.alias("key"), value.alias("value"))
    kept = pair if condition is None else F.when(condition, pair)
    return F.when(F.count(kept) > 0, F.map_from_entries(F.collect_list(kept)))
