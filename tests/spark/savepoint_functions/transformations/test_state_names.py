"""States that are called as columns are that no state makes: none of them is lost when it is written back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import functions as F
from support.bootstrapped import written

from savepoint_formats.errors import ConditionError, QueryError, StateNotFoundError
from state_processor import OperatorTransformation, Savepoint, Types, ValueStateDescriptor

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

NAMES = ("key", "namespace", "key_group", "subtask", "scope")
COLUMNS = [f"state_{name}" for name in NAMES]


def test_all_states_are_written_back(spark: SparkSession, tmp_path: Path) -> None:
    values: list[tuple[Any, ...]] = [
        (f"k{n}", *(10 * n + index for index in range(len(NAMES)))) for n in range(4)
    ]
    data = spark.createDataFrame(values, ["id", *(f"{name}_value" for name in NAMES)])
    keyed = OperatorTransformation.bootstrap_with(data).key_by("id", key_type=Types.STRING())
    for name in NAMES:
        keyed = keyed.with_state(ValueStateDescriptor(name, Types.LONG()), f"{name}_value")
    before = written(spark, keyed, tmp_path)
    stored = before.read_keyed_state("operator", with_key_group=True)
    assert stored.columns == ["key", *COLUMNS, "key_group"]
    assert [row[:-1] for row in map(tuple, stored.orderBy("key").collect())] == values

    operator = before.operator("operator")
    like = OperatorTransformation.bootstrap_with(stored).like(operator)
    assert [(state.name, state.column) for state in like.states] == [
        *zip(NAMES, COLUMNS, strict=True)
    ]
    assert like.key.key_groups == "key_group"
    renamed = OperatorTransformation.bootstrap_with(
        stored.withColumnRenamed("state_namespace", "namespace")
    )
    with pytest.raises(StateNotFoundError, match="did you mean 'state_namespace'"):
        renamed.like(operator)

    doubled = stored.select("key", (F.col("state_key") * 2).alias("state_key"))
    changed = before.update_state("operator", "key_group", "state_key_group + 1")
    changed = changed.with_state("operator", "key", doubled)
    changed.write(str(tmp_path / "changed"))
    after = Savepoint.load(spark, str(tmp_path / "changed"), uids=["operator"])
    found = after.read_keyed_state("operator").select("key", *COLUMNS)
    assert sorted(map(tuple, found.collect())) == [
        (key, 2 * of_key, namespace, of_group + 1, subtask, scope)
        for key, of_key, namespace, of_group, subtask, scope in values
    ]


def test_of_states_that_differ_in_case_no_column_bears_the_name_of_either(
    spark: SparkSession, tmp_path: Path
) -> None:
    data = spark.createDataFrame([("k", 1, 2)], "id string, small long, capital long")
    keyed = OperatorTransformation.bootstrap_with(data).key_by("id", key_type=Types.STRING())
    keyed = keyed.with_state(ValueStateDescriptor("a", Types.LONG()), "small")
    keyed = keyed.with_state(ValueStateDescriptor("A", Types.LONG()), "capital")
    savepoint = written(spark, keyed, tmp_path)
    stored = savepoint.read_keyed_state("operator")
    assert stored.collect()[0].asDict() == {"key": "k", "a_e8b7be43": 1, "A_d3d99e8b": 2}
    savepoint.register()
    for name in ("a", "A"):
        query = f"SELECT {name} FROM operator.keyed_state"
        with pytest.raises(QueryError, match=f"no column '{name}'.*A_d3d99e8b, a_e8b7be43, key"):
            savepoint.sql(query)
        with pytest.raises(AnalysisException, match=r"UNRESOLVED_COLUMN.*A_d3d99e8b"):
            spark.sql(query)
        with pytest.raises(ConditionError, match=f"no column '{name}'.*a_e8b7be43, A_d3d99e8b"):
            savepoint.read_keyed_state("operator", where=f"{name} > 0")
    assert savepoint.sql("SELECT a_e8b7be43 AS a FROM operator.keyed_state")["a"].to_pylist() == [1]

    changed = savepoint.update_state("operator", "A", "A_d3d99e8b + 1")
    changed.write(str(tmp_path / "changed"))
    after = Savepoint.load(spark, str(tmp_path / "changed"), uids=["operator"])
    found = after.read_keyed_state("operator").collect()
    assert found[0].asDict() == {"key": "k", "a_e8b7be43": 1, "A_d3d99e8b": 3}
