"""Masks as a change of an operator's stored state."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from savepoint_extensions.privacy.mask_census import mask_census
from savepoint_spark.changing import Change, Part, StageRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from savepoint_extensions.privacy.mask_plan import MaskedField, MaskPlan
    from savepoint_extensions.privacy.masked_entries import MaskedOperator
    from savepoint_formats.hashing import HashKeys
    from savepoint_formats.state_files import Step
    from savepoint_spark.changing import OperatorChanges
    from savepoint_spark.writing import NewOperatorState

MASKING = StageRule(StageRule.ENTRIES.sees | {Part.CLASSES, Part.CONSTANTS, Part.NAMES})
"""Rules name states, classes and constants as they are after the changes before."""


@dataclass(frozen=True)
class MaskedState(Change):
    """The masks of an operator, and the plan that they are made by."""

    plan: MaskPlan
    masks: MaskedOperator

    does: ClassVar = frozenset({Part.ENTRIES, Part.SEALED})

    @property
    def touched(self) -> frozenset[str]:
        """See ``Change``."""
        return frozenset(self.masks.rules)

    @property
    def moves_keys(self) -> bool:
        """See ``Change``."""
        return self.masks.moves_keys

    def entries(self, hash_keys: HashKeys | None) -> MaskedOperator:
        """See ``Change``."""
        return self.masks.with_hash_keys(hash_keys)

    def new_elements(self, state: NewOperatorState) -> tuple[tuple[Step, ...], NewOperatorState]:
        """See ``Change``."""
        if state.name not in self.masks.rules:
            return (), state
        states = self.plan.operator.catalog.states
        stored = next(known for known in states if known.name == state.name)
        return (partial(self.masks.elements, state=stored),), state

    def fields(self, stage: OperatorChanges, spark: SparkSession) -> Iterator[MaskedField]:
        """See ``Change``; raises what ``mask_census`` raises."""
        rows = stage.stored_rows(spark) if stage.operator.has_keyed_state else None
        made = stage.made_rows(spark)
        counts = mask_census(spark, stage.operator, self.masks, rows, made, stage.removed)
        yield from self.plan.told(counts)
