"""An operator of a savepoint that will be written, and its transformation."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from inspect import isfunction
from typing import TYPE_CHECKING, Self

from savepoint_formats.key_groups.operator_id import OperatorId
from savepoint_formats.key_groups.ranges import expect_parallelism
from savepoint_formats.values.kryo.dialect import KryoVersion
from savepoint_spark import changing
from savepoint_spark.writing.write_context import GoingOn, PlannedTransformation

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from savepoint_database.snapshot.operator import Operator
    from savepoint_formats.hashing.key_hash import HashKeys
    from savepoint_formats.metadata import OperatorState
    from savepoint_spark.changing.changed_operator import ChangedOperator
    from savepoint_spark.changing.order import StageRule
    from savepoint_spark.writing.write_context import StateTransformation

_HASH = re.compile("[0-9a-f]{32}")


@dataclass(frozen=True, slots=True, repr=False)
class PlannedOperator:
    """An operator of a savepoint that will be written.

    Attributes:
        operator_id: Its id in the new savepoint.
        uid: Its uid in the new savepoint, if that is known.
        parallelism: The number of subtasks.
        max_parallelism: The number of key groups.
        source: The operator of the old savepoint that it is based on.
        transformation: Makes its state; None if it is copied.
    """

    operator_id: OperatorId
    uid: str | None
    parallelism: int
    max_parallelism: int
    source: Operator | None = None
    transformation: StateTransformation | None = None

    def __repr__(self) -> str:
        return f"PlannedOperator({self.name!r}, {self.action})"

    def __post_init__(self) -> None:
        """Raises ``ValueError`` if Flink does not allow the parallelism."""
        expect_parallelism(self.parallelism, self.max_parallelism)

    @classmethod
    def copy_of(cls, operator: Operator) -> Self:
        """An operator of another savepoint, unchanged."""
        record = operator.record
        return cls(
            record.operator_id,
            operator.uid,
            record.parallelism,
            record.max_parallelism,
            source=operator,
        )

    @property
    def name(self) -> str:
        """Its uid, or the hash if the uid is not known."""
        return self.uid or str(self.operator_id)

    @property
    def action(self) -> str:
        """The action of ``write``, in words."""
        if self.source is None:
            return "written"
        if self.transformation is not None:
            return "converted" if self._is_only_converted else "changed"
        is_renamed = self.source.name != self.name
        return f"renamed from {self.source.name}" if is_renamed else "copied"

    @property
    def _is_only_converted(self) -> bool:
        if self.source is None or self.change is None:
            return False
        record = self.source.record
        before = record.parallelism, record.max_parallelism
        is_rescaled = (self.parallelism, self.max_parallelism) != before
        return self.change.is_canonical and self.change.is_same and not is_rescaled

    def changed(self, change: Callable[[ChangedOperator], ChangedOperator]) -> Self:
        """The operator with changed state; ``ValueError`` if its state is new."""
        before = self.change
        if before is None:
            raise ValueError(f"operator {self.name} is written anew: change what it is made of")
        return replace(self, transformation=change(before))

    @property
    def change(self) -> ChangedOperator | None:
        """The changes of an operator of the source so far; None for a new one."""
        if self.transformation is None and self.source is not None:
            return changing.ChangedOperator(self.source)
        made = self.transformation
        return made if isinstance(made, changing.ChangedOperator) else None

    def ready_for(self, rule: StageRule, *, is_of_flink_2: bool) -> Self:
        """The operator whose earlier changes a change with this rule sees."""
        is_migrated = is_of_flink_2 and rule.makes_values
        # A copy asks for no change, whose module imports Spark.
        change = None if self.transformation is None and not is_migrated else self.change
        if change is None:
            return self
        ready = change.ready_for(rule)
        kryo = ready.operator.kryo
        if is_migrated and kryo is not None and not kryo.is_5:
            # Nothing in it needed a migration, and new values are those of Flink 2.
            dialect = replace(kryo, version=KryoVersion.V5_6)
            ready = replace(ready, operator=replace(ready.operator, kryo=dialect))
        return self if ready is change else replace(self, transformation=ready)

    def rescaled(
        self, max_parallelism: int | None, parallelism: int | None, hash_code: HashKeys | str | None
    ) -> Self:
        """See ``SavepointWriter.rescale``."""
        new_max = max_parallelism or self.max_parallelism
        new_parallelism = parallelism or min(self.parallelism, new_max)
        new = replace(self, max_parallelism=new_max, parallelism=new_parallelism)
        # A finished operator has no state.
        is_finished = self.source is not None and self.source.record.is_finished
        if new == self or is_finished or self.change is None:
            return new
        return new.changed(lambda operator: replace(operator, hash_code=hash_code))

    def converted(self) -> Self:
        """See ``SavepointWriter.convert``."""
        if self.source is None or self.change is None or not changing.needs_conversion(self.source):
            return self
        return self.changed(lambda operator: replace(operator, is_canonical=True))

    def with_hash_codes(self) -> Self:
        """The operator with inferred hash codes of its keys, if its key groups change.

        Raises:
            UnstableHashError: They follow neither from the type of the keys nor from the savepoint.
        """
        source = self.source
        has_groups = source is None or source.record.max_parallelism == self.max_parallelism
        # A copy asks for no change, whose module imports Spark.
        change = None if has_groups and self.transformation is None else self.change
        if change is None or (has_groups and not change.moves_keys):
            return self
        return replace(self, transformation=change.with_hash_codes())

    @property
    def hash_code(self) -> str | None:
        """The hash function of its keys, if it does not follow from their type."""
        if self.transformation is None:
            return None
        change = self.change
        if change is None or change.hash_code is None:
            return None
        return "a function, as given" if isfunction(change.hash_code) else str(change.hash_code)

    @property
    def is_made_anew(self) -> bool:
        """Whether it has no state of the source's operator."""
        return self.transformation is not None and self.change is None

    def dropped_states(self) -> tuple[str, ...]:
        """States that a new operator lost from its source, as ``uid.state``."""
        if self.source is None or not self.is_made_anew:
            return ()
        made = self.transformation
        plan = made.plan() if isinstance(made, PlannedTransformation) else None
        written = frozenset[str]() if plan is None else plan.state_names()
        names = dict.fromkeys(state.name for state in self.source.catalog.states)
        return tuple(f"{self.source.name}.{name}" for name in names if name not in written)

    def kryo_versions(self) -> frozenset[str]:
        """The versions of Kryo for which its new objects are written."""
        made = self.transformation
        if isinstance(made, PlannedTransformation):
            return made.plan().kryo_versions()
        change = None if made is None else self.change
        stages = () if change is None else change.stages
        return frozenset().union(*(stage.added.kryo_versions() for stage in stages))

    def check(self, spark: SparkSession | None) -> None:
        """Reads what ``write`` would read, raises its errors, and writes nothing."""
        # Copied operators are not read.
        if self.transformation is not None and self.change is not None:
            self.change.check(spark, self.parallelism, self.max_parallelism)

    @property
    def writes_keys(self) -> bool:
        """Whether keyed state of the source is written anew."""
        change = None if self.transformation is None else self.change
        return change is not None and change.writes_keys(self.parallelism, self.max_parallelism)

    @property
    def becomes_canonical(self) -> bool:
        """Whether keyed state is written, which always becomes canonical."""
        made = self.transformation
        if self.is_made_anew and isinstance(made, PlannedTransformation):
            return made.plan().keyed is not None
        return self.writes_keys

    def undescribed(self) -> list[str]:
        """Messages for its states with objects of undescribed classes."""
        if self.change is None:
            return []
        change = self.change.stages[0]
        return [
            f"state {state!r}: {count} values with an object of {unknown.class_name}, whose fields"
            f" are not known: describe the class, or leave the state out; in operator {self.name}"
            for (unknown, state), count in changing.classes_to_describe(change.operator).items()
            if state not in change.removed
        ]

    def identified(self, record: OperatorState) -> OperatorState:
        """The record with the operator's new id, uid and name."""
        name = self.source.record.name if self.source is not None else ""
        return replace(record, operator_id=self.operator_id, uid=self.uid or "", name=name)


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
