"""How long a first answer takes: whole processes, against Python and DuckDB that do next to nothing.

Every round runs each command once, one after the other: ``python -c pass``, a query of DuckDB over
nothing, and ``savepoint show`` on samples with an empty cache of machine code (cold), then again
(warm). Shown are medians, of CPU time too, which other work on the machine disturbs less.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click

_ROOT = Path(__file__).parents[1]
_SAMPLES = ("currency-2.2.1-hashmap-canonical", "currency-2.2.1-rocksdb-native")
_TABLE = "summarize.keyed_state"
_SHOW = "from savepoint_cli.main import main; main()"

Taken = tuple[float, float]
"""Seconds, by the clock and of CPU."""


def taken(*arguments: str, cache: str) -> Taken:
    """What a process of Python takes from its start to its end."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    environment = os.environ | {"NUMBA_CACHE_DIR": cache}
    subprocess.run(
        [sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, env=environment
    )
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, cpu


def measured() -> dict[str, Taken]:
    """A round."""
    with tempfile.TemporaryDirectory() as none:
        found = {
            "python -c pass": taken("-c", "pass", cache=none),
            "duckdb: select 1": taken("-c", "import duckdb; duckdb.sql('select 1')", cache=none),
        }
    for sample in _SAMPLES:
        with tempfile.TemporaryDirectory() as cache:
            for state in ("cold", "warm"):
                path = str(_ROOT / "sample_savepoints" / sample)
                found[f"show {sample}, {state}"] = taken(
                    "-c", _SHOW, "show", path, _TABLE, cache=cache
                )
    return found


@click.command(help=__doc__)
@click.option("--rounds", default=5, show_default=True, help="How often each command runs.")
def main(rounds: int) -> None:
    """Measures and prints."""
    found = [measured() for _ in range(rounds)]
    middle = {
        name: tuple(statistics.median(one[name][kind] for one in found) for kind in (0, 1))
        for name in found[0]
    }
    python, duckdb = (middle[name][1] for name in list(middle)[:2])
    click.echo(f"{'':52}{'s':>7}{'CPU s':>7}{'x Python':>10}{'x DuckDB':>10}")
    for name, (seconds, cpu) in middle.items():
        ratios = f"{cpu / python:10.1f}{cpu / duckdb:10.1f}"
        click.echo(f"{name:52}{seconds:7.2f}{cpu:7.2f}{ratios}")
    click.echo(f"ratios are of CPU; load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
