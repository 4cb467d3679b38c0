"""Calls that can't be meant are refused where they are made, and told how they are written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from support.sample_rows import Sample

from savepoint_formats.errors import OperatorNotFoundError
from savepoint_formats.savepoint_warnings import UnknownUidWarning
from savepoint_functions.aggregating.aggregates import Aggregating, Reducing
from state_processor import (
    AggregatingStateDescriptor,
    OperatorTransformation,
    ReducingStateDescriptor,
    Savepoint,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from savepoint_functions.transformations.keyed_transformation import KeyedStateTransformation

CURRENCY = Sample("currency-1.20.5-hashmap-canonical")
LESS_MEMORY = {"execution.sorted-inputs.memory": "1mb"}
ROCKSDB = {"state.backend.type": "rocksdb"}


@pytest.fixture
def keyed(spark: SparkSession) -> KeyedStateTransformation:
    return OperatorTransformation.bootstrap_with(spark.range(3)).key_by("id")


class TestConnect:
    def test_inputs_may_have_their_options_before(self, keyed: KeyedStateTransformation) -> None:
        for connected in (
            keyed.with_options(ROCKSDB).connect(keyed),
            keyed.connect(keyed.with_options(ROCKSDB)),
            keyed.with_options(ROCKSDB).connect(keyed.with_options(ROCKSDB)),
            keyed.connect(keyed).with_options(ROCKSDB),
        ):
            assert len(connected.inputs) == 2
            assert connected.options.state_backend == "rocksdb"

    def test_options_that_differ_are_refused(self, keyed: KeyedStateTransformation) -> None:
        with pytest.raises(ValueError, match="two connected inputs have different options"):
            keyed.with_options(LESS_MEMORY).connect(keyed.with_options(ROCKSDB))

    def test_a_third_input_is_refused(self, keyed: KeyedStateTransformation) -> None:
        both = keyed.connect(keyed)
        for connect, third in ((both.connect, keyed), (keyed.connect, both), (both.connect, both)):
            with pytest.raises(ValueError, match="two inputs at most: make a union"):
                connect(third)

    def test_what_is_no_keyed_rows_is_refused(
        self, spark: SparkSession, keyed: KeyedStateTransformation
    ) -> None:
        frame: Any = spark.range(3)
        others: tuple[Any, ...] = (frame, None, "id")
        for other in others:
            with pytest.raises(TypeError, match=f"a {type(other).__name__} can't be connected"):
                keyed.connect(other)


class TestTypes:
    @pytest.mark.parametrize(
        ("wrong", "message"),
        [
            (Types.LONG, r"Types.LONG is no type, expected a call such as Types.LONG\(\)"),
            (Types.LIST, r"Types.LIST is no type, expected a call such as Types.LIST\(…\)"),
            ("DOUBLE", r"a str is no type, expected a call such as Types.DOUBLE\(\)"),
            ("number", r"a str is no type, expected a call such as Types.LONG\(\)"),
            (int, r"a type is no type, expected a call such as Types.LONG\(\)"),
        ],
    )
    def test_that_are_none_are_told_with_what_they_are_of(self, wrong: Any, message: str) -> None:
        with pytest.raises(TypeError, match=f"value_type of state 'total': {message}"):
            ValueStateDescriptor("total", wrong)
        mean = AggregatingStateDescriptor("mean", Types.LONG())
        with pytest.raises(TypeError, match=f"result_type of state 'mean': {message}"):
            Aggregating("n", mean, wrong)

    def test_of_keys(self, spark: SparkSession) -> None:
        rows = OperatorTransformation.bootstrap_with(spark.range(3))
        wrong: Any = Types.INT
        for key_by in (rows.key_by, rows.local_key_by):
            with pytest.raises(TypeError, match=r"key_type: Types.INT is no type.*Types.INT\(\)"):
                key_by("id", key_type=wrong)

    def test_a_descriptor_of_another_kind_is_refused(self) -> None:
        wrong: Any = ValueStateDescriptor("n", Types.LONG())
        with pytest.raises(TypeError, match="a ValueStateDescriptor is no AggregatingState"):
            Aggregating("n", wrong)
        text: Any = "DOUBLE"
        with pytest.raises(TypeError, match="a str is no ReducingStateDescriptor"):
            Reducing("n", text)
        assert Reducing("n", ReducingStateDescriptor("n")).column == "n"

    @pytest.mark.parametrize(("name", "error"), [("", ValueError), (None, TypeError)])
    def test_a_state_has_a_name(self, name: Any, error: type[Exception]) -> None:
        with pytest.raises(error, match="the name of a state is "):
            ValueStateDescriptor(name)


class TestUids:
    @pytest.mark.parametrize(
        ("uid", "error", "message"),
        [
            (None, TypeError, "a uid is None, expected a text such as 'summarize'"),
            (7, TypeError, "a uid is 7, expected a text"),
            ("", ValueError, "a uid is empty, expected a text"),
        ],
    )
    def test_that_are_none_are_refused(
        self, uid: Any, error: type[Exception], message: str
    ) -> None:
        savepoint = CURRENCY.open()
        writer = savepoint.writer()
        for call in (
            savepoint.operator,
            writer.operator,
            writer.remove_operator,
            lambda uid: writer.rename_operator("summarize", uid),
            writer.with_operator,
            lambda uid: Savepoint.open(CURRENCY.path, uids=["summarize", uid]),
        ):
            with pytest.raises(error, match=message):
                call(uid)

    def test_a_table_of_no_operator_is_not_there(self) -> None:
        for name in (".keyed_state", "keyed_state", "."):
            with pytest.raises(OperatorNotFoundError, match="it has: "):
                CURRENCY.open().table(name)

    def test_a_text_is_no_list_of_uids(self) -> None:
        with pytest.raises(TypeError, match=r"uids is 'summarize', expected a list: uids=\['summ"):
            Savepoint.open(CURRENCY.path, uids="summarize")

    def test_those_of_other_operators_are_warned_of(self) -> None:
        uids = ["summarize", "gone", "not yet"]
        with pytest.warns(UnknownUidWarning, match="has no operator 'gone', 'not yet'; it has: "):
            savepoint = Savepoint.open(CURRENCY.path, uids=uids)
        assert savepoint.operator("summarize").uid == "summarize"

    def test_tables_are_read_beside_those_that_are_not_there(self, spark: SparkSession) -> None:
        with pytest.warns(UnknownUidWarning, match="has no operator 'gone'"):
            savepoint = Savepoint.load(spark, CURRENCY.path, uids=["summarize", "gone"])
        assert savepoint.uids == ("summarize",)
        assert savepoint.read_keyed_state("summarize").columns == ["key", "total", "count"]


class TestFrames:
    def test_those_of_pandas_are_refused(self, spark: SparkSession) -> None:
        frame: Any = pa.table({"key": [1], "total": [2.0]}).to_pandas()
        message = r"a pandas.DataFrame is no DataFrame of Spark: make one by spark.createDataFrame"
        with pytest.raises(TypeError, match=message):
            OperatorTransformation.bootstrap_with(frame)
        savepoint = Savepoint.load(spark, CURRENCY.path)
        with pytest.raises(TypeError, match=message):
            savepoint.with_state("summarize", "total", frame)

    def test_what_makes_no_state_is_refused(self, spark: SparkSession) -> None:
        frame: Any = spark.range(3)
        others: tuple[Any, ...] = (frame, None, OperatorTransformation.bootstrap_with(frame))
        for wrong in others:
            with pytest.raises(TypeError, match=f"a {type(wrong).__name__} makes no state: begin"):
                CURRENCY.open().with_operator("summarize", wrong)
