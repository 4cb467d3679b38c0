"""What is known of tables before Spark reads them: old forms, and the mark of a join."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql.types import BooleanType, StructField
from support.each import each

from savepoint_extensions.spark_streams.checkpoint_files import CommittedBatch
from savepoint_extensions.spark_streams.import_words import ImportWords
from savepoint_extensions.spark_streams.operator_tables import OperatorTables, without_mark
from savepoint_extensions.spark_streams.stored_fields import StoredFields
from savepoint_extensions.spark_streams.stream_operator import StoredOperator
from savepoint_formats.errors import RefusedError

if TYPE_CHECKING:
    from pathlib import Path


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


def stored(name: str) -> StoredOperator:
    return StoredOperator(0, name, ("default",), 1, {})


def test_state_of_the_first_format_is_refused_where_a_later_one_has_other_fields(
    tmp_path: Path,
) -> None:
    def tables(name: str) -> OperatorTables:
        no_session: Any = None
        return OperatorTables(
            no_session, str(tmp_path), CommittedBatch(str(tmp_path), 3), stored(name)
        )

    (tmp_path / "offsets").mkdir()
    (tmp_path / "offsets" / "3").write_text("v1\n{}")
    for name in ("stateStoreSave", "applyInPandasWithState"):
        assert "format 1, of Spark 2" in tables(name).reason()
        with pytest.raises(RefusedError, match=r"operator 0 can't be read: .* new checkpoint"):
            tables(name).table((), ImportWords())
    assert not tables("symmetricHashJoin").reason()
    conf = '{"conf": {"spark.sql.streaming.flatMapGroupsWithState.stateFormatVersion": "2"}}'
    (tmp_path / "offsets" / "3").write_text(f"v1\n{conf}")
    assert not tables("applyInPandasWithState").reason()


@each(
    ("name", "settings", "expected"),
    [
        ("symmetricHashJoin", {"join.stateFormatVersion": "3"}, 3),
        ("symmetricHashJoin", {}, 1),
        ("stateStoreSave", {"join.stateFormatVersion": "3"}, 1),
        ("dedupe", {}, 0),
    ],
)
def test_a_query_that_has_not_fixed_a_format_has_the_first(
    name: str, settings: dict[str, str], expected: int
) -> None:
    assert stored(name).format_version(settings) == expected
