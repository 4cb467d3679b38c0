"""New state of each type, restored by Flink with the serializer that its jobs have for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from support.flink_restore import BACKENDS, RELEASES, FlinkRestore, KeyedState, Operator
from support.sample_operators import STATEFUL
from support.sample_rows import Sample, in_order

from state_processor import (
    ListStateDescriptor,
    OperatorTransformation,
    Savepoint,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from state_processor import TypeInformation

everywhere = pytest.mark.parametrize(
    ("flink", "backend"), [(flink, backend) for flink in RELEASES for backend in BACKENDS]
)


@dataclass(frozen=True)
class Case:
    """A value in three words: our type and Spark's, Flink's type, and what Flink then sees."""

    type: TypeInformation
    value: str
    word: str
    expected: Any


ADDRESS = Types.POJO("shop.Address", {"city": Types.STRING(), "zip": Types.INT()})
KINDS = ["PURCHASE", "REFUND", "TRANSFER", "CLOSE"]
SQL_ROW = [
    ("id", "BIGINT NOT NULL"),
    ("name", "STRING"),
    ("short", "DECIMAL(10, 2)"),
    ("long", "DECIMAL(38, 2)"),
    ("tags", "ARRAY<STRING>"),
    ("time", "TIMESTAMP_LTZ(3)"),
    ("none", "INT"),
]
SQL_TIMES = [("local", "TIMESTAMP(9)"), ("utc", "TIMESTAMP_LTZ(9)"), ("never", "TIMESTAMP(6)")]
# As Spark has no nanoseconds, and Arrow none behind the year 2262, such times are written from texts.
NANOS, NEVER = "2024-03-01T10:00:00.123456789", "9999-12-31T23:59:59.999999999"

CASES = {
    "string": Case(Types.STRING(), "'𝄞 Zoë'", "STRING", "𝄞 Zoë"),
    "boolean": Case(Types.BOOLEAN(), "true", "BOOLEAN", True),
    "byte": Case(Types.BYTE(), "-128Y", "BYTE", -128),
    "short": Case(Types.SHORT(), "32767S", "SHORT", 32767),
    "int": Case(Types.INT(), "-7", "INT", -7),
    "long": Case(Types.LONG(), "9223372036854775807L", "LONG", 2**63 - 1),
    "float": Case(Types.FLOAT(), "0.25f", "FLOAT", 0.25),
    "double": Case(Types.DOUBLE(), "-1e300d", "DOUBLE", -1e300),
    "char": Case(Types.CHAR(), "'ß'", "CHAR", "ß"),
    "big_int": Case(Types.BIG_INT(), "'-123456789012345678901'", "BIG_INT", -123456789012345678901),
    "big_dec": Case(Types.BIG_DEC(), "'-12.50'", "BIG_DEC", "-12.50"),
    "instant": Case(
        Types.INSTANT(),
        "timestamp'2024-03-01 10:00:00.123456 UTC'",
        "INSTANT",
        "2024-03-01T10:00:00.123456Z",
    ),
    "instant_nanos": Case(Types.INSTANT(), f"'{NANOS}Z'", "INSTANT", f"{NANOS}Z"),
    "instant_never": Case(Types.INSTANT(), f"'{NEVER}Z'", "INSTANT", f"{NEVER}Z"),
    "local_nanos": Case(Types.LOCAL_DATE_TIME(), f"'{NANOS}'", "LOCAL_DATE_TIME", NANOS),
    "local_never": Case(Types.LOCAL_DATE_TIME(), f"'{NEVER}'", "LOCAL_DATE_TIME", NEVER),
    "last_date": Case(Types.LOCAL_DATE(), "date'9999-12-31'", "LOCAL_DATE", "9999-12-31"),
    "local_date": Case(Types.LOCAL_DATE(), "date'1969-12-31'", "LOCAL_DATE", "1969-12-31"),
    "local_date_time": Case(
        Types.LOCAL_DATE_TIME(),
        "timestamp_ntz'2024-03-01 10:00:00'",
        "LOCAL_DATE_TIME",
        "2024-03-01T10:00:00",
    ),
    "sql_timestamp": Case(
        Types.SQL_TIMESTAMP(),
        "timestamp'2024-03-01 10:00:00.123 UTC'",
        "SQL_TIMESTAMP",
        "2024-03-01 10:00:00.123",
    ),
    "longs": Case(
        Types.PRIMITIVE_ARRAY(Types.LONG()), "array(1L, -1L)", "PRIMITIVE_ARRAY<LONG>", [1, -1]
    ),
    "bytes": Case(
        Types.PRIMITIVE_ARRAY(Types.BYTE()), "X'00ff10'", "PRIMITIVE_ARRAY<BYTE>", "00ff10"
    ),
    "list": Case(Types.LIST(Types.INT()), "array(3, 1, 2)", "LIST<INT>", [3, 1, 2]),
    "map": Case(
        Types.MAP(Types.STRING(), Types.LIST(Types.LONG())),
        "map('a', array(1L), 'b', null)",
        "MAP<STRING, LIST<LONG>>",
        {"a": [1], "b": None},
    ),
    "tuple": Case(
        Types.TUPLE([Types.STRING(), Types.TUPLE([Types.LONG(), Types.BOOLEAN()])]),
        "struct('x' f0, struct(1L f0, false f1) f1)",
        "TUPLE<STRING, TUPLE<LONG, BOOLEAN>>",
        {"f0": "x", "f1": {"f0": 1, "f1": False}},
    ),
    "row": Case(
        Types.ROW_NAMED(["a", "b"], [Types.LONG(), Types.STRING()]),
        "struct(5L a, cast(null as string) b, '+I' `$row_kind`)",
        "ROW<a LONG, b STRING>",
        {"f0": 5, "f1": None},
    ),
    "pojo": Case(
        ADDRESS,
        "named_struct('city', 'Köln', 'zip', cast(null as int))",
        "POJO<shop.Address>",
        {"city": "Köln", "zip": None},
    ),
    "enum": Case(
        Types.ENUM("shop.TransactionKind", KINDS),
        "'REFUND'",
        "ENUM<shop.TransactionKind>",
        "REFUND",
    ),
    "nullables": Case(
        Types.LIST(Types.NULLABLE(Types.LONG())),
        "array(1L, null)",
        "LIST<NULLABLE<LONG>>",
        [1, None],
    ),
    "sql": Case(
        Types.ROW_DATA(SQL_ROW),
        "named_struct('id', 1L, 'name', 'Zoë', 'short', 12.50BD, 'long',"
        " cast('-123456789012345678901.25' as decimal(38, 2)), 'tags', array('a', null),"
        " 'time', timestamp'2024-03-01 10:00:00.123 UTC', 'none', cast(null as int),"
        " '$row_kind', '+I')",
        f"ROW_DATA<ROW<{', '.join(f'`{name}` {sql_type}' for name, sql_type in SQL_ROW)}>>",
        {
            "f0": 1,
            "f1": "Zoë",
            "f2": "12.50",
            "f3": "-123456789012345678901.25",
            "f4": ["a", None],
            "f5": "2024-03-01T10:00:00.123000Z",
            "f6": None,
        },
    ),
    "sql_by_names": Case(
        Types.ROW_DATA([("id", "BIGINT"), ("name", "STRING")]),
        "named_struct('name', 'Zoë', 'id', 1L)",
        "ROW_DATA<ROW<`id` BIGINT, `name` STRING>>",
        {"f0": 1, "f1": "Zoë"},
    ),
    "row_by_names": Case(
        Types.ROW_NAMED(["a", "b"], [Types.LONG(), Types.STRING()]),
        "struct('x' b, 5L a)",
        "ROW<a LONG, b STRING>",
        {"f0": 5, "f1": "x"},
    ),
    "pojo_by_names": Case(
        ADDRESS,
        "named_struct('zip', 7, 'city', 'Ulm')",
        "POJO<shop.Address>",
        {"city": "Ulm", "zip": 7},
    ),
    "tuple_by_position": Case(
        Types.TUPLE([Types.STRING(), Types.LONG()]),
        "named_struct('word', 'x', 'count', 5L)",
        "TUPLE<STRING, LONG>",
        {"f0": "x", "f1": 5},
    ),
    "array_of_texts": Case(
        Types.OBJECT_ARRAY(Types.STRING()), "array('a', 'ß')", "OBJECT_ARRAY<STRING>", ["a", "ß"]
    ),
    "array_of_boxes": Case(
        Types.OBJECT_ARRAY(Types.LONG()), "array(1L, null)", "OBJECT_ARRAY<LONG>", [1, None]
    ),
    "sql_times": Case(
        Types.ROW_DATA(SQL_TIMES),
        f"named_struct('local', '{NANOS}', 'utc', '{NEVER}Z',"
        " 'never', timestamp_ntz'9999-12-31 23:59:59.999999', '$row_kind', '+I')",
        f"ROW_DATA<ROW<{', '.join(f'`{name}` {sql_type}' for name, sql_type in SQL_TIMES)}>>",
        {"f0": NANOS, "f1": f"{NEVER}Z", "f2": "9999-12-31T23:59:59.999999"},
    ),
}

OPERATOR = Operator(
    "types",
    key="STRING",
    states=tuple(KeyedState.value(name, case.word) for name, case in CASES.items())
    + tuple(KeyedState.list(f"{name}s of a list", case.word) for name, case in CASES.items()),
)


@pytest.fixture(scope="module")
def written(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """One key that has a value of each type, and a list of two of them."""
    columns = [f"{case.value} as `{name}`" for name, case in CASES.items()]
    data = spark.range(1).selectExpr("'k' as key", *columns)
    lists = [f"array(`{name}`, `{name}`) as `{name}s of a list`" for name in CASES]
    keyed = OperatorTransformation.bootstrap_with(data.selectExpr("*", *lists)).key_by("key")
    for name, case in CASES.items():
        keyed = keyed.with_state(ValueStateDescriptor(name, case.type))
        keyed = keyed.with_state(ListStateDescriptor(f"{name}s of a list", case.type))
    path = str(tmp_path_factory.mktemp("types") / "savepoint")
    Savepoint.create(spark).with_operator("types", keyed).write(path)
    return path


@everywhere
def test_a_value_of_each_type_is_what_went_in(
    flink_restore: FlinkRestore, written: str, flink: str, backend: str
) -> None:
    (row,) = flink_restore(written, OPERATOR, flink=flink, backend=backend).keyed_state("types")
    for name, case in CASES.items():
        assert row[name] == case.expected, name
        assert row[f"{name}s of a list"] == [case.expected] * 2, name


def test_a_function_over_tables_gives_a_timestamp_for_an_instant(
    flink_restore: FlinkRestore, spark: SparkSession, tmp_path: Path
) -> None:
    """As ``with_state`` takes it; without a kind, a row is an insert."""
    instant, row = CASES["instant"], CASES["row_by_names"]
    data = spark.range(1).selectExpr("'k' AS key", f"{instant.value} AS at", f"{row.value} AS row")
    keyed = OperatorTransformation.bootstrap_with(data).key_by("key")
    states = ValueStateDescriptor("at", instant.type), ValueStateDescriptor("row", row.type)
    made = keyed.transform_batches(lambda table: table, *states)
    Savepoint.create(spark).with_operator("made", made).write(str(tmp_path / "made"))
    words = (KeyedState.value("at", instant.word), KeyedState.value("row", row.word))
    for flink in RELEASES:
        restored = flink_restore(tmp_path / "made", Operator("made", "STRING", words), flink=flink)
        (shown,) = restored.keyed_state("made")
        assert (shown["at"], shown["row"]) == (instant.expected, row.expected)


@pytest.mark.parametrize("flink", RELEASES)
@pytest.mark.parametrize("backend", BACKENDS)
def test_state_of_a_job_survives_a_change_of_its_rows(
    flink_restore: FlinkRestore, spark: SparkSession, tmp_path: Path, flink: str, backend: str
) -> None:
    """All kinds and types of the sample are read, changed as rows, and written as they were."""
    sample = Sample(f"states-{flink}-{backend}-native")
    savepoint = Savepoint.load(spark, sample.path, uids=sample.uids)
    rows = savepoint.read_keyed_state("stateful").where("key <> '0'")
    operator = savepoint.operator("stateful")
    changed = OperatorTransformation.bootstrap_with(rows).like(operator, ttl_times="now")
    writer = savepoint.remove_operator("stateful").with_operator("stateful", changed)
    writer.write(str(tmp_path / "changed"))
    other = "rocksdb" if backend == "hashmap" else "hashmap"
    restored = flink_restore(tmp_path / "changed", STATEFUL, flink=flink, backend=other)
    expected = [row for row in sample.keyed_state("stateful") if row["key"] != "0"]
    assert restored.keyed_state("stateful") == in_order(expected)
