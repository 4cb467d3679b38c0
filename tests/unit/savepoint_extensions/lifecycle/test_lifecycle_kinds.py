"""Words of changes of the life of state."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from support.each import each

from savepoint_database.types import moment
from savepoint_extensions.lifecycle.lifecycle_kinds import age


def test_a_time_is_in_utc_unless_it_has_a_zone() -> None:
    noon = datetime(2026, 1, 31, 12, tzinfo=UTC)
    assert moment(None) is None
    assert moment("2026-01-31T12:00:00") == moment("2026-01-31 12:00Z") == noon
    assert moment("2026-01-31T13:00:00+01:00") == noon


@each("text", ["", "soon", "2026-13-01", "1769860800000"])
def test_other_texts_are_no_times(text: str) -> None:
    with pytest.raises(ValueError, match="is no time such as"):
        moment(text)


def test_a_time_to_live_has_a_unit() -> None:
    assert age("7d") == timedelta(days=7)
    assert age("90 min") == timedelta(minutes=90)
    with pytest.raises(ValueError, match="has no unit"):
        age("7")
    with pytest.raises(ValueError, match="expected a duration"):
        age("a week")
    with pytest.raises(ValueError, match="999999999"):
        age("99999999999d")
