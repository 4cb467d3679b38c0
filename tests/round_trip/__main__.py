"""Tries the savepoints below some folders, and counts what becomes of their states."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from pathlib import Path

import click

from round_trip.trips import RoundTrip, round_trip
from state_processor import local_session


@click.command()
@click.argument("folders", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--only", default="", help="A part of the paths that are tried.")
def main(folders: tuple[Path, ...], only: str) -> None:
    """Writes every state of the savepoints below FOLDERS as rows, and compares them."""
    spark = local_session("local[2]", spark__sql__shuffle__partitions="2")
    ends: Counter[str] = Counter()
    for metadata in sorted(path for folder in folders for path in folder.rglob("_metadata")):
        path = metadata.parent
        if only not in str(path):
            continue
        with tempfile.TemporaryDirectory() as folder:
            trip = round_trip(spark, str(path), Path(folder), _uids(path))
        ends.update(_told(path, trip))
    click.echo(", ".join(f"{name} {count:,}" for name, count in sorted(ends.items())))
    if ends["tables that differ"]:
        raise SystemExit(1)


def _uids(path: Path) -> tuple[str, ...]:
    """The uids that a file beside the savepoint names."""
    facts = next((place / "expected.json" for place in (path, *path.parents[:2])), path)
    return tuple(json.loads(facts.read_text("utf-8"))["uids"]) if facts.is_file() else ()


def _told(path: Path, trip: RoundTrip) -> Counter[str]:
    for leg in trip.legs:
        if leg.refusal:
            click.echo(
                f"{path}: {leg.operator}.{leg.state} ({leg.kind}, {leg.type}): {leg.refusal}"
            )
    for table in trip.differing:
        click.echo(f"{path}: {table} DIFFERS")
    refused = sum(bool(leg.refusal) for leg in trip.legs)
    return Counter(
        {
            "savepoints": 1,
            "states written": len(trip.legs) - refused,
            "states refused": refused,
            "tables that differ": len(trip.differing),
        }
    )


if __name__ == "__main__":
    main()
