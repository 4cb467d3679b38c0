"""One write of several changes gives what as many writes of one change each give."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.bootstrapped import written

from state_processor import (
    ListStateDescriptor,
    OperatorTransformation,
    Savepoint,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from state_processor import SavepointWriter
    from state_processor.savepoint.changes import SavepointChanges
    from state_processor.savepoint.spark_savepoint import SparkSavepoint

    Change = Callable[[SavepointChanges], SavepointWriter]

UID = "operator"


def rename(old: str, new: str) -> Change:
    return lambda savepoint: savepoint.rename_state(UID, old, new)


def update(state: str, expression: str, where: str | None = None) -> Change:
    return lambda savepoint: savepoint.update_state(UID, state, expression, where=where)


def delete(where: str) -> Change:
    return lambda savepoint: savepoint.delete_keys(UID, where)


def remove(state: str) -> Change:
    return lambda savepoint: savepoint.remove_state(UID, state)


SWAP = [rename("a", "x"), rename("b", "a"), rename("x", "b")]

ORDERS: dict[str, list[Change]] = {
    "other values after a swap of names": [*SWAP, update("a", "a * 10 + b")],
    "a condition after a swap of names": [*SWAP, update("tags", "array(b)", "a > 21")],
    "deleted keys after a swap of names": [*SWAP, delete("a >= 23")],
    "a swap of names after other values": [update("a", "a + b"), *SWAP, update("b", "b + 1")],
    "a name that a removed state had": [remove("b"), rename("a", "b"), update("b", "b + 1")],
    "a column that a removed state has no more": [remove("b"), delete("b = 22")],
    "values of a state that is removed then": [
        update("a", "a + 100"),
        update("b", "a"),
        remove("a"),
    ],
    "rows that only a removed state had": [remove("a"), update("b", "coalesce(b, 0)")],
    "rows that only other values had": [update("a", "NULL"), update("b", "coalesce(b, 0)")],
    "rows that only an emptied list had": [
        remove("a"),
        remove("b"),
        rename("tags", "a"),
        update("a", "array()", "key > 1"),
        update("a", "array(7L)", "a IS NOT NULL"),
    ],
    "keys deleted twice": [delete("a = 1"), update("b", "b + 1"), delete("b = 23")],
    "timers of another name": [
        rename("_timer_state/event_t", "_timer_state/event_u"),
        delete("service = 'u'"),
    ],
    "timers that are removed": [remove("_timer_state/event_t"), delete("timestamp > 0")],
}


@pytest.fixture(scope="module")
def first(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSavepoint:
    data = spark.sql(
        "SELECT id AS key, IF(id = 5, NULL, id) a, IF(id >= 4, NULL, id + 20) b, IF(id = 4, NULL, array(id)) tags,"
        " IF(id = 2, id, NULL) at FROM range(1, 6)"
    )
    keyed = OperatorTransformation.bootstrap_with(data).key_by("key", key_type=Types.LONG())
    for name in ("a", "b"):
        keyed = keyed.with_state(ValueStateDescriptor(name, Types.LONG()))
    keyed = keyed.with_state(ListStateDescriptor("tags", Types.LONG()))
    keyed = keyed.with_timers(event_time="at", service="t")
    return written(spark, keyed, tmp_path_factory.mktemp("first"))


def contents(savepoint: SparkSavepoint) -> dict[str, list[str]]:
    names = [table.table for table in savepoint.tables()]
    return {
        name: sorted(
            str(sorted(row.asDict(recursive=True).items()))
            for row in savepoint.read_table(name).collect()
        )
        for name in names
    }


def applied(
    spark: SparkSession, savepoint: SparkSavepoint, changes: list[Change], folder: Path
) -> SparkSavepoint:
    writer: SavepointChanges = savepoint
    for change in changes:
        writer = change(writer)
    writer.writer().write(str(folder))
    return Savepoint.load(spark, str(folder), uids=[UID])


@pytest.mark.parametrize("name", ORDERS)
def test_one_write_is_as_many_writes(
    spark: SparkSession, first: SparkSavepoint, name: str, tmp_path: Path
) -> None:
    one_by_one, refusal = first, None
    for number, change in enumerate(ORDERS[name]):
        try:
            one_by_one = applied(spark, one_by_one, [change], tmp_path / str(number))
        except Exception as error:  # compared below
            refusal = error
    if refusal is not None:
        with pytest.raises(type(refusal)):
            applied(spark, first, ORDERS[name], tmp_path / "at once")
        return
    at_once = applied(spark, first, ORDERS[name], tmp_path / "at once")
    assert contents(at_once) == contents(one_by_one)
    assert contents(at_once) != contents(first)
