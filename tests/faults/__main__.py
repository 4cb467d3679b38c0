"""The command: ``PYTHONPATH=…:tests python -m faults --rounds 100 --seed 1 --way rescale``."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from faults.rounds import CLUSTER, LOCAL, Rounds
from faults.ways import WAYS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from faults.rounds import Round

# As a cluster has it: a task is tried four times.
_MASTER = "local[2, 4]"
_CLUSTER = "local-cluster[2, 1, 1024]"

# A new driver takes as long as ten rounds.
_WEIGHTS = {"machine": 0.25}


def main() -> int:
    """Runs rounds; returns how many of them had faults."""
    parser = argparse.ArgumentParser(prog="python -m faults", description="Kills what writes.")
    parser.add_argument("--rounds", type=int, default=100, help="how many")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="at most")
    parser.add_argument("--seed", type=int, default=1, help="the same seed draws the same moments")
    parser.add_argument("--way", action="append", choices=WAYS, help="to write; all by default")
    parser.add_argument("--death", action="append", help="what dies; all by default")
    parser.add_argument("--cluster", action="store_true", help="executors are processes, and die")
    options = parser.parse_args()
    pairs = [
        (way, death)
        for way, deaths in (CLUSTER if options.cluster else LOCAL).items()
        for death in deaths
        if way in (options.way or WAYS) and death in (options.death or deaths)
    ]
    weights = [_WEIGHTS.get(death, 1.0) for _, death in pairs]
    drawn = random.Random(options.seed).choices(pairs, weights, k=options.rounds)
    end = time.monotonic() + options.minutes * 60
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        rounds = Rounds(Path(folder), _CLUSTER if options.cluster else _MASTER, options.seed)
        done: list[Round] = []
        try:
            for pair in drawn:
                if time.monotonic() < end:
                    done.append(_told(rounds.run(*pair)))
        finally:
            # Also of rounds that were interrupted.
            _summarize(done)
            rounds.close()
    return min(100, sum(bool(ended.faults) for ended in done))


def _told(ended: Round) -> Round:
    for fault in ended.faults:
        print(f"{ended.way}, {ended.death}: {ended.end}: {fault}", flush=True)
    return ended


def _summarize(done: Sequence[Round]) -> None:
    struck = [ended for ended in done if ended.is_struck]
    counts = Counter((ended.way, ended.death, ended.end) for ended in struck)
    for (way, death, end), number in sorted(counts.items()):
        print(f"{number:5} {way:10} {death:10} {end}")
    print(f"{len(done)} rounds, {len(struck)} struck, {sum(bool(e.faults) for e in done)} faults")


if __name__ == "__main__":
    sys.exit(main())
