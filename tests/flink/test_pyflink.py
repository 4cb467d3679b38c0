"""State of real PyFlink jobs is read as the jobs have it, changed, and restored by them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.pyflink_jobs import RELEASES, TYPES, UIDS, PyFlinkJob, expect_equal, keyed, rows

from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

KINDS = [("process", "hashmap"), ("process", "rocksdb"), ("thread", "hashmap")]


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize(("mode", "backend"), KINDS)
def test_all_state_is_what_the_job_had(
    release: str, mode: str, backend: str, tmp_path: Path
) -> None:
    job = PyFlinkJob(tmp_path, release, backend, mode)
    savepoints = job.run()
    assert savepoints.keys() == {"CANONICAL", "NATIVE"}
    for path in savepoints.values():
        for uid in ("by_long", "by_text", "by_row", "by_tuple"):
            expect_equal(keyed(path, uid), job.states(uid))
        (told,) = job.states("with_rules").values()
        rules = {row["key"]: row["value"] for row in rows(path, "with_rules.rules")}
        assert rules == told["rules"]
        timers = {(row["key"], row["timestamp"]) for row in rows(path, "by_long.timers")}
        numbers = {(len(key), number) for number, key in job.events}
        both = (10**15, 4 * 10**12)
        assert timers == {(key, base + number) for key, number in numbers for base in both}
        windows = [row["namespace"] for row in rows(path, "windows.window_state")]
        assert {(window["end"] - window["start"]) for window in windows} == {10_000}


CHANGES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "total": ("total + 100", lambda value: value + 100),
    "label": ("concat(label, '!')", lambda value: f"{value}!"),
    "seen": ("array_append(seen, 77L)", lambda value: [*value, 77]),
    "words": ("array('x', 'y')", lambda _: ["x", "y"]),
    "counts": ("map('new', 5L)", lambda _: {"new": 5}),
    "sum": ("sum * 2", lambda value: value * 2),
    "average": ("named_struct('f0', 1L, 'f1', 2L)", lambda _: 0.5),
    "recent": ("recent + 1", lambda value: value + 1),
    "recent_list": ("array('r', 's')", lambda _: ["r", "s"]),
    "recent_map": ("map('m', 1L)", lambda _: {"m": 1}),
    "a_boolean": ("not a_boolean", lambda value: not value),
    "a_date": ("date'2001-02-03'", lambda _: "2001-02-03"),
    "a_decimal": ("'12.5'", lambda _: "12.5"),
    "texts": ("array('p', null)", lambda _: ["p", None]),
    "a_map": ("map('z', 1L)", lambda _: {"z": 1}),
    "item": (
        "named_struct('name', 'new', 'count', 7L, 'inner', item.inner)",
        lambda value: value | {"name": "new", "count": 7},
    ),
    "a_pickle": (
        """named_struct('json', '[1, {"a": null}]', 'bytes', null, 'reason', null)""",
        lambda _: [1, {"a": None}],
    ),
}


@pytest.mark.parametrize("release", RELEASES)
def test_changed_and_rescaled_state_is_restored(
    release: str, spark: SparkSession, tmp_path: Path
) -> None:
    job = PyFlinkJob(tmp_path / "before", release, formats=("CANONICAL",))
    path = job.run()["CANONICAL"]
    savepoint = Savepoint.load(spark, path, uids=UIDS, types=TYPES)
    writer: Any = savepoint
    for state, (expression, _) in CHANGES.items():
        writer = writer.update_state("by_long", state, expression)
    writer.write(tmp_path / "changed")
    changed = Savepoint.load(spark, tmp_path / "changed", uids=UIDS, types=TYPES)
    changed.rescale(max_parallelism=64, parallelism=2).write(tmp_path / "rescaled")
    probes = [(-number, key) for number, key in job.events]
    after = PyFlinkJob(
        tmp_path / "after",
        release,
        "rocksdb",
        events=probes,
        formats=(),
        parallelism=2,
        max_parallelism=64,
        restored=tmp_path / "rescaled",
    )
    after.run()
    for uid in ("by_text", "by_row", "by_tuple", "by_pickle"):
        assert after.states(uid) == job.states(uid)
    expected = {
        key: states | {name: change(states[name]) for name, (_, change) in CHANGES.items()}
        for key, states in job.states("by_long").items()
    }
    assert after.states("by_long") == expected
