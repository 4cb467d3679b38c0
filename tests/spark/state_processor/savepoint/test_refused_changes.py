"""Changes of states that are refused: at once where it can be told, else before anything is written."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import pytest
from pyspark.sql import functions as F
from support.changed_savepoints import load, rows
from support.sample_rows import Sample
from support.stored_snapshots import snapshot_bytes

from savepoint_formats.errors import (
    ClassNotNamedError,
    ColumnNotFoundError,
    ColumnTypeError,
    FieldNotFoundError,
    OperatorNotFoundError,
    SchemaChangeError,
    StateExistsError,
    StateNotFoundError,
)
from savepoint_formats.snapshots.fields import OptionalEntry
from state_processor import (
    OperatorTransformation,
    Savepoint,
    TypeInformation,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from state_processor import SavepointWriter
    from state_processor.savepoint.spark_savepoint import SparkSavepoint

NATIVE = Sample("states-2.2.1-rocksdb-native")

REFUSED: dict[str, tuple[Callable[[SparkSavepoint], SavepointWriter], type[Exception], str]] = {
    "an operator that there is not": (
        lambda one: one.rename_state("sum", "a", "b"),
        OperatorNotFoundError,
        "no operator 'sum'",
    ),
    "a state that there is not": (
        lambda one: one.update_state("stateful", "total", "1"),
        StateNotFoundError,
        "no state 'total'; it has: ",
    ),
    "a name that another state has": (
        lambda one: one.rename_state("stateful", "last_id", "memos"),
        StateExistsError,
        "has a state 'memos' already",
    ),
    "a class that nothing names": (
        lambda one: one.rename_class("shop.Custome", "a.B"),
        ClassNotNamedError,
        r"no serializer or value names class shop\.Custome; serializers name: shop\.Address, shop\.Customer",
    ),
    "a class that another operator names": (
        lambda one: one.rename_class("shop.Customer", "a.B", uid="buffer"),
        ClassNotNamedError,
        "serializers name: none",
    ),
    "a field that there is not": (
        lambda one: one.drop_field("stateful", "customer", "nam"),
        FieldNotFoundError,
        "no field 'nam'; it has: address, .*; in state 'customer', operator stateful",
    ),
    "a field of what has none": (
        lambda one: one.drop_field("stateful", "average", "f0"),
        SchemaChangeError,
        "only POJOs and rows of SQL have",
    ),
    "a type that is narrower": (
        lambda one: one.widen_field("stateful", "customer", "lastAmount", Types.FLOAT()),
        SchemaChangeError,
        "'lastAmount' of state 'customer' is double, and float does not hold all values",
    ),
    "a value of another type": (
        lambda one: one.add_field("stateful", "customer", "x", Types.LONG(), "1"),
        ColumnTypeError,
        "value of field 'x' is string, but its type takes bigint",
    ),
    "values of another type": (
        lambda one: one.update_state("stateful", "last_id", F.col("key")),
        ColumnTypeError,
        "'last_id' is string, but state 'last_id' takes bigint",
    ),
    "timers as values": (
        lambda one: one.update_state("stateful", "_timer_state/event_user-timers", "1"),
        SchemaChangeError,
        "holds timers, which have no values",
    ),
    "a condition on columns that there are not": (
        lambda one: one.delete_keys("stateful", "total = 0"),
        ColumnNotFoundError,
        "has the columns of the condition",
    ),
    "words of SQL for the field of a POJO": (
        lambda one: one.add_field("stateful", "customer", "x", "BIGINT"),
        ValueError,
        "'BIGINT' is no type: 'BIGINT', expected one of .*LONG",
    ),
    "a class of Python for the field of a POJO": (
        lambda one: one.add_field("stateful", "customer", "x", cast("Any", int)),
        TypeError,
        "needs a type such as Types",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused_at_once(spark: SparkSession, what: str) -> None:
    call, error, message = REFUSED[what]
    with pytest.raises(error, match=message):
        call(load(spark, NATIVE))


def test_changes_need_a_session() -> None:
    with pytest.raises(ValueError, match=r"Savepoint\.load"):
        NATIVE.open().writer().update_state("stateful", "last_id", "1")


def test_a_value_that_spark_would_alter_is_not_written(spark: SparkSession, tmp_path: Path) -> None:
    row = Types.ROW_DATA([("at", "TIMESTAMP(9)")])
    data = spark.sql("SELECT 1 key, named_struct('at', timestamp_ntz'2024-01-01 00:00:00') row")
    keyed = OperatorTransformation.bootstrap_with(data).key_by("key", key_type=Types.INT())
    first = Savepoint.create(spark).with_operator(
        "times", keyed.with_state(ValueStateDescriptor("row", row))
    )
    first.write(str(tmp_path / "first"))
    # The variable part of a timestamp: milliseconds; its slot has the nanoseconds of these.
    millis = (1_704_067_200_000).to_bytes(8, "little")
    (file,) = (path for path in (tmp_path / "first").iterdir() if millis in path.read_bytes())
    stored = file.read_bytes()
    slot = stored.rindex(millis) - 8
    file.write_bytes(stored[:slot] + b"\x01" + stored[slot + 1 :])
    savepoint = Savepoint.load(spark, str(tmp_path / "first"), uids=["times"])
    changed = savepoint.add_field("times", "row", "f1", "INT")
    opened = Savepoint.open(savepoint.path, uids=["times"])
    unaided = opened.add_field("times", "row", "f1", "INT")
    for act in (
        partial(changed.plan, check=True),
        partial(unaided.plan, check=True),
        changed.write,
    ):
        with pytest.raises(SchemaChangeError, match="microseconds that Spark has"):
            act(str(tmp_path / "second"))


class TestAClassInTheBytesOfValues:
    """A POJO with values of a subclass that is not registered: they begin with its name."""

    @pytest.fixture
    def savepoint(self, spark: SparkSession, tmp_path: Path) -> SparkSavepoint:
        gift = Types.POJO("a.Gift", {"memo": Types.STRING()}).snapshot
        order = Types.POJO("a.Order", {"memo": Types.STRING()}).snapshot
        entry = OptionalEntry("a.Gift", None, snapshot_bytes(gift))
        open_order = replace(order, values=(*order.values[:3], (entry,)))
        data = spark.sql("SELECT 1 key, named_struct('$class', 'a.Gift', 'memo', 'tea') last")
        keyed = OperatorTransformation.bootstrap_with(data).key_by("key", key_type=Types.INT())
        last = ValueStateDescriptor("last", TypeInformation.of(open_order))
        writer = Savepoint.create(spark).with_operator("shop", keyed.with_state(last))
        writer.write(str(tmp_path / "first"))
        return Savepoint.load(spark, str(tmp_path / "first"), uids=["shop"])

    def test_is_renamed_in_them(
        self, savepoint: SparkSavepoint, spark: SparkSession, tmp_path: Path
    ) -> None:
        writer = savepoint.rename_class("a.Gift", "b.longer.Gift")
        writer.plan(str(tmp_path / "second"), check=True)
        writer.write(str(tmp_path / "second"))
        after = Savepoint.load(spark, str(tmp_path / "second"), uids=["shop"])
        values = after.read_keyed_state("shop").select("last.`$class`", "last.memo")
        assert values.collect() == [("b.longer.Gift", "tea")]

    def test_is_renamed_in_values_that_are_given_anew(
        self, savepoint: SparkSavepoint, spark: SparkSession, tmp_path: Path
    ) -> None:
        updated = savepoint.update_state("shop", "last", "last", where="key = 2")
        renamed = updated.rename_class("a.Gift", "b.longer.Gift")
        renamed.plan(str(tmp_path / "second"), check=True)
        renamed.write(str(tmp_path / "second"))
        after = Savepoint.load(spark, str(tmp_path / "second"), uids=["shop"])
        values = after.read_keyed_state("shop").select("last.`$class`", "last.memo")
        assert values.collect() == [("b.longer.Gift", "tea")]

    def test_does_not_keep_others_from_it(
        self, savepoint: SparkSavepoint, spark: SparkSession, tmp_path: Path
    ) -> None:
        savepoint.rename_class("a.Order", "b.Order").write(str(tmp_path / "second"))
        after = Savepoint.load(spark, str(tmp_path / "second"), uids=["shop"])
        found = savepoint.read_keyed_state("shop")
        assert rows(after.read_keyed_state("shop")) == rows(found)
