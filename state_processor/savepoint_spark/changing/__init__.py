"""Changes of existing state: replaced, renamed, removed, or passed through."""

from typing import TYPE_CHECKING

from savepoint_formats.lazy_names import lazy_names
from savepoint_spark.changing.canonical import is_of_forst, needs_conversion

if TYPE_CHECKING:
    from savepoint_spark.changing.changed_operator import ChangedOperator
    from savepoint_spark.changing.named_classes import classes_to_describe

__all__ = [
    "ChangedOperator",
    "classes_to_describe",
    "is_of_forst",
    "needs_conversion",
]

__getattr__ = lazy_names(__name__)[0]
