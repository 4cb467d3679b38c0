"""Which changes of an operator can be made together, and which must see the outcome of earlier ones.

In one pass, changes have a fixed order: keys are deleted and chosen, then entries are masked or
encoded anew, values are computed from the tables of the savepoint, and headers are renamed last. A
change that comes in another order, or that must see what an earlier one makes, begins a new stage.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from savepoint_formats.values import may_name_classes
from savepoint_spark.changing.change import Part
from savepoint_spark.changing.named_classes import naming_states

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_spark.changing.operator_changes import OperatorChanges


@dataclass(frozen=True)
class StageRule:
    """What earlier changes may not have done in the stage of a change, by what the change does.

    An extension makes a rule for its change, or takes one of those below.
    """

    sees: frozenset[Part]
    makes_values: bool = False
    """Whether the change encodes values."""

    VALUES: ClassVar[StageRule]
    FIELDS: ClassVar[StageRule]
    CONDITION: ClassVar[StageRule]
    CHOICE: ClassVar[StageRule]
    CLASSES: ClassVar[StageRule]
    ENTRIES: ClassVar[StageRule]
    """For a change that can be made together with new names of classes in values."""
    SEALED: ClassVar[StageRule]
    """For another change of entries."""

    def follows(self, change: OperatorChanges) -> bool:
        """Whether it must see the outcome of these changes."""
        if self.sees & change.done:
            return True
        return any(part in self.sees and has(change) for part, has in _HAS_DONE.items())


_FIELDS = frozenset({Part.ENTRIES, Part.CHOICES, Part.NAMED_CLASSES})
_CONDITION = frozenset({Part.ENTRIES, Part.CONSTANTS})
_ENTRIES = frozenset({Part.VALUES, Part.ENTRIES, Part.MERGED})
StageRule.VALUES = StageRule(_FIELDS | {Part.CONSTANTS}, makes_values=True)
StageRule.FIELDS = StageRule(_FIELDS, makes_values=True)
StageRule.CONDITION = StageRule(_CONDITION)
StageRule.CHOICE = StageRule(_CONDITION | {Part.VALUES, Part.NAMED_CLASSES})
StageRule.CLASSES = StageRule(frozenset({Part.SEALED, Part.NAMING_VALUES}))
StageRule.ENTRIES = StageRule(_ENTRIES)
StageRule.SEALED = StageRule(_ENTRIES | {Part.NAMED_CLASSES})


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
    Part.DELETED: lambda change: change.deleted is not None,
    Part.CLASSES: lambda change: bool(change.headers.classes),
    Part.NAMED_CLASSES: _names_classes,
    Part.NAMING_VALUES: _may_name_classes,
    Part.CONSTANTS: lambda change: change.headers.has_constants,
    Part.NAMES: lambda change: bool(change.headers.states),
    Part.REMOVED: lambda change: bool(change.removed),
}
