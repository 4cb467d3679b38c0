"""Operators of a savepoint that will be written: copied, altered, or made anew."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from inspect import isfunction
from typing import TYPE_CHECKING, NoReturn

from savepoint_formats.key_groups import expect_parallelism
from savepoint_formats.values import KryoVersion
from savepoint_spark import changing
from savepoint_spark.writing import PlannedTransformation

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from savepoint_database.snapshot import Operator
    from savepoint_formats.hashing import HashKeys
    from savepoint_formats.key_groups import OperatorId
    from savepoint_formats.metadata import OperatorState
    from savepoint_spark.changing import ChangedOperator, StageRule
    from savepoint_spark.writing import StateTransformation


@dataclass(frozen=True, slots=True, repr=False)
class PlannedOperator(ABC):
    """An operator of a savepoint that will be written: copied, altered, or made anew.

    Attributes:
        operator_id: Its id in the new savepoint.
        uid: Its uid in the new savepoint, if that is known.
        parallelism: The number of subtasks.
        max_parallelism: The number of key groups.
        source: The operator of the old savepoint that it is based on, or whose place it takes.
    """

    operator_id: OperatorId
    uid: str | None
    parallelism: int
    max_parallelism: int
    source: Operator | None

    def __repr__(self) -> str:
        return f"PlannedOperator({self.name!r}, {self.action})"

    def __post_init__(self) -> None:
        """Raises ``ValueError`` if Flink does not allow the parallelism."""
        expect_parallelism(self.parallelism, self.max_parallelism)

    @staticmethod
    def copy_of(operator: Operator) -> PlannedOperator:
        """An operator of another savepoint, unchanged."""
        record = operator.record
        return CopiedOperator(
            record.operator_id,
            operator.uid,
            record.parallelism,
            record.max_parallelism,
            operator,
        )

    def copied(self, source: Operator) -> PlannedOperator:
        """A copy of an operator, in the place of this one."""
        return CopiedOperator(
            self.operator_id, self.uid, self.parallelism, self.max_parallelism, source
        )

    @property
    def name(self) -> str:
        """Its uid, or the hash if the uid is not known."""
        return self.uid or str(self.operator_id)

    @property
    @abstractmethod
    def action(self) -> str:
        """The action of ``write``, in words."""

    @property
    def is_copied(self) -> bool:
        """Whether its files are copied, so that no session is needed."""
        return False

    @property
    def is_made_anew(self) -> bool:
        """Whether it has no state of the source's operator."""
        return False

    @property
    @abstractmethod
    def change(self) -> ChangedOperator | None:
        """The changes of an operator of the source so far; None for a new one."""

    @abstractmethod
    def changed(self, change: Callable[[ChangedOperator], ChangedOperator]) -> PlannedOperator:
        """The operator with changed state; ``ValueError`` if its state is new."""

    @abstractmethod
    def ready_for(self, rule: StageRule, *, is_of_flink_2: bool) -> PlannedOperator:
        """The operator whose earlier changes a change with this rule sees."""

    @abstractmethod
    def with_hash_codes(self) -> PlannedOperator:
        """The operator with inferred hash codes of its keys, if its key groups change.

        Raises:
            UnstableHashError: They follow neither from the type of the keys nor from the savepoint.
        """

    def rescaled(
        self, max_parallelism: int | None, parallelism: int | None, hash_code: HashKeys | str | None
    ) -> PlannedOperator:
        """See ``SavepointWriter.rescale``."""
        new_max = max_parallelism or self.max_parallelism
        new_parallelism = parallelism or min(self.parallelism, new_max)
        new = replace(self, max_parallelism=new_max, parallelism=new_parallelism)
        # A finished operator has no state.
        is_finished = self.source is not None and self.source.record.is_finished
        if new == self or is_finished or self.is_made_anew:
            return new
        return new.changed(lambda operator: replace(operator, hash_code=hash_code))

    def converted(self) -> PlannedOperator:
        """See ``SavepointWriter.convert``."""
        if self.source is None or self.is_made_anew or not changing.needs_conversion(self.source):
            return self
        return self.changed(lambda operator: replace(operator, is_canonical=True))

    @property
    def keeps_key_groups(self) -> bool:
        """Whether it has as many key groups as its source."""
        return self.source is None or self.source.record.max_parallelism == self.max_parallelism

    @property
    def hash_code(self) -> str | None:
        """The hash function of its keys, if it does not follow from their type."""
        return None

    def dropped_states(self) -> tuple[str, ...]:
        """States that a new operator lost from its source, as ``uid.state``."""
        return ()

    def kryo_versions(self) -> frozenset[str]:
        """The versions of Kryo for which its new objects are written."""
        return frozenset()

    @abstractmethod
    def check(self, spark: SparkSession | None) -> None:
        """Reads what ``write`` would read, raises its errors, and writes nothing."""

    @property
    def writes_keys(self) -> bool:
        """Whether keyed state of the source is written anew."""
        return False

    @property
    def becomes_canonical(self) -> bool:
        """Whether keyed state is written, which always becomes canonical."""
        return self.writes_keys

    def undescribed(self) -> list[str]:
        """Messages for its states with objects of undescribed classes."""
        if self.change is None:
            return []
        from savepoint_extensions.upgrade.undescribed_classes import undescribed_classes  # noqa: PLC0415  # loads no extension before it is used

        change = self.change.stages[0]
        return [
            f"state {state!r}: {count} values with an object of {unknown.class_name}, whose fields"
            f" are not known: describe the class, or leave the state out; in operator {self.name}"
            for (unknown, state), count in undescribed_classes(change.operator).items()
            if state not in change.removed
        ]

    def identified(self, record: OperatorState) -> OperatorState:
        """The record with the operator's new id, uid and name."""
        name = self.source.record.name if self.source is not None else ""
        return replace(record, operator_id=self.operator_id, uid=self.uid or "", name=name)


@dataclass(frozen=True, slots=True, repr=False)
class CopiedOperator(PlannedOperator):
    """An operator whose files are copied. Only its changes import Spark."""

    source: Operator

    @property
    def action(self) -> str:
        """See ``PlannedOperator``."""
        is_renamed = self.source.name != self.name
        return f"renamed from {self.source.name}" if is_renamed else "copied"

    @property
    def is_copied(self) -> bool:
        """It is."""
        return True

    @property
    def change(self) -> ChangedOperator:
        """The operator, for a first change."""
        return changing.ChangedOperator(self.source)

    def changed(self, change: Callable[[ChangedOperator], ChangedOperator]) -> AlteredOperator:
        """See ``PlannedOperator``."""
        return self._altered(change(self.change))

    def _altered(self, changes: ChangedOperator) -> AlteredOperator:
        return AlteredOperator(
            self.operator_id,
            self.uid,
            self.parallelism,
            self.max_parallelism,
            self.source,
            changes,
        )

    def ready_for(self, rule: StageRule, *, is_of_flink_2: bool) -> PlannedOperator:
        """The operator itself, unless the migration of its savepoint left its Kryo behind."""
        if not (is_of_flink_2 and rule.makes_values):
            return self
        before = self.change
        ready = _ready(before, rule, is_of_flink_2=is_of_flink_2)
        return self if ready is before else self._altered(ready)

    def with_hash_codes(self) -> PlannedOperator:
        """See ``PlannedOperator``."""
        return self if self.keeps_key_groups else self._altered(self.change.with_hash_codes())

    def check(self, spark: SparkSession | None) -> None:
        """Nothing of it is read."""


@dataclass(frozen=True, slots=True, repr=False)
class AlteredOperator(PlannedOperator):
    """An operator with changes."""

    changes: ChangedOperator

    @property
    def action(self) -> str:
        """See ``PlannedOperator``."""
        if self.source is None:
            return "written"
        record = self.source.record
        before = record.parallelism, record.max_parallelism
        is_rescaled = (self.parallelism, self.max_parallelism) != before
        is_converted = self.changes.is_canonical and self.changes.is_same and not is_rescaled
        return "converted" if is_converted else "changed"

    @property
    def transformation(self) -> StateTransformation:
        """Makes its state."""
        return self.changes

    @property
    def change(self) -> ChangedOperator:
        """Its changes."""
        return self.changes

    def changed(self, change: Callable[[ChangedOperator], ChangedOperator]) -> AlteredOperator:
        """See ``PlannedOperator``."""
        return replace(self, changes=change(self.changes))

    def ready_for(self, rule: StageRule, *, is_of_flink_2: bool) -> AlteredOperator:
        """See ``PlannedOperator``."""
        ready = _ready(self.changes, rule, is_of_flink_2=is_of_flink_2)
        return self if ready is self.changes else replace(self, changes=ready)

    def with_hash_codes(self) -> AlteredOperator:
        """See ``PlannedOperator``."""
        if self.keeps_key_groups and not self.changes.moves_keys:
            return self
        return replace(self, changes=self.changes.with_hash_codes())

    @property
    def hash_code(self) -> str | None:
        """See ``PlannedOperator``."""
        code = self.changes.hash_code
        if code is None:
            return None
        return "a function, as given" if isfunction(code) else str(code)

    def kryo_versions(self) -> frozenset[str]:
        """See ``PlannedOperator``."""
        return frozenset().union(*(it.added.kryo_versions() for it in self.changes.stages))

    def check(self, spark: SparkSession | None) -> None:
        """See ``PlannedOperator``."""
        self.changes.check(spark, self.parallelism, self.max_parallelism)

    @property
    def writes_keys(self) -> bool:
        """See ``PlannedOperator``."""
        return self.changes.writes_keys(self.parallelism, self.max_parallelism)


@dataclass(frozen=True, slots=True, repr=False)
class MadeOperator(PlannedOperator):
    """An operator whose state is made anew."""

    transformation: StateTransformation

    @property
    def action(self) -> str:
        """See ``PlannedOperator``."""
        return "written" if self.source is None else "changed"

    @property
    def is_made_anew(self) -> bool:
        """It is."""
        return True

    @property
    def change(self) -> None:
        """None: it has nothing to change."""
        return

    def changed(self, change: Callable[[ChangedOperator], ChangedOperator]) -> NoReturn:  # noqa: ARG002  # as of all
        """Raises ``ValueError``."""
        raise ValueError(f"operator {self.name} is written anew: change what it is made of")

    def ready_for(self, rule: StageRule, *, is_of_flink_2: bool) -> MadeOperator:  # noqa: ARG002  # as of all
        """The operator itself."""
        return self

    def with_hash_codes(self) -> MadeOperator:
        """The operator itself: its keys are hashed by the types that it was given."""
        return self

    def dropped_states(self) -> tuple[str, ...]:
        """See ``PlannedOperator``."""
        if self.source is None:
            return ()
        made = self.transformation
        written = (
            made.plan().state_names() if isinstance(made, PlannedTransformation) else frozenset()
        )
        names = dict.fromkeys(state.name for state in self.source.catalog.states)
        return tuple(f"{self.source.name}.{name}" for name in names if name not in written)

    def kryo_versions(self) -> frozenset[str]:
        """See ``PlannedOperator``."""
        made = self.transformation
        return (
            made.plan().kryo_versions() if isinstance(made, PlannedTransformation) else frozenset()
        )

    def check(self, spark: SparkSession | None) -> None:
        """Its rows are read when it is written."""

    @property
    def becomes_canonical(self) -> bool:
        """See ``PlannedOperator``."""
        made = self.transformation
        return isinstance(made, PlannedTransformation) and made.plan().keyed is not None


def _ready(change: ChangedOperator, rule: StageRule, *, is_of_flink_2: bool) -> ChangedOperator:
    """The changes that one with this rule can join; with Flink 2's Kryo if it makes values."""
    ready = change.ready_for(rule)
    kryo = ready.operator.kryo
    if is_of_flink_2 and rule.makes_values and kryo is not None and not kryo.is_5:
        # Nothing in it needed a migration, and new values are those of Flink 2.
        dialect = replace(kryo, version=KryoVersion.V5_6)
        ready = replace(ready, operator=replace(ready.operator, kryo=dialect))
    return ready
