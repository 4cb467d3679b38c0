"""How long ten commands take: whole processes, against Python and DuckDB that do next to nothing.

Every round runs ``python -c pass``, a query of DuckDB over nothing, and each command, one after the
other. Shown are medians, of CPU time too, which other work on the machine disturbs less.
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

_SAMPLES = Path(__file__).parents[1] / "sample_savepoints"
_PROGRAM = "from savepoint_cli.main import main; main()"
_COMMANDS = {
    "describe": ("describe", "{path}"),
    "list": ("list", "{path}"),
    "schema": ("schema", "{path}", "{table}"),
    "show": ("show", "{path}", "{table}"),
    "show --key": ("show", "{path}", "{table}", "--key", "{key}"),
    "show --where": ("show", "{path}", "{table}", "--where", "key > 0", "-n", "5"),
    "query, 5 rows": ("query", "{path}", "SELECT * FROM {table} LIMIT 5"),
    "query, one key": ("query", "{path}", "SELECT * FROM {table} WHERE key = {key}"),
    "query, all keys": ("query", "{path}", "SELECT count(*), min(key), max(key) FROM {table}"),
    "query -o": ("query", "{path}", "FROM {table}", "-o", "{out}", "--overwrite"),
}

Taken = tuple[float, float]
"""Seconds, by the clock and of CPU."""


def taken(*arguments: str) -> Taken:
    """Time of a Python process from its start to its end."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [sys.executable, *arguments],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, cpu


def measured(values: dict[str, str]) -> dict[str, Taken]:
    """A round over one savepoint."""
    with tempfile.TemporaryDirectory() as folder:
        values = {**values, "out": f"{folder}/rows.parquet"}
        times = {
            "python -c pass": taken("-c", "pass"),
            "duckdb: select 1": taken("-c", "import duckdb; duckdb.sql('select 1')"),
        }
        for name, command in _COMMANDS.items():
            filled = [part.format(**values) for part in command]
            times[name] = taken("-c", _PROGRAM, *filled)
    return times


def shown(rounds: list[dict[str, Taken]]) -> None:
    """Prints the medians of some rounds."""
    middle = {
        name: tuple(
            statistics.median(taken_in[name][kind] for taken_in in rounds) for kind in (0, 1)
        )
        for name in rounds[0]
    }
    python, duckdb = (middle[name][1] for name in list(middle)[:2])
    click.echo(f"{'':28}{'s':>7}{'CPU s':>7}{'x Python':>10}{'x DuckDB':>10}")
    for name, (seconds, cpu) in middle.items():
        ratios = f"{cpu / python:10.1f}{cpu / duckdb:10.1f}"
        click.echo(f"{name:28}{seconds:7.2f}{cpu:7.2f}{ratios}")
    click.echo(f"ratios are of CPU; load {os.getloadavg()[0]:.1f}")


@click.command(help=__doc__)
@click.option("--rounds", default=5, show_default=True, help="How often each command runs.")
@click.option(
    "--savepoint",
    "paths",
    multiple=True,
    default=[
        str(_SAMPLES / name)
        for name in ("currency-2.2.1-hashmap-canonical", "currency-2.2.1-rocksdb-native")
    ],
    help="What is asked; repeatable. Two samples by default.",
)
@click.option("--table", default="summarize.keyed_state", show_default=True)
@click.option("--key", default="1003", show_default=True, help="One of the table, a number.")
def main(rounds: int, paths: tuple[str, ...], table: str, key: str) -> None:
    """Measures and prints."""
    for path in paths:
        click.echo(path)
        values = {"path": path, "table": table, "key": key}
        shown([measured(values) for _ in range(rounds)])


if __name__ == "__main__":
    main()
