"""Operators of Flink that keep states, timers and namespaces of their own go on after a mask."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.java_jobs import JavaJobs, begun_with
from support.masks import SECRET
from support.nightly import nightly

from state_processor import MaskRules, Savepoint

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

UIDS = ("numbers", "joined", "matched", "windows", "sessions")
MORE_UIDS = ("sliding", "evicted", "counted", "all", "function", "listed", "with_rules")

RESULTS = {
    *("rows", "joined", "matched", "windows", "sessions", "co_grouped", "sliding", "evicted"),
    *("counted", "all", "function", "listed", "with_rules"),
    # Queries.
    *("sum", "top", "last", "over", "tumbled", "grouped_windows", "joined_tables"),
    *("joined_intervals", "joined_windows", "recognized", "sorted"),
}
"""Counts of the job, of which none may be 0."""

OF_EACH_ROW = ("rows", "all", "function", "with_rules", "listed", "sorted", "over")


@nightly
@pytest.mark.parametrize("release", ["1.20.5", "2.2.1"])
def test_all_timers_of_a_masked_savepoint_fire(
    spark: SparkSession, tmp_path: Path, release: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAVEPOINT_MASK_SECRET", SECRET)
    jobs = JavaJobs(release, tmp_path, "masked_job", "masked.MaskedJobs")
    (taken,) = jobs.run([begun_with(""), (tmp_path / "savepoints").as_uri()])
    savepoint = Savepoint.load(
        spark, taken["savepoint"].removeprefix("file:"), uids=(*UIDS, *MORE_UIDS)
    )
    rules = {
        "of all": MaskRules.of_text("rules: [{type: [text, bytes, integer], method: hash}]"),
        "drafted": MaskRules.of_text(savepoint.mask_suggestions(1000).to_yaml()),
    }
    targets = []
    for name, by in rules.items():
        targets.append(tmp_path / name)
        written = savepoint.masked(by).write(targets[-1])
        masked = {(field.operator, field.field) for field in written.masked if field.changed}
        assert {(uid, "key") for uid in UIDS[1:]} <= masked
        assert not [
            field for field in written.masked if field.field == "namespace" and field.changed
        ]
    unmasked, *drained = jobs.run(
        text for path in (savepoint.path, *map(str, targets)) for text in (begun_with(path), "-")
    )
    assert [answer.get("error") for answer in drained] == [None, None]
    for answer in drained:
        assert set(answer["counts"]) == RESULTS
        # Users of the second half have other names than the masked ones of the first.
        assert answer["counts"]["windows"] >= unmasked["counts"]["windows"] > 0
        assert answer["counts"]["sessions"] > unmasked["counts"]["sessions"] > 0
        assert answer["counts"]["joined"] > 0
        assert answer["counts"]["matched"] > 0
        # Users don't matter to these: no row may be lost, and no time or count be another.
        same = {name: unmasked["counts"][name] for name in OF_EACH_ROW}
        assert {name: answer["counts"][name] for name in OF_EACH_ROW} == same
