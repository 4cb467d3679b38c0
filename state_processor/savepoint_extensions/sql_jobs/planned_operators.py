"""Operators of a SQL job in its compiled plan."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from savepoint_database.snapshot import QueryNode
from savepoint_extensions.sql_jobs.plans.compiled_plan import CompiledPlan
from savepoint_extensions.sql_jobs.plans.node_rows import NodeRows
from savepoint_formats.errors import PlanError
from savepoint_formats.scan import ReadOptions
from savepoint_formats.state_files import StateKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from savepoint_database.snapshot import Operator
    from savepoint_formats.key_groups import OperatorId
    from savepoint_formats.locations import PathText
    from savepoint_formats.metadata import CheckpointMetadata


def compiled_plan(path: PathText) -> CompiledPlan:
    """The plan in a file.

    Raises ``PlanError`` if the file can't be read, or is not a compiled plan.
    """
    try:
        return CompiledPlan.parse(Path(path).read_text(encoding="utf-8-sig"), str(path))
    except OSError as error:
        raise PlanError(f"the plan {path} can't be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise PlanError(f"{path} is not UTF-8 at byte {error.start}") from error


def given_plan(
    path: PathText, metadata: CheckpointMetadata, savepoint: str
) -> tuple[CompiledPlan, dict[OperatorId, tuple[str, NodeRows]]]:
    """The plan in a file, and the operators that are in it, with their uids and nodes."""
    plan = compiled_plan(path)
    return plan, planned_operators(plan, metadata, savepoint)


def planned_operators(
    plan: CompiledPlan, metadata: CheckpointMetadata, savepoint: str
) -> dict[OperatorId, tuple[str, NodeRows]]:
    """Operators of a savepoint that are in a plan, with their uids and nodes.

    Raises:
        PlanError: None of the plan's operators is in the savepoint.
    """
    operators = [record.operator_id for record in metadata.operators]
    planned = {
        operator_id: (uid, NodeRows(node, plan.inputs(node)))
        for operator_id, (uid, node) in plan.nodes_by_operator().items()
        if operator_id in operators
    }
    if not planned:
        raise PlanError(
            f"{savepoint} has no operator of {plan.path}. The plan is of another job, or the job"
            " did not run by EXECUTE PLAN, which gives operators the plan's uids"
        )
    return planned


def query_nodes(plan: CompiledPlan, operators: Sequence[Operator]) -> Iterator[QueryNode]:
    """The nodes of a plan, each once, in front of its inputs."""
    of_node: dict[int, list[Operator]] = {}
    for operator in operators:
        if isinstance(operator.names, NodeRows):
            of_node.setdefault(operator.names.node.id, []).append(operator)
    read = {source for node in plan.nodes.values() for source in node.inputs}
    waiting = [(number, 0) for number in reversed(tuple(plan.nodes)) if number not in read]
    seen: set[int] = set()
    while waiting:
        number, depth = waiting.pop()
        if number not in seen:
            seen.add(number)
            node = plan.nodes[number]
            yield _query_node(depth, number, node.description, of_node.get(number, []))
            waiting += [(source, depth + 1) for source in reversed(node.inputs)]


def _query_node(depth: int, number: int, description: str, operators: list[Operator]) -> QueryNode:
    catalogs = [operator.catalog for operator in operators]
    return QueryNode(
        depth,
        number,
        description,
        tuple(operator.name for operator in operators),
        sum(map(_row_count, operators)),
        sum(catalog.keyed_size + catalog.operator_size for catalog in catalogs),
        tuple(state.name for catalog in catalogs for state in catalog.states),
    )


def _row_count(operator: Operator) -> int:
    """Number of rows of state; timers and state that only its operator knows have none."""
    tables = (table for table in operator.readable_tables if _holds_rows(table.states[0].kind))
    return sum(operator.scan(table, ReadOptions()).count() for table in tables)


def is_empty(operator: Operator) -> bool:
    """Whether it has no rows, timers or other state, such as an operator that waits for nothing."""
    tables = operator.tables
    if any(table.states[0].kind.is_raw for table in tables):
        return False
    return not any(operator.scan(table, ReadOptions()).count() for table in tables)


def _holds_rows(kind: StateKind) -> bool:
    return not kind.is_raw and kind is not StateKind.TIMERS
