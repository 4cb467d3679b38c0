"""Arrays that Spark stores in another form than the one that is read."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import BinaryType, StructField

from savepoint_extensions.spark_streams.aggregate_buffers import columns_of_aggregates
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
