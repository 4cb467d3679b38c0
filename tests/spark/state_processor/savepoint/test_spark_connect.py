"""A session of Spark Connect: what is read, written and refused over it.

A process has either a session of Spark Connect or one of its own, so the jobs run in another one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.plug_ins import EXAMPLE, example_in

pytest.importorskip("grpc", reason="Spark Connect is not installed: pip install -e '.[connect]'")

SAMPLE = Path(__file__).parents[4] / "sample_savepoints" / "states-2.2.1-rocksdb-native"

JOBS = """
import json, os, sys
from pyspark.sql import SparkSession
from state_processor import (
    KeyedProcessFunction,
    KeyedStateReaderFunction,
    MixedModeJob,
    OperatorSettings,
    OperatorTransformation,
)
from state_processor import Savepoint, Types, ValueStateDescriptor
from savepoint_spark.session.java_runtime import ensure_java
from savepoint_spark.session.session import task_count

sample, prices, folder = sys.argv[1:]
ensure_java()
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
spark = SparkSession.builder.remote("local[2]").config("spark.sql.shuffle.partitions", "2").getOrCreate()
found = {}

class Last(KeyedStateReaderFunction):
    def open(self, runtime_context):
        self.last = runtime_context.get_state(ValueStateDescriptor("last_id"))

    def read_key(self, key, context):
        yield key, self.last.value()

class Count(KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("n", Types.LONG()))

    def process_element(self, value, context):
        self.count.update((self.count.value() or 0) + 1)

savepoint = Savepoint.load(spark, sample)
rows = savepoint.read_keyed_state("stateful", columns=["key", "last_id"])
found["rows"] = sorted(map(list, rows.collect()))
found["by function"] = sorted(map(list, savepoint.read_keyed_state("stateful", Last(), schema="key STRING, last_id INT").collect()))
savepoint.register()
found["sql"] = spark.sql("SELECT count(*) FROM stateful.keyed_state").collect()[0][0]
found["metadata"] = spark.sql(f"SELECT DISTINCT operator FROM savepoint_metadata('{sample}') WHERE state = 'last_id'").collect()[0][0]

words = spark.createDataFrame([("a",), ("b",), ("a",)], "word STRING")
keyed = OperatorTransformation.bootstrap_with(words).key_by("word")
writer = Savepoint.create(spark, max_parallelism=16)
found["parallelism"] = writer.parallelism
path = folder + "/counted"
writer.with_operator("words", keyed.transform(Count())).write(path)
counted = Savepoint.load(spark, path, uids=["words"])
found["counted"] = sorted(map(list, counted.read_keyed_state("words").collect()))
more = counted.read_keyed_state("words").selectExpr("key", "n + 10 AS n")
counted.with_state("words", "n", more).write(folder + "/changed")
changed = Savepoint.load(spark, folder + "/changed", uids=["words"])
found["changed"] = sorted(map(list, changed.read_keyed_state("words").collect()))

def amounts(path):
    rows = Savepoint.load(spark, path, uids=["prices"]).read_keyed_state("prices")
    return [str(it) for it in rows.selectExpr("sum(price.amount)", "count(price.`$undecoded`)").collect()[0]]

found["amounts"] = amounts(prices)
shop = Savepoint.load(spark, prices, uids=["prices"])
dearer = "named_struct('amount', CAST(price.amount + 1 AS DECIMAL(18, 2)), 'currency', price.currency)"
shop.update_state("prices", "price", dearer).write(folder + "/dearer")
found["dearer"] = amounts(folder + "/dearer")
new = Savepoint.load(spark, folder + "/dearer", uids=["prices"])
found["keys"] = new.read_keyed_state("prices").where("price.amount > 0").count()
money = Types.custom("shop.MoneySerializer$MoneySerializerSnapshot")
spent = spark.createDataFrame([("ann", 5)], "name STRING, units INT").selectExpr(
    "name", "named_struct('amount', CAST(units AS DECIMAL(18, 2)), 'currency', 'EUR') AS value"
)
by_name = OperatorTransformation.bootstrap_with(spent).key_by("name")
made = by_name.with_state(ValueStateDescriptor("value", money))
writer.with_operator("spent", made).write(folder + "/spent")
read = Savepoint.load(spark, folder + "/spent", uids=["spent"]).read_keyed_state("spent")
found["spent"] = [str(it) for it in read.select("key", "value.amount", "value.currency").collect()[0]]

def refused(call):
    try:
        call()
    except ValueError as error:
        return str(error)

settings = OperatorSettings("words", "word STRING")
found["refused"] = [
    refused(lambda: task_count(spark)),
    refused(lambda: MixedModeJob.of(keyed, keyed, Count(), settings, folder + "/job")),
]
spark.stop()
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Results of the jobs."""
    folder, plug_in = (tmp_path_factory.mktemp(name) for name in ("connect", "plug_in"))
    # The server of the session and its workers inherit the path, so that all of them have the plug-in.
    path = os.pathsep.join(filter(None, [str(example_in(plug_in)), os.environ.get("PYTHONPATH")]))
    ended = subprocess.run(
        [sys.executable, "-c", JOBS, str(SAMPLE), str(EXAMPLE / "savepoint"), str(folder)],
        env=os.environ | {"PYTHONWARNINGS": "ignore", "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        cwd=folder,
    )
    answer: dict[str, Any] = json.loads(ended.stdout.strip().splitlines()[-1])
    return answer


def test_tables_are_read(found: dict[str, Any]) -> None:
    content = json.loads((SAMPLE / "expected.json").read_text(encoding="utf-8"))
    expected = content["operators"]["stateful"]["keyed_state"]
    assert found["rows"] == sorted([row["key"], row["last_id"]] for row in expected)
    assert found["sql"] == len(expected)


def test_functions_read_what_tables_have(found: dict[str, Any]) -> None:
    assert found["by function"] == found["rows"]


def test_the_table_function_is_known(found: dict[str, Any]) -> None:
    assert found["metadata"] == "stateful"


def test_the_parallelism_is_that_of_the_server(found: dict[str, Any]) -> None:
    assert found["parallelism"] == 2


def test_state_is_made_and_changed(found: dict[str, Any]) -> None:
    assert found["counted"] == [["a", 2], ["b", 1]]
    assert found["changed"] == [["a", 12], ["b", 11]]


def test_values_of_a_plug_in_are_read_and_written(found: dict[str, Any]) -> None:
    rows = int(found["keys"])
    assert rows > 0
    assert found["amounts"] == ["2832.25", "0"]
    assert found["dearer"] == [f"{2832.25 + rows:.2f}", "0"]
    assert found["spent"] == ["ann", "5.00", "EUR"]


def test_what_it_cannot_carry_is_refused_in_a_line(found: dict[str, Any]) -> None:
    for message in found["refused"]:
        assert "Spark Connect does not support that" in message
        assert "\n" not in message
