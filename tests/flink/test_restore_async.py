"""State V2, which asynchronous operators keep in ForSt, restored by other backends.

A function and queries of SQL (Rank, Join, Deduplicate, GroupAggregate) write it. What the queries
make of more rows tells what they have restored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F
from support.async_jobs import KEYS, AsyncJob, run_jobs
from support.flink_restore import (
    BACKENDS,
    FlinkRestore,
    KeyedState,
    Operator,
    TimerService,
)
from support.masks import SECRET
from support.nightly import nightly
from support.sample_rows import in_order

from savepoint_formats.state_files.header import BackendStateType
from savepoint_formats.tables.catalog import keyed_headers
from state_processor import MaskRules, Savepoint

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

RELEASES = ("2.2.1", "2.3.0")
TTL_MS = 100 * 86_400_000
FAR_FUTURE_MS = 4_102_444_800_000
QUERIES = {"top", "latest", "joined", "either", "total"}
RULES = {
    ("native", True): {"state-v2-on-forst"},
    ("native", False): {"state-v2"},
    ("converted", False): set(),
}
STATES = Operator(
    "states",
    key="LONG",
    states=(
        KeyedState.value("value", "STRING"),
        KeyedState.list("list", "LONG"),
        KeyedState.map("map", "STRING", "LONG"),
        KeyedState.reducing("reducing", "LONG"),
        KeyedState.aggregating("aggregating", "LONG"),
        KeyedState.value("timed_value", "LONG").with_ttl(TTL_MS),
        KeyedState.list("timed_list", "LONG").with_ttl(TTL_MS),
        KeyedState.map("timed_map", "STRING", "LONG").with_ttl(TTL_MS),
    ),
    timers=(TimerService(),),
)
TIMERS = in_order(
    {
        "key": key,
        "namespace": None,
        "timestamp": FAR_FUTURE_MS + key,
        "domain": "event_time",
    }
    for key in range(KEYS)
)


def expected(key: int) -> dict[str, Any]:
    """State that the function keeps for a key."""
    return {
        "key": key,
        "value": f"value {key}",
        "list": [key, key + 1, key + 2] if key % 5 else None,
        "map": {f"a{key}": key, "b": 2 * key},
        "reducing": key + 1,
        "aggregating": 1000 + key,
        "timed_value": 10 * key,
        "timed_list": [key, -key] if key % 5 else None,
        "timed_map": {"a": key, f"b{key}": 3 * key},
    }


def types_of(path: str) -> set[BackendStateType]:
    return {
        info.type
        for operator in Savepoint.open(path).operators()
        for subtask in operator.record.subtasks
        for header in keyed_headers(operator.directory, subtask)
        for info in header.states
    }


@pytest.mark.parametrize("release", [pytest.param(RELEASES[0], marks=nightly), RELEASES[1]])
def test_other_backends_restore_what_was_made_synchronous(
    spark: SparkSession,
    flink_restore: FlinkRestore,
    tmp_path: Path,
    release: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (first,) = run_jobs(release, made(tmp_path / "first"), [AsyncJob("", "forst")])
    native = first.expect_done().savepoint
    assert BackendStateType.KEY_VALUE_V2 in types_of(native)
    before = Savepoint.load(spark, native)
    out = {name: str(tmp_path / name) for name in ("converted", "rescaled", "changed")}
    before.convert().write(out["converted"])
    before.rescale(parallelism=3, max_parallelism=256).write(out["rescaled"])
    changed = F.expr("transform(list, element -> element + 100)")
    # A change of one operator alone would leave the others in files that only ForSt restores.
    converted = before.convert().update_state("states", "list", changed)
    converted.delete_keys("states", "key = 7").write(out["changed"])
    monkeypatch.setenv("SAVEPOINT_MASK_SECRET", SECRET)
    drafted = before.mask_suggestions(1000).to_yaml()
    masks = {"of texts": "rules: [{type: text, method: hash}]", "drafted": drafted}
    masked = [(name, str(tmp_path / name)) for name in masks]
    for name, path in masked:
        before.convert().masked(MaskRules.of_text(masks[name])).write(path)
    rows = [expected(key) for key in range(KEYS)]
    for backend in BACKENDS:
        for name, wanted in {
            "converted": rows,
            "rescaled": rows,
            "changed": [after_changes(row) for row in rows if row["key"] != 7],
        }.items():
            restored = flink_restore(out[name], STATES, flink=release, backend=backend)
            assert restored.keyed_state("states") == in_order(wanted), (backend, name)
            if name != "changed":
                assert restored.timers("states") == TIMERS

    jobs = {
        (name, path, backend, is_async): AsyncJob(path, backend, is_async)
        for name, path in (("native", native), ("converted", out["converted"]), *masked)
        for backend in (*BACKENDS, "forst")
        for is_async in (True, False)
        if backend != "forst" or name == "native"
    }
    ended = run_jobs(release, made(tmp_path / "second"), list(jobs.values()))
    own = ended[list(jobs).index(("native", native, "forst", True))].expect_done()
    assert {row.split()[0] for row in own.rows} == QUERIES
    for (name, path, backend, is_async), one in zip(jobs, ended, strict=True):
        is_restored = name != "native" or (backend == "forst" and is_async)
        assert bool(one.error) != is_restored, (name, backend, is_async)
        if name in masks:
            # Rows of the masked half have other texts than those of the second half.
            assert {row.split()[0] for row in one.rows} == QUERIES
            continue
        assert one.rows == (own.rows if is_restored else {}), (name, backend, is_async)
        assert rules_of(path, release, backend) == RULES[name, backend == "forst"]


def after_changes(row: dict[str, Any]) -> dict[str, Any]:
    numbers = row["list"]
    return row | {"list": numbers and [number + 100 for number in numbers]}


def rules_of(path: str, release: str, backend: str) -> set[str]:
    judged = Savepoint.open(path).compatibility(release, backend=backend)
    found = {
        one.rule
        for operator in judged.operators
        for state in operator.states
        for one in (*operator.findings, *state.findings)
    }
    return {rule for rule in found if rule.startswith("state-v2")}


def made(folder: Path) -> Path:
    folder.mkdir()
    return folder
