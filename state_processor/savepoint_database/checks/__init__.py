"""Checks without Spark: whether a snapshot is whole, how two differ."""

from typing import TYPE_CHECKING

from savepoint_formats.lazy_names import lazy_names

if TYPE_CHECKING:
    from savepoint_database.checks.savepoint_diff import SavepointDiff
    from savepoint_database.checks.verification import Verification

__all__ = ["SavepointDiff", "Verification"]

__getattr__ = lazy_names(__name__)[0]
