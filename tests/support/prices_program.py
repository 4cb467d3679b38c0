"""A program of Spark that reads and writes state of the shop's own serializers, in a process of its own.

    PYTHONPATH=FOLDER_OF_THE_PLUG_IN python prices_program.py MASTER SAVEPOINT TARGET

It prints what it has read as a line of JSON.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.sql import SparkSession

from state_processor import (
    ListStateDescriptor,
    MapStateDescriptor,
    OperatorTransformation,
    Savepoint,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame

UID = "prices"


def java_text_hash(text: str) -> int:
    """``String.hashCode``, as an unsigned number."""
    code = 0
    for letter in text:
        code = (31 * code + ord(letter)) & 0xFFFFFFFF
    return code


def hash_code(keys: pa.Array) -> NDArray[np.int32]:
    """``Objects.hash(supplier, number)``."""
    codes = []
    for key in keys.to_pylist():
        supplier = (key["supplier"] ^ key["supplier"] >> 32) & 0xFFFFFFFF
        codes.append((31 * (31 + supplier) + java_text_hash(key["number"])) & 0xFFFFFFFF)
    return np.array(codes, np.uint32).astype(np.int32)


def totals(rows: DataFrame) -> list[str]:
    """The number of keys, and the sum of their prices."""
    (row,) = rows.selectExpr("count(*)", "string(sum(price.amount))").collect()
    return [str(value) for value in row]


def main(master: str, source: str, target: str) -> dict[str, Any]:
    """Reads, updates, and makes the same state anew."""
    builder: Any = SparkSession.builder
    spark = (
        builder.master(master)
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.executor.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    savepoint = Savepoint.load(spark, source)
    rows = savepoint.read_keyed_state(UID)
    told: dict[str, Any] = {"read": totals(rows), "schema": rows.schema.simpleString()}
    raised = "named_struct('amount', CAST(price.amount + 1 AS DECIMAL(18, 2)), 'currency', 'EUR')"
    savepoint.update_state(UID, "price", raised).write(f"{target}/changed")
    told["changed"] = totals(Savepoint.load(spark, f"{target}/changed").read_keyed_state(UID))

    sku = Types.custom("shop.SkuSerializer$SkuSerializerSnapshot")
    money_type = Types.custom("shop.MoneySerializer$MoneySerializerSnapshot")
    span = Types.custom("shop.IntervalSerializerSnapshot", money_type)

    def money(column: str) -> str:
        return f"named_struct('amount', {column}.amount, 'currency', {column}.currency)"

    new = rows.selectExpr(
        "key AS sku",
        f"{money('price')} AS price",
        f"transform(history, past -> {money('past')}) AS history",
        f"transform_values(competitors, (sku, theirs) -> {money('theirs')}) AS competitors",
        f"named_struct('amount', order.amount, 'price', {money('order.price')}) AS order",
        f"named_struct('low', {money('span.low')}, 'high', {money('span.high')}) AS span",
    )
    order = Types.POJO("shop.PricesJobs$Order", {"amount": Types.INT(), "price": money_type})
    keyed = OperatorTransformation.bootstrap_with(new).key_by(
        "sku", key_type=sku, hash_code=hash_code
    )
    for descriptor in (
        ValueStateDescriptor("price", money_type),
        ListStateDescriptor("history", money_type),
        MapStateDescriptor("competitors", sku, money_type),
        ValueStateDescriptor("order", order),
        ValueStateDescriptor("span", span),
    ):
        keyed = keyed.with_state(descriptor)
    Savepoint.create(spark, parallelism=2).with_operator(UID, keyed).write(f"{target}/made")
    made = Savepoint.load(spark, f"{target}/made", uids=[UID])
    told["made"] = totals(made.read_keyed_state(UID))
    faults = Savepoint.open(f"{target}/made").verify().faults
    told["faults"] = [fault.severity.value for fault in faults]
    return told


if __name__ == "__main__":
    print("TOLD " + json.dumps(main(*sys.argv[1:])))
