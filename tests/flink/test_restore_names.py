"""State of a POJO from rows given by name, restored by Flink: each field has its own value."""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F
from support.flink_restore import BACKENDS, RELEASES, FlinkRestore, KeyedState, Operator
from support.sample_rows import in_order

from state_processor import (
    KeyedProcessFunction,
    KeyedStateBootstrapFunction,
    ListStateDescriptor,
    MapStateDescriptor,
    OperatorTransformation,
    Savepoint,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

KEYS = 5
FORMS = ("row", "namedtuple", "dict", "struct")
FIELDS = {"zeta": Types.INT(), "alpha": Types.INT(), "mid": Types.INT()}
POINT = Types.POJO("named.Point", FIELDS)
NAMED = Operator(
    "named",
    key="LONG",
    states=tuple(
        state
        for form in FORMS
        for state in (
            KeyedState.value(f"value_{form}", "POJO<named.Point>"),
            KeyedState.list(f"list_{form}", "POJO<named.Point>"),
            KeyedState.map(f"map_{form}", "STRING", "POJO<named.Point>"),
        )
    ),
)
YIELDED = Operator("yielded", key="LONG", states=(KeyedState.value("point", "POJO<named.Point>"),))


def point(key: int) -> dict[str, int]:
    return {"zeta": key, "alpha": 10 * key + 2, "mid": 10 * key + 3}


def functions() -> tuple[KeyedStateBootstrapFunction, KeyedProcessFunction]:
    """Functions sent to workers as a whole because they can't import this module."""
    from pyspark.sql import Row  # noqa: PLC0415  # of the worker

    named: Any = namedtuple
    names = ("zeta", "alpha", "mid")
    point_type, forms_of_point = POINT, FORMS

    class Points(KeyedStateBootstrapFunction):
        """Gives the point of a row to all kinds of state, in all forms."""

        def open(self, runtime_context: Any) -> None:
            self.states = [
                (
                    runtime_context.get_state(ValueStateDescriptor(f"value_{form}", point_type)),
                    runtime_context.get_list_state(ListStateDescriptor(f"list_{form}", point_type)),
                    runtime_context.get_map_state(
                        MapStateDescriptor(f"map_{form}", Types.STRING(), point_type)
                    ),
                )
                for form in forms_of_point
            ]

        def process_element(self, value: Any, context: Any) -> None:
            fields = {name: getattr(value.point, name) for name in names}
            forms = (Row(**fields), named("Given", names)(**fields), fields, value.point)
            for (single, many, by_name), given in zip(self.states, forms, strict=True):
                single.update(given)
                many.add(given)
                many.add(given)
                by_name.put("point", given)

    class Yields(KeyedProcessFunction):
        """Yields each row with its columns in another order."""

        def process_element(self, value: Any, context: Any) -> Iterator[Any]:
            fields = {name: getattr(value.point, name) for name in names}
            yield named("Whole", ("point", "key"))(Row(**fields), value.key)

    return Points(), Yields()


def named_row(key: int) -> dict[str, Any]:
    """What Flink shows of a key."""
    row: dict[str, Any] = {"key": key}
    for form in FORMS:
        row |= {
            f"value_{form}": point(key),
            f"list_{form}": [point(key)] * 2,
            f"map_{form}": {"point": point(key)},
        }
    return row


@pytest.fixture(scope="module")
def written(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("names") / "savepoint")
    columns = (
        F.expr(f"cast({text} AS INT)").alias(name)
        for name, text in (
            ("zeta", "id"),
            ("alpha", "10 * id + 2"),
            ("mid", "10 * id + 3"),
        )
    )
    rows = spark.range(KEYS).select(F.col("id").alias("key"), F.struct(*columns).alias("point"))
    points, yields = functions()
    keyed = OperatorTransformation.bootstrap_with(rows).key_by("key")
    fields = ", ".join(f"{name}: INT" for name in ("mid", "zeta", "alpha"))
    output = keyed.run(yields, f"key BIGINT, point STRUCT<{fields}>").output
    again = OperatorTransformation.bootstrap_with(output).key_by("key")
    writer = Savepoint.create(spark, parallelism=2)
    writer = writer.with_operator("named", keyed.transform(points))
    yielded = again.with_state(ValueStateDescriptor("point", POINT))
    writer.with_operator("yielded", yielded).write(path)
    return path


@pytest.mark.parametrize("flink", RELEASES)
@pytest.mark.parametrize("backend", BACKENDS)
def test_each_field_of_a_point_has_its_value(
    flink_restore: FlinkRestore, written: str, flink: str, backend: str
) -> None:
    restored = flink_restore(written, NAMED, YIELDED, flink=flink, backend=backend)
    assert restored.keyed_state("named") == in_order(named_row(key) for key in range(KEYS))
    assert restored.keyed_state("yielded") == in_order(
        {"key": key, "point": point(key)} for key in range(KEYS)
    )
