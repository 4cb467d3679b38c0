"""Keys without known hash codes keep the key groups that a column gives; those of others are checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from savepoint_formats.errors import KeyGroupError
from state_processor import (
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    OperatorTransformation,
    Savepoint,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from savepoint_functions.functions.keyed_runtime_context import KeyedRuntimeContext
    from savepoint_functions.functions.process_functions import KeyedContext
    from savepoint_spark.writing.write_context import StateTransformation

COUNT = ValueStateDescriptor("count", Types.LONG())
WORD = Types.POJO(
    "org.example.Word", {"text": Types.STRING()}
)  # only its class knows its hash code


class Count(KeyedProcessFunction):
    """Counts the rows of a key."""

    def open(self, runtime_context: KeyedRuntimeContext) -> None:
        self.count = runtime_context.get_state(COUNT)

    def process_element(self, value: Any, context: KeyedContext) -> None:
        self.count.update((self.count.value() or 0) + 1)
        context.timer_service.register_event_time_timer(0)

    def on_timer(self, timestamp: int, context: KeyedContext) -> Any:
        yield context.current_key.text, self.count.value()


class Nothing(KeyedCoProcessFunction):
    """Makes no rows of two inputs."""

    def process_element1(self, value: Any, context: KeyedContext) -> None: ...

    def process_element2(self, value: Any, context: KeyedContext) -> None: ...


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    """Six keys, whose key groups have nothing to do with their hash codes."""
    return spark.range(60, numPartitions=2).selectExpr(
        "struct(concat('key ', id % 6) AS text) AS word", "CAST(id % 6 AS INT) * 20 AS `group`"
    )


def key_groups(
    spark: SparkSession, transformation: StateTransformation, folder: Path
) -> dict[str, tuple[int, int]]:
    """The key group and the count of each key of a savepoint."""
    path = str(folder / "savepoint")
    Savepoint.create(spark, parallelism=2).with_operator("words", transformation).write(path)
    state = Savepoint.load(spark, path, uids=["words"]).read_keyed_state(
        "words", with_key_group=True
    )
    return {row["key"]["text"]: (row["key_group"], row["count"]) for row in state.collect()}


WANTED = {f"key {number}": (20 * number, 10) for number in range(6)}


def test_state_goes_to_the_key_groups_that_a_column_gives(
    spark: SparkSession, rows: DataFrame, tmp_path: Path
) -> None:
    keyed = OperatorTransformation.bootstrap_with(rows).key_by(
        "word", key_type=WORD, key_groups="group"
    )
    assert key_groups(spark, keyed.transform(Count()), tmp_path) == WANTED


def test_tables_of_whole_keys_keep_them_as_well(
    spark: SparkSession, rows: DataFrame, tmp_path: Path
) -> None:
    def counts(table: pa.Table) -> pa.Table:
        texts = pa.table({"text": pc.struct_field(table["word"], 0)})
        found = texts.group_by("text", use_threads=False).aggregate([([], "count_all")])
        keys = pa.StructArray.from_arrays([found["text"].combine_chunks()], ["text"])
        return pa.table({"key": keys, "count": found["count_all"]})

    keyed = OperatorTransformation.bootstrap_with(rows).key_by(
        "word", key_type=WORD, key_groups="group"
    )
    assert key_groups(spark, keyed.transform_batches(counts, COUNT), tmp_path) == WANTED


def test_rows_are_made_whatever_the_key_groups_are(rows: DataFrame) -> None:
    larger = rows.selectExpr("word", "`group` * 100 AS `group`")
    keyed = OperatorTransformation.bootstrap_with(larger).key_by(
        "word", key_type=WORD, key_groups="group"
    )
    found = keyed.process(Count(), "word STRING, n BIGINT").collect()
    assert sorted(tuple(row) for row in found) == [(f"key {number}", 10) for number in range(6)]


def test_a_key_group_that_the_savepoint_does_not_have_is_an_error(
    spark: SparkSession, rows: DataFrame, tmp_path: Path
) -> None:
    larger = rows.selectExpr("word", "`group` * 100 AS `group`")
    keyed = OperatorTransformation.bootstrap_with(larger).key_by(
        "word", key_type=WORD, key_groups="group"
    )
    with pytest.raises((PySparkException, KeyGroupError), match="expected 0 to 127"):
        key_groups(spark, keyed.transform(Count()), tmp_path)


def test_two_inputs_have_both_their_key_groups_given_or_neither(rows: DataFrame) -> None:
    source = OperatorTransformation.bootstrap_with(rows)
    one, other = (
        source.key_by("word", key_type=WORD, key_groups="group"),
        source.key_by("word", key_type=WORD),
    )
    with pytest.raises(ValueError, match="key groups are given for one input only"):
        one.connect(other).process(Nothing(), "word STRING")


@pytest.mark.parametrize(
    ("key", "key_type"),
    [
        ("id", Types.LONG()),
        ("CAST(id AS INT)", Types.INT()),
        ("concat('key ', id)", Types.STRING()),
        ("struct(id AS f0, CAST(id AS STRING) AS f1)", Types.TUPLE([Types.LONG(), Types.STRING()])),
    ],
    ids=["long", "int", "text", "tuple"],
)
def test_key_groups_of_keys_with_known_hash_codes_are_checked(
    spark: SparkSession, tmp_path: Path, key: str, key_type: Any
) -> None:
    data = spark.range(50).selectExpr(f"{key} AS word", "1L AS count")
    count = ValueStateDescriptor("count", Types.LONG())
    source = OperatorTransformation.bootstrap_with(data)
    right = str(tmp_path / "right")
    keyed = source.key_by("word", key_type=key_type).with_state(count)
    Savepoint.create(spark).with_operator("words", keyed).write(right)
    savepoint = Savepoint.load(spark, right, uids=["words"])
    stored = savepoint.read_keyed_state("words", with_key_group=True)
    given = stored.withColumnRenamed("key", "word")
    wrong = given.withColumn("key_group", (F.col("key_group") + 1) % 128)

    def writes(rows: DataFrame) -> list[StateTransformation]:
        of_rows = OperatorTransformation.bootstrap_with(rows)
        by_word = of_rows.key_by("word", key_type=key_type, key_groups="key_group")
        like = OperatorTransformation.bootstrap_with(rows.withColumnRenamed("word", "key"))
        return [
            by_word.with_state(count),
            by_word.transform(Count()),
            by_word.transform_batches(lambda table: table.rename_columns({"word": "key"}), count),
            like.like(savepoint.operator("words")),
        ]

    for number, transformation in enumerate(writes(given)):
        path = str(tmp_path / f"given {number}")
        Savepoint.create(spark).with_operator("words", transformation).write(path)
        again = Savepoint.load(spark, path, uids=["words"])
        read = again.read_keyed_state("words", columns=["key"], with_key_group=True)
        assert set(read.collect()) == set(stored.select("key", "key_group").collect())
    for number, transformation in enumerate(writes(wrong)):
        writer = Savepoint.create(spark).with_operator("words", transformation)
        with pytest.raises(
            KeyGroupError, match=r"but its hash code gives .*: leave key_groups out"
        ):
            writer.write(str(tmp_path / f"wrong {number}"))
