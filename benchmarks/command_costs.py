"""What each command costs: the peak memory, and the CPU seconds of a small savepoint and per GB of a large one.

    python benchmarks/command_costs.py [--keys 1000000 10000000] [--only verify stats]

The savepoints are those of ``checks.py``, made once without Spark and Flink: a count and a name per
key, canonical, one file. Each command is a whole process over the smaller and the larger of two.
Seconds per GB are the difference of their CPU time by the difference of their bytes. Peak memory is that
of the larger, of all processes of the command together: Java and Python workers, too. The table is
Markdown, as in ``docs/costs.md``.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from checks import STEP, TABLE, UID, make
from make_savepoint import size_of
from measure import cpu_seconds, descendants, peak_memory, sizes_parser

_PROGRAM = "from savepoint_cli.main import main; main()"
_PAUSE_SECONDS = 0.02

COMMANDS = {
    "describe": ("describe", "{path}"),
    "list": ("list", "{path}"),
    "schema": ("schema", "{path}", TABLE),
    "files": ("files", "{path}"),
    "show": ("show", "{path}", TABLE),
    "key": ("key", "{path}", "12345"),
    "query, all rows": ("query", "{path}", f"SELECT count(*), sum(count) FROM {TABLE}"),
    "query, sorted": ("query", "{path}", f"FROM {TABLE} ORDER BY name DESC LIMIT 5"),
    "stats": ("stats", "{path}"),
    "verify": ("verify", "{path}"),
    "doctor": ("doctor", "{path}", "--target", "2.2"),
    "diff": ("diff", "{path}", "{changed}"),
    "changes": ("changes", "{path}", "{changed}"),
    "watch, one checkpoint": ("watch", "{job}", "--once"),
    "find": ("find", "{path}", "customer-00000012345"),
    "export, Parquet": ("export", "{path}", TABLE, "{out}", "--to", "parquet"),
    "copy": ("copy", "{path}", "{out}"),
    "backup": ("backup", "{path}", "{out}"),
    "rename-operator": ("rename-operator", "{path}", UID, "others", "{out}"),
    "rescale": ("rescale", "{path}", "{out}", "--max-parallelism", "256"),
    "update-state": ("update-state", "{path}", UID, "count", "{out}", "--set", "count + 1"),
    "delete-keys": ("delete-keys", "{path}", UID, "{out}", "--where", "key % 100 = 0"),
}
"""Name in the table -> its call. ``--uid`` comes last."""

_DIFFERENT = 3  # the exit code of diff


class Cost(NamedTuple):
    """CPU seconds of a command and all that it started, and their most memory together, in bytes."""

    cpu: float
    peak: int


def cost(name: str, values: dict[str, str]) -> Cost:
    """The cost of a command as a process of its own."""
    with tempfile.TemporaryDirectory(dir=Path(values["path"]).parent) as folder:
        job = Path(folder, "job")
        job.mkdir()
        (job / "chk-1").symlink_to(values["path"])
        places = {**values, "out": f"{folder}/out", "job": str(job)}
        call = [word.format(**places) for word in COMMANDS[name]]
        before, peak, so_far = resource.getrusage(resource.RUSAGE_CHILDREN), 0, 0.0
        with subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, *call, "--uid", UID],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        ) as process:
            while process.poll() is None:
                with suppress(FileNotFoundError, ProcessLookupError, ValueError, IndexError):
                    peak = max(peak, _memory(process.pid), peak_memory(process.pid))
                    # Nobody waits for Java, so its time is not among that of children that ended.
                    so_far = max(so_far, sum(map(cpu_seconds, descendants(process.pid))))
                time.sleep(_PAUSE_SECONDS)
            assert process.stderr is not None
            said = process.stderr.read().decode()
        if process.returncode not in ((_DIFFERENT,) if name == "diff" else (0,)):
            raise RuntimeError(f"{name}: {said}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(max(cpu, so_far), peak)


def _memory(process: int) -> int:
    """Bytes of a process and all that it has started; pages that they share count once."""
    rollups = (Path(f"/proc/{each}/smaps_rollup").read_text() for each in descendants(process))
    return sum(int(rollup.partition("\nPss:")[2].split()[0]) for rollup in rollups) << 10


def main() -> None:
    """Prints the table."""
    parser = sizes_parser(__doc__, keys=1_000_000)
    parser.add_argument("--only", choices=COMMANDS, nargs="+", default=[*COMMANDS])
    options = parser.parse_args()
    small, large = (*options.keys, 10 * options.keys[-1])[:2]
    folder = options.folder / "command-costs"
    paths = [(folder / f"{keys}", folder / f"{keys}-changed", keys) for keys in (small, large)]
    for path, changed, keys in paths:
        make(path, keys)
        make(changed, keys, step=STEP)
    sizes = [size_of(path) / 1e9 for path, _, _ in paths]
    print(f"{sizes[0]:.2f} and {sizes[1]:.2f} GB, {small:,} and {large:,} keys")
    print(f"load {os.getloadavg()[0]:.0f} on {os.cpu_count()} cores\n")
    print("| command | CPU s, small | CPU s per GB more | peak MB, large |")
    print("|---|---:|---:|---:|")
    for name in options.only:
        first, second = (
            cost(name, {"path": str(path), "changed": str(changed)}) for path, changed, _ in paths
        )
        more = (second.cpu - first.cpu) / (sizes[1] - sizes[0])
        print(f"| `{name}` | {first.cpu:.1f} | {more:.1f} | {second.peak / 1e6:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
