"""Writes ``docs/compatibility.md`` from what runs came to: python docs/generate_compatibility.py.

The runs keep their results in ``tests/round_trip/results``; of the tables only the last, of ways to run, is written by hand.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from savepoint_formats import layout

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PAGE = Path(__file__).with_name("compatibility.md")
RESULTS = PAGE.parents[1] / "tests" / "round_trip" / "results"
RELEASES = (*(f"1.{minor}" for minor in range(8, 21)), "2.0", "2.1", "2.2", "2.3")

Rows = list[dict[str, Any]]
Place = tuple[str, str, str]
"""A release, a backend and a format."""

_TEXT = """# Compatibility

This page lists what was read, written and restored: by release of Flink, by type, and by release of Python and PySpark. The page
is generated from the results of runs, so it says nothing about what no run has tried.

A round trip reads every state of a savepoint into a DataFrame, writes all of them into a new savepoint with `with_state`, and
compares the rows of both:

```bash
PYTHONPATH=formats:state_processor:cli:tests python -m round_trip sample_savepoints CORPUS --results tests/round_trip/results/round_trips.json
```

{trips}

| result of a state       | meaning                                                                                  |
|-------------------------|------------------------------------------------------------------------------------------|
| equal                   | all rows were written, and are the same afterwards                                       |
| passed                  | timers, and state that only its operator knows: bytes that were copied, with equal rows  |
| refused                 | writing was refused, with a reason; the bytes were copied                                |
| differs                 | rows are not the same afterwards: a fault                                                |

## Releases of Flink

A real Flink then restores both the savepoint and the one made of its rows, and prints all values, timers, windows and elements.
If both outputs were the same, the table has this Flink as "restored by". A release without a sample restored state of another
one, and wrote its own savepoints from it.

```bash
SAVEPOINT_ROUND_TRIPS=all SAVEPOINT_ROUND_TRIPS_FILE=tests/round_trip/results/restored.json \\
    pytest -n 0 -m "" tests/flink/test_restore_round_trips.py
```

{restored}

{releases}

A range of releases means that the savepoint does not store its release: `_metadata` shows only the range. There was no savepoint of {absent}.
Savepoints of Flink 1.18 and 1.20 that were migrated, and then restored by Flink 2, are on the page about
[upgrades](how-to/upgrade-flink.md).

## Kinds of state

{kinds}

## Types

A type is counted once for each state that contains it: as its key, namespace or value, or within one of these. The names are
those of the [layouts](formats/values.md).

{types}

No savepoint here has {unmet}. Tests with bytes cover these types; this page claims nothing about them.

## What is not written

{refusals}

## Python and PySpark

`.ci/matrix` runs a selection of the tests on each pair, with Spark and Spark Connect. `.ci/matrix --small` runs a few tests
without Spark; CI does this with the newest Python and PySpark. `.ci/matrix --lowest` runs a few tests with the oldest
dependencies that `pyproject.toml` allows. Each pair has its own environment:

```bash
.ci/matrix 3.11/3.5 3.11/4.2
.ci/matrix --small 3.12/4.2 3.13/4.3
.ci/matrix --lowest
```

PySpark 3.5 and 4.0 support [less](how-to/install.md#pyspark), and run their own selection.

{versions}

## Other ways to run

These were tried by hand on 2026-11-26, with the sample `states-2.2.1-rocksdb-native`:

| way                                                        | what happened | reason |
|------------------------------------------------------------|---------------|--------|
| `spark-submit --py-files packages.zip`, PySpark 4.3.0, `local[2]` | reading, `spark.read.format`, SQL, bootstrap, changes, rescale work | the dependencies were installed, but not the package |
| the same with `local-cluster[2,1,1024]` | `Savepoint.load`, `read_*` work; the rest was not reached | stopped after 280 seconds on a busy machine |
| Sail 0.7.2, `pysail`, with PySpark 4.0.5                   | `Savepoint.load(…).read_*`, `count_rows` and `savepoint_metadata` work | they are tasks over Arrow and a table function |
| the same: `register()`, views in SQL                       | refused by Sail | its parser accepts no options (`WITH`) after a table name, and the views have them |
| the same: `spark.read.format("savepoint")`                 | not found; fails if registered | Sail gives a data source an Arrow schema, not a Spark schema |
| the same: bootstrap, `rescale`                             | refused by Sail | `extraction must be a literal`, and `Cannot cast string 'subtask' to value of Int64 type` |
| Sail 0.7.2 with PySpark 4.3.0                              | no session | Sail says that it does not support this PySpark |
"""


def compatibility_page() -> str:
    """The page, made from the stored results."""
    trips, restored, versions = (
        json.loads((RESULTS / f"{name}.json").read_text("utf-8"))
        for name in ("round_trips", "restored", "versions")
    )
    types = _summed(trips, "types")
    tried = {row["flink"] for row in (*trips, *restored)}
    return _TEXT.format(
        trips=_sum_of_trips(trips),
        restored=_sum_of_restores(restored),
        releases=_releases(trips, restored),
        absent=_listed([release for release in RELEASES if release not in tried]),
        kinds=_counts("kind", _summed(trips, "states")),
        types=_types(types),
        unmet=_listed([f"`{name}`" for name in sorted(_layouts()) if name not in types]),
        refusals=_refusals(trips),
        versions=_versions(versions),
    )


def _summed(trips: Rows, fact: str) -> dict[str, Counter[str]]:
    """Results for the states of all savepoints, by kind or type."""
    sums: dict[str, Counter[str]] = defaultdict(Counter)
    for row in trips:
        for name, ends in row[fact].items():
            sums[name].update(ends)
    return dict(sorted(sums.items()))


def _ends(row: dict[str, Any]) -> Counter[str]:
    ends: Counter[str] = Counter()
    for counts in row["states"].values():
        ends.update(counts)
    return ends


def _sum_of_trips(trips: Rows) -> str:
    ends = sum(map(_ends, trips), Counter())
    rows = sum(row["rows"] for row in trips)
    told = ", ".join(f"{count:,} {end}" for end, count in sorted(ends.items()))
    return (
        f"{_runs([row['run'] for row in trips])}: **{len(trips)} savepoints and checkpoints,"
        f" {rows:,} rows, {ends.total():,} states: {told}.**"
    )


def _sum_of_restores(rows: Rows) -> str:
    if not rows:
        return "No run has been kept."
    names = len({row["name"] for row in rows})
    by = Counter(row["restored_by"] for row in rows)
    told = ", ".join(f"{count} by {release}" for release, count in sorted(by.items()))
    return (
        f"{_runs([row['run'] for row in rows])}: **{len(rows)} restores of {names} savepoints, {told};"
        f" {sum(row['facts'] for row in rows):,} values, timers and elements, all equal.**"
    )


def _runs(runs: Iterable[dict[str, str]]) -> str:
    told = {f"{run['date']}, Python {run['python']}, PySpark {run['pyspark']}" for run in runs}
    return "; ".join(sorted(told))


def _form(row: dict[str, Any]) -> str:
    """The kind of snapshot; before Flink 1.16, ``_metadata`` does not have its format."""
    kind = row.get("form") or row["kind"]
    if "savepoint" not in kind:
        return str(kind)
    return next(
        (f"{form} savepoint" for form in ("canonical", "native") if form in kind), "savepoint"
    )


def _place(row: dict[str, Any]) -> Place:
    return row["flink"], row["backend"], _form(row)


def _releases(trips: Rows, restored: Rows) -> str:
    read: dict[Place, set[str]] = defaultdict(set)
    ends: dict[Place, Counter[str]] = defaultdict(Counter)
    by: dict[Place, set[str]] = defaultdict(set)
    for row in trips:
        read[_place(row)].add(row["name"])
        ends[_place(row)].update(_ends(row))
    for row in restored:
        place = _place(row)
        by[place].add(row["restored_by"])
        # A savepoint that was written only to be restored is not stored.
        if row["is_new"] and row["name"] not in read[place]:
            read[place].add(row["name"])
            ends[place].update(equal=row["states"])
    columns = ("Flink", "backend", "format", "read", "states equal", "passed", "refused")
    return _table(
        (*columns, "restored by"),
        (
            (
                *(place[0], place[1] or "not told", place[2], len(read[place])),
                *(ends[place][end] or "" for end in ("equal", "passed", "refused")),
                ", ".join(sorted(by[place])) or "not tried",
            )
            for place in sorted(read, key=_by_release)
        ),
    )


def _by_release(place: Place) -> tuple[list[int], Place]:
    return [int(part) for part in place[0].split(" ")[0].split(".")], place


def _counts(title: str, counts: dict[str, Counter[str]]) -> str:
    ends = ("equal", "passed", "refused", "differs")
    return _table(
        (title, "read", *ends),
        (
            (name, found.total(), *(found[end] or "" for end in ends))
            for name, found in counts.items()
        ),
    )


def _types(counts: dict[str, Counter[str]]) -> str:
    ends = ("equal", "passed", "refused", "differs")
    layouts = _layouts()
    return _table(
        ("type", "its bytes", "read", *ends),
        (
            (f"`{name}`", layouts.get(name, ""), found.total(), *(found[end] or "" for end in ends))
            for name, found in counts.items()
        ),
    )


def _layouts() -> dict[str, str]:
    """The first sentence about each type."""
    kinds = (kind for kind in vars(layout).values() if isinstance(kind, type))
    return {
        kind.__name__: " ".join((kind.__doc__ or "").split("\n\n")[0].split()).replace("``", "`")
        for kind in kinds
        if issubclass(kind, layout.Layout) and kind is not layout.Layout
    }


def _refusals(trips: Rows) -> str:
    told = [
        (f"`{row['name']}`", f"`{refusal}`".replace("|", "\\|"))
        for row in trips
        for refusal in row["refusals"]
    ]
    return _table(("savepoint", "state and reason"), told) if told else "Nothing was refused."


def _versions(runs: Rows) -> str:
    names = ("tests", "passed", "failed", "skipped")
    rows = (
        (
            *(run["run"][name] for name in ("python", "pyspark", "date")),
            *(run[name] for name in names),
        )
        for run in runs
    )
    return _table(("Python", "PySpark", "day", *names), rows)


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:]))) or "none"


def _table(titles: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    cells = [list(map(str, row)) for row in (titles, *rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(titles))]
    lines = ["| " + " | ".join(map(str.ljust, row, widths)) + " |" for row in cells]
    return "\n".join(
        [lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]]
    )


if __name__ == "__main__":
    PAGE.write_text(compatibility_page(), encoding="utf-8")
