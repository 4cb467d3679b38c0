"""A changed operator whose keyed state gets the columns of another query."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from savepoint_extensions.sql_jobs.plans.carried_state import carried_state
from savepoint_extensions.sql_jobs.reshaped_entries import ReshapedStates
from savepoint_formats.errors import within
from savepoint_spark.changing import EntryRecoding
from savepoint_spark.writing import StoredTypes

if TYPE_CHECKING:
    from savepoint_extensions.sql_jobs.plans.carried_state import CarriedState
    from savepoint_extensions.sql_jobs.plans.node_rows import NodeRows
    from savepoint_formats.state_files import StateNames
    from savepoint_formats.values import KryoDialect
    from savepoint_spark.changing import ChangedOperator


@dataclass(frozen=True)
class CarriedStates(EntryRecoding):
    """States with the columns of another query, which ``query`` names."""

    query: NodeRows | None = None

    def new_names(self, names: StateNames | None) -> NodeRows | None:  # noqa: ARG002  # as of all
        """See ``Change``."""
        return self.query


def carried_operator(changed: ChangedOperator, old: NodeRows, new: NodeRows) -> ChangedOperator:
    """The operator with the rows of a new query; the operator itself if its state stays as it is.

    Raises:
        PlanError: Rows don't have the columns of the plan, or a new column can't be made.
    """
    # Rows have the names of the query, which would stay in new serializers.
    operator = replace(changed.operator, names=None)
    types = StoredTypes.of(operator)
    with within(f"operator {operator.name}"):
        carried = carried_state(old, new, types.key, types.states)
    if carried.is_same:
        return changed
    kryo = operator.kryo
    assert kryo is not None  # operators of a savepoint have one
    names = {name: state.name for name, state in carried.states.items() if state.name != name}
    headers = replace(changed.headers, states=tuple(names.items()))
    known = replace(changed, operator=operator, removed=carried.gone, headers=headers)
    return known.with_change(_recoding(carried, kryo, new))


def _recoding(carried: CarriedState, kryo: KryoDialect, new: NodeRows) -> CarriedStates:
    now_ms = time.time_ns() // 1_000_000
    reshaped = ReshapedStates(carried.states, kryo, now_ms, carried.moves_keys)
    infos = {name: state.info for name, state in carried.states.items()}
    return CarriedStates(carried.key, infos, {}, kryo, kryo, carried.moves_keys, reshaped, new)
