"""The command: ``PYTHONPATH=…:tests python -m faults.planted --command verify``."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from typing import TYPE_CHECKING

from faults.planted.tables import TABLES, TOLD

if TYPE_CHECKING:
    from collections.abc import Iterable

    from faults.planted.plant import Plant


def main() -> int:
    """Plants faults; returns how many are not told as they must be."""
    parser = argparse.ArgumentParser(prog="python -m faults.planted", description=__doc__)
    parser.add_argument("--command", action="append", choices=TABLES, help="all by default")
    parser.add_argument("--name", default="", help="only faults whose name has this text")
    options = parser.parse_args()
    wrong = 0
    for command in options.command or TABLES:
        wrong += _planted(plant for plant in TABLES[command] if options.name in plant.name)
    return min(100, wrong)


def _planted(plants: Iterable[Plant]) -> int:
    ends: Counter[str] = Counter()
    command = ""
    for plant in plants:
        command = plant.command
        missed = plant.missed(TOLD[command])
        for line in missed:
            print(f"{command}, {plant.name}: {line}", flush=True)
        ends["missed" if missed else plant.end] += 1
    print(
        f"{command:7} {ends.total():3} planted: " + ", ".join(f"{n} {e}" for e, n in ends.items())
    )
    return ends["missed"]


if __name__ == "__main__":
    sys.exit(main())
