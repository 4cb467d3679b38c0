"""Rescaling keys of a class with a ``hashCode`` of its own: inferred, given, or refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

from savepoint_cli.main import main
from savepoint_formats.errors import UnstableHashError
from savepoint_formats.hashing.hash_shapes import HashShape, shape_hashes
from savepoint_formats.hashing.inferred_hash_codes import inferred_hash_code
from savepoint_formats.key_groups.ranges import key_group
from savepoint_formats.values.arrow_types import arrow_type
from savepoint_spark.changing import hash_codes
from state_processor import OperatorTransformation, Savepoint, Types, ValueStateDescriptor

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray
    from pyspark.sql import SparkSession

    from savepoint_formats.hashing.inferred_hash_codes import InferredHashCode
    from savepoint_formats.layout import Layout

KEY = Types.POJO("shop.OrderKey", {"id": Types.LONG(), "shop": Types.STRING()})
LAYOUT = KEY.snapshot.layout()
COUNT = 500


def by_lombok(keys: pa.Array) -> NDArray[np.int32]:
    return shape_hashes(HashShape.parse("Lombok(shop, id)"), LAYOUT, keys)


def squares(keys: pa.Array) -> NDArray[np.int32]:
    return np.array([(one["id"] * one["id"] * 7) % (1 << 31) for one in keys.to_pylist()], np.int32)


def bootstrapped(spark: SparkSession, path: Path, hash_code: Any) -> str:
    """A savepoint of orders, whose keys were hashed by a function."""
    rows = spark.range(COUNT).selectExpr(
        "id", "concat('shop ', id % 40) AS shop", "id * 2 AS total"
    )
    keyed = OperatorTransformation.bootstrap_with(rows).key_by(
        "id", "shop", key_type=KEY, hash_code=hash_code
    )
    state = keyed.with_state(ValueStateDescriptor("total", Types.LONG()))
    Savepoint.create(spark, max_parallelism=64).with_operator("orders", state).write(str(path))
    return str(path)


@pytest.fixture(scope="module")
def of_lombok(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A savepoint whose keys are hashed as Lombok does it."""
    return bootstrapped(spark, tmp_path_factory.mktemp("lombok") / "savepoint", by_lombok)


@pytest.fixture(scope="module")
def of_squares(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A savepoint whose keys are hashed as nobody does it."""
    return bootstrapped(spark, tmp_path_factory.mktemp("squares") / "savepoint", squares)


def expect_rescaled(spark: SparkSession, path: Path, max_parallelism: int) -> None:
    found = Savepoint.load(spark, str(path), uids=["orders"]).read_keyed_state(
        "orders", with_key_group=True
    )
    rows = found.collect()
    assert sorted(row["key"]["id"] for row in rows) == list(range(COUNT))
    for row in rows:
        code = 31 * 0
        for field in (text_hash(row["key"]["shop"]), row["key"]["id"]):
            code = ((code or 1) * 59 + field) & 0xFFFFFFFF
        code -= (code >> 31) << 32
        assert row["key_group"] == key_group(code, max_parallelism)
        assert row["total"] == row["key"]["id"] * 2


def text_hash(text: str) -> int:
    state = 0
    for letter in text:
        state = (31 * state + ord(letter)) & 0xFFFFFFFF
    return state


def test_a_hash_code_is_inferred_and_told(
    spark: SparkSession, of_lombok: str, tmp_path: Path
) -> None:
    savepoint = Savepoint.load(spark, of_lombok, uids=["orders"])
    written = savepoint.rescale(max_parallelism=1000).write(str(tmp_path / "wider"))
    (operator,) = written.operators
    assert operator.hash_code is not None
    assert operator.hash_code.startswith("Lombok(shop, id), inferred from ")
    expect_rescaled(spark, tmp_path / "wider", 1000)


def test_a_shape_can_be_given_as_text(spark: SparkSession, of_lombok: str, tmp_path: Path) -> None:
    savepoint = Savepoint.load(spark, of_lombok, uids=["orders"])
    rescaled = savepoint.rescale(max_parallelism=96, hash_codes={"orders": "Lombok(shop, id)"})
    (operator,) = rescaled.write(str(tmp_path / "wider")).operators
    assert operator.hash_code == "Lombok(shop, id), as given"
    expect_rescaled(spark, tmp_path / "wider", 96)


def test_a_shape_that_does_not_explain_the_key_groups_is_refused(
    spark: SparkSession, of_lombok: str, tmp_path: Path
) -> None:
    savepoint = Savepoint.load(spark, of_lombok, uids=["orders"])
    rescaled = savepoint.rescale(max_parallelism=96, hash_codes={"orders": "record(id, shop)"})
    with pytest.raises(UnstableHashError, match="its class has another hash code"):
        rescaled.plan(str(tmp_path / "wider"), check=True)
    with pytest.raises(UnstableHashError, match="its class has another hash code"):
        rescaled.write(str(tmp_path / "wider"))
    assert not (tmp_path / "wider" / "_metadata").exists()


def test_a_text_that_is_no_shape_is_refused_at_once(spark: SparkSession, of_lombok: str) -> None:
    savepoint = Savepoint.load(spark, of_lombok)
    uid = savepoint.operators()[0].name
    with pytest.raises(ValueError, match="does not name a shape of hashCode"):
        savepoint.rescale(max_parallelism=96, hash_codes={uid: "mine(id)"})


def test_other_subtasks_of_the_same_key_groups_need_no_hash_code(
    of_squares: str, spark: SparkSession, tmp_path: Path
) -> None:
    savepoint = Savepoint.load(spark, of_squares, uids=["orders"])
    (operator,) = savepoint.rescale(parallelism=1).write(str(tmp_path / "one")).operators
    assert operator.hash_code is None


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, arguments)
    return result.exit_code, " ".join(result.output.split())


def test_a_dry_run_says_what_the_run_would_say(
    of_lombok: str, of_squares: str, tmp_path: Path
) -> None:
    out = str(tmp_path / "wider")
    options = ("--max-parallelism", "96", "--dry-run", "--uid", "orders")
    code, text = run("rescale", of_lombok, out, *options)
    assert code == 0
    assert "Lombok(shop, id)" in text
    code, text = run("rescale", of_squares, out, *options)
    assert code == 1
    assert "usual shapes of hashCode explains the key groups" in text
    assert not (tmp_path / "wider").exists()


@pytest.mark.parametrize("options", [("--dry-run",), ()], ids=["dry", "real"])
def test_a_hash_code_is_inferred_once(
    of_lombok: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    counted: list[int] = []

    def infer(layout: Layout, keys: pa.Array, *others: Any) -> InferredHashCode:
        counted.append(len(keys))
        return inferred_hash_code(layout, keys, *others)

    monkeypatch.setattr(hash_codes, "inferred_hash_code", infer)
    call = ("rescale", of_lombok, str(tmp_path / "wider"), "--max-parallelism", "96", *options)
    code, text = run(*call, "--uid", "orders")
    assert (code, "Lombok(shop, id)" in text) == (0, True)
    assert counted == [COUNT]


def test_the_command_takes_shapes(of_lombok: str, tmp_path: Path) -> None:
    out = str(tmp_path / "wider")
    options = ("--max-parallelism", "96", "--dry-run", "--uid", "orders", "--hash-codes")
    assert run("rescale", of_lombok, out, *options, "orders=Lombok(shop, id)")[0] == 0
    code, text = run("rescale", of_lombok, out, *options, "orders=record(shop)")
    assert (code, "another hash code" in text) == (1, True)
    for wrong in ("Lombok(shop, id)", "orders=Lombok"):
        assert run("rescale", of_lombok, out, *options, wrong)[0] == 2


CASE_CLASSES: dict[str, tuple[str, list[tuple[Any, ...]], dict[str, Any]]] = {
    "product of ShuffleBlockId(shuffle, map, reduce)": (
        "storage.ShuffleBlockId",
        [(3, 5, 7), (-1, (1 << 40) + 9, 0), (0, -2, 4)],
        {"shuffle": Types.INT(), "map": Types.LONG(), "reduce": Types.INT()},
    ),
    "product of BroadcastBlockId(id, field)": (
        "storage.BroadcastBlockId",
        [(3, "piece"), (-(1 << 33), ""), ((1 << 31), "\u00e4")],
        {"id": Types.LONG(), "field": Types.STRING()},
    ),
}
"""Classes of Spark, which is written in Scala 2.13, by the shape of their hash codes."""


@pytest.mark.parametrize("text", CASE_CLASSES)
def test_a_case_class_has_the_hash_codes_that_scala_gives_it(
    spark: SparkSession, text: str
) -> None:
    name, keys, fields = CASE_CLASSES[text]
    layout = Types.POJO(f"org.apache.spark.{name}", fields).snapshot.layout()
    case_class = spark._jvm.org.apache.spark  # type: ignore[union-attr]
    for part in name.split("."):
        case_class = getattr(case_class, part)
    rows = [dict(zip(fields, key, strict=True)) for key in keys]
    column = pa.array(rows, arrow_type(layout))
    found = shape_hashes(HashShape.parse(text), layout, column)
    assert found.tolist() == [case_class(*key).hashCode() for key in keys]
