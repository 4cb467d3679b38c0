"""Damaged savepoints of kinds that no sample has: a real Flink writes them first."""

from __future__ import annotations

import pytest
from fuzz.kinds import MADE, inputs_of
from fuzz.loop import run
from fuzz.targets import TARGETS
from support.nightly import nightly


@nightly
@pytest.mark.parametrize("kind", MADE)
def test_damaged_input_breaks_no_promise(kind: str) -> None:
    inputs = inputs_of(kind)
    assert inputs.snapshots
    for name in ("metadata", "snapshots", "values", "entries", "verify"):
        target = TARGETS[name](inputs)
        # Tables of the asynchronous job are no entries of heap or canonical files.
        assert target.seeds or (kind, name) == ("forst", "entries")
        if not target.seeds:
            continue
        report = run(target, 3, inputs=100, seconds=1)
        assert [str(failure) for failure in report.failures.values()] == []
