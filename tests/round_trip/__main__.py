"""Tries the savepoints below some folders, and counts what becomes of their states."""

from __future__ import annotations

import json
import os
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import click

from round_trip.results import end_of, keep, results
from round_trip.trips import RoundTrip, round_trip
from state_processor import local_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@click.command()
@click.argument("folders", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--only", default="", help="A part of the paths that are tried.")
@click.option(
    "--results", "file", type=click.Path(path_type=Path), help="What came of it, as JSON."
)
def main(folders: tuple[Path, ...], only: str, file: Path | None) -> None:
    """Writes every state of the savepoints below FOLDERS as rows, and compares them."""
    # Jobs are many and small: code is compiled once.
    os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    spark = local_session(
        "local[2]", spark__sql__shuffle__partitions="1", spark__ui__enabled="false"
    )
    metadata = sorted(path for folder in folders for path in folder.rglob("_metadata"))
    paths = [path.parent for path in metadata if only in str(path)]
    # Most of a round trip is the driver's own work: two of them fill two cores.
    with ThreadPoolExecutor(2) as pool:
        trips = dict(zip(paths, pool.map(lambda path: _told(spark, path), paths), strict=True))
    ends = Counter(end_of(leg, trip) for trip in trips.values() for leg in trip.legs)
    rows = sum(trip.rows for trip in trips.values())
    counts = ", ".join(f"{name} {count:,}" for name, count in sorted(ends.items()))
    click.echo(f"{len(trips):,} savepoints, {rows:,} rows, {ends.total():,} states: {counts}")
    if file:
        keep(results(trips), file, "name")
    if any(trip.differing for trip in trips.values()):
        raise SystemExit(1)


def _told(spark: SparkSession, path: Path) -> RoundTrip:
    with tempfile.TemporaryDirectory() as folder:
        trip = round_trip(spark, str(path), Path(folder), _uids(path))
    click.echo(f"{path}: {len(trip.legs)} states, {trip.rows:,} rows")
    for leg in trip.legs:
        if leg.refusal:
            click.echo(f"{path}: {leg.operator}.{leg.state} ({leg.kind}): {leg.refusal}")
    for table in trip.differing:
        click.echo(f"{path}: {table} DIFFERS")
    return trip


def _uids(path: Path) -> tuple[str, ...]:
    """The uids that a file beside the savepoint names."""
    facts = next((place / "expected.json" for place in (path, *path.parents[:2])), path)
    return tuple(json.loads(facts.read_text("utf-8"))["uids"]) if facts.is_file() else ()


if __name__ == "__main__":
    main()
