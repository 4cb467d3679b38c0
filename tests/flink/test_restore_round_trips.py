"""Savepoints of which every state became rows and state again, restored by Flink.

``SAVEPOINT_ROUND_TRIPS=all`` takes all samples and what is known of the corpus, has further releases
write savepoints of their own, and restores on both backends. ``SAVEPOINT_ROUND_TRIPS_FILE`` names a
file for what was restored by which release, of which the page of compatibility is made.
"""

from __future__ import annotations

import json
import os
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from round_trip.results import KEPT_RESULTS, keep, results
from round_trip.trips import round_trip
from support.flink_restore import BACKENDS, FlinkRestore
from support.rewritten import Original, facts, of_corpus, sample, samples

from savepoint_formats.savepoint_warnings import UnknownUidWarning
from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

IS_ALL = os.environ.get("SAVEPOINT_ROUND_TRIPS") == "all"
FEW = ("states-2.2.1-rocksdb-native", "windows-1.20.5-hashmap-canonical")
ORIGINALS = list(samples()) if IS_ALL else [sample(name) for name in FEW]
RELEASES = {"1.20": ("1.20.5",), "2.2": ("2.2.1", "2.3.0") if IS_ALL else ("2.2.1",)}

# What the page of compatibility says of round trips.
KEPT = [
    {name: row[name] for name in row if name != "run"}
    for row in json.loads((KEPT_RESULTS / "round_trips.json").read_text("utf-8"))
]

# A release without samples -> one whose savepoints it restores as they are.
WITHOUT_SAMPLES = {"2.0.2": "1.20.5", "2.3.0": "2.2.1"}
FORMS = [(backend, form) for backend in BACKENDS for form in ("canonical", "native")]

Records = list[dict[str, Any]]


@pytest.fixture(scope="module")
def records() -> Iterator[Records]:
    """States restored with all values unchanged; they join those of other runs."""
    made: Records = []
    yield made
    if file := os.environ.get("SAVEPOINT_ROUND_TRIPS_FILE"):
        keep(made, Path(file), "name", "flink", "backend", "form", "restored_by", "on")


@pytest.fixture
def check(
    spark: SparkSession, flink_restore: FlinkRestore, tmp_path: Path, records: Records
) -> Any:
    def check(original: Original, *releases: str, is_new: bool = False) -> None:
        """Flink sees the same in a savepoint and in what was made of its rows."""
        folder = tmp_path / "trips" / str(original)
        with warnings.catch_warnings():
            # A job that restores doesn't write operators without state.
            warnings.simplefilter("ignore" if is_new else "error", UnknownUidWarning)
            trip = round_trip(spark, str(original.path), folder, original.uids)
        assert trip.differing == ()
        assert not [leg for leg in trip.legs if leg.refusal]
        (found,) = results({original.path: trip})
        assert is_new or found in KEPT
        made, config = folder / "all", _config(original, tmp_path)
        for flink in releases:
            seen = facts(
                flink_restore(
                    original.path,
                    *original.job,
                    flink=flink,
                    backend=original.backend,
                    config=config,
                )
            )
            assert seen.total() > 8
            for backend in _backends(original, made):
                again = flink_restore(made, *original.job, flink=flink, backend=backend)
                assert facts(again) == seen
                records.append(
                    {
                        "name": original.path.parent.name if is_new else str(original),
                        "flink": original.release,
                        "backend": original.backend,
                        "form": trip.description.kind,
                        "is_new": is_new,
                        "restored_by": flink,
                        "on": backend,
                        "states": sum(leg.is_written for leg in trip.legs),
                        "facts": seen.total(),
                    }
                )

    return check


@pytest.mark.parametrize("original", ORIGINALS, ids=str)
def test_flink_sees_in_rows_that_became_state_again_what_it_had_written(
    check: Any, original: Original
) -> None:
    check(original, *RELEASES[original.release])


def test_flink_sees_what_older_releases_had_written(check: Any, corpus: Path, slow: None) -> None:
    of_all = list(of_corpus(corpus))
    for original in of_all if IS_ALL else of_all[-1:]:
        check(original, "1.20.5")


@pytest.mark.skipif(not IS_ALL, reason="SAVEPOINT_ROUND_TRIPS=all has further releases write")
@pytest.mark.parametrize(("backend", "form"), FORMS)
@pytest.mark.parametrize("release", WITHOUT_SAMPLES)
@pytest.mark.parametrize("case", ["currency", "windows"])
def test_what_further_releases_write_makes_the_same_way(
    check: Any,
    flink_restore: FlinkRestore,
    tmp_path: Path,
    case: str,
    release: str,
    backend: str,
    form: str,
) -> None:
    original = sample(f"{case}-{WITHOUT_SAMPLES[release]}-hashmap-canonical")
    saved = flink_restore(
        original.path,
        *original.job,
        flink=release,
        backend=backend,
        resave=tmp_path / f"{case}-{release}-{backend}-{form}",
        resave_format=form,
    ).savepoint
    assert saved is not None
    check(replace(original, path=Path(saved)), release, is_new=True)


def _backends(original: Original, made: Path) -> tuple[str, ...]:
    """Releases that can restore the result; all can if it is canonical."""
    is_canonical = Savepoint.open(str(made)).describe().keyed_formats == ("canonical",)
    return BACKENDS if IS_ALL and is_canonical else (original.backend,)


def _config(original: Original, folder: Path) -> dict[str, str]:
    """Settings of a job that restores the checkpoint of a changelog."""
    if "changelog" not in str(original):
        return {}
    return {
        "state.changelog.enabled": "true",
        "state.changelog.storage": "filesystem",
        "state.changelog.dstl.dfs.base-path": folder.as_uri(),
    }
