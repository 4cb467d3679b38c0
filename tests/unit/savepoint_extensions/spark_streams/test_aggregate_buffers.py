"""What the buffers of aggregates don't tell: the form of bytes, and the point of decimals."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import BinaryType, DoubleType, LongType, StructField, StructType

from savepoint_extensions.spark_streams.aggregate_buffers import (
    columns_of_aggregates,
    unscaled_sums,
)
from savepoint_extensions.spark_streams.stored_fields import StoredFields
from savepoint_formats.errors import ColumnTypeError


def test_a_set_of_bytes_is_refused_and_a_list_is_not() -> None:
    column: Any = object()  # no session is needed to find the buffers
    buffers = StoredFields((column,), (StructField("buf", BinaryType()),))
    for declared in ("collect_set BINARY", " Collect_Set  binary"):
        with pytest.raises(ColumnTypeError, match="bytes of collect_set in another form"):
            columns_of_aggregates(buffers, {"seen": declared})
    for declared, element in (
        ("collect_list BINARY", pa.binary()),
        ("collect_set STRING", pa.string()),
    ):
        assert columns_of_aggregates(buffers, {"seen": declared}) == (
            {"seen": column},
            {"seen": element},
        )


def test_an_average_needs_the_type_of_its_column_and_a_sum_may() -> None:
    average = StructType().add("sum", DoubleType()).add("count", LongType())
    columns = [StructField("total", LongType()), StructField("mean", average)]
    assert unscaled_sums(columns, {"total": "Sum", "mean": "avg BIGINT"}) == ["total"]
    assert unscaled_sums(columns, {"total": "sum DECIMAL(5, 2)", "mean": "avg DOUBLE"}) == []
    with pytest.raises(
        ColumnTypeError, match=r"mean='avg' lacks the type .* 'avg DECIMAL\(5, 2\)'"
    ):
        unscaled_sums(columns, {"total": "sum", "mean": " avg"})


def test_buffers_without_aggregates_may_be_sums_without_their_point_too() -> None:
    names = {"sum": LongType(), "count": LongType(), "sum_2": LongType(), "sum_3": DoubleType()}
    buffers = [StructField(name, data_type) for name, data_type in names.items()]
    assert unscaled_sums(buffers, {}) == ["sum", "sum_2"]
    with pytest.raises(ColumnTypeError, match=r"^sum_3, count_2 may be an average"):
        unscaled_sums([*buffers, StructField("count_2", LongType())], {})
