"""Lists of operators without the elements that repeat.

Flink gives all elements of a union list to each subtask. A function that adds its own element with every
snapshot, and clears nothing after a restore, makes the list parallelism times as long with every
restart. Elements are equal if their bytes are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from pyspark.sql import functions as F

from savepoint_formats.entries import distinct_hashes
from savepoint_formats.errors import SchemaChangeError
from savepoint_formats.state_files import StateKind
from savepoint_spark.changing import Change, Part, StageRule, element_arrays, operator_states

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from savepoint_spark.changing import ChangedOperator
    from savepoint_spark.writing import ElementRows, NewOperatorState

RULE = StageRule(frozenset({Part.VALUES, Part.MERGED}))
"""What repeats is known once elements are written anew, so only new values come before."""

_LISTS = (StateKind.OPERATOR_LIST, StateKind.UNION_LIST)


class ElementCounts(NamedTuple):
    """Elements of a list of an operator, and how many of them differ."""

    operator: str
    state: str
    elements: int
    different: int


@dataclass(frozen=True)
class DistinctElements(Change):
    """The first of equal elements of a list stays, in the first subtask that has it."""

    state: str
    operator: str

    does: ClassVar = frozenset({Part.ENTRIES})

    @property
    def touched(self) -> frozenset[str]:
        """See ``Change``."""
        return frozenset({self.state})

    def new_rows(self, rows: ElementRows) -> ElementRows:
        """See ``Change``."""
        return _Distinct(rows) if rows.state.name == self.state else rows

    def expect_followed(self, operator: str) -> None:
        """See ``Change``."""
        raise SchemaChangeError(
            f"operator {operator} loses repeated elements of {self.state!r}, which this change would not"
            " see: make it first, or write that, and change the new savepoint"
        )


@dataclass(frozen=True)
class _Distinct:
    """Elements of other rows, each once."""

    rows: ElementRows

    @property
    def state(self) -> NewOperatorState:
        return self.rows.state

    def elements(self, index: int, parallelism: int) -> DataFrame:
        rows = self.rows.elements(index, parallelism)
        names = ("subtask", "state", "key")
        distinct = rows.groupBy("element").agg(*(F.min(name).alias(name) for name in names))
        return distinct.select(*names, "element")


def without_repeated(changed: ChangedOperator, name: str) -> ChangedOperator:
    """The operator whose list has each element once.

    Raises:
        StateNotFoundError: There is no such state.
        SchemaChangeError: It is no list of the operator.
    """
    state = changed.state(name)
    if state.kind not in _LISTS:
        way = (
            ': update-state with --set "array_distinct(...)" changes lists of keys'
            if state.kind is StateKind.LIST
            else ""
        )
        raise SchemaChangeError(
            f"state {name!r} of operator {changed.operator.name} is {state.kind.value} state, expected"
            f" a list or union list of the operator{way}"
        )
    return changed.with_change(DistinctElements(state.name, changed.operator.name))


def element_counts(changed: ChangedOperator, name: str) -> ElementCounts:
    """Counts the elements of a list of an operator; needs 16 bytes for each, and no Spark."""
    state = changed.state(name)
    stored = operator_states(changed.operator)[state.name]
    hashes = [distinct_hashes(data) for data in element_arrays(changed.operator, stored)]
    every = np.concatenate(hashes) if hashes else np.empty((0, 2), np.uint64)
    different = len(np.unique(every, axis=0))
    return ElementCounts(changed.operator.name, name, len(every), different)
