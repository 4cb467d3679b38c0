"""The command: ``PYTHONPATH=…:tests python -m faults --rounds 100 --seed 1 --way rescale``."""

from __future__ import annotations

import argparse
import logging
import random
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from support.s3_server import S3Server
from support.striking_proxy import STRIKES, StrikingProxy

from faults.commands import COMMANDS, PLAIN
from faults.points import Points
from faults.requests import Requests
from faults.rounds import CLUSTER, LOCAL, Rounds
from faults.strikes import ACTIONS
from faults.ways import WAYS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from faults.points import Strike
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
    parser.add_argument("--way", action="append", choices=[*WAYS, *COMMANDS], help="to write")
    parser.add_argument("--death", action="append", help="what dies; all by default")
    parser.add_argument("--cluster", action="store_true", help="executors are processes, and die")
    actions = [*dict.fromkeys([*ACTIONS, *STRIKES])]
    parser.add_argument(
        "--action", action="append", choices=actions, help="of a call; all by default"
    )
    parser.add_argument("--s3", action="store_true", help="strikes requests to a store of S3")
    parser.add_argument("--in-turn", action="store_true", help="each call gets one of the actions")
    parser.add_argument("--every", type=int, help="strikes each k-th call that changes a file")
    parser.add_argument("--first", type=int, default=1, help="call that is struck")
    options = parser.parse_args()
    end = time.monotonic() + options.minutes * 60
    if options.every:
        actions = options.action or [*(STRIKES if options.s3 else ACTIONS)]
        in_turn = [actions] if options.in_turn else [[action] for action in actions]
        plan = _Plan(options.way or [*PLAIN], in_turn, options.every, options.first, end)
        if not options.s3:
            return _strike(Points, plan)
        # The store tells each request.
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        with S3Server.running() as server, StrikingProxy.running(server.address) as proxy:
            return _strike(partial(Requests, server=server, proxy=proxy), plan)
    pairs = [
        (way, death)
        for way, deaths in (CLUSTER if options.cluster else LOCAL).items()
        for death in deaths
        if way in (options.way or WAYS) and death in (options.death or deaths)
    ]
    weights = [_WEIGHTS.get(death, 1.0) for _, death in pairs]
    drawn = random.Random(options.seed).choices(pairs, weights, k=options.rounds)
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


@dataclass(frozen=True)
class _Plan:
    """Strikes to do: ways to write, actions that calls get in turn, and which calls; until when."""

    ways: Sequence[str]
    in_turn: Sequence[Sequence[str]]
    every: int
    first: int
    end: float


def _strike(made: Callable[[Path, str], Points], plan: _Plan) -> int:
    """Strikes calls; returns how many of the strikes had faults."""
    master = _MASTER if any((WAYS | COMMANDS)[way].needs_spark for way in plan.ways) else ""
    faulty = 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        points = made(Path(folder), master)
        try:
            for way, actions in product(plan.ways, plan.in_turn):
                if time.monotonic() > plan.end:
                    break
                start, done = time.monotonic(), []
                try:
                    for strike in points.strikes(way, actions, plan.every, plan.first):
                        done.append(strike)
                        if time.monotonic() > plan.end:
                            break
                finally:
                    # Also of strikes that were interrupted.
                    _summarize_strikes(done, time.monotonic() - start)
                faulty += sum(bool(strike.faults) for strike in done)
        finally:
            points.close()
    print(f"{faulty} faults")
    return min(100, faulty)


def _summarize_strikes(done: Sequence[Strike], seconds: float) -> None:
    if not done:
        return
    counts = Counter(strike.end for strike in done)
    ends = ", ".join(f"{number} {end}" for end, number in sorted(counts.items()))
    actions = {strike.action for strike in done}
    name = "in turn" if len(actions) > 1 else done[0].action
    struck = sum(bool(strike.call) for strike in done)
    last = done[-1].point
    print(
        f"{done[0].way:20} {name:8} {struck:3} of {done[0].points} struck, the last is {last}:"
        f" {ends}; {seconds:.0f} s",
        flush=True,
    )
    for strike in done:
        for fault in strike.faults:
            where = f"{strike.way}, {strike.action} at {strike.point}, {strike.call}"
            print(f"  {where}: {strike.end}: {fault}", flush=True)


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
