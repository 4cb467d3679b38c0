"""What round trips came to, as data: by savepoint, by kind of state and by type."""

from __future__ import annotations

import platform
import re
from collections import Counter, defaultdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyspark

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from round_trip.trips import Leg, RoundTrip

# Paths of files and hashes of operators say nothing of a reason.
_OF_THIS_RUN = re.compile(r"/tmp/\S+|\b[0-9a-f]{32}\b")


def results(trips: Mapping[Path, RoundTrip]) -> dict[str, Any]:
    """All that the pages say of round trips."""
    legs = [(leg, trip) for trip in trips.values() for leg in trip.legs]
    return {
        "run": stamp(),
        "savepoints": [_of_savepoint(path, trip) for path, trip in sorted(trips.items())],
        "kinds": _counted((leg.kind, leg, trip) for leg, trip in legs),
        "types": _counted((name, leg, trip) for leg, trip in legs for name in leg.types),
        "refusals": _counted_refusals(leg for leg, _ in legs),
    }


def stamp() -> dict[str, str]:
    """When something ran, and on what."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "pyspark": pyspark.__version__,
    }


def end_of(leg: Leg, trip: RoundTrip) -> str:
    """What became of a state: ``equal``, ``differs``, ``refused`` or ``passed``."""
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
        "states": dict(sorted(Counter(end_of(leg, trip) for leg in trip.legs).items())),
    }


def _counted(named: Iterable[tuple[str, Leg, RoundTrip]]) -> dict[str, dict[str, int]]:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for name, leg, trip in named:
        counts[name][end_of(leg, trip)] += 1
    return {name: dict(sorted(counts[name].items())) for name in sorted(counts)}


def _counted_refusals(legs: Iterable[Leg]) -> list[dict[str, Any]]:
    reasons: Counter[tuple[str, str]] = Counter()
    for leg in legs:
        if leg.refusal:
            reasons[leg.kind, _OF_THIS_RUN.sub("…", leg.refusal)] += 1
    return [
        {"kind": kind, "reason": reason, "states": count}
        for (kind, reason), count in sorted(reasons.items())
    ]
