"""Several changes in one write give what they give in a write each."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F
from support.masks import SECRET
from support.nightly import nightly
from support.one_after_another import both_ways
from support.sample_rows import Sample

from state_processor import MaskRules, Savepoint, Types

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import Column, SparkSession

UID = "stateful"
AT = datetime(2027, 1, 1, tzinfo=UTC)
TEXTS = "rules: [{type: text, method: hash}]"
INTEGERS = "rules: [{type: integer, method: hash}]"

CHANGES: dict[str, Callable[[Any], Any]] = {
    "mask": lambda it: it.masked(MaskRules.of_text(TEXTS)),
    "mask integers": lambda it: it.masked(MaskRules.of_text(INTEGERS)),
    "sample": lambda it: it.sample(0.6),
    "class": lambda it: it.rename_class("shop.Customer", "shop.Client"),
    "constant": lambda it: it.rename_constant("shop.TransactionKind", "REFUND", "BACK"),
    "name": lambda it: it.rename_state(UID, "by_currency", "per_currency"),
    "delete": lambda it: it.delete_keys(UID, "last_id % 3 = 0"),
    "rescale": lambda it: it.rescale(max_parallelism=64, parallelism=2),
    "widen": lambda it: it.widen_field(UID, "customer", "purchases", Types.LONG()),
    "update customer": lambda it: it.update_state(UID, "customer", _older()),
    "update id": lambda it: it.update_state(UID, "last_id", "last_id * 2"),
    "remove": lambda it: it.remove_state(UID, "average"),
    "canonical": lambda it: it.convert(),
    "ttl on": lambda it: it.set_ttl(UID, "memos", on=True, at=AT).set_ttl(
        UID, "last_id", on=True, at=AT
    ),
    "ttl off": lambda it: it.set_ttl(UID, "recent_by_currency", on=False),
    "expire": lambda it: it.expire(UID, "recent_memos", older_than=timedelta(), at=AT),
}
ORDERS = (
    "class, mask, widen, delete, rescale, update id",
    "update customer, class, mask integers, sample, name, rescale",
)
MORE = (
    "mask, class, constant, mask integers",
    "name, mask, rescale, sample",
    "delete, mask, remove, update id",
    "update id, mask, widen",
    "sample, update customer, canonical, mask",
    "constant, update customer, class, name, mask",
    "ttl on, mask, expire, delete, rescale",
    "expire, ttl off, update id, ttl on, class",
    "class, name, ttl on, sample, mask integers",
)


def _older() -> Column:
    return F.col("customer").withField("age", F.col("customer.age") + 1)


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAVEPOINT_MASK_SECRET", SECRET)


def _compared(spark: SparkSession, name: str, order: str, folder: Path) -> None:
    sample = Sample(name)
    opening: dict[str, Any] = {"uids": sample.uids}
    opened = Savepoint.load(spark, sample.path, **opening)
    steps = [CHANGES[name] for name in order.split(", ")]
    at_once, in_turn = both_ways(spark, opened, steps, folder, opening)
    assert at_once == in_turn


def test_one_write_equals_one_after_the_other(spark: SparkSession, tmp_path: Path) -> None:
    _compared(spark, "states-2.2.1-rocksdb-native", ORDERS[0], tmp_path / "native")
    _compared(spark, "states-1.20.5-hashmap-changelog", ORDERS[1], tmp_path / "changelog")


@nightly
@pytest.mark.parametrize("order", MORE)
@pytest.mark.parametrize(
    "name",
    [
        "states-2.2.1-rocksdb-heaptimers",
        "states-1.20.5-hashmap-canonical",
        "states-2.2.1-hashmap-native",
    ],
)
def test_more_orders_and_formats(
    spark: SparkSession, name: str, order: str, tmp_path: Path
) -> None:
    _compared(spark, name, order, tmp_path)
