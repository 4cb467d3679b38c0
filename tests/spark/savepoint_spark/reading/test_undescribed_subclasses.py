"""POJOs of subclasses that no snapshot describes, in Spark: shown as bytes, which are written back as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F
from support.object_samples import IDS, UIDS
from support.sample_rows import SAMPLES

from savepoint_formats.errors import ColumnTypeError, UndecodableError
from state_processor import OperatorTransformation, Savepoint, Types, ValueStateDescriptor

if TYPE_CHECKING:
    from pathlib import Path

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


def test_they_are_written_back_as_they_are(spark: SparkSession, tmp_path: Path) -> None:
    """Beside changes of other states, and of the values that could be decoded."""
    before = Savepoint.load(spark, PATH, uids=UIDS)
    stored = before.with_forms(undescribed_subclasses="bytes").read_table(TABLE)
    like = OperatorTransformation.bootstrap_with(stored).like(before.operator("payments"))
    assert {state.name for state in like.states} == {"id", "memo", "payment"}
    replaced = before.with_state("payments", "payment", stored.select("key", "payment"))
    replaced.plan("nowhere", check=True)
    shown = before.with_forms(undescribed_subclasses="bytes")
    cents = F.col("payment").withField("cents", F.col("payment.cents") + 1)
    changed = shown.update_state("payments", "memo", "upper(memo)")
    changed = changed.update_state("payments", "payment", cents, where="payment.cents > 0")
    changed.write(str(tmp_path / "changed"))
    expected = {row.id: row.asDict(recursive=True) for row in stored.collect()}
    lost = [row for row in expected.values() if row["payment"]["$undecoded"] is not None]
    assert len(lost) == sum(number % 3 == 0 for number in IDS)
    for number, row in expected.items():
        row["memo"] = row["memo"].upper()
        if number % 3:
            row["payment"]["cents"] += 1
    after = Savepoint.load(spark, str(tmp_path / "changed"), uids=UIDS)
    found = after.with_forms(undescribed_subclasses="bytes").read_table(TABLE)
    assert {row.id: row.asDict(recursive=True) for row in found.collect()} == expected


def test_a_table_with_them_is_changed_by_whoever_asks(spark: SparkSession) -> None:
    savepoint = Savepoint.load(spark, PATH, uids=UIDS)
    changed = savepoint.with_forms(undescribed_subclasses="bytes").delete_keys(
        "payments", "id = 201"
    )
    changed.plan("nowhere", check=True)
    assert "1 changed" in repr(changed)
    with pytest.raises(UndecodableError, match="undescribed_subclasses='bytes'"):
        savepoint.update_state("payments", "memo", "upper(memo)").plan("nowhere", check=True)
    changed = savepoint.with_forms(undescribed_subclasses="bytes").update_state(
        "payments", "id", "id"
    )
    with pytest.raises(ValueError, match="give both the same value, or write one before the other"):
        changed.with_forms(undescribed_subclasses="refuse").update_state(
            "payments", "memo", "upper(memo)"
        )


def test_they_are_not_written_where_nothing_takes_them(spark: SparkSession) -> None:
    savepoint = Savepoint.load(spark, PATH, uids=UIDS)
    found = savepoint.with_forms(undescribed_subclasses="bytes").read_table(TABLE)
    renamed = found.withColumnRenamed("payment", "text")
    keyed = OperatorTransformation.bootstrap_with(renamed).key_by("key")
    with pytest.raises(ColumnTypeError, match=r"column 'text' has fields \$undecoded"):
        keyed.with_state(ValueStateDescriptor("text", Types.STRING()))
