"""Structs go by the names of their fields, in any order, on all ways into a savepoint."""

from __future__ import annotations

from collections import namedtuple
from itertools import permutations
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import Row
from pyspark.sql import functions as F

from savepoint_spark.bootstrapping.windowed_transformation import WINDOW
from state_processor import (
    BroadcastStateBootstrapFunction,
    ColumnTypeError,
    KeyedProcessFunction,
    KeyedStateBootstrapFunction,
    KeyedStateReaderFunction,
    ListStateDescriptor,
    MapStateDescriptor,
    OperatorTransformation,
    ReducingStateDescriptor,
    Savepoint,
    StateBootstrapFunction,
    TumblingWindows,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

NAMES = ("alpha", "mid", "zeta")
ORDERS = list(permutations(NAMES))
SOME = ORDERS[3:5]  # neither of them sorted, nor its mirror
named: Any = namedtuple
POINT = Types.POJO("org.example.Point", dict.fromkeys(NAMES, Types.INT()))
NESTED = Types.POJO("org.example.Nested", {"point": POINT, "id": Types.LONG()})
KEY = Types.ROW_NAMED(NAMES, [Types.INT()] * len(NAMES))
KEYS = 3


def point(key: int) -> dict[str, int]:
    return {"alpha": 10 * key, "mid": 10 * key + 1, "zeta": 10 * key + 2}


def struct(names: tuple[str, ...], key: str = "key") -> Any:
    """A column of the point of each key, with its fields in this order."""
    return F.struct(
        *(F.expr(f"cast(10 * {key} + {NAMES.index(n)} AS INT)").alias(n) for n in names)
    )


def rows(spark: SparkSession, names: tuple[str, ...] = NAMES[::-1]) -> DataFrame:
    """A row for each key: its point, the point's fields, and points in other columns."""
    data = spark.range(KEYS).select(F.col("id").alias("key")).withColumn("point", struct(names))
    nested = F.struct("point", F.col("key").alias("id"))
    return data.select(
        "*", *names_of_point(names), nested.alias("nested"), F.col("key").alias("at")
    )


def names_of_point(names: tuple[str, ...]) -> list[Any]:
    return [F.col("point")[name].alias(name) for name in names]


def forms(value: Any, names: tuple[str, ...]) -> dict[str, Any]:
    values = {name: getattr(value, name) for name in names}
    return {
        "dict": values,
        "row": Row(**values),
        "namedtuple": named("Given", names)(**values),
        "record": value.point,
    }


def ways() -> Iterator[tuple[str, tuple[str, ...], str]]:
    for names in SOME:
        for form in ("dict", "row", "namedtuple", "record"):
            yield f"{form}_{'_'.join(names)}", names, form


class Points(KeyedStateBootstrapFunction):
    """Gives the point of a row to all kinds of state, in all forms and orders."""

    def open(self, runtime_context: Any) -> None:
        self.states = [
            (
                runtime_context.get_state(ValueStateDescriptor(f"v_{way}", POINT)),
                runtime_context.get_list_state(ListStateDescriptor(f"l_{way}", POINT)),
                runtime_context.get_map_state(MapStateDescriptor(f"m_{way}", POINT, POINT)),
                runtime_context.get_reducing_state(
                    ReducingStateDescriptor(f"r_{way}", POINT, lambda _, other: other)
                ),
                names,
                form,
            )
            for way, names, form in ways()
        ]
        nested = ValueStateDescriptor("v_nested", NESTED)
        self.nested = runtime_context.get_state(nested)

    def process_element(self, value: Any, context: Any) -> None:
        self.nested.update(value.nested)
        for single, many, by_point, reduced, names, form in self.states:
            given = forms(value, names)[form]
            single.update(given)
            many.add(given)
            by_point.put(given, given)
            assert by_point.contains(forms(value, NAMES)["dict"])
            reduced.add(given)
            reduced.add(given)


class Lookup(KeyedStateReaderFunction):
    def open(self, runtime_context: Any) -> None:
        name = f"m_{next(ways())[0]}"
        self.map = runtime_context.get_map_state(MapStateDescriptor(name, POINT, POINT))

    def read_key(self, key: int, context: Any) -> Iterator[Any]:
        wanted = point(key)
        for names in ORDERS:
            given = {name: wanted[name] for name in names}
            yield key, self.map.contains(given), self.map.get(Row(**given)).zeta


def test_functions_give_state_in_any_order(spark: SparkSession, tmp_path: Path) -> None:
    keyed = OperatorTransformation.bootstrap_with(rows(spark)).key_by("key")
    path = str(tmp_path / "savepoint")
    Savepoint.create(spark).with_operator("points", keyed.transform(Points())).write(path)
    savepoint = Savepoint.load(spark, path, uids=["points"])
    read = savepoint.read_keyed_state("points").collect()
    assert len(read) == KEYS
    for row in read:
        values, wanted = row.asDict(recursive=True), point(row.key)
        assert values.pop("key") == row.key
        assert values.pop("v_nested") == {"id": row.key, "point": wanted}
        for name, value in values.items():
            if name.startswith("m_"):
                (entry,) = row[name].items()
                assert [part.asDict() for part in entry] == [wanted, wanted], name
            else:
                assert value == ([wanted] if name.startswith("l_") else wanted), name
    found = savepoint.read_keyed_state(
        "points", Lookup(), schema="key BIGINT, has BOOLEAN, zeta INT"
    )
    assert {tuple(row) for row in found.collect()} == {
        (key, True, point(key)["zeta"]) for key in range(KEYS)
    }


class Given(KeyedProcessFunction):
    def process_element(self, value: Any, context: Any) -> Iterator[Any]:
        yield value
        for names in ORDERS:
            given = forms(value, names)
            others = (value.key, value.point, given["row"])
            yield named("Whole", ("point", "key", *NAMES, "more"))(
                given["namedtuple"], value.key, *(getattr(value, name) for name in NAMES), others[2]
            )


def test_rows_of_a_function_go_by_their_names(spark: SparkSession) -> None:
    given = rows(spark).select("mid", "point", "zeta", "key", "alpha")
    keyed = OperatorTransformation.bootstrap_with(given).key_by("key")
    parts = ", ".join(f"{name}: INT" for name in NAMES)
    schema = (
        f"key BIGINT, alpha INT, mid INT, zeta INT, point STRUCT<{parts}>, more STRUCT<{parts}>"
    )
    made = keyed.process(Given(), schema).collect()
    assert len(made) == KEYS * (1 + len(ORDERS))
    for row in made:
        wanted = point(row.key)
        assert {name: row[name] for name in NAMES} == wanted
        assert row.point.asDict() == wanted
        assert row.more is None or row.more.asDict() == wanted


def test_windows_of_whole_rows_go_by_their_names(spark: SparkSession, tmp_path: Path) -> None:
    data = rows(spark).select("zeta", "key", "alpha", "at", "mid")
    whole = Types.POJO(
        "org.example.Whole",
        dict.fromkeys(NAMES, Types.INT()) | dict.fromkeys(("at", "key"), Types.LONG()),
    )
    keyed = OperatorTransformation.bootstrap_with(data).assign_timestamps("at").key_by("key")
    windows = keyed.window(TumblingWindows(1_000)).reduce(lambda _, other: other, whole)
    schema = "key BIGINT, alpha INT, mid INT, zeta INT, at BIGINT"
    run = windows.run(schema, watermark=-1)
    path = str(tmp_path / "savepoint")
    Savepoint.create(spark).with_operator("windows", run.state).write(path)
    state = Savepoint.load(spark, path, uids=["windows"]).read_window_state("windows").collect()
    assert len(state) == KEYS
    for row in state:
        wanted = point(row.key) | {"at": row.key, "key": row.key}
        assert row["window-contents"].asDict() == wanted
    for row in windows.rows(schema).collect():
        assert row.asDict() == point(row.key) | {"at": row.key, "key": row.key}


def test_columns_go_by_their_names(spark: SparkSession, tmp_path: Path) -> None:
    data = spark.range(KEYS).withColumnRenamed("id", "key")
    timed = Types.POJO("org.example.Timed", {"b": POINT, "a": Types.STRING()})
    for number, names in enumerate(SOME):
        value = struct(names)
        data = data.withColumns(
            {
                f"v{number}": value,
                f"l{number}": F.array(value),
                f"m{number}": F.create_map(value, value),
                f"n{number}": F.struct(value.alias("b"), F.lit("x").alias("a")),
            }
        )
    keyed = OperatorTransformation.bootstrap_with(data).key_by("key", key_type=Types.LONG())
    transformation = keyed
    for number in range(len(SOME)):
        transformation = (
            transformation.with_state(ValueStateDescriptor(f"v{number}", POINT))
            .with_state(ListStateDescriptor(f"l{number}", POINT))
            .with_state(MapStateDescriptor(f"m{number}", POINT, POINT))
            .with_state(ValueStateDescriptor(f"n{number}", timed).with_ttl())
        )
    elements = OperatorTransformation.bootstrap_with(data)
    path = str(tmp_path / "savepoint")
    writer = Savepoint.create(spark).with_operator("keyed", transformation)
    for number in range(len(SOME)):
        of_list = elements.list_state(ListStateDescriptor("list", POINT), f"v{number}")
        broadcast = MapStateDescriptor("broadcast", POINT, POINT)
        of_entries = elements.broadcast_state(broadcast, key=f"v{number}", value=f"v{number}")
        writer = writer.with_operator(f"others{number}", of_list, of_entries)
    writer.write(path)
    uids = ["keyed", *(f"others{number}" for number in range(len(SOME)))]
    savepoint = Savepoint.load(spark, path, uids=uids)
    points = sorted(tuple(point(key).values()) for key in range(KEYS))
    for row in savepoint.read_keyed_state("keyed").collect():
        wanted = point(row.key)
        for number in range(len(SOME)):
            assert row[f"v{number}"].asDict() == wanted
            assert [value.asDict() for value in row[f"l{number}"]] == [wanted]
            assert [tuple(part) for part in next(iter(row[f"m{number}"].items()))] == [
                tuple(wanted.values())
            ] * 2
            assert row[f"n{number}"].asDict(recursive=True) == {"a": "x", "b": wanted}
    for number in range(len(SOME)):
        elements_read = savepoint.read_list_state(f"others{number}", "list").collect()
        assert sorted(tuple(row.value) for row in elements_read) == points
        entries = savepoint.read_broadcast_state(f"others{number}", "broadcast").collect()
        assert sorted((tuple(row.key), tuple(row.value)) for row in entries) == [
            (one, one) for one in points
        ]


class Elements(StateBootstrapFunction):
    def open(self, runtime_context: Any) -> None:
        self.list = runtime_context.get_list_state(ListStateDescriptor("list", POINT))

    def process_element(self, value: Any, context: Any) -> None:
        self.list.add(value.point)
        self.list.add(named("Given", NAMES[::-1])(value.zeta, value.mid, value.alpha))


class Entries(BroadcastStateBootstrapFunction):
    descriptors = (MapStateDescriptor("broadcast", POINT, POINT),)

    def process_element(self, value: Any, context: Any) -> None:
        state = context.get_broadcast_state(self.descriptors[0])
        state.put(value.point, Row(mid=value.mid, zeta=value.zeta, alpha=value.alpha))
        assert state.contains(named("Key", NAMES)(value.alpha, value.mid, value.zeta))


def test_operator_state_of_functions_goes_by_names(spark: SparkSession, tmp_path: Path) -> None:
    given = OperatorTransformation.bootstrap_with(rows(spark))
    path = str(tmp_path / "savepoint")
    writer = Savepoint.create(spark).with_operator("list", given.transform(Elements()))
    writer.with_operator("broadcast", given.transform(Entries())).write(path)
    savepoint = Savepoint.load(spark, path, uids=["list", "broadcast"])
    points = [tuple(point(key).values()) for key in range(KEYS)]
    of_list = savepoint.read_list_state("list", "list").collect()
    assert sorted(tuple(row.value) for row in of_list) == sorted(points * 2)
    entries = savepoint.read_broadcast_state("broadcast", "broadcast").collect()
    assert sorted((tuple(row.key), tuple(row.value)) for row in entries) == [(p, p) for p in points]


def test_batches_go_by_names(spark: SparkSession, tmp_path: Path) -> None:
    def given(batch: Any) -> tuple[pa.Table, pa.Table]:
        names = ["key", *(f"point{number}" for number in range(len(ORDERS)))]
        made = batch.rows.select(names)
        return made.select(["key", "point1"]), made

    data = spark.range(KEYS).select(
        F.col("id").alias("key"),
        *(struct(n, "id").alias(f"point{i}") for i, n in enumerate(ORDERS)),
    )
    keyed = OperatorTransformation.bootstrap_with(data).key_by("key")
    descriptors = [ValueStateDescriptor(f"point{number}", POINT) for number in range(len(ORDERS))]
    parts = ", ".join(f"{name}: INT" for name in NAMES[::-1])
    run = keyed.run_batches(given, f"key BIGINT, point1 STRUCT<{parts}>", *descriptors)
    wanted = {key: point(key) for key in range(KEYS)}
    assert {row.key: row.point1.asDict() for row in run.output.collect()} == wanted
    path = str(tmp_path / "savepoint")
    Savepoint.create(spark).with_operator("batches", run.state).write(path)
    for number in range(len(ORDERS)):
        assert points_in(spark, path, "batches", f"point{number}") == wanted


def points_in(spark: SparkSession, path: str, uid: str, state: str = "point") -> dict[Any, Any]:
    read = Savepoint.load(spark, path, uids=[uid]).read_keyed_state(uid).collect()
    return {row.key: row[state].asDict(recursive=True) for row in read}


def test_changes_go_by_names(spark: SparkSession, tmp_path: Path) -> None:
    before = str(tmp_path / "before")
    keyed = OperatorTransformation.bootstrap_with(rows(spark)).key_by("key")
    keyed = keyed.with_state(ValueStateDescriptor("point", POINT))
    keyed = keyed.with_state(ValueStateDescriptor("nested", NESTED))
    Savepoint.create(spark).with_operator("changed", keyed).write(before)
    loaded = Savepoint.load(spark, before, uids=["changed"])
    more = struct(("mid", "zeta", "alpha"), "(key + 1)")
    changed = (
        loaded.update_state("changed", "point", more, where="key > 0")
        .add_field("changed", "nested", "other", POINT, more)
        .update_state("changed", "point", struct(NAMES[::-1], "(key + 2)"), where="key = 2")
    )
    after = str(tmp_path / "after")
    changed.write(after)
    assert points_in(spark, after, "changed") == {0: point(0), 1: point(2), 2: point(4)}
    assert points_in(spark, after, "changed", "nested") == {
        key: {"point": point(key), "id": key, "other": point(key + 1)} for key in range(KEYS)
    }
    whole = loaded.update_state("changed", "point", struct(("zeta", "alpha", "mid"), "(key + 1)"))
    whole.write(str(tmp_path / "whole"))
    assert points_in(spark, str(tmp_path / "whole"), "changed") == {
        key: point(key + 1) for key in range(KEYS)
    }


@pytest.mark.parametrize("names", ORDERS[1::2], ids=" ".join)
def test_the_columns_of_a_key_go_by_names(
    spark: SparkSession, tmp_path: Path, names: tuple[str, ...]
) -> None:
    data = rows(spark, names)
    for columns in (names, ("point",))[: 1 + (names == ORDERS[1])]:
        keyed = OperatorTransformation.bootstrap_with(data).key_by(*columns, key_type=KEY)
        keyed = keyed.with_state(ValueStateDescriptor("point", POINT))
        path = str(tmp_path / "-".join(columns))
        Savepoint.create(spark).with_operator("keys", keyed).write(path)
        found = points_in(spark, path, "keys")
        assert found == {Row(**point(key)): point(key) for key in range(KEYS)}


def test_windows_go_by_the_names_of_their_bounds(spark: SparkSession) -> None:
    window = F.struct(F.lit(1000).alias("end"), F.lit(0).alias("start"))
    keyed = OperatorTransformation.bootstrap_with(rows(spark).withColumn("window", window)).key_by(
        "key"
    )
    windowed = keyed.window("window").reduce(POINT, "point")
    bounds = windowed.keyed.data.select(WINDOW).distinct().collect()
    assert [row[WINDOW].asDict() for row in bounds] == [{"start": 0, "end": 1000}]


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("named_struct('zeta', 1, 'alpha', 2, 'middle', 3)", "no field 'middle'; missing: 'mid'"),
        ("named_struct('zeta', 1, 'alpha', 2)", "missing: 'mid'"),
        ("named_struct('zeta', 1, 'alpha', 2, 'mid', 'x')", "mid is string, expected int"),
        (
            "named_struct('a', 1, 'b', 2, 'c', 3)",
            "no fields 'a', 'b', 'c'; missing: 'alpha', 'mid', 'zeta'",
        ),
        ("1", "it is int, expected struct<alpha:int,mid:int,zeta:int>"),
    ],
)
def test_other_fields_are_an_error_that_advises_no_cast(
    spark: SparkSession, value: str, problem: str
) -> None:
    data = spark.range(1).select("id", F.expr(value).alias("point"))
    keyed = OperatorTransformation.bootstrap_with(data).key_by("id")
    with pytest.raises(ColumnTypeError) as caught:
        keyed.with_state(ValueStateDescriptor("point", POINT))
    assert str(caught.value) == (
        f"column 'point' does not fit state 'point': {problem}. Make it with F.struct, where each"
        " field has its name and type"
    )


def test_columns_of_a_key_with_other_names_are_an_error(spark: SparkSession) -> None:
    given = OperatorTransformation.bootstrap_with(rows(spark))
    with pytest.raises(ColumnTypeError, match=r"no field 'at'; missing: 'mid'\. Rename them"):
        given.key_by("zeta", "alpha", "at", key_type=KEY)
