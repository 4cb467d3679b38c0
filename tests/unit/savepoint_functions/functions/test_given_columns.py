"""Columns that a function over tables gives: a timestamp is taken for an instant of Java."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pytest
from support.each import each

from savepoint_formats.errors import ColumnTypeError
from savepoint_formats.values import arrow_type
from savepoint_functions.functions.rows_by_key import given_column
from state_processor import Types

NOON = datetime(2024, 3, 1, 12, 0, 0, 123456)
INSTANT = arrow_type(Types.INSTANT().snapshot.layout())
LOCAL = arrow_type(Types.LOCAL_DATE_TIME().snapshot.layout())


@each(
    ("given", "wanted"),
    [
        (pa.array([NOON.replace(tzinfo=UTC), None], pa.timestamp("us", "UTC")), INSTANT),
        (pa.array([NOON, None], pa.timestamp("us")), LOCAL),
    ],
)
def test_a_timestamp_is_an_instant_or_a_local_time(given: pa.Array, wanted: pa.DataType) -> None:
    column = given_column(pa.table({"at": given}), "at", wanted)
    assert column.type == wanted
    seconds = column.field("seconds").cast(pa.int64()).to_pylist()[0]
    assert (seconds, column.field("nanos").to_pylist()[0]) == (1_709_294_400, 123_456_000)
    assert column.is_null().to_pylist() == [False, True]


def test_a_local_time_is_no_instant() -> None:
    table = pa.table({"at": pa.array([NOON], pa.timestamp("us"))})
    with pytest.raises(ColumnTypeError, match="the function gave column 'at' as timestamp"):
        given_column(table, "at", INSTANT)
