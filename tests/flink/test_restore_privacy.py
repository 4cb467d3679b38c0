"""Masked, sampled and erased savepoints, restored by Flink: equal and different where they must be."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from support.masks import SECRET, hashed, with_hashed_texts
from support.nightly import nightly
from support.sample_operators import BUFFER, GROUP_AGGREGATE, SESSION, STATEFUL, TUMBLING_AGGREGATE
from support.sample_rows import Rows, Sample, in_order

from state_processor import MaskRules, Savepoint

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession
    from support.flink_restore import FlinkRestore

RULES = """
rules:
- {state: last_seen, method: shift, by: -30d}
- {type: text, method: hash}
- {type: time, method: keep}
"""
NO_TEXTS = ("balance", "last_seen", "last_day", "last_kind")

releases = pytest.mark.parametrize(
    ("written", "flink"),
    [
        *(("1.20.5", "1.20.5"), ("2.2.1", "2.2.1")),
        pytest.param("2.2.1", "2.3.0", marks=nightly),
    ],
)


@pytest.fixture
def rules(monkeypatch: pytest.MonkeyPatch) -> MaskRules:
    monkeypatch.setenv("SAVEPOINT_MASK_SECRET", SECRET)
    return MaskRules.of_text(RULES)


def moved(text: str | None) -> str | None:
    """A time thirty days before, with all its digits."""
    if text is None:
        return None
    seconds, point, digits = text.rstrip("Z").partition(".")
    then = datetime.fromisoformat(seconds) - timedelta(days=30)
    return f"{then.isoformat()}{point}{digits}Z"


def masked_row(row: dict[str, Any]) -> dict[str, Any]:
    masked: dict[str, Any] = with_hashed_texts(row, besides=NO_TEXTS)
    for name in ("by_currency", "changes", "memo_by_currency", "recent_by_currency"):
        entries = masked[name]
        masked[name] = entries and {hashed(key): item for key, item in entries.items()}
    return masked | {"last_seen": moved(row["last_seen"])}


def of_keys(rows: Rows) -> Rows:
    """Timers or windows under masked keys."""
    return in_order(row | {"key": hashed(row["key"])} for row in rows)


@releases
def test_masked_keys_have_their_masked_states_and_timers(
    flink_restore: FlinkRestore,
    spark: SparkSession,
    tmp_path: Path,
    rules: MaskRules,
    written: str,
    flink: str,
) -> None:
    sample = Sample(f"states-{written}-rocksdb-native")
    savepoint = Savepoint.load(spark, sample.path, uids=sample.uids)
    savepoint.masked(rules).write(tmp_path / "masked")
    restored = flink_restore(
        tmp_path / "masked", STATEFUL, BUFFER, flink=flink, backend="rocksdb", parallelism=2
    )
    expected = [masked_row(row) for row in sample.keyed_state("stateful")]
    assert restored.keyed_state("stateful") == in_order(expected)
    assert restored.timers("stateful") == of_keys(sample.operators()["stateful"]["timers"])
    for name in ("elements", "offsets"):
        elements = with_hashed_texts(sample.elements("buffer", name))
        # Each subtask gets all elements of a union state.
        assert set(map(str, restored.elements("buffer", name))) == set(map(str, elements))


@releases
def test_a_masked_sample_of_windows_goes_on(
    flink_restore: FlinkRestore,
    spark: SparkSession,
    tmp_path: Path,
    rules: MaskRules,
    written: str,
    flink: str,
) -> None:
    sample = Sample(f"windows-{written}-hashmap-native")
    savepoint = Savepoint.load(spark, sample.path, uids=sample.uids)
    savepoint.sample(0.5).masked(rules).write(tmp_path / "sampled")
    operators = (TUMBLING_AGGREGATE, SESSION)
    restored = flink_restore(tmp_path / "sampled", *operators, flink=flink)
    takings = []
    for operator in operators:
        rows, all_keys = sample.operators()[operator.uid], set()
        seen = {row["key"] for row in restored.window_state(operator.uid)}
        for row in rows["window_state"]:
            all_keys.add(row["key"])
        keys = {key for key in all_keys if hashed(key) in seen}
        assert seen == set(map(hashed, keys))
        assert 0 < len(keys) < len(all_keys)
        timers = [timer for timer in sample.timers(operator.uid) if timer["key"] in keys]
        told = [
            {name: cell for name, cell in timer.items() if cell is not None}
            for timer in restored.timers(operator.uid)
        ]
        assert [timer["key"] for timer in in_order(told)] == [
            timer["key"] for timer in of_keys(timers)
        ]
        takings.append((keys, all_keys))
    (taken, known), (others, others_known) = takings
    assert taken & others_known == others & known, "keys of both are taken in both or in none"
    ended = flink_restore(
        tmp_path / "sampled", TUMBLING_AGGREGATE.real(), SESSION.real(), flink=flink, ends=True
    )
    for operator in operators:
        assert {row["key"] for row in ended.ended_windows(operator.uid)} == {
            row["key"] for row in restored.window_state(operator.uid)
        }


@releases
def test_erased_keys_are_gone_and_all_others_as_before(
    flink_restore: FlinkRestore,
    spark: SparkSession,
    tmp_path: Path,
    written: str,
    flink: str,
) -> None:
    sample = Sample(f"states-{written}-hashmap-native")
    savepoint = Savepoint.load(spark, sample.path, uids=sample.uids)
    found = savepoint.find(["customer-005", "Zoë"])
    assert set(found.keys()["stateful"]) == {"customer-005", "Zoë"}
    savepoint.erase(found).write(tmp_path / "erased")
    restored = flink_restore(tmp_path / "erased", STATEFUL, flink=flink)
    rows = [
        row for row in sample.keyed_state("stateful") if row["key"] not in ("customer-005", "Zoë")
    ]
    assert restored.keyed_state("stateful") == in_order(rows)
    timers = sample.operators()["stateful"]["timers"]
    assert restored.timers("stateful") == in_order(
        timer for timer in timers if timer["key"] not in ("customer-005", "Zoë")
    )


def test_masked_rows_of_sql_are_found_by_their_keys(
    flink_restore: FlinkRestore, spark: SparkSession, tmp_path: Path, rules: MaskRules
) -> None:
    sample = Sample("sql-2.2.1-rocksdb-native")
    savepoint = Savepoint.load(spark, sample.path, uids=sample.uids)
    savepoint.masked(rules).write(tmp_path / "masked")
    restored = flink_restore(tmp_path / "masked", GROUP_AGGREGATE, backend="rocksdb")
    before = flink_restore(sample.path, GROUP_AGGREGATE, backend="rocksdb")
    expected = [
        row
        | {
            "key": with_hashed_texts(row["key"]),
            "accState": row["accState"] | {"f4": hashed(row["accState"]["f4"])},
        }
        for row in before.keyed_state(GROUP_AGGREGATE.uid)
    ]
    assert restored.keyed_state(GROUP_AGGREGATE.uid) == in_order(expected)
