"""Local keyed state before a real Flink: refused as it is, restored once it is merged."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pytest
from support.flink_restore import (
    BACKENDS,
    RELEASES,
    FlinkRestore,
    KeyedState,
    Operator,
    RestoreError,
)
from support.local_counts import MERGE, merged_counts, open_local, write_local
from support.sample_rows import in_order
from support.slow_cases import nightly_unless

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from state_processor.savepoint.spark_savepoint import SparkSavepoint

STATES = (
    KeyedState.reducing("count", "LONG"),
    KeyedState.aggregating("mean", "TUPLE<LONG, LONG>"),
    KeyedState.list("ids", "LONG"),
    KeyedState.map("by_subtask", "STRING", "LONG"),
    KeyedState.value("last", "INT"),
)
REFUSALS = {2: "incompatible", 3: "the key group must belong to the backend"}
"""By the parallelism of the job that asks; 3 is that of the savepoint."""

JOB = Operator("counts", key="STRING", states=STATES)


@pytest.fixture(scope="module")
def local(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSavepoint:
    return write_local(spark, tmp_path_factory.mktemp("local") / "savepoint")


@pytest.fixture(scope="module")
def merged(
    spark: SparkSession, local: SparkSavepoint, tmp_path_factory: pytest.TempPathFactory
) -> str:
    folder = tmp_path_factory.mktemp("merged")
    local.rescale(parallelism=2).write(str(folder / "rescaled"))
    path = str(folder / "savepoint")
    open_local(spark, folder / "rescaled").merge_local("counts", MERGE).write(path)
    return path


@pytest.mark.parametrize("flink", RELEASES)
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_job_has_its_state_again_once_it_is_merged(
    flink_restore: FlinkRestore, merged: str, flink: str, backend: str
) -> None:
    restored = flink_restore(merged, JOB, flink=flink, backend=backend)
    assert restored.keyed_state("counts") == in_order(merged_counts())


@pytest.mark.parametrize("flink", RELEASES)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("state", "parallelism"),
    # A key group that is another backend's is refused whatever the state is.
    nightly_unless(lambda case: case[1] == 2 or case[0] == STATES[0], [*product(STATES, REFUSALS)]),
    ids=lambda part: part.kind.lower() if isinstance(part, KeyedState) else None,
)
def test_a_job_that_asks_for_its_state_before_is_refused(
    flink_restore: FlinkRestore,
    local: SparkSavepoint,
    flink: str,
    backend: str,
    state: KeyedState,
    parallelism: int,
) -> None:
    job = Operator("counts", key="STRING", states=(state,))
    with pytest.raises(RestoreError) as refusal:
        flink_restore(local.path, job, flink=flink, backend=backend, parallelism=parallelism)
    assert REFUSALS[parallelism] in str(refusal.value).lower()


@pytest.mark.parametrize("flink", RELEASES)
def test_the_header_of_local_state_is_one_that_flink_reads(
    flink_restore: FlinkRestore, local: SparkSavepoint, flink: str
) -> None:
    job = Operator("counts", key="STRING", states=(KeyedState.value("another", "LONG"),))
    assert flink_restore(local.path, job, flink=flink, parallelism=1).keyed_state("counts") == []


def test_flink_would_lose_instances_of_what_it_took_for_its_own(
    flink_restore: FlinkRestore, local: SparkSavepoint
) -> None:
    # What a list of instances is to Flink, though no job has such a state.
    job = Operator("counts", key="STRING", states=(KeyedState.list("count", "LONG"),))
    found = flink_restore(local.path, job, parallelism=2).keyed_state("counts")
    assert {len(row["count"]) for row in found} == {1}
