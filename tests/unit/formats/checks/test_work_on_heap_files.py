"""Work on a heap file whose values hide their ends: verify and the doctor don't repeat it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.counted_calls import calls_in
from support.hand_made import group_of, kryo_of
from support.hidden_values import KEYS, heap, heap_of_two, text, unknown

if TYPE_CHECKING:
    from pathlib import Path

GROUPS = {group_of(key) for key in KEYS}


def _neighbour(key: str) -> str:
    return next(other for other in KEYS if other != key and group_of(other) == group_of(key))


@pytest.mark.usefixtures("slow")
def test_verify_looks_once_for_borders_that_are_not_certain(tmp_path: Path) -> None:
    # Each value looks as if another entry of its key group lay in it.
    values = [unknown(b"ab\0" + text(_neighbour(key)) + unknown(b"c")) for key in KEYS]
    savepoint = heap(tmp_path, values, kryo_of("com.acme.Extra"))
    (fault,) = savepoint.verify().faults
    assert "hides where it ends" in fault.problem
    calls = calls_in(savepoint.verify)
    assert calls["heap_borders.borders"] == len(GROUPS)
    # Some together, each by itself, the ends to compare, and one that tells the order of states.
    assert calls["heap_entries._chunk"] <= 3 * len(GROUPS)


@pytest.mark.usefixtures("slow")
def test_verify_makes_what_decodes_a_state_once(tmp_path: Path) -> None:
    calls = calls_in(heap_of_two(tmp_path).verify)
    assert calls["entry_faults._entries"] == 2


@pytest.mark.usefixtures("slow")
def test_the_doctor_looks_for_borders_once_a_search(tmp_path: Path) -> None:
    savepoint = heap_of_two(tmp_path)
    calls = calls_in(lambda: savepoint.compatibility("2.2"))
    # It searches for subclasses of POJOs, and for objects of Kryo.
    assert calls["heap_borders.borders"] == 2 * len(GROUPS)
