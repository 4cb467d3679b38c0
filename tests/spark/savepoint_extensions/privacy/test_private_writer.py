"""Masks and samples that Spark writes: no original text is left, and equal keys are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F
from support.masks import (
    SECRET,
    bytes_of_files,
    hashed,
    is_number,
    stored_forms,
    texts_in,
)
from support.object_classes import CARD, CLASSES
from support.object_samples import OBJECTS, by_id
from support.object_samples import opened as opened_objects
from support.sample_rows import Sample

from savepoint_extensions.privacy import mask_census
from savepoint_formats.scan.read_options import ReadOptions
from state_processor import (
    KeyTypeError,
    MaskError,
    MaskRules,
    OperatorTransformation,
    Savepoint,
    SchemaChangeError,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from state_processor.savepoint.spark_savepoint import SparkSavepoint

TEXTS = "rules: [{type: text, method: hash}]"


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAVEPOINT_MASK_SECRET", SECRET)


def load(spark: SparkSession, name: str, **opening: Any) -> SparkSavepoint:
    sample = Sample(name)
    return Savepoint.load(spark, sample.path, uids=sample.uids, **opening)


def texts_of(savepoint: Savepoint, *operators: str) -> set[str]:
    """The texts of at least five letters in all tables of some operators."""
    texts: set[str] = set()
    for uid in operators:
        operator = savepoint.operator(uid)
        for table in operator.tables:
            for batch in operator.scan(table, ReadOptions()).batches():
                for name in set(batch.schema.names) - NO_TEXTS:
                    column = batch.column(name)
                    for value in column.to_pylist():
                        texts.update(texts_in(column.type, value))
    return {text for text in texts if len(text) > 4 and not is_number(text)}


DESCRIBED = (*CLASSES, CARD)
UIDS = ["stateful", "buffer"]
NO_TEXTS = {"last_kind", "balance", "time_domain", "service"}
CASES = [
    *(
        (f"states-{variant}", ("stateful", "buffer"))
        for variant in (
            "1.20.5-hashmap-changelog",
            "1.20.5-hashmap-compressed",
            "1.20.5-rocksdb-native",
            "2.2.1-hashmap-canonical",
            "2.2.1-rocksdb-incremental",
        )
    ),
    ("windows-2.2.1-rocksdb-native", ("tumbling_aggregate", "session")),
    ("sql-2.2.1-rocksdb-native", ("4_group-aggregate", "13_deduplicate")),
]


@pytest.mark.parametrize(("name", "operators"), CASES)
def test_no_original_text_is_left_in_any_file(
    spark: SparkSession, tmp_path: Path, name: str, operators: tuple[str, ...]
) -> None:
    savepoint = load(spark, name)
    originals = texts_of(savepoint, *operators)
    assert originals
    written = savepoint.masked(MaskRules.of_text(TEXTS)).write(tmp_path / "masked")
    masked = {field.operator: field for field in written.masked if field.changed}
    assert set(operators) <= set(masked)
    assert not any(field.unmatched for field in masked.values())
    left = bytes_of_files(tmp_path / "masked")
    assert [text for text in originals if any(form in left for form in stored_forms(text))] == []
    again = load(spark, name).masked(MaskRules.of_text(TEXTS))
    assert again.plan(tmp_path / "other", check=True).masked == written.masked
    opened = Savepoint.open(tmp_path / "masked", uids=Sample(name).uids)
    assert opened.verify().is_whole
    assert texts_of(opened, *operators) >= {hashed(text) for text in originals}


@pytest.mark.parametrize("name", OBJECTS)
def test_no_original_text_is_left_in_objects(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    objects = opened_objects(name, DESCRIBED)
    originals = {
        text
        for row in by_id(objects, "payments.keyed_state").values()
        for text in (row["payment"]["payer"], row["payment"]["card"], row["memo"])
        if text and len(text) > 4
    }
    rules = MaskRules.of_text(TEXTS)
    writer = objects.masked(rules).with_session(spark)
    for other in ("shapes", "crates", "baskets"):  # their objects hold bytes that nobody decodes
        writer = writer.remove_operator(other)
    writer.write(tmp_path / "masked")
    left = bytes_of_files(tmp_path / "masked")
    assert originals
    assert [text for text in originals if any(form in left for form in stored_forms(text))] == []
    opened = Savepoint.open(tmp_path / "masked", uids=["payments"], kryo_classes=DESCRIBED)
    masked = by_id(opened, "payments.keyed_state")
    for number, row in by_id(objects, "payments.keyed_state").items():
        payer = row["payment"]["payer"]
        assert masked[number]["payment"]["payer"] == (payer and hashed(payer))


def test_equal_keys_are_refused_and_nothing_is_written(spark: SparkSession, tmp_path: Path) -> None:
    savepoint = load(spark, "states-2.2.1-rocksdb-native")
    for field, what in (("key", "24 keys of operator"), ("map_key", "keys of the map in state")):
        rules = MaskRules.of_text(f"rules: [{{field: {field}, method: fixed, value: x}}]")
        with pytest.raises(MaskError, match=rf"{what}.*rules line 1"):
            savepoint.masked(rules).write(tmp_path / "masked")
    assert not (tmp_path / "masked").exists()
    assert mask_census.KEY != mask_census.ENTRY


def test_what_must_read_values_of_the_same_write_is_refused(spark: SparkSession) -> None:
    savepoint, rules = load(spark, "states-2.2.1-hashmap-canonical"), MaskRules.of_text(TEXTS)
    updated = savepoint.update_state("stateful", "last_id", "last_id + 1")
    with pytest.raises(SchemaChangeError, match="make this one before it, or write the earlier"):
        updated.sample(per_key_group=1)
    with pytest.raises(SchemaChangeError, match="write that first"):
        updated.masked(rules).update_state("stateful", "last_id", "last_id + 1")


def test_equal_keys_of_new_values_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    savepoint = load(spark, "states-2.2.1-rocksdb-native")
    updated = savepoint.update_state("stateful", "last_id", "last_id + 1")
    for state in savepoint.operator("stateful").catalog.states:
        if state.name != "last_id":
            updated = updated.remove_state("stateful", state.name)
    rules = MaskRules.of_text("rules: [{field: key, method: fixed, value: x}]")
    with pytest.raises(MaskError, match=r"keys of operator"):
        updated.masked(rules).write(tmp_path / "masked")


def test_strict_rules_refuse_what_they_do_not_name(spark: SparkSession) -> None:
    savepoint = load(spark, "states-2.2.1-hashmap-canonical")
    with pytest.raises(MaskError, match="no rule names"):
        savepoint.masked(MaskRules.of_text(TEXTS), strict=True)
    named = MaskRules.of_text("rules: [{type: text, method: hash}, {method: keep}]")
    assert savepoint.masked(named, strict=True).operators


def keys_of(savepoint: Savepoint, uid: str = "stateful") -> set[str]:
    batches = savepoint.scan(f"{uid}.keyed_state").batches()
    return {key for batch in batches for key in batch.column("key").to_pylist()}


def test_samples_take_keys_with_all_that_they_have(spark: SparkSession, tmp_path: Path) -> None:
    savepoint = load(spark, "states-2.2.1-rocksdb-native")
    all_keys = keys_of(savepoint)
    savepoint.sample(keys=["customer-005", "nobody"]).write(tmp_path / "one")
    one = Savepoint.open(tmp_path / "one", uids=UIDS)
    assert keys_of(one) == {"customer-005"}
    assert (
        one.key("customer-005")
        .table("stateful.timers")
        .equals(savepoint.key("customer-005").table("stateful.timers"))
    )
    savepoint.sample(0.5).write(tmp_path / "half")
    half = keys_of(Savepoint.open(tmp_path / "half", uids=UIDS))
    assert 5 < len(half) < 18
    assert half < all_keys


def test_some_keys_of_each_key_group(spark: SparkSession, tmp_path: Path) -> None:
    rows = spark.range(2000).withColumn("total", F.col("id") * 2)
    total = ValueStateDescriptor("total", Types.LONG())
    keyed = OperatorTransformation.bootstrap_with(rows).key_by("id").with_state(total)
    Savepoint.create(spark, max_parallelism=8, parallelism=2).with_operator("sums", keyed).write(
        tmp_path / "all"
    )
    savepoint = Savepoint.load(spark, tmp_path / "all")
    savepoint.sample(per_key_group=5).write(tmp_path / "few")
    table = Savepoint.load(spark, tmp_path / "few").read_keyed_state("sums", with_key_group=True)
    assert [row["count"] for row in table.groupBy("key_group").count().collect()] == [5] * 8


def test_operators_with_different_keys_keep_the_same_keys(
    spark: SparkSession, tmp_path: Path
) -> None:
    total, writer = (
        ValueStateDescriptor("total", Types.LONG()),
        Savepoint.create(spark, max_parallelism=8, parallelism=2),
    )
    for uid, rows in (("all", spark.range(800)), ("some", spark.range(400, 1200))):
        keyed = OperatorTransformation.bootstrap_with(rows.withColumn("total", F.col("id")))
        writer = writer.with_operator(uid, keyed.key_by("id").with_state(total))
    writer.write(tmp_path / "whole")
    Savepoint.load(spark, tmp_path / "whole").sample(per_key_group=5).write(tmp_path / "few")
    few = Savepoint.open(tmp_path / "few")
    kept = {
        uid: set(few.scan(f"{uid}.keyed_state", columns=["key"]).to_arrow()["key"].to_pylist())
        for uid in ("all", "some")
    }
    common = set(range(400, 800))
    assert kept["all"] & common == kept["some"] & common
    assert kept["all"] - kept["some"]
    assert kept["some"] - kept["all"]


def test_wrong_samples_are_refused(spark: SparkSession) -> None:
    savepoint = load(spark, "currency-2.2.1-hashmap-canonical")
    for wrong in ({}, {"fraction": 0.0}, {"fraction": 1.5}, {"per_key_group": 0}):
        with pytest.raises(ValueError, match=r"expected|takes one of"):
            savepoint.sample(**wrong)
    with pytest.raises(KeyTypeError, match="not a key of type int32"):
        savepoint.sample(keys=["no number"])
