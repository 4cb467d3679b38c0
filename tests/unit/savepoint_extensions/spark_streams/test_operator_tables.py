"""The rows of joins, whose columns may have the name of Spark's mark."""

from __future__ import annotations

from typing import Any

from pyspark.sql.types import BooleanType, StructField
from support.each import each

from savepoint_extensions.spark_streams.operator_tables import without_mark
from savepoint_extensions.spark_streams.stored_fields import StoredFields


@each(
    ("version", "names", "expected"),
    [
        (1, ["matched", "v"], ["matched", "v"]),
        (1, ["v", "matched"], ["v", "matched"]),
        (2, ["matched", "v", "matched"], ["matched", "v"]),
        (4, ["v", "matched", "matched"], ["v", "matched"]),
        (3, ["v"], ["v"]),
    ],
)
def test_only_the_last_field_is_the_mark_of_spark(
    version: int, names: list[str], expected: list[str]
) -> None:
    columns: tuple[Any, ...] = tuple(range(len(names)))  # no session is needed to find the mark
    fields = tuple(StructField(name, BooleanType()) for name in names)
    row = without_mark(StoredFields(columns, fields), version)
    assert list(row.names) == expected
    assert row.columns == columns[: len(expected)]
