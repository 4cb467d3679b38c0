"""Objects of a session as users see them: one short line each, and a table in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.sample_rows import Sample

from savepoint_functions.aggregating.aggregates import Count
from state_processor import (
    ListStateDescriptor,
    OperatorTransformation,
    Savepoint,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

SAMPLE = Sample("currency-2.2.1-hashmap-native")


def test_a_savepoint_its_changes_and_what_was_written(spark: SparkSession, tmp_path: Path) -> None:
    savepoint = Savepoint.load(spark, SAMPLE.path)
    assert repr(savepoint) == repr(SAMPLE.open()).replace("Savepoint(", "SparkSavepoint(", 1)
    writer = savepoint.delete_keys("summarize", "total > 0")
    copied = len(savepoint.operators()) - 1
    assert repr(writer).endswith(f"operators: 1 changed, {copied} copied)")
    written = writer.write(str(tmp_path / "new"))
    assert repr(written) == (
        f"WrittenSavepoint({str(tmp_path / 'new')!r}, {copied + 1} operators, {written.size} bytes)"
    )
    assert "<td>summarize</td><td>changed</td>" in written._repr_html_()


def test_transformations(spark: SparkSession) -> None:
    data = spark.createDataFrame([("a", 1)], "word STRING, count BIGINT")
    rows = OperatorTransformation.bootstrap_with(data)
    keyed = rows.key_by("word")
    state = ValueStateDescriptor("total", Types.LONG())
    shown = {
        repr(rows): "OneInputStateTransformation(['word', 'count'])",
        repr(keyed.with_state(state, "count")): (
            "KeyedStateTransformation(key ['word'], states ['total'])"
        ),
        repr(keyed.rows): "KeyedRowsTransformation(keys [['word']])",
        repr(rows.list_state(ListStateDescriptor("ids", Types.LONG()), "count")): (
            "OperatorStateTransformation(states ['ids'])"
        ),
        repr(rows.local_key_by("word")): "LocalKeyedTransformation(key ['word'])",
        repr(rows.local_key_by("word").aggregate(n=Count())): "LocalAggregation()",
    }
    assert list(shown) == list(shown.values())
    assert repr(keyed.aggregate(n=Count())).startswith("KeyedAggregation([")
