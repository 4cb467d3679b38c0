"""Arrow's values on their way to Spark, and to people."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.sql import types
from pyspark.sql.types import StructField, StructType
from support.sample_rows import Sample, samples
from support.slow_cases import few_by_day

from savepoint_database.types.spark_values import PRINTABLE, SPARK, from_spark
from savepoint_formats.errors import (
    ColumnTypeError,
    InexactTimeError,
    UnencodableError,
    ValueOutOfRangeError,
)
from savepoint_formats.values.kinds.precise_times import precise_type
from savepoint_spark.columns import arrow_schema, spark_schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NANOS, MICROS = pa.timestamp("ns"), pa.timestamp("us")


def batch(values: list[Any], data_type: pa.DataType) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(values, data_type)], names=["column"])


def _schema(columns: str) -> StructType:
    found = StructType.fromDDL(columns)
    assert isinstance(found, StructType)
    return found


def for_spark(values: list[Any], data_type: pa.DataType) -> list[Any]:
    found = SPARK["truncate"].batch(batch(values, data_type)).column("column")
    assert found.type == SPARK["refuse"].type(data_type)
    return list(found.to_pylist())


def printed(values: list[Any], data_type: pa.DataType) -> list[Any]:
    return list(PRINTABLE.batch(batch(values, data_type)).column("column").to_pylist())


@pytest.mark.parametrize("sample", few_by_day(samples()), ids=str)
def test_the_schema_is_the_one_that_the_savepoint_tells(
    spark: SparkSession, sample: Sample
) -> None:
    savepoint = sample.open()
    for table in savepoint.tables():
        told = savepoint.schema(table.table)
        columns = ", ".join(f"`{column.column}` {column.type}" for column in told)
        found = spark_schema(savepoint.scan(table.table).schema)
        assert [(field.name, field.dataType) for field in found] == [
            (field.name, field.dataType) for field in _schema(columns)
        ]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (NANOS, MICROS),
        (precise_type(), MICROS),
        (precise_type("UTC"), pa.timestamp("us", "UTC")),
        (pa.timestamp("ms", "UTC"), pa.timestamp("us", "UTC")),
        (pa.duration("ms"), pa.duration("us")),
        (pa.time64("ns"), pa.utf8()),
        (pa.time32("ms"), pa.utf8()),
        (pa.int16(), pa.int16()),
        (pa.list_(NANOS), pa.list_(MICROS)),
        (pa.map_(NANOS, pa.time64("ns")), pa.map_(MICROS, pa.utf8())),
        (pa.struct({"at": NANOS, "of": pa.int8()}), pa.struct({"at": MICROS, "of": pa.int8()})),
        (pa.list_(pa.struct({"at": NANOS})), pa.list_(pa.struct({"at": MICROS}))),
    ],
    ids=str,
)
def test_types_that_spark_has_not_become_those_it_has(
    found: pa.DataType, expected: pa.DataType
) -> None:
    assert SPARK["refuse"].type(found) == expected


class TestTimesForSpark:
    def test_nanoseconds_are_cut_off(self) -> None:
        assert for_spark([1_999, 2_000, None], NANOS) == [
            datetime(1970, 1, 1, 0, 0, 0, 1),
            datetime(1970, 1, 1, 0, 0, 0, 2),
            None,
        ]

    def test_nanoseconds_before_1970_are_cut_off_too(self) -> None:
        assert for_spark([-1, -1_000, -1_001], NANOS) == [
            datetime(1969, 12, 31, 23, 59, 59, 999_999),
            datetime(1969, 12, 31, 23, 59, 59, 999_999),
            datetime(1969, 12, 31, 23, 59, 59, 999_998),
        ]

    @pytest.mark.parametrize("value", [1_999, -1])
    def test_nobody_loses_nanoseconds_without_a_word(self, value: int) -> None:
        for rows in (batch([value], NANOS), batch([[value]], pa.list_(NANOS))):
            with pytest.raises(InexactTimeError, match="nanoseconds='struct'"):
                SPARK["refuse"].batch(rows)

    def test_a_duration_of_nanoseconds_is_a_text_of_java(self) -> None:
        rows = batch([-1, 61 * 10**9 + 5, None], pa.duration("ns"))
        found = SPARK["text"].batch(rows).column("column").to_pylist()
        assert found == ["PT-0.000000001S", "PT61.000000005S", None]

    def test_milliseconds_are_as_many_microseconds(self) -> None:
        assert for_spark([-1], pa.timestamp("ms")) == [datetime(1969, 12, 31, 23, 59, 59, 999_000)]

    def test_a_time_that_spark_cannot_hold_is_the_last_or_first_one_it_can(self) -> None:
        far = batch([(1 << 63) - 1, -(1 << 63), 0, None], pa.timestamp("ms"))
        with pytest.raises(InexactTimeError, match="beyond"):
            SPARK["refuse"].batch(far)
        found = SPARK["truncate"].batch(far).column("column").cast(pa.int64()).to_pylist()
        assert found == [(1 << 63) - 1, -(1 << 63), 0, None]

    def test_a_time_of_day_is_a_text(self) -> None:
        assert for_spark([3_723_000_000_004, 0], pa.time64("ns")) == [
            "01:02:03.000000004",
            "00:00:00.000000000",
        ]

    def test_a_duration_keeps_its_sign(self) -> None:
        assert for_spark([-5], pa.duration("ms")) == [timedelta(milliseconds=-5)]

    @pytest.mark.parametrize(
        ("data_type", "values", "expected"),
        [
            (pa.list_(NANOS), [[-1], None, []], [[datetime(1969, 12, 31, 23, 59, 59, 999_999)]]),
            (
                pa.map_(pa.utf8(), NANOS),
                [[("a", 1_000)], None, []],
                [[("a", datetime(1970, 1, 1, 0, 0, 0, 1))]],
            ),
            (
                pa.struct({"at": NANOS}),
                [{"at": 0}, None, {"at": None}],
                [{"at": datetime(1970, 1, 1)}],
            ),
        ],
        ids=str,
    )
    def test_they_may_lie_within_others(
        self, data_type: pa.DataType, values: list[Any], expected: list[Any]
    ) -> None:
        assert for_spark(values, data_type) == [*expected, *values[1:]]

    def test_a_slice_stays_one(self) -> None:
        rows = batch([[1_000], None, [2_000, 3_000]], pa.list_(NANOS)).slice(1, 2)
        found = SPARK["refuse"].batch(rows).column("column").to_pylist()
        moments = [datetime(1970, 1, 1, 0, 0, 0, micros) for micros in (2, 3)]
        assert found == [None, moments]

    def test_what_spark_takes_as_it_is_costs_nothing(self) -> None:
        rows = batch([1], pa.int64())
        assert SPARK["refuse"].batch(rows) is rows


class TestTimesForPeople:
    def test_have_all_their_digits(self) -> None:
        assert printed([1, None], NANOS) == ["1970-01-01 00:00:00.000000001", None]
        assert printed([1], pa.timestamp("ms", "UTC")) == ["1970-01-01 00:00:00.001Z"]

    def test_of_the_calendar(self) -> None:
        assert printed([date(2024, 2, 29)], pa.date32()) == ["2024-02-29"]
        assert printed([3_723_004], pa.time32("ms")) == ["01:02:03.004"]

    def test_within_others(self) -> None:
        assert printed([[("a", 0)]], pa.map_(pa.utf8(), pa.date32())) == [[("a", "1970-01-01")]]

    def test_all_else_stays(self) -> None:
        assert printed([b"\0"], pa.binary()) == [b"\0"]


WHOLE = StructType(
    [
        StructField("kept", types.LongType(), nullable=False),
        *(
            StructField(str(number), kind)
            for number, kind in enumerate(
                [
                    types.BinaryType(),
                    types.BooleanType(),
                    types.ByteType(),
                    types.DateType(),
                    types.DayTimeIntervalType(),
                    types.DecimalType(12, 3),
                    types.DoubleType(),
                    types.FloatType(),
                    types.IntegerType(),
                    types.NullType(),
                    types.ShortType(),
                    types.StringType(),
                    types.TimestampNTZType(),
                    types.TimestampType(),
                    types.ArrayType(types.LongType(), containsNull=False),
                    types.MapType(types.StringType(), types.ArrayType(types.TimestampType())),
                    StructType([StructField("a", types.LongType(), nullable=False)]),
                ]
            )
        ),
    ]
)


def test_batches_have_the_schema_that_spark_gives_them(spark: SparkSession) -> None:
    assert arrow_schema(WHOLE) == spark.createDataFrame([], WHOLE).toArrow().schema


def test_times_without_a_zone_are_none_in_spark_either() -> None:
    found = spark_schema(pa.schema({"a": NANOS, "b": pa.list_(pa.timestamp("ms", "UTC"))}))
    assert found.simpleString() == "struct<a:timestamp_ntz,b:array<timestamp>>"


def test_a_type_that_no_batch_has_is_named() -> None:
    schema = StructType([StructField("span", types.CalendarIntervalType())])
    with pytest.raises(ColumnTypeError, match=r"'span': a column of type interval"):
        arrow_schema(schema)


class TestTimesOfDay:
    def test_they_are_read_from_texts(self) -> None:
        texts = pa.array(["01:02:03.000000004", "10:15", None])
        found = from_spark(texts, pa.time64("ns"))
        assert found.cast(pa.int64()).to_pylist() == [3_723_000_000_004, 36_900 * 10**9, None]
        millis = from_spark(pa.array(["01:02:03.004"]), pa.time32("ms"))
        assert millis.cast(pa.int32()).to_pylist() == [3_723_004]

    @pytest.mark.parametrize("text", ["01:02:03.0004", "25:00:00", "noon", "1:2"])
    def test_a_text_that_is_none_is_refused(self, text: str) -> None:
        with pytest.raises(ValueOutOfRangeError):
            from_spark(pa.array([text]), pa.time32("ms"))


class TestTextsThatAreNoUtf8:
    @pytest.mark.parametrize("data", [b"\xff", b"a\xed\xa0\x80"], ids=["invalid", "half a pair"])
    def test_they_are_refused_with_their_row(self, data: bytes) -> None:
        column = invalid_texts([b"fine", "süß".encode(), data, b"fine"])
        with pytest.raises(UnencodableError, match=r"row 2.*UTF8") as raised:
            from_spark(column, pa.utf8())
        assert raised.value.row == 2

    def test_so_are_those_inside_others(self) -> None:
        texts = invalid_texts([b"a", b"\xff", b"b"])
        lists = pa.ListArray.from_arrays(pa.array([0, 1, 3], pa.int32()), texts)
        with pytest.raises(UnencodableError, match="row 1"):
            from_spark(lists, lists.type)


def invalid_texts(values: list[bytes]) -> pa.Array:
    """Texts as Spark casts them from bytes, without a look at these."""
    found = pa.array(values, pa.binary())
    return pa.Array.from_buffers(pa.utf8(), len(found), found.buffers())
