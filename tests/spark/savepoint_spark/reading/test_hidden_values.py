"""Values that hide what lies behind them, in Spark: all rows are there, or an error says why not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException
from support.hidden_values import LAST, broadcast, last, order, text

from savepoint_formats.errors import UndecodableError
from savepoint_formats.key_groups.operator_id import OperatorId
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

TABLE = f"{OperatorId.from_uid('a')}.rules"


def test_all_entries_are_rows(spark: SparkSession, tmp_path: Path) -> None:
    broadcast(tmp_path, [order(number) for number in range(2, 7)])
    savepoint = Savepoint.load(spark, str(tmp_path))
    assert savepoint.count_rows(TABLE) == 5
    found = savepoint.read_table(TABLE).select("key", "value.id", "value.name").collect()
    assert [tuple(row) for row in found] == [
        (f"rule {index}", index + 2, f"name {index + 2}") for index in range(5)
    ]


def test_fields_that_are_not_known_are_an_error_or_show_the_reason(
    spark: SparkSession, tmp_path: Path
) -> None:
    broadcast(tmp_path, [order(number) for number in range(3)])
    savepoint = Savepoint.load(spark, str(tmp_path))
    assert savepoint.count_rows(TABLE) == 3
    with pytest.raises((UndecodableError, PySparkException), match="also those of 'id', 'name'"):
        savepoint.read_table(TABLE).select("value.id").collect()
    shown = savepoint.with_forms(undescribed_subclasses="bytes").read_table(TABLE)
    rows = shown.select("value.id", "value.extra.reason").collect()
    assert [row.id for row in rows] == [0, None, 2]
    assert rows[1].reason.endswith("; these bytes are also those of 'id', 'name'")


def test_entries_that_nobody_can_tell_apart_are_an_error(
    spark: SparkSession, tmp_path: Path
) -> None:
    broadcast(tmp_path, [last(7, b"ab" + text("rule 9") + last(3)), *map(last, range(4))], LAST)
    savepoint = Savepoint.load(spark, str(tmp_path))
    message = "4 more elements, which can't be told apart"
    with pytest.raises((UndecodableError, PySparkException), match=message):
        savepoint.count_rows(TABLE)
    with pytest.raises((UndecodableError, PySparkException), match=message):
        savepoint.read_table(TABLE).count()
    assert savepoint.with_forms(undescribed_subclasses="rest").read_table(TABLE).count() == 1
