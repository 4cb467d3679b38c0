"""Savepoints far larger than usual, made by hand: seconds, CPU seconds and memory of commands on them.

    PYTHONPATH=…:tests python -m faults.extremes --case operators --case files

Each command is a process of its own, on a machine that may have other work: CPU seconds are the figure,
and the load stands beside them.
"""

from __future__ import annotations

import argparse
import gc
import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

from support.sample_rows import SAMPLES

from faults import bombs
from faults.extreme_savepoints import (
    large_keys,
    long_list,
    long_text,
    many_files,
    many_keys,
    many_operators,
    many_states,
    rocksdb,
    wide_row,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_READS = ("describe", "verify", "stats", "doctor", "diff")
_HOSTILE_MEMORY = 4
_LOOKS = 10
"""How often the memory of many openings is told."""


@dataclass(frozen=True)
class Case:
    """A savepoint, and what is asked of it.

    Attributes:
        make: Writes it.
        commands: Commands that are run on it.
        readers: Processes that run the same command at once.
        is_hostile: Whether an error of one line will do. Commands get 4 GiB of addresses.
    """

    make: Callable[[Path], None]
    commands: tuple[str, ...] = _READS
    readers: int = 1
    is_hostile: bool = False


def _cases(keys: int) -> dict[str, Case]:
    millions = f"{keys / 1e6:g} M keys"
    large = ("verify", "stats", "diff", "show")
    return {
        "100,000 operators": Case(many_operators, (*_READS, "list", "copy")),
        "2,000 states": Case(partial(many_states, 2000), (*_READS, "list", "copy")),
        "20,000 states": Case(partial(many_states, 20_000)),
        "1,024 files": Case(partial(many_files, 1024), (*_READS, "files", "copy")),
        "32,768 files": Case(partial(many_files, 32_768), (*_READS, "files", "copy")),
        "200 keys of 1 MB": Case(partial(large_keys, 200, 1_000_000), large),
        "key of 100 MB": Case(partial(large_keys, 1, 100_000_000), large),
        "list of 10 M": Case(partial(long_list, 10_000_000), large),
        "list of 100 M": Case(partial(long_list, 100_000_000), ("verify", "stats")),
        "list of 1 M": Case(partial(long_list, 1_000_000), large),
        "10,000 states": Case(partial(many_states, 10_000)),
        "text of 200 MB": Case(partial(long_text, 200_000_000), (*large, "export")),
        "text of 1 GB": Case(partial(long_text, 1_000_000_000), (*large, "export")),
        "row of 1 GB": Case(partial(wide_row, 100, 10_000_000), (*large, "export")),
        "text of 2 GB": Case(partial(long_text, 2_000_000_000), large),
        f"{millions}, canonical": Case(many_keys(keys, "canonical"), ("verify", "stats", "diff")),
        f"{millions}, heap": Case(many_keys(keys, "heap"), ("verify", "stats", "diff")),
        f"{millions}, RocksDB": Case(rocksdb(keys), (*large, "describe", "query")),
        "20 readers at once": Case(many_keys(keys // 20, "canonical"), ("verify",), readers=20),
    }


def _hostile() -> dict[str, Case]:
    """Cases that a stranger may have made: each ends in an answer or in an error of one line."""
    verify = ("verify", "show")
    made: dict[str, tuple[Callable[[Path], None], tuple[str, ...]]] = {
        **{
            f"256 MiB in a block of {codec}": (partial(bombs.block, codec, 256 << 20), verify)
            for codec in bombs.CODECS
        },
        "256 MiB in a block of zlib": (partial(bombs.zlib_block, 256 << 20), verify),
        "256 MiB in a key group of Snappy": (partial(bombs.key_group, 256 << 20), verify),
        "256 MiB in operator state of Snappy": (
            partial(bombs.operator_state, 256 << 20),
            verify[:1],
        ),
        "500 MB of state in _metadata": (
            partial(bombs.inline_state, 5000, 100_000),
            ("describe", "verify", "copy"),
        ),
        "500 MB of operators in _metadata": (
            partial(bombs.many_operators, 17_241_000),
            ("describe", "verify"),
        ),
        "types nested 20,000 deep": (partial(bombs.deep_type, 20_000), ("describe", *verify)),
        "values nested 1,000,000 deep": (partial(bombs.deep_value, 1_000_000), verify),
        "10,000,000 references to itself": (partial(bombs.cycle, 10_000_000), verify),
    }
    return {name: Case(make, commands, is_hostile=True) for name, (make, commands) in made.items()}


def _run(name: str, case: Case, command: str, path: Path, memory: float | None) -> bool:
    """Runs a command, prints a row of the table; returns whether it ended as it must."""
    if case.is_hostile:
        memory = memory or _HOSTILE_MEMORY
    words = [str(Path(sys.executable).with_name("savepoint")), command, str(path)]
    words += {
        "diff": [str(path)],
        "copy": [str(path / "copy")],
        "export": ["a.keyed_state", str(path / "rows"), "--to", "parquet", "--uid", "a"],
        "show": ["a.keyed_state", "--uid", "a", "-n", "1"],
        "query": ["SELECT count(*), sum(s) FROM a.keyed_state", "--uid", "a"],
        "rescale": [str(path / "rescaled"), "--parallelism", "4"],
    }.get(command, [])
    words += ["--target", "2.2"] if command == "doctor" else []
    if memory:
        words = ["prlimit", f"--as={int(memory * 2**30)}", *words]
    start = time.perf_counter()
    with tempfile.TemporaryFile() as errors:
        pids = [
            _started([*words, "--output", "json"], errors.fileno()) for _ in range(case.readers)
        ]
        ends = [os.wait4(pid, 0) for pid in pids]
        seconds = time.perf_counter() - start
        errors.seek(0)
        said = errors.read().decode(errors="replace").strip().splitlines()
    cpu = sum(usage.ru_utime + usage.ru_stime for _, _, usage in ends)
    memory = max(usage.ru_maxrss for *_, usage in ends) / 1024
    codes = {os.waitstatus_to_exitcode(status) for _, status, _ in ends}
    end = "" if codes <= {0, 3} else f"exit codes {codes}: {said[-1] if said else ''}"
    # verify tells damage in its answer, and has exit code 1 then.
    is_told = len(said) == 1 and said[0].startswith("Error: ") if said else command == "verify"
    print(
        f"| {name} | {command} | {seconds:.1f} | {cpu:.1f} | {memory:,.0f} | {os.getloadavg()[0]:.0f} | {end} |",
        flush=True,
    )
    return not end or (case.is_hostile and codes == {1} and is_told)


def _started(words: Sequence[str], errors: int) -> int:
    with Path(os.devnull).open("wb") as nothing:
        return subprocess.Popen(words, stdout=nothing, stderr=errors).pid


def _openings(count: int) -> None:
    """Opens samples again and again in one process, reads a table of each; prints what it has."""
    from state_processor import Savepoint  # noqa: PLC0415

    samples = [
        SAMPLES / name
        for name in ("currency-2.2.1-hashmap-canonical", "currency-2.2.1-rocksdb-native")
    ]
    for number in range(count + 1):
        if number % (count // _LOOKS) == 0:
            gc.collect()
            files, threads = len(os.listdir("/proc/self/fd")), threading.active_count()
            status = Path("/proc/self/status").read_text("ascii")
            memory = next(
                line.split()[1] for line in status.splitlines() if line.startswith("VmRSS")
            )
            print(
                f"| {number:,} openings | memory {int(memory) >> 10} MB | files {files} | threads {threads} |",
                flush=True,
            )
        savepoint = Savepoint.open(str(samples[number % 2]))
        savepoint.describe()
        savepoint.scan("summarize.keyed_state").to_arrow()


def main() -> int:
    """Makes each savepoint, runs the commands on it; returns how many ended otherwise than they must."""
    parser = argparse.ArgumentParser(prog="python -m faults.extremes")
    parser.add_argument("--case", action="append", help="the beginning of its name; all by default")
    parser.add_argument("--command", action="append", help="all of a case by default")
    parser.add_argument("--memory", type=float, help="GiB of addresses; no limit by default")
    parser.add_argument("--keys", type=int, default=20_000_000, help="of the cases with many keys")
    parser.add_argument("--openings", type=int, default=10_000, help="of one process")
    options = parser.parse_args()
    wrong = 0
    print(
        "| savepoint | command | seconds | CPU seconds | MB | load | |\n|---|---|---:|---:|---:|---:|---|"
    )
    for name, case in (_cases(options.keys) | _hostile()).items():
        if options.case and not any(name.startswith(given) for given in options.case):
            continue
        with tempfile.TemporaryDirectory() as folder:
            # Commands begin with the memory of their parent, which stays small.
            maker = get_context("fork").Process(target=case.make, args=[Path(folder)])
            maker.start()
            maker.join()
            if maker.exitcode:
                raise RuntimeError(f"the savepoint of {name!r} could not be made")
            for command in options.command or case.commands:
                wrong += not _run(name, case, command, Path(folder), options.memory)
    if not options.case or "openings" in options.case:
        _openings(options.openings)
    return wrong


if __name__ == "__main__":
    sys.exit(main())
