"""State of Flink's API for Scala, migrated to Java: a real Flink 2 sees all values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.flink_restore import BACKENDS, FlinkRestore, KeyedState, Operator
from support.sample_rows import in_order
from support.scala_rows import expected_states, old_savepoint

from state_processor import kryo_class

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.flink

CASE = "flinkscala-1.20.5-hashmap-canonical"
RELEASES = ("2.2.1", "2.3.0")
TEXT, INT = "java.lang.String", "int"
CLASSES = [
    kryo_class("sc.Address", {"street": TEXT, "zip": INT}),
    kryo_class("sc.Fixed", {"a": INT, "b": "long"}),
    kryo_class("sc.WithColor", {"id": INT, "color": "sc.Color"}),
    kryo_class(
        "sc.Basics",
        {"i": INT, "l": "long", "s": TEXT, "d": "double", "b": "boolean", "f": "float"}
        | {"by": "byte", "sh": "short", "c": "char"},
    ),
]
"""The fields of case classes, in the order of their constructors."""

UNKNOWN = (
    "shape-kryo",
    "big-decimal",
    "big-int",
    "try-ok",
    "none",
    "left-only",
    "uuid-kryo",
    "list-opt",
)
"""States that Java does not have, or of classes that nobody described."""

OTHER_POJOS = ("opts", "arrays", "times", "generic-pair", "colls")
TUPLES = ("tuple2", "tuple3", "list-tuple")
BASICS = "INT, LONG, STRING, DOUBLE, BOOLEAN, FLOAT, BYTE, SHORT, CHAR"


def states(target: str) -> tuple[KeyedState, ...]:
    """The states of ``by-string``, with the types of Java."""
    is_row = target == "row"
    address = "ROW<STRING, INT>" if is_row else "POJO<sc.Address>"
    product = "ROW" if is_row else "TUPLE"
    third = "STRING" if is_row else "NULLABLE<STRING>"
    of_rows = (
        KeyedState.value("generic-pair", f"ROW<STRING, {address}>"),
        KeyedState.value(
            "opts",
            f"ROW<INT, STRING, NULLABLE<INT>, EITHER<STRING, INT>, {address}, {address},"
            f" EITHER<{address}, LIST<INT>>>",
        ),
    )
    return (
        KeyedState.value("basics", f"ROW<{BASICS}>" if is_row else "POJO<sc.Basics>"),
        KeyedState.value("fixed", "ROW<INT, LONG>" if is_row else "POJO<sc.Fixed>"),
        KeyedState.value(
            "with-color", "ROW<INT, ENUM<sc.Color>>" if is_row else "POJO<sc.WithColor>"
        ),
        KeyedState.value("enumeration", "ENUM<sc.Color>"),
        KeyedState.value("tuple2", f"{product}<INT, STRING>"),
        KeyedState.value("tuple3", f"{product}<LONG, {third}, {address}>"),
        KeyedState.value("opt-int", "NULLABLE<INT>"),
        KeyedState.value("unit", "VOID"),
        KeyedState.value("either", f"EITHER<STRING, {address}>"),
        KeyedState.value("list-of-cc", f"LIST<{address}>"),
        KeyedState.value("seq-of-int", "LIST<INT>"),
        KeyedState.value("array-of-int", "PRIMITIVE_ARRAY<INT>"),
        KeyedState.value("array-of-cc", f"OBJECT_ARRAY<{address}>"),
        KeyedState.value("map-value", "MAP<STRING, LIST<INT>>"),
        KeyedState.value("map-cc-keys", f"MAP<{address}, EITHER<INT, STRING>>"),
        KeyedState.list("list-int", "INT"),
        KeyedState.map("map-address", "STRING", address),
        KeyedState.map("map-int-opt", "INT", "INT"),
        *(of_rows if is_row else ()),
    )


def in_java(value: Any, target: str) -> Any:
    """A value of ``expected.json`` as Flink's own words have it."""
    if isinstance(value, list):
        return [in_java(element, target) for element in value]
    if not isinstance(value, dict):
        return None if value == "()" else value
    if "$type" in value:
        fields = {name: in_java(field, target) for name, field in value.items() if name != "$type"}
        return numbered(fields.values()) if target == "row" else fields
    if value.keys() <= {"Some", "None"} and value:
        return in_java(next(iter(value.values())), target)
    return {
        name.lower() if name in ("Left", "Right") else name: in_java(element, target)
        for name, element in value.items()
    }


def numbered(values: Any) -> dict[str, Any]:
    return {f"f{index}": value for index, value in enumerate(values)}


def expected(corpus: Path, target: str, uid: str, state: KeyedState) -> list[list[Any]]:
    """Key and value of each entry."""
    entries = []
    for entry in expected_states(corpus, CASE)[uid][state.name]["entries"]:
        value = in_java(entry["value"], target)
        if state.name == "list-tuple":
            value = [numbered(element) for element in value]
        elif state.name in TUPLES:
            value = numbered(value)
        elif state.kind == "MAP" and state.types[0] == "STRING":
            value = dict(value)
        entries.append([in_java(entry["key"], target), in_some_order(state, value)])
    return entries


def in_some_order(state: KeyedState, value: Any) -> Any:
    return in_order(value) if "MAP" in (state.kind, state.types[0][:3]) and value else value


@pytest.mark.parametrize("target", ["row", "pojo"])
def test_flink_2_sees_what_the_job_in_scala_put_in(
    spark: SparkSession, corpus: Path, flink_restore: FlinkRestore, tmp_path: Path, target: str
) -> None:
    operators = {"by-string": Operator("by-string", key="STRING", states=states(target))}
    vectors = KeyedState.list("list-vector", "LIST<INT>")
    operators["by-int"] = Operator("by-int", key="INT", states=(vectors,))
    if target == "row":
        of_rows = (
            KeyedState.value("basics", f"ROW<{BASICS}>"),
            KeyedState.list("list-tuple", "ROW<INT, STRING>"),
        )
        key = "ROW<STRING, INT>"
        operators["by-case-class"] = Operator("by-case-class", key=key, states=of_rows)
        old = old_savepoint(spark, corpus, UNKNOWN)
    else:
        old = old_savepoint(spark, corpus, (*UNKNOWN, *OTHER_POJOS), CLASSES)
        old = old.remove_state("by-int", "colls").remove_operator("by-case-class")
    old.migrate("2.2", scala=target).write(str(tmp_path / "migrated"))  # type: ignore[arg-type]
    for release, backend in zip(RELEASES, BACKENDS, strict=True):
        restored = flink_restore(
            tmp_path / "migrated",
            *operators.values(),
            flink=release,
            backend=backend,
            parallelism=3,
        )
        for uid, operator in operators.items():
            rows = restored.keyed_state(uid)
            for state in operator.states:
                seen = {str(row["key"]): in_some_order(state, row[state.name]) for row in rows}
                entries = expected(corpus, target, uid, state)
                assert len(entries) > 10
                for key, value in entries:
                    assert seen[str(key)] == value, (uid, state.name, key)
