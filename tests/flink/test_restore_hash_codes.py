"""A real Flink finds keys again after their key groups were made anew by an inferred hashCode."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.commands import run
from support.flink_restore import RELEASES, FlinkRestore, Operator

from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.flink

SHAPES = {
    "Hashed": "Objects.hash(shop, number, amount, day)",
    "Chained": "record(id, since, active)",
    "Lombok": "Lombok(active, id, name) with booleans 79/97",
    "Auto": "AutoValue(name, active, size)",
    "Built": "HashCodeBuilder(name, active, count) with booleans 0/1",
    "Single": "record(id)",
    "Outer": "Objects.hash(place: Objects.hash(shop, number, amount, day), city)",
    "Recorded": "record(shop, number, amount, since)",
}
"""Hash code of the class of keys; see ``restore_job/hashed/Keys.java``."""

COUNT = 300
JOB = [Operator(name, key=f"POJO<hashed.Keys${name}>").finding(COUNT) for name in SHAPES]
MAX_PARALLELISM = "pipeline.max-parallelism"


def by_method(spark: SparkSession, path: str, out: Path) -> dict[str, str]:
    """Rescales a savepoint; gives the hash codes that were inferred, by operator."""
    savepoint = Savepoint.load(spark, path, uids=list(SHAPES))
    written = savepoint.rescale(max_parallelism=1000).write(str(out))
    return {one.operator: one.hash_code for one in written.operators if one.hash_code}


def by_command(_spark: SparkSession, path: str, out: Path) -> dict[str, str]:
    """Runs it by a command that uses the existing session."""
    uids = [option for uid in SHAPES for option in ("--uid", uid)]
    code, output = run("rescale", path, out, "--max-parallelism", "1000", *uids, "--output", "json")
    assert code == 0, output
    operators = json.loads(output)["operators"]
    return {one["operator"]: one["hash_code"] for one in operators if one["hash_code"]}


@pytest.mark.parametrize(
    ("flink", "backend", "resave_format", "rescale"),
    [
        (RELEASES[0], "hashmap", "native", by_method),
        (RELEASES[1], "rocksdb", "native", by_command),
    ],
)
def test_keys_are_found_after_their_hash_code_was_inferred(
    spark: SparkSession,
    flink_restore: FlinkRestore,
    tmp_path: Path,
    flink: str,
    backend: str,
    resave_format: str,
    rescale: Callable[[SparkSession, str, Path], dict[str, str]],
) -> None:
    written = flink_restore(
        None,
        *JOB,
        flink=flink,
        backend=backend,
        parallelism=2,
        awaits=len(JOB) * COUNT,
        resave=tmp_path / "written",
        resave_format=resave_format,
        config={MAX_PARALLELISM: "128"},
    )
    assert all(set(written.found(uid).values()) == {None} for uid in SHAPES)
    assert written.savepoint is not None

    told = rescale(spark, written.savepoint, tmp_path / "rescaled")
    assert {uid: text.split(", inferred from ")[0] for uid, text in told.items()} == SHAPES

    restored = flink_restore(
        tmp_path / "rescaled",
        *JOB,
        flink=flink,
        backend=backend,
        parallelism=3,
        awaits=len(JOB) * COUNT,
        resave=tmp_path / "again",
        config={MAX_PARALLELISM: "1000"},
    )
    for uid in SHAPES:
        assert restored.found(uid) == {number: number for number in range(COUNT)}, uid
        assert restored.subtasks(uid) == {0, 1, 2}
