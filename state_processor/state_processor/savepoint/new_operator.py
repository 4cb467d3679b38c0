"""An operator that a user gives: its id, and its state of several transformations."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from savepoint_formats.key_groups import OperatorId
from savepoint_spark import changing
from savepoint_spark.writing import GoingOn, PlannedTransformation
from state_processor.savepoint.planned_operator import AlteredOperator, MadeOperator

if TYPE_CHECKING:
    from savepoint_database.snapshot import Operator
    from savepoint_spark.writing import StateTransformation
    from state_processor.savepoint.planned_operator import PlannedOperator

_HASH = re.compile("[0-9a-f]{32}")


def operator_with(  # the fields of an operator
    operator_id: OperatorId,
    uid: str | None,
    parallelism: int,
    max_parallelism: int,
    source: Operator | None,
    transformation: StateTransformation,
) -> PlannedOperator:
    """An operator with state from DataFrames, alone or beside that of an operator that goes on."""
    if isinstance(transformation, changing.ChangedOperator):
        return AlteredOperator(
            operator_id, uid, parallelism, max_parallelism, source, transformation
        )
    return MadeOperator(operator_id, uid, parallelism, max_parallelism, source, transformation)


def id_and_uid(uid: str) -> tuple[OperatorId, str | None]:
    """The id of an operator and, unless it is given by its hash, its uid."""
    if isinstance(uid, str) and _HASH.fullmatch(uid):
        return OperatorId.from_hex(uid), None
    return OperatorId.from_uid(uid), uid


def combined(transformations: tuple[StateTransformation, ...]) -> StateTransformation:
    """One transformation that makes the state of several, or ``ValueError`` if they don't go together."""
    for transformation in transformations:
        # Not by hasattr alone: a DataFrame has a property of this name.
        if not callable(getattr(type(transformation), "write", None)):
            raise TypeError(
                f"a {type(transformation).__name__} makes no state: begin with"
                " OperatorTransformation.bootstrap_with(data), and name states by with_state(…),"
                " transform(…) or the like"
            )
    if not transformations:
        raise ValueError("an operator needs a transformation that makes its state")
    going_on = (made.initial for made in transformations if isinstance(made, GoingOn))
    initial = next(filter(None, going_on), None)
    if len(transformations) == 1 and initial is None:
        return transformations[0]
    plans = []
    for transformation in transformations:
        if not isinstance(transformation, PlannedTransformation):
            raise TypeError(
                f"{type(transformation).__name__} can't be combined with other transformations"
            )
        plans.append(transformation.plan())
    plan = plans[0].combined(plans)
    if initial is None:
        return plan
    known = {state.name for state in initial.catalog.states}
    return changing.ChangedOperator(initial, plan.state_names() & known, plan)
