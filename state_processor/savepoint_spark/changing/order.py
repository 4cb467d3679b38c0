"""Which changes of an operator can be made together, and which must see the outcome of earlier ones.

In one pass, changes have a fixed order: keys are deleted and chosen, then entries are masked or
encoded anew, values are computed from the tables of the savepoint, and headers are renamed last. A
change that comes in another order, or that must see what an earlier one makes, begins a new stage.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING

from savepoint_formats.values import may_name_classes
from savepoint_spark.changing.named_classes import naming_states

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_spark.changing.operator_changes import OperatorChanges


class Part(Enum):
    """What the changes of a stage have done so far."""

    VALUES = auto()
    MASKS = auto()
    CHOICES = auto()
    DELETED = auto()
    MIGRATION = auto()
    QUERY = auto()
    CLASSES = auto()
    NAMED_CLASSES = auto()
    NAMING_VALUES = auto()
    CONSTANTS = auto()
    NAMES = auto()
    MERGED = auto()
    REMOVED = auto()


class StageRule(Enum):
    """What earlier changes may not have done in the stage of a change, by what the change does."""

    VALUES = frozenset(
        {Part.MASKS, Part.CHOICES, Part.MIGRATION, Part.NAMED_CLASSES, Part.CONSTANTS}
    )
    FIELDS = frozenset({Part.MASKS, Part.CHOICES, Part.MIGRATION, Part.NAMED_CLASSES})
    CONDITION = frozenset({Part.MASKS, Part.MIGRATION, Part.CONSTANTS})
    CHOICE = frozenset({*CONDITION, Part.VALUES, Part.NAMED_CLASSES})
    MASKS = frozenset(
        {
            *(Part.VALUES, Part.MASKS, Part.MIGRATION, Part.CLASSES, Part.CONSTANTS),
            *(Part.NAMES, Part.MERGED),
        }
    )
    CLASSES = frozenset({Part.MASKS, Part.QUERY, Part.NAMING_VALUES})
    CONSTANT_NAMES = frozenset({Part.MASKS})
    DROPPED_CONSTANT = frozenset(
        {*(Part.VALUES, Part.MASKS, Part.CHOICES, Part.DELETED), *(Part.QUERY, Part.MERGED)}
    )
    QUERY = frozenset(Part)
    RELEASE = frozenset({Part.VALUES, Part.MASKS, Part.MIGRATION, Part.MERGED})
    LIFETIMES = frozenset({*RELEASE, Part.NAMED_CLASSES})

    @property
    def makes_values(self) -> bool:
        """Whether it encodes values."""
        return self in (StageRule.VALUES, StageRule.FIELDS)

    def follows(self, change: OperatorChanges) -> bool:
        """Whether it must see the outcome of these changes."""
        return any(_HAS_DONE[part](change) for part in self.value)


def _may_name_classes(change: OperatorChanges) -> bool:
    """Whether values from DataFrames may have names of classes in their bytes."""
    made = change.makes(is_keyed=True) | change.makes(is_keyed=False)
    if any(state.name in made for state in naming_states(change.operator)):
        return True
    keyed = () if change.added.keyed is None else change.added.keyed.states
    of_keys = (entry for info in keyed for _, entry in info.serializers)
    others = (entry for rows in change.added.operator_states for entry in rows.state.serializers)
    return any(may_name_classes(entry.layout()) for entry in (*of_keys, *others))


def _names_classes(change: OperatorChanges) -> bool:
    return bool(change.headers.classes) and bool(naming_states(change.operator))


# Functions, since two of them read the headers of files, and few rules ask for these.
_HAS_DONE: dict[Part, Callable[[OperatorChanges], bool]] = {
    Part.VALUES: lambda change: change.has_new_values,
    Part.MASKS: lambda change: change.masks is not None,
    Part.CHOICES: lambda change: bool(change.choices),
    Part.DELETED: lambda change: change.deleted is not None,
    Part.MIGRATION: lambda change: change.migration is not None,
    Part.QUERY: lambda change: (
        change.migration is not None and change.migration.reshaped is not None
    ),
    Part.CLASSES: lambda change: bool(change.headers.classes),
    Part.NAMED_CLASSES: _names_classes,
    Part.NAMING_VALUES: _may_name_classes,
    Part.CONSTANTS: lambda change: change.headers.has_constants,
    Part.NAMES: lambda change: bool(change.headers.states),
    Part.MERGED: lambda change: change.merged is not None,
    Part.REMOVED: lambda change: bool(change.removed),
}
