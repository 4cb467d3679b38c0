"""All states of a savepoint as rows, written back; ``python -m round_trip`` tries more of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from round_trip.trips import round_trip
from support.sample_rows import Sample

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def test_of_all_states_each_row_comes_back(spark: SparkSession, tmp_path: Path) -> None:
    sample = Sample("currency-2.2.1-rocksdb-native")
    trip = round_trip(spark, sample.path, tmp_path, sample.uids)
    assert {leg.kind for leg in trip.legs} >= {"value", "broadcast"}
    assert [leg for leg in trip.legs if leg.refusal] == []
    assert trip.differing == ()
