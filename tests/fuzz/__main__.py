"""The command: ``PYTHONPATH=…:tests python -m fuzz --inputs 10000 --seed 1 --reader metadata``."""

from __future__ import annotations

import argparse
import faulthandler
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count
from pathlib import Path

from fuzz.kinds import KINDS, READERS
from fuzz.loop import Failure, Report
from fuzz.promises import SECONDS
from fuzz.targets import TARGETS, shares
from fuzz.workers import Work, tried


def main() -> int:
    """Runs readers one after the other; returns how many promises were broken."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description="Damages what is read.")
    parser.add_argument("--reader", action="append", choices=TARGETS, help="only it, with its part")
    parser.add_argument("--inputs", type=int, default=10_000, help="of all readers together")
    parser.add_argument("--processes", type=int, default=1, help="readers at a time")
    parser.add_argument("--seed", type=int, default=1, help="the same seed tries the same inputs")
    parser.add_argument("--interpreted", action="store_true", help="the kernel as plain Python")
    parser.add_argument("--guarded", action="store_true", help="buffers in front of guard pages")
    parser.add_argument("--out", type=Path, default=Path("fuzz-failures"), help="where they go")
    parser.add_argument("--kind", action="append", choices=KINDS, help="only such savepoints")
    chosen = parser.parse_args()
    faulthandler.enable()
    chosen.out.mkdir(exist_ok=True)
    total = Report("all readers")
    works = [
        Work(name, str(chosen.seed), inputs, chosen.guarded, chosen.interpreted, kind)
        for kind in chosen.kind or [""]
        for name, inputs in shares(
            chosen.reader or list(READERS if kind else TARGETS), chosen.inputs
        ).items()
    ]
    with ThreadPoolExecutor(chosen.processes) as pool:
        for work, (report, memory) in zip(
            works, pool.map(lambda work: _tried(work, chosen.out), works), strict=True
        ):
            print(f"{work.kind or 'all'} {report}  {memory >> 20} MiB more", flush=True)
            named = {f"{report.target} {place}": it for place, it in report.failures.items()}
            total.add(replace(report, failures=named))
    print(f"{total}; each input had {SECONDS:.0f} s of CPU time")
    return min(len(total.failures), 100)


def _tried(work: Work, folder: Path) -> tuple[Report, int]:
    """Tries a reader; each failure is printed and kept when it happens."""
    numbers = count()

    def tell(failure: Failure) -> None:
        file = folder / f"{work.kind or 'all'}-{work.reader}-{next(numbers)}"
        file.write_bytes(failure.data)
        print(f"{work.reader}: {failure}\n    {file}", flush=True)

    return tried(work, folder, tell)


if __name__ == "__main__":
    sys.exit(main())
