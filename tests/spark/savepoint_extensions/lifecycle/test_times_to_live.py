"""Times to live: given to the states of real savepoints, taken away, and applied to old values."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from support.bootstrapped import written
from support.sample_rows import SAMPLES

from savepoint_formats.errors import SchemaChangeError, StateNotFoundError
from state_processor import (
    ListStateDescriptor,
    MapStateDescriptor,
    OperatorTransformation,
    Savepoint,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from state_processor.savepoint.spark_savepoint import SparkSavepoint

UID, TEXT = "operator", Types.STRING()
AT = datetime(2026, 1, 31, 12, tzinfo=UTC)
PLAIN = ("last_id", "memos", "by_currency", "cents_sum", "average", "customer")
TIMED = ("recent_memo", "recent_memos", "recent_by_currency")


def opened(name: str) -> Savepoint:
    return Savepoint.open(SAMPLES / name, uids=["stateful"])


def table(savepoint: Savepoint, **options: Any) -> dict[Any, dict[str, Any]]:
    scan = savepoint.scan("stateful.keyed_state", **options)
    return {row["key"]: row for row in scan.to_arrow().to_pylist()}


@pytest.mark.parametrize(
    "sample",
    [
        "states-1.20.5-hashmap-changelog/chk-2",
        "states-2.2.1-rocksdb-native",
        "states-2.2.1-hashmap-native",
    ],
)
def test_all_kinds_of_state_get_times_and_lose_them_again(
    spark: SparkSession, tmp_path: Path, sample: str
) -> None:
    before = opened(sample)
    writer = before.writer().with_session(spark)
    for name in PLAIN:
        writer = writer.set_ttl("stateful", name, on=True, at=AT)
    for name in TIMED:
        writer = writer.set_ttl("stateful", name, on=False)
    writer.write(str(tmp_path / "turned"))
    turned = Savepoint.open(tmp_path / "turned", uids=["stateful"])
    assert turned.verify().is_whole
    states = turned.operator("stateful").catalog.states
    kinds = {state.name: state.has_ttl for state in states}
    assert all(kinds[name] for name in PLAIN)
    assert not any(kinds[name] for name in TIMED)
    assert table(turned) == table(before)
    times = {row["last_id"]["timestamp"] for row in table(turned, with_times=True).values()}
    assert times == {AT}

    back = turned.writer().with_session(spark)
    for name in PLAIN:
        back = back.set_ttl("stateful", name, on=False)
    back.write(str(tmp_path / "back"))
    again = Savepoint.open(tmp_path / "back", uids=["stateful"])
    assert {name: table(again, columns=["key", name]) for name in PLAIN} == {
        name: table(before, columns=["key", name]) for name in PLAIN
    }


@pytest.fixture(scope="module")
def aged(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSavepoint:
    """Key n was accessed at n seconds; its lists and maps have three ages, one null entry among them."""
    timed = "named_struct('timestamp', timestamp_millis({} * 1000L), 'value', '{}')"
    elements = ", ".join(timed.format(f"(key + {add})", f"e{add}") for add in range(3))
    entries = ", ".join(
        f"'k{add}', {timed.format(f'(key + {add})', f'v{add}')}" for add in range(3)
    )
    data = spark.sql(
        f"SELECT key, {timed.format('key', 'v')} value, array({elements}) several, map({entries}) by,"
        " key * 2 AS other FROM (SELECT CAST(id AS INT) key FROM range(20))"
    )
    keyed = OperatorTransformation.bootstrap_with(data).key_by("key", key_type=Types.INT())
    keyed = keyed.with_state(ValueStateDescriptor("value", TEXT).with_ttl())
    keyed = keyed.with_state(ListStateDescriptor("several", TEXT).with_ttl())
    keyed = keyed.with_state(MapStateDescriptor("by", TEXT, TEXT).with_ttl())
    keyed = keyed.with_state(ValueStateDescriptor("other", Types.INT()))
    return written(spark, keyed, tmp_path_factory.mktemp("aged"))


def rows(savepoint: Savepoint) -> dict[int, tuple[Any, Any, Any, Any]]:
    scan = savepoint.scan(f"{UID}.keyed_state")
    return {
        row["key"]: (row["value"], row["several"] or [], dict(row["by"] or []), row.get("other"))
        for row in scan.to_arrow().to_pylist()
    }


@pytest.mark.parametrize("limit", [0, 7, 19, 30])
def test_what_is_past_its_time_goes_element_by_element(
    aged: SparkSavepoint, tmp_path: Path, limit: int
) -> None:
    """A value goes if last access + time to live <= now: at the limit, it has expired."""
    at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=limit + 100)
    changed = aged.expire(UID, older_than=timedelta(seconds=100), at=at)
    changed.write(str(tmp_path / "out"))
    assert rows(Savepoint.open(tmp_path / "out", uids=[UID])) == {
        key: (
            "v" if key > limit else None,
            [f"e{add}" for add in range(3) if key + add > limit],
            {f"k{add}": f"v{add}" for add in range(3) if key + add > limit},
            2 * key,
        )
        for key in range(20)
    }
    remaining = Savepoint.open(tmp_path / "out", uids=[UID]).verify()
    assert remaining.is_whole


@pytest.mark.parametrize("limit", [0, 7, 19, 30])
def test_stats_say_what_a_time_to_live_would_save(
    aged: SparkSavepoint, tmp_path: Path, limit: int
) -> None:
    """By own arithmetic, and as much as ``expire`` takes away.

    A key is an int and a byte of the namespace. A time has 8 bytes, ``v`` 2, ``e0`` and ``k0`` 3.
    """
    at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=limit + 100)
    life = timedelta(seconds=100)
    value, element, entry = 5 + 8 + 2, 8 + 3, 5 + 3 + 1 + 8 + 3
    gone = [[add for add in range(3) if key + add <= limit] for key in range(20)]
    whole = sum(len(adds) == 3 for adds in gone)
    values, parts = sum(key <= limit for key in range(20)), sum(map(len, gone))
    # A comma stands behind each element but the last, so a list of three has two.
    lists = sum(len(adds) * (element + 1) + (4 if len(adds) == 3 else 0) for adds in gone)
    expected = {
        "value": (values, values, values * value),
        "several": (parts, whole, lists),
        "by": (parts, whole, parts * entry),
        "other": (None, None, None),
    }
    for savepoint in (aged, Savepoint.open(aged.path, uids=[UID])):
        report = savepoint.stats(at=at, ttl_of=life)
        assert {row.state: (row.values, row.rows, row.size) for row in report.ttl} == expected
        (unknown,) = (row.note for row in report.ttl if row.note)
        assert unknown.startswith("can't be known")
        (lone,) = savepoint.stats(f"{UID}.several", at=at, ttl_of=life).ttl
        assert (lone.state, lone.size) == ("several", lists)
    aged.expire(UID, older_than=life, at=at).write(str(tmp_path / "out"))
    before = {state.state: state for state in aged.stats().states}
    after = {
        state.state: state for state in Savepoint.open(tmp_path / "out", uids=[UID]).stats().states
    }
    for name in ("value", "several", "by"):
        assert before[name].rows == (after[name].rows or 0) + (expected[name][1] or 0)
        assert before[name].size == after[name].size + (expected[name][2] or 0)


def test_keys_with_nothing_left_are_gone(aged: SparkSavepoint, tmp_path: Path) -> None:
    at = datetime(1970, 1, 1, 0, 0, 8, tzinfo=UTC)
    changed = aged.remove_state(UID, "other").expire(UID, older_than=timedelta(), at=at)
    changed.write(str(tmp_path / "out"))
    # Of key 7, an element and an entry are of second 9.
    assert sorted(rows(Savepoint.open(tmp_path / "out", uids=[UID]))) == list(range(7, 20))


def test_changes_in_one_write_see_each_other(aged: SparkSavepoint, tmp_path: Path) -> None:
    at = datetime(1970, 1, 1, 0, 0, 8, tzinfo=UTC)
    changed = aged.rename_state(UID, "value", "renamed").expire(
        UID, "renamed", older_than=timedelta(), at=at
    )
    changed = changed.set_ttl(UID, "renamed", on=False).set_ttl(UID, "other", on=True, at=AT)
    changed.delete_keys(UID, "key = 19").write(str(tmp_path / "out"))
    scan = Savepoint.open(tmp_path / "out", uids=[UID]).scan(f"{UID}.keyed_state", with_times=True)
    found = {row["key"]: (row["renamed"], row["other"]) for row in scan.to_arrow().to_pylist()}
    assert found == {
        key: ("v" if key > 8 else None, {"timestamp": AT, "value": 2 * key}) for key in range(19)
    }


def test_what_can_not_be_is_refused(
    aged: SparkSavepoint, spark: SparkSession, tmp_path: Path
) -> None:
    with pytest.raises(SchemaChangeError, match="has a time to live already"):
        aged.set_ttl(UID, "value", on=True)
    with pytest.raises(SchemaChangeError, match="has no time to live already"):
        aged.set_ttl(UID, "other", on=False)
    with pytest.raises(SchemaChangeError, match="nothing tells when a value was last accessed"):
        aged.expire(UID, "other", older_than=timedelta(days=1))
    with pytest.raises(StateNotFoundError, match="alue"):
        aged.set_ttl(UID, "values", on=True)
    with pytest.raises(ValueError, match="no zone"):
        aged.expire(UID, older_than=timedelta(days=1), at=AT.replace(tzinfo=None))
    states = opened("states-2.2.1-rocksdb-native")
    with pytest.raises(SchemaChangeError, match="is timers state, which can't have a time to live"):
        states.set_ttl("stateful", "_timer_state/event_user-timers", on=True)
    data = spark.sql("SELECT 1 AS key, map('a', CAST(NULL AS STRING), 'b', 'c') AS by")
    keyed = OperatorTransformation.bootstrap_with(data).key_by("key", key_type=Types.INT())
    nulls = written(
        spark, keyed.with_state(MapStateDescriptor("by", TEXT, TEXT)), tmp_path / "nulls"
    )
    with pytest.raises(SchemaChangeError, match="1 entries are null"):
        nulls.set_ttl(UID, "by", on=True).plan(str(tmp_path / "out"), check=True)
