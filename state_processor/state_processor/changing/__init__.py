"""Existing state that is changed: replaced, renamed, removed, or passed through."""

from typing import TYPE_CHECKING

from state_processor.changing.canonical import needs_conversion
from state_processor.types.lazy_names import lazy_names

if TYPE_CHECKING:
    from state_processor.changing.changed_operator import ChangedOperator
    from state_processor.changing.migration import collections_to_describe
    from state_processor.changing.unknown_classes import classes_to_describe

__all__ = ["ChangedOperator", "classes_to_describe", "collections_to_describe", "needs_conversion"]

__getattr__ = lazy_names(
    __name__,
    {
        "ChangedOperator": ".changed_operator",
        "classes_to_describe": ".unknown_classes",
        "collections_to_describe": ".migration",
    },
)
