"""What only the user knows of a query whose state is imported."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from savepoint_extensions.spark_streams.stream_operator import (
    AGGREGATIONS,
    EVENT_TIME,
    PROCESSING_TIME,
    StateForm,
    TimeoutDomain,
)
from savepoint_formats.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Mapping

_FORMS = {
    "aggregates": AGGREGATIONS,
    "allowed_lateness_ms": AGGREGATIONS,
    "timeout": (StateForm.GROUP_STATE,),
    "ttl_ms": (StateForm.STATE_VARIABLES,),
    **dict.fromkeys(("left", "right", "on"), (StateForm.JOIN,)),
}
"""A word -> the forms of state that need it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportWords:
    """What only the user knows of the query; see ``SparkCheckpoint.state_like``."""

    key: tuple[str, ...] = ()
    aggregates: Mapping[str, str] = field(default_factory=dict)
    timeout: TimeoutDomain | None = None
    ttl_ms: Mapping[str, int] = field(default_factory=dict)
    allowed_lateness_ms: int = 0
    window_time: TimeoutDomain = "event_time"
    begin_empty: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    right: tuple[str, ...] = ()
    on: str | None = None

    def __post_init__(self) -> None:
        """Raises ``ValueError`` for words that no job can mean."""
        if self.allowed_lateness_ms < 0:
            raise ValueError(f"allowed_lateness_ms={self.allowed_lateness_ms}, expected 0 or more")
        if self.window_time not in (EVENT_TIME, PROCESSING_TIME):
            raise ValueError(
                f"window_time={self.window_time!r}, expected {EVENT_TIME!r} or {PROCESSING_TIME!r}"
            )

    def expect_form(self, form: StateForm) -> None:
        """Raises ``RefusedError`` for a word that only state of another form needs: it would do nothing."""
        for name, forms in _FORMS.items():
            if getattr(self, name) and form not in forms:
                kinds = " or ".join(it.value for it in forms)
                raise RefusedError(
                    f"{name} is for an operator of the kind {kinds}, but this one is a {form.value}: leave"
                    f" {name} out, or choose another operator"
                )

    def expect_no_windows(self, operator: int) -> None:
        """Raises ``RefusedError`` for words about windows that an operator doesn't have."""
        for name, nothing in (("allowed_lateness_ms", 0), ("window_time", EVENT_TIME)):
            if getattr(self, name) != nothing:
                raise RefusedError(
                    f"{name} is for windows, and operator {operator} has none: leave {name} out"
                )
