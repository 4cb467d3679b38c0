"""Values of POJOs whose subclasses only the user describes are written as they are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F
from support.object_classes import CARD
from support.object_samples import IDS, UIDS, by_id, opened
from support.sample_rows import SAMPLES

from state_processor import OperatorTransformation, Savepoint, Types, ValueStateDescriptor

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from state_processor import SavepointWriter
    from state_processor.savepoint.spark_savepoint import SparkSavepoint

TABLE = "payments.keyed_state"
HEAPS = ["objects-1.20.5-hashmap-canonical", "objects-2.2.1-hashmap-native"]


@pytest.mark.parametrize("sample", HEAPS)
def test_their_state_is_updated(spark: SparkSession, sample: str, tmp_path: Path) -> None:
    savepoint = Savepoint.load(spark, str(SAMPLES / sample), uids=UIDS, kryo_classes=(CARD,))
    cents = F.col("payment").withField("cents", F.col("payment.cents") + 1)
    savepoint.update_state("payments", "payment", cents).write(str(tmp_path / "new"))
    expected = by_id(opened(sample, (CARD,)), TABLE)
    for row in expected.values():
        row["payment"]["cents"] += 1
    # What is written names the subclass.
    found = by_id(opened(tmp_path / "new"), TABLE)
    assert found == expected
    cards = sum(row["payment"]["$class"] == CARD.class_name for row in found.values())
    assert cards == sum(number % 3 == 0 for number in IDS)


@pytest.fixture(scope="module")
def wallets(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A savepoint of POJOs around one that may be of a subclass."""
    path = str(tmp_path_factory.mktemp("wallets"))
    payment = Types.POJO("shop.Payment", {"cents": Types.LONG(), "payer": Types.STRING()})
    wallet = Types.POJO("shop.Wallet", {"payment": payment, "size": Types.INT()})
    rows = spark.range(5).selectExpr(
        "id",
        "named_struct('payment', named_struct('cents', id * 10, 'payer', concat('p', id)),"
        " 'size', cast(id AS INT)) AS wallet",
    )
    keyed = OperatorTransformation.bootstrap_with(rows).key_by("id")
    keyed = keyed.with_state(ValueStateDescriptor("wallet", wallet))
    Savepoint.create(spark, parallelism=1).with_operator("w", keyed).write(path)
    return path


CHANGES: dict[str, tuple[Callable[[SparkSavepoint], SavepointWriter], dict[str, Any]]] = {
    "add": (lambda old: old.add_field("w", "wallet", "vip", "BOOLEAN"), {"vip": None, "size": 4}),
    "drop": (lambda old: old.drop_field("w", "wallet", "size"), {}),
    "rename": (lambda old: old.rename_field("w", "wallet", "size", "much"), {"much": 4}),
    "widen": (lambda old: old.widen_field("w", "wallet", "size", "LONG"), {"size": 4}),
    "update": (lambda old: old.update_state("w", "wallet", "wallet"), {"size": 4}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_fields_around_them_change(
    spark: SparkSession, wallets: str, name: str, tmp_path: Path
) -> None:
    change, fields = CHANGES[name]
    savepoint = Savepoint.load(spark, wallets, uids=["w"], kryo_classes=(CARD,))
    change(savepoint).write(str(tmp_path / "new"))
    scan = Savepoint.open(str(tmp_path / "new"), uids=["w"]).scan("w.keyed_state")
    rows = {row["key"]: row["wallet"] for batch in scan.batches() for row in batch.to_pylist()}
    nothing = {"card": None, "month": None}
    payment = {"$class": "shop.Payment", "cents": 40, "payer": "p4", **nothing}
    assert rows[4] == {"payment": payment, **fields}
    assert len(rows) == 5
