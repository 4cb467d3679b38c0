"""State V2 is written as synchronous state, whatever is changed of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F
from support.changed_savepoints import load, rows, tables
from support.sample_rows import Sample
from support.state_v2 import savepoint_v2

from savepoint_formats.errors import ConversionError
from savepoint_formats.state_files.header import BackendStateType, StateMetaInfo
from savepoint_formats.tables.catalog import keyed_headers
from state_processor import OperatorTransformation, Savepoint

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from state_processor import SavepointWriter
    from state_processor.savepoint.spark_savepoint import SparkSavepoint

NATIVE = Sample("states-2.2.1-rocksdb-native")
CANONICAL = Sample("states-2.2.1-hashmap-canonical")


WRITES: dict[str, Callable[[SparkSavepoint], SavepointWriter]] = {
    "convert": lambda before: before.convert(),
    "subtasks": lambda before: before.rescale(parallelism=3),
    "key groups": lambda before: before.rescale(max_parallelism=900),
    "keys": lambda before: before.delete_keys("stateful", "key = 'customer-001'"),
    "name": lambda before: before.rename_state("stateful", "memos", "notes"),
    "class": lambda before: before.rename_class("shop.Customer", "a.Client"),
    "value": lambda before: before.update_state("stateful", "cents_sum", F.lit(1)),
    "list": lambda before: before.update_state("stateful", "memos", F.array(F.lit("a"))),
    "map": lambda before: before.update_state(
        "stateful", "by_currency", F.map_filter("by_currency", lambda key, _: key != "CHF")
    ),
    "removed": lambda before: before.remove_state("stateful", "memos"),
}


def headers(savepoint: Savepoint) -> dict[tuple[str, str], StateMetaInfo]:
    return {
        (operator.name, info.name): info
        for operator in savepoint.operators()
        for subtask in operator.record.subtasks
        for header in keyed_headers(operator.directory, subtask)
        for info in header.states
    }


def types(savepoint: Savepoint) -> dict[tuple[str, str], object]:
    found = headers(savepoint)
    return {
        place: (info.type, info.options, dict(info.serializers)) for place, info in found.items()
    }


CASES = [*((NATIVE, name) for name in WRITES), (CANONICAL, "convert"), (CANONICAL, "key groups")]


@pytest.mark.parametrize(("sample", "name"), CASES, ids=str)
def test_every_write_gives_what_it_gives_of_synchronous_state(
    spark: SparkSession,
    sample: Sample,
    name: str,
    tmp_path: Path,
) -> None:
    write = WRITES[name]
    given = savepoint_v2(Path(sample.path), tmp_path / "v2")
    before = Savepoint.load(spark, str(given), uids=sample.uids)
    assert BackendStateType.KEY_VALUE_V2 in {info.type for info in headers(before).values()}
    write(before).write(str(tmp_path / "asynchronous"))
    write(load(spark, sample)).write(str(tmp_path / "synchronous"))
    found, expected = (
        Savepoint.load(spark, str(tmp_path / name), uids=sample.uids)
        for name in ("asynchronous", "synchronous")
    )
    assert types(found) == types(expected)
    assert tables(found) == tables(expected)


def test_state_like_it_is_synchronous(spark: SparkSession, tmp_path: Path) -> None:
    given = savepoint_v2(Path(NATIVE.path), tmp_path / "v2")
    before = Savepoint.load(spark, str(given), uids=NATIVE.uids)
    data = before.read_keyed_state("stateful").select("key", "memos", "by_currency")
    data = data.where("memos IS NOT NULL AND by_currency IS NOT NULL")
    states = OperatorTransformation.bootstrap_with(data).like(before.operator("stateful"))
    # ForSt restores no canonical file beside its own.
    writer = before.writer().convert().with_operator("again", states)
    writer.write(str(tmp_path / "out"))
    after = Savepoint.load(spark, str(tmp_path / "out"))
    found = {name: info.type for (uid, name), info in headers(after).items() if uid == "again"}
    assert found == dict.fromkeys(("memos", "by_currency"), BackendStateType.KEY_VALUE)
    assert rows(after.read_keyed_state("again")) == rows(data)


def test_a_map_whose_user_keys_nobody_tells_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    given = savepoint_v2(Path(NATIVE.path), tmp_path / "v2", is_of_2_2=False)
    before = Savepoint.load(spark, str(given), uids=NATIVE.uids)
    with pytest.raises(ConversionError, match=r"no user key serializer.* in operator stateful"):
        before.convert().write(str(tmp_path / "out"))
    with pytest.raises(ConversionError, match=r"no user key serializer.* in operator stateful"):
        before.convert().plan(str(tmp_path / "out"), check=True)
    maps = [
        name
        for (_, name), info in headers(before).items()
        if info.option("KEYED_STATE_TYPE") == "MAP"
    ]
    without = before.writer()
    for name in maps:
        without = without.remove_state("stateful", name)
    without.convert().write(str(tmp_path / "out"))
    after = Savepoint.open(str(tmp_path / "out"))
    assert not {name for _, name in headers(after)} & set(maps)


def test_one_operator_of_forst_is_not_changed_alone(spark: SparkSession, tmp_path: Path) -> None:
    sample = Sample("windows-2.2.1-rocksdb-native")
    path = savepoint_v2(Path(sample.path), tmp_path / "v2")
    savepoint = Savepoint.load(spark, str(path), uids=sample.uids)
    native = [it.name for it in savepoint.operators() if it.has_keyed_state]
    assert len(native) > 1
    writer = savepoint.delete_keys(native[0], "key IS NULL")
    for write in (writer.plan, writer.write):
        with pytest.raises(ConversionError, match=r"no other backend restores: add convert\(\)"):
            write(str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()
    writer.convert().plan(str(tmp_path / "out"))
    savepoint.rename_operator(native[0], "other").plan(str(tmp_path / "out"))
