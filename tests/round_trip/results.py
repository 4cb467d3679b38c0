"""Results of round trips as data: by savepoint, by kind of state and by type."""

from __future__ import annotations

import json
import platform
import re
from collections import Counter, defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyspark

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from round_trip.trips import Leg, RoundTrip

KEPT_RESULTS = Path(__file__).with_name("results")
"""Data of the page of compatibility."""

# Paths of files and hashes of operators say nothing of a reason.
_OF_THIS_RUN = re.compile(r"/tmp/\S+|\b[0-9a-f]{32}\b")


def results(trips: Mapping[Path, RoundTrip]) -> list[dict[str, Any]]:
    """Results of round trips for the pages, by savepoint."""
    return [_of_savepoint(path, trip) for path, trip in sorted(trips.items())]


def keep(new: Iterable[dict[str, Any]], file: Path, *names: str) -> None:
    """Puts results into a file, in the place of those that have the same facts of these names."""
    kept = json.loads(file.read_text("utf-8")) if file.is_file() else []
    rows = (*kept, *({**row, "run": stamp()} for row in new))
    by_place = {tuple(row[name] for name in names): row for row in rows}
    lines = ",\n".join(json.dumps(by_place[place]) for place in sorted(by_place))
    file.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def stamp() -> dict[str, str]:
    """When something ran, and on what."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "pyspark": pyspark.__version__,
    }


def end_of(leg: Leg, trip: RoundTrip) -> str:
    """Result for a state: ``equal``, ``differs``, ``refused`` or ``passed``."""
    if leg.table in trip.differing:
        return "differs"
    if leg.refusal:
        return "refused"
    return "passed" if leg.passes else "equal"


def release_of(path: Path, flink: str) -> str:
    """The release that wrote a savepoint: its path says it, or else its ``_metadata`` about."""
    named = re.search(r"-flink(\d\.\d+)|-(\d\.\d+)\.\d+-", str(path))
    return (named[1] or named[2]) if named else flink


def _of_savepoint(path: Path, trip: RoundTrip) -> dict[str, Any]:
    told = trip.description
    backend = re.search(r"hashmap|rocksdb", str(path))
    return {
        "name": "/".join(part for part in path.parts[-2:] if part != "sample_savepoints"),
        "flink": release_of(path, told.flink),
        "backend": backend[0] if backend else "",
        "kind": told.kind,
        "formats": list(told.keyed_formats),
        "rows": trip.rows,
        "states": _counted(trip, lambda leg: (leg.kind,)),
        "types": _counted(trip, lambda leg: leg.types),
        "refusals": [
            f"{leg.kind} {leg.state}: {_OF_THIS_RUN.sub('…', leg.refusal)}"
            for leg in trip.legs
            if leg.refusal
        ],
    }


def _counted(
    trip: RoundTrip, names_of: Callable[[Leg], Iterable[str]]
) -> dict[str, dict[str, int]]:
    """How many states came to which end, by what they have."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for leg in trip.legs:
        for name in names_of(leg):
            counts[name][end_of(leg, trip)] += 1
    return {name: dict(sorted(counts[name].items())) for name in sorted(counts)}
