"""An operator of a compiled plan, whose state is made of the rows that it would have read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from savepoint_extensions.sql_jobs.history.aggregate_state import (
    group_aggregate,
    over_aggregate,
    window_aggregate,
)
from savepoint_extensions.sql_jobs.history.join_state import join
from savepoint_extensions.sql_jobs.history.kept_rows import (
    changelog_normalize,
    deduplicate,
    rank,
    upsert_materialize,
)
from savepoint_extensions.sql_jobs.history.node_state import HistoryRows, NodeHistory
from savepoint_extensions.sql_jobs.history.sql_history import SqlHistory
from savepoint_extensions.sql_jobs.planned_operators import compiled_plan
from savepoint_extensions.sql_jobs.plans.compiled_plan import CompiledPlan
from savepoint_extensions.sql_jobs.plans.node_rows import NodeRows
from savepoint_formats.errors import PlanError
from savepoint_formats.snapshots import ShownAs
from savepoint_formats.state_files import VALUE_SERIALIZER, BackendStateType
from savepoint_spark.writing import StoredTypes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from savepoint_extensions.sql_jobs.history.node_state import NodeState
    from savepoint_extensions.sql_jobs.plans.compiled_plan import PlanNode, Row
    from savepoint_formats.locations import PathText
    from savepoint_formats.state_files import StateMetaInfo


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


_INSTEAD = {
    "interval-join": ". Cast the times to TIMESTAMP(3) in front of the join: that makes it a Join"
}
_BEGINNING = datetime(1970, 1, 1)
_ASYNC_STATE = "table.exec.async-state.enabled"


@dataclass(frozen=True, repr=False)
class SqlOperator:
    """An operator of a SQL job; see ``OperatorTransformation.for_plan``.

    Attributes:
        uid: Its uid in a job that runs by ``EXECUTE PLAN``.
        description: The operator as the query's explanation shows it.
        inputs: The columns of each input, by the plan's names.
    """

    uid: str
    description: str
    inputs: tuple[tuple[str, ...], ...]
    _plan: CompiledPlan
    _node: PlanNode

    def __repr__(self) -> str:
        return f"SqlOperator({self.uid!r}, {self.description!r})"

    @classmethod
    def of(cls, plan: PathText | CompiledPlan, operator: int | str) -> SqlOperator:
        """See ``OperatorTransformation.for_plan``."""
        parsed = plan if isinstance(plan, CompiledPlan) else compiled_plan(plan)
        node = _node(parsed, operator)
        if not _keeps_state(node):
            raise PlanError(
                f"{node.description or node.kind}: it has no state, or none that can be made of"
                f" history; that of {', '.join(HISTORIES)} can, of a sink if it keeps rows for"
                f" upserts{_INSTEAD.get(node.kind, '')}"
            )
        if str(node.at("configuration", _ASYNC_STATE)).lower() == "true":
            raise PlanError(
                f"{node.description or node.kind}: its state is asynchronous, which can't be made of"
                f" history. Compile the plan without {_ASYNC_STATE}"
            )
        rows = _rows(parsed, node)
        names = tuple(tuple(column.name for column in row) for row in rows)
        name = "upsert-materialize" if node.kind == "sink" else node.kind
        return cls(node.uid(parsed.flink_version, name), node.description, names, parsed, node)

    def bootstrap_with(
        self,
        *history: DataFrame,
        row_kind: str | None = None,
        order_by: str | Sequence[str] = (),
        watermark: datetime | None = None,
    ) -> SqlHistory:
        """The operator's state after it has read these rows.

        Args:
            history: The rows of each input, with the columns of ``inputs``. Further columns are
                ignored; columns of processing time are not needed.
            row_kind: The column of the kinds of rows in a changelog: ``+I``, ``-U``, ``+U``,
                ``-D``. By default all rows are inserts.
            order_by: Columns that order the rows as they came, for operators whose state depends
                on it.
            watermark: The watermark up to which event time has passed, for operators of event time,
                as a ``datetime`` without time zone. State that it closes was emitted, and is left
                out.

        Returns:
            A transformation for ``with_operator``, under the operator's ``uid``.

        Raises:
            ColumnNotFoundError: A column of the input is missing.
            ColumnTypeError: It has another type.
            PlanError: The operator, an option or an aggregate of it is not supported.
            ValueError: The operator needs ``order_by``, ``watermark`` or another number of inputs.

        Example:
            >>> totals = OperatorTransformation.for_plan("orders.json", "GroupAggregate")
            >>> writer = Savepoint.create(spark).with_operator(totals.uid, totals.bootstrap_with(orders))
        """
        if len(history) != len(self.inputs):
            raise ValueError(
                f"{self.uid} has {len(self.inputs)} inputs, but was given rows of {len(history)}"
            )
        names = (order_by,) if isinstance(order_by, str) else tuple(order_by)
        rows = tuple(
            HistoryRows.of(data, row, row_kind, names, self.uid)
            for data, row in zip(history, _rows(self._plan, self._node), strict=True)
        )
        made = NodeHistory(self._plan, self._node, rows, watermark)
        state = HISTORIES[self._node.kind](made)
        # Flink runs an operator without a key as one subtask, with one key group.
        return SqlHistory(self.uid, state.plan(), None if state.key else 1)

    def begin_empty(self, spark: SparkSession) -> SqlHistory:
        """The operator's state before its first row, which has all types: of keys, states and timers.

        Raises:
            PlanError: The operator, an option or an aggregate of it is not supported.

        Example:
            >>> operator = OperatorTransformation.for_plan("orders.json", "GroupAggregate")
            >>> writer.with_operator(operator.uid, operator.begin_empty(spark))
        """
        rows = tuple(HistoryRows.nothing(spark, row) for row in _rows(self._plan, self._node))
        made = NodeHistory(self._plan, self._node, rows, _BEGINNING, has_rows=False)
        state = HISTORIES[self._node.kind](made)
        return SqlHistory(self.uid, state.plan(), None if state.key else 1)

    def named_types(self, spark: SparkSession) -> StoredTypes:
        """The types of its keys, states and timers; rows have the names of the query's columns.

        Raises:
            PlanError: The operator, an option or an aggregate of it is not supported.
        """
        keyed = self.begin_empty(spark).plan().keyed
        assert keyed is not None  # a node with history has keys, if only an empty row
        names = NodeRows(self._node, self._plan.inputs(self._node))
        key = replace(keyed.key, shown=ShownAs(names.named_key(keyed.key.layout())))
        return StoredTypes(key, tuple(_with_names(info, names) for info in keyed.states))


def _with_names(info: StateMetaInfo, names: NodeRows) -> StateMetaInfo:
    snapshot = info.serializer(VALUE_SERIALIZER)
    if snapshot is None or info.type is BackendStateType.PRIORITY_QUEUE:
        return info
    shown = ShownAs(names.named_values(info.name, snapshot.layout()))
    return info.with_serializer(VALUE_SERIALIZER, replace(snapshot, shown=shown))


def _node(plan: CompiledPlan, operator: int | str) -> PlanNode:
    """The node with an id, a uid or hash, or the only one whose description begins with a word."""
    if isinstance(operator, int):
        nodes = [node for node in plan.nodes.values() if node.id == operator]
    else:
        nodes = [
            node
            for node in plan.nodes.values()
            if operator in node.uids() or node.description.partition("(")[0] == operator
        ]
    if len(nodes) != 1:
        known = [f"{n.id}: {n.description[:60]}" for n in filter(_keeps_state, plan.nodes.values())]
        some = "no operator" if not nodes else f"{len(nodes)} operators"
        raise PlanError(
            f"{plan.path} has {some} {operator!r}; with state it has {'; '.join(known)}"
        )
    return nodes[0]


def _keeps_state(node: PlanNode) -> bool:
    is_stateless_sink = node.kind == "sink" and not node.spec.get("requireUpsertMaterialize")
    return node.kind in HISTORIES and not is_stateless_sink


def _rows(plan: CompiledPlan, node: PlanNode) -> tuple[Row, ...]:
    """Columns of each input; for a global aggregation, the columns in front of the local one."""
    local = plan.local_aggregation(node)
    rows = plan.inputs(node if local is None else local)
    known = [row for row in rows if row is not None]
    if len(known) != len(rows):
        raise PlanError(f"{node.description}: the plan doesn't tell the columns that it reads")
    return tuple(known)
