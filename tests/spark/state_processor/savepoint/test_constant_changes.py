"""Values of enums after their constants were renamed and dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.changed_savepoints import tables

from savepoint_extensions.enums.changed_constants import constants
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

METRIC = "shop.Metric"


def test_each_value_has_its_constant_under_the_new_name(
    spark: SparkSession, cases: Path, tmp_path: Path
) -> None:
    before = Savepoint.load(spark, str(cases / "10-enum-constants"))
    changed = before.rename_constant(METRIC, "COUNT_AT_LEAST", "AT_LEAST")
    changed.drop_constant(METRIC, "OLD_ONE").write(str(tmp_path / "out"))
    after = Savepoint.load(spark, str(tmp_path / "out"))
    expected = {
        name: sorted(row.replace("COUNT_AT_LEAST", "AT_LEAST") for row in rows)
        for name, rows in tables(before).items()
    }
    assert tables(after) == expected
    again = after.rename_constant(METRIC, "AT_LEAST", "OLD_ONE").writer()
    (named,) = map(constants, again.changes_of("fd119").values())
    assert named == {METRIC: ("OLD_ONE", "RATE_AT_MOST")}


def test_a_new_name_alone_is_written(spark: SparkSession, cases: Path, tmp_path: Path) -> None:
    before = Savepoint.load(spark, str(cases / "10-enum-constants"))
    before.rename_constant(METRIC, "COUNT_AT_LEAST", "AT_LEAST").write(str(tmp_path / "out"))
    (after,) = Savepoint.open(tmp_path / "out").writer().changes_of("fd119").values()
    assert constants(after) == {METRIC: ("AT_LEAST", "RATE_AT_MOST", "OLD_ONE")}
