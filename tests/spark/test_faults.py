"""A few of the rounds that ``python -m faults`` runs: a write dies, and harms nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from faults.rounds import Rounds

if TYPE_CHECKING:
    from pathlib import Path


def test_what_dies_while_it_writes_harms_nothing(tmp_path: Path) -> None:
    rounds = Rounds(tmp_path, "local[2, 4]", 1)
    try:
        done = [
            rounds.run(*pair)
            for pair in (("overwrite", "driver"), ("rescale", "source"), ("bootstrap", "workers"))
        ]
    finally:
        rounds.close()
    assert [fault for ended in done for fault in ended.faults] == []
    assert any(ended.is_struck for ended in done)
