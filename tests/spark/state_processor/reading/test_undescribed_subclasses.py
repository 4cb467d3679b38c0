"""POJOs of subclasses that no snapshot describes, in Spark: shown as bytes, and not written as rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F
from support.object_samples import IDS, UIDS
from support.sample_rows import SAMPLES

from savepoint_formats.errors import ColumnTypeError
from state_processor import OperatorTransformation, Savepoint

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATH = str(SAMPLES / "objects-2.2.1-hashmap-canonical")
TABLE = "payments.keyed_state"


def test_the_data_source_shows_them_as_bytes(spark: SparkSession) -> None:
    found = (
        spark.read.format("savepoint")
        .option("table", TABLE)
        .option("uids", ",".join(UIDS))
        .option("undescribedSubclasses", "bytes")
        .load(PATH)
    )
    lost = found.where(F.col("payment")["$undecoded"].isNotNull()).select("id", "payment.cents")
    assert sorted(tuple(row) for row in lost.collect()) == [(n, None) for n in IDS if n % 3 == 0]


def test_they_are_not_written_as_rows(spark: SparkSession) -> None:
    savepoint = Savepoint.load(spark, PATH, uids=UIDS)
    found = savepoint.read_table(TABLE, undescribed_subclasses="bytes")
    with pytest.raises(ColumnTypeError, match=r"column 'payment' has fields \$undecoded"):
        OperatorTransformation.bootstrap_with(found).like(savepoint.operator("payments"))
