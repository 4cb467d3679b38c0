"""State of real PyFlink jobs is read as the jobs have it, changed, and restored by them."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from pyspark.sql import functions as F
from support.nightly import nightly
from support.pyflink_jobs import (
    EVENTS,
    RELEASES,
    SAMPLE,
    TYPES,
    UIDS,
    PyFlinkJob,
    expect_equal,
    keyed,
    rows,
    states_of,
    table_rows,
)

from state_processor import OperatorTransformation, PyFlink, Savepoint

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    Jobs = Callable[[str, str, str], tuple[PyFlinkJob, dict[str, Path]]]

KINDS = [
    pytest.param("process", "hashmap", "1.20.5", marks=nightly),
    pytest.param("process", "hashmap", "2.2.1", marks=nightly),
    ("process", "rocksdb", "2.2.1"),
    pytest.param("thread", "hashmap", "1.20.5", marks=nightly),
]


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Jobs:
    """Jobs by mode, backend and release, and their savepoints; each runs once."""

    @cache
    def job_of(mode: str, backend: str, release: str) -> tuple[PyFlinkJob, dict[str, Path]]:
        job = PyFlinkJob(tmp_path_factory.mktemp("job"), release, backend, mode)
        return job, job.run()

    return job_of


@pytest.mark.parametrize(("mode", "backend", "release"), KINDS)
def test_all_state_is_what_the_job_had(ended: Jobs, mode: str, backend: str, release: str) -> None:
    job, savepoints = ended(mode, backend, release)
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


@pytest.mark.parametrize("release", [pytest.param(RELEASES[0], marks=nightly), RELEASES[1]])
def test_changed_and_rescaled_state_is_restored(
    ended: Jobs, release: str, spark: SparkSession, tmp_path: Path
) -> None:
    job, savepoints = ended("process", "hashmap", release)
    savepoint = Savepoint.load(spark, savepoints["CANONICAL"], uids=UIDS, types=TYPES)
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


KEYS = {
    "by_text": "Types.STRING()",
    "by_long": "Types.LONG()",
    "by_row": 'Types.ROW_NAMED(["size", "text"], [Types.LONG(), Types.STRING()])',
    "by_tuple": "Types.TUPLE([Types.LONG(), Types.STRING()])",
    "by_pickle": "Types.PICKLED_BYTE_ARRAY()",
    "windows": "Types.STRING()",
    "sums": "Types.LONG()",
}
TIMER = 10**15 + 5
CONTENTS = 'Types.ROW_NAMED(["number", "key"], [Types.LONG(), Types.STRING()])'


def in_order(found: list[dict[str, Any]]) -> list[str]:
    return sorted(map(str, found))


def write_from_rows(spark: SparkSession, path: Path) -> None:
    """Operators of the job as rows alone make them: the rows have what the sample has."""
    sample = Savepoint.load(spark, SAMPLE, uids=UIDS, types=TYPES)
    types = yaml.safe_load(TYPES.read_text(encoding="utf-8"))
    writer = Savepoint.create(spark, parallelism=1, max_parallelism=128)
    for uid, key in KEYS.items():
        states = {name: text for name, text in types[uid].items() if name != "key"}
        is_window = "window-contents" in states
        rows = sample.read_window_state(uid) if is_window else sample.read_keyed_state(uid)
        rows = rows.withColumn("fires_at", F.lit(TIMER))
        keyed: Any = OperatorTransformation.bootstrap_with(rows)
        keyed = keyed.key_by("key", key_type=PyFlink.key(key))
        keyed = keyed.window("namespace") if is_window else keyed
        for name, text in states.items():
            state = PyFlink.state(name, text)
            keyed = keyed.with_state(state.with_ttl() if name.startswith("recent") else state)
        keyed = keyed if is_window else keyed.with_timers(event_time="fires_at")
        writer = writer.with_operator(uid, keyed)
    rules = OperatorTransformation.bootstrap_with(
        sample.read_broadcast_state("with_rules", "rules")
    )
    of_rules = rules.broadcast_state(PyFlink.state("rules", types["with_rules"]["rules"]))
    writer.with_operator("with_rules", of_rules).write(path)


@pytest.mark.parametrize("release", [pytest.param(RELEASES[0], marks=nightly), RELEASES[1]])
def test_operators_made_of_rows_alone_are_restored(
    release: str, spark: SparkSession, tmp_path: Path
) -> None:
    write_from_rows(spark, tmp_path / "new")
    new = Savepoint.load(spark, tmp_path / "new", uids=UIDS, types=TYPES)
    new.rescale(max_parallelism=64, parallelism=2).write(tmp_path / "rescaled")
    job = PyFlinkJob(
        tmp_path / "after",
        release,
        "rocksdb",
        events=[(-number, key) for number, key in EVENTS],
        formats=("CANONICAL",),
        parallelism=2,
        max_parallelism=64,
        restored=tmp_path / "rescaled",
    )
    path = job.run()["CANONICAL"]
    for uid in (*KEYS.keys() - {"windows", "sums"}, "with_rules"):
        assert job.states(uid) == states_of(SAMPLE, uid), uid
    timers = {(row["key"], row["timestamp"]) for row in rows(path, "by_long.timers")}
    assert timers == {(key, TIMER) for key in (1, 2, 3)}
    # Probes are elements as well, with numbers below 0.
    windows = rows(path, "windows.window_state")
    for row in windows:
        row["window-contents"] = [one for one in row["window-contents"] if one["number"] > 0]
    assert in_order(windows) == in_order(rows(SAMPLE, "windows.window_state"))
    assert in_order(rows(path, "windows.timers")) == in_order(rows(SAMPLE, "windows.timers"))
    assert sum(row["window-contents"] for row in rows(path, "sums.window_state")) == 0


@pytest.mark.parametrize("release", [pytest.param(RELEASES[0], marks=nightly), RELEASES[1]])
def test_windows_of_counts_and_functions_of_queries_have_what_the_job_had(
    release: str, tmp_path: Path
) -> None:
    operators = ("aggregated", "counted")
    job = PyFlinkJob(tmp_path, release, "rocksdb", formats=("CANONICAL",), operators=operators)
    path = job.run()["CANONICAL"]
    of_query = next(
        operator.name
        for operator in Savepoint.open(path).operators()
        if any(state.job_name == "accumulators" for state in operator.catalog.states)
    )
    types = {
        of_query: {"agg0$numbers": "ListState(Types.LONG())"},
        "counted": {"window-contents": f"ListState({CONTENTS})"},
    }
    savepoint = Savepoint.open(path, uids=("counted",), types=types)
    spreads = {}
    for row in table_rows(savepoint, f"{of_query}.keyed_state"):
        ((least, most, _),) = json.loads(row["accumulators"]["json"])
        numbers = row["agg0$numbers"]
        spreads[repr(row["key"]["f0"])] = {"least": least, "most": most, "numbers": numbers}
    assert spreads == {key: states["spread"] for key, states in job.states("aggregated").items()}
    by_key = {key: [number for number, other in EVENTS if other == key] for _, key in EVENTS}
    assigned = table_rows(savepoint, "counted.keyed_state")
    counts = {row["key"]: row["tumble-count-assigner"] for row in assigned}
    assert counts == {key: len(numbers) for key, numbers in by_key.items()}
    windows = table_rows(savepoint, "counted.window_state")
    contents = {
        row["key"]: [element["number"] for element in row["window-contents"]] for row in windows
    }
    assert contents == by_key
    assert {row["key"]: row["count"] for row in windows} == counts
    assert {row["namespace"]["id"] for row in windows} == {0}
