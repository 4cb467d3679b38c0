"""Whether a snapshot is whole, and in what two of them differ; without Spark."""

from typing import TYPE_CHECKING

from state_processor.types.lazy_names import lazy_names

if TYPE_CHECKING:
    from state_processor.checks.savepoint_diff import SavepointDiff
    from state_processor.checks.verification import Verification

__all__ = ["SavepointDiff", "Verification"]

__getattr__ = lazy_names(
    __name__, {"SavepointDiff": ".savepoint_diff", "Verification": ".verification"}
)
