"""Savepoints of jobs in Scala: every value is what the job put in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.scala_rows import (
    CASES,
    KRYO,
    expected_states,
    expected_words,
    stored_states,
    without_order,
)

from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("uid", ["by-string", "by-int", "by-case-class"])
def test_every_value_is_what_the_job_put_in(corpus: Path, case: str, uid: str) -> None:
    savepoint = Savepoint.open(str(corpus / "scala" / case / "savepoint"))
    stored = stored_states(savepoint, uid)
    expected = expected_states(corpus, case)[uid]
    assert set(stored) == set(expected)
    count = 0
    for name in set(expected) - KRYO:
        data_type, key_type, rows = stored[name]
        values = {str(row["key"]): without_order(name, row["value"]) for row in rows}
        for entry in expected[name]["entries"]:
            key = expected_words(entry["key"], key_type)
            value = without_order(name, expected_words(entry["value"], data_type))
            assert values.pop(str(key)) == value, (name, key)
            count += 1
        assert not any(value for value in values.values()), (name, values)
    assert count > 30
