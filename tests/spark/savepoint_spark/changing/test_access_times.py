"""Values, elements and entries keep their own times of last access; new ones get the user's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import Row
from support.bootstrapped import written

from savepoint_formats.errors import ColumnTypeError
from state_processor import (
    ListStateDescriptor,
    MapStateDescriptor,
    OperatorTransformation,
    Savepoint,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from state_processor.savepoint.spark_savepoint import SparkSavepoint

UID = "operator"
LISTS = ("longer", "shorter", "turned", "upper", "given", "kept")
TEXT = Types.STRING()

ELEMENTS = "array(named_struct('t', 1L, 'v', 'a'), named_struct('t', 2L, 'v', 'b'), named_struct('t', 3L, 'v', 'b'))"
TIMED = (
    f"transform({ELEMENTS}, e -> named_struct('timestamp', timestamp_millis(e.t), 'value', e.v))"
)
ENTRIES = (
    "map('x', named_struct('timestamp', timestamp_millis(4L), 'value', 'u'),"
    " 'none', named_struct('timestamp', timestamp_millis(5L), 'value', CAST(NULL AS STRING)))"
)


@pytest.fixture(scope="module")
def before(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSavepoint:
    """Keys 1 and 2, with the same lists and maps, whose elements have times of their own."""
    data = spark.sql(
        f"SELECT key, named_struct('timestamp', timestamp_millis(6L), 'value', 'w') value,"
        f" {ENTRIES} entries, {', '.join(f'{TIMED} {name}' for name in LISTS)}"
        " FROM VALUES (1), (2) AS keys(key)"
    )
    keyed = OperatorTransformation.bootstrap_with(data).key_by("key", key_type=Types.INT())
    keyed = keyed.with_state(ValueStateDescriptor("value", TEXT).with_ttl())
    keyed = keyed.with_state(MapStateDescriptor("entries", TEXT, TEXT).with_ttl())
    for name in LISTS:
        keyed = keyed.with_state(ListStateDescriptor(name, TEXT).with_ttl())
    return written(spark, keyed, tmp_path_factory.mktemp("before"))


def times(savepoint: SparkSavepoint) -> dict[int, dict[str, Any]]:
    """Key -> state -> its values with times in ms."""
    rows = savepoint.read_keyed_state(UID, with_times=True).collect()
    return {row["key"]: {name: _plain(row[name]) for name in row.asDict()} for row in rows}


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, Row):
        return round(value.timestamp.timestamp() * 1000), value.value
    return value


def test_what_was_there_keeps_its_times(
    spark: SparkSession, before: SparkSavepoint, tmp_path: Path
) -> None:
    assert times(before)[1]["entries"] == {"x": (4, "u"), "none": (5, None)}
    expressions = {
        "longer": "concat(longer, array('z'))",
        "shorter": "filter(shorter, e -> e <> 'a')",
        "turned": "reverse(turned)",
        "upper": "transform(upper, e -> concat(upper(e), 'a'))",
        "entries": "map_concat(transform_values(entries, (k, v) -> upper(v)), map('y', 'n'))",
        "value": "upper(value)",
    }
    writer = before.writer()
    for name, expression in expressions.items():
        writer = writer.update_state(
            UID, name, expression, where="key = 1", last_access="CAST(70 AS BIGINT)"
        )
    each = "array(CAST(NULL AS TIMESTAMP), timestamp_millis(80), timestamp_millis(90))"
    writer = writer.update_state(UID, "given", "given", where="key = 1", last_access=each)
    writer.write(str(tmp_path / "after"))
    found = times(Savepoint.load(spark, str(tmp_path / "after"), uids=[UID]))
    assert found[2] == times(before)[2]
    assert found[1] == {
        "key": 1,
        "longer": [(1, "a"), (2, "b"), (3, "b"), (70, "z")],
        "shorter": [(2, "b"), (3, "b")],
        "turned": [(2, "b"), (3, "b"), (1, "a")],
        "upper": [(1, "Aa"), (2, "Ba"), (3, "Ba")],
        "given": [(1, "a"), (80, "b"), (90, "b")],
        "kept": times(before)[1]["kept"],
        "entries": {"x": (4, "U"), "none": (5, None), "y": (70, "n")},
        "value": (6, "W"),
    }


def test_new_values_get_the_time_of_writing_by_default(
    spark: SparkSession, before: SparkSavepoint, tmp_path: Path
) -> None:
    writer = before.update_state(UID, "kept", "concat(array('z'), kept)", where="key = 2")
    writer = writer.update_state(UID, "entries", "map('none', entries['none'], 'new', 'n')")
    writer.write(str(tmp_path / "after"))
    found = times(Savepoint.load(spark, str(tmp_path / "after"), uids=[UID]))
    new, *others = found[2]["kept"]
    assert others == [(1, "a"), (2, "b"), (3, "b")]
    assert new[0] > 1_700_000_000_000
    assert found[1]["entries"]["none"] == (5, None)
    assert found[1]["entries"]["new"][0] > 1_700_000_000_000


def test_times_that_do_not_fit_are_refused(before: SparkSavepoint) -> None:
    for state, last_access in (
        ("value", "'today'"),
        ("value", "array(1L)"),
        ("kept", "map('a', 1L)"),
        ("entries", "array(1L)"),
    ):
        with pytest.raises(ColumnTypeError, match="last_access is"):
            before.update_state(UID, state, state, last_access=last_access)
