"""The command: ``PYTHONPATH=…:tests python -m fuzz --seconds 60 --seed 1 --target metadata``."""

from __future__ import annotations

import argparse
import faulthandler
import mmap
import sys
from contextlib import nullcontext
from pathlib import Path

from fuzz.guarded import guarded_buffers
from fuzz.loop import run, warm_up
from fuzz.promises import SECONDS, peak_memory, watched
from fuzz.samples import Inputs
from fuzz.targets import TARGETS
from savepoint_formats.program.kernel.machine_code import ALLOWANCE

_ROOM = 1 << 20


class LastInput:
    """A file that has the input that is being read, even if that ends the process.

    Its first four bytes are the size of the input.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        path.write_bytes(bytes(_ROOM))
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), _ROOM)

    def keep(self, data: bytes) -> None:
        """Writes an input into the file."""
        self._memory[: 4 + len(data)] = len(data).to_bytes(4, "big") + data


def main() -> int:
    """Runs targets one after the other; returns how many promises were broken."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description="Damages what is read.")
    parser.add_argument("--target", action="append", choices=TARGETS, help="all by default")
    parser.add_argument("--seconds", type=float, default=60, help="of each target")
    parser.add_argument("--inputs", type=float, default=float("inf"), help="of each target")
    parser.add_argument("--seed", type=int, default=1, help="the same seed tries the same inputs")
    parser.add_argument("--interpreted", action="store_true", help="the kernel as plain Python")
    parser.add_argument("--guarded", action="store_true", help="buffers in front of guard pages")
    parser.add_argument("--out", type=Path, default=Path("fuzz-failures"), help="where they go")
    chosen = parser.parse_args()
    faulthandler.enable()
    ALLOWANCE.left = float("inf") if chosen.interpreted else float("-inf")
    failures = inputs = 0
    readable = Inputs.all()
    with guarded_buffers() if chosen.guarded else nullcontext():
        for name in chosen.target or TARGETS:
            reader = TARGETS[name](readable)
            warm_up(reader)
            before = peak_memory()
            chosen.out.mkdir(exist_ok=True)
            last = LastInput(chosen.out / f"{name}-last")
            with watched(reader.memory):
                report = run(
                    reader,
                    chosen.seed,
                    seconds=chosen.seconds,
                    inputs=chosen.inputs,
                    before=last.keep,
                )
            last.path.unlink()
            grown = (peak_memory() - before) >> 20
            print(f"{report}  {grown} MiB more", flush=True)
            failures += len(report.failures)
            inputs += report.inputs
            for number, failure in enumerate(report.failures.values()):
                file = chosen.out / f"{name}-{number}"
                file.write_bytes(failure.data)
                print(f"  {failure}\n    {file}", flush=True)
    print(
        f"{inputs:,} inputs, {failures} broken promises; each input had {SECONDS:.0f} s of CPU time"
    )
    return min(failures, 100)


if __name__ == "__main__":
    sys.exit(main())
