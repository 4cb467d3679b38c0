"""An operator that has timers in its headers, and none that is set, has no initial state."""

from __future__ import annotations

from typing import Any

import pytest

from savepoint_extensions.spark_streams.starting_rows import with_timers
from savepoint_formats.errors import StateNotFoundError


def test_an_operator_without_rows_and_timers_is_refused() -> None:
    with pytest.raises(StateNotFoundError, match="operator totals has no keyed state, and none"):
        with_timers(None, None, "totals")
    either: Any = object()  # no session is needed to hand on the only table
    assert with_timers(either, None, "totals") is either
    assert with_timers(None, either, "totals") is either
