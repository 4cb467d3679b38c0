"""State of classes that Kryo wrote and the user describes, from a savepoint to Spark."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from pyspark import cloudpickle
from pyspark.errors import PySparkException
from pyspark.sql import functions as F
from support.hand_made import (
    LONG,
    canonical_base,
    encoded,
    group_of,
    header,
    heap_base,
    kryo_of,
    list_of,
    map_of,
    meta_info,
    savepoint_of,
)
from support.sample_rows import SAMPLES

from savepoint_formats.errors import UndecodableError
from savepoint_formats.layout import Long, Text
from savepoint_formats.metadata import KeyedHandleType
from state_processor import KeyedStateReaderFunction, Savepoint, ValueStateDescriptor, kryo_class

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from savepoint_formats.metadata import KeyGroupsHandle

# Workers of Spark cannot import this module.
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]

ORDER = "com.acme.Order"
DESCRIPTION = kryo_class(ORDER, {"id": "long", "customer": "java.lang.String"})
DESCRIPTION_JSON = (
    f'[{{"class": "{ORDER}", "fields": {{"id": "long", "customer": "java.lang.String"}}}}]'
)

# Class 85 is the first that the snapshot registers; then a new object, customer and id.
ANN = bytes.fromhex("57 01 01 416eee 04")
EVE = bytes.fromhex("57 01 01 4576e5 06")
STATES = (
    meta_info("last", "VALUE", kryo_of(ORDER)),
    meta_info("all", "LIST", list_of(kryo_of(ORDER))),
    meta_info("by_day", "MAP", map_of(LONG, kryo_of(ORDER))),
    meta_info("total", "VALUE", LONG),
)
SHOWN_ANN = {"id": 2, "customer": "Ann", "$undecoded": None}
SHOWN_EVE = {"id": 3, "customer": "Eve", "$undecoded": None}
EXPECTED = {
    "key": "k",
    "last": SHOWN_ANN,
    "all": [SHOWN_ANN, SHOWN_EVE],
    "by_day": [(7, SHOWN_EVE)],
    "total": 5,
}
DAY, TOTAL = encoded(Long(), 7), encoded(Long(), 5)


def canonical() -> KeyGroupsHandle:
    key, group = encoded(Text(), "k") + b"\0", group_of("k")
    entries = [
        (group, 0, key, ANN),
        (group, 1, key, ANN + b"," + EVE),
        (group, 2, key + DAY, b"\0" + EVE),
        (group, 3, key, TOTAL),
    ]
    return canonical_base(header(*STATES), entries)


def heap() -> KeyGroupsHandle:
    key, group = b"\0" + encoded(Text(), "k"), group_of("k")
    entries = [
        (group, 0, key + ANN),
        (group, 1, key + (2).to_bytes(4) + ANN + EVE),
        (group, 2, key + (1).to_bytes(4) + DAY + b"\0" + EVE),
        (group, 3, key + TOTAL),
    ]
    handle = heap_base(header(*STATES), len(STATES), entries)
    return replace(handle, type=KeyedHandleType.KEY_GROUPS_V1)


@pytest.fixture(params=[canonical, heap])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A savepoint with orders."""
    return savepoint_of(request.param(), tmp_path)


def rows(savepoint: Savepoint, **options: Any) -> list[dict[str, Any]]:
    scan = savepoint.scan("a.keyed_state", **options)
    return [
        row for split in scan.splits() for batch in scan.read(split) for row in batch.to_pylist()
    ]


def test_described_objects_are_structs(path: str) -> None:
    assert rows(Savepoint.open(path, uids=["a"], kryo_classes=[DESCRIPTION])) == [EXPECTED]


def test_others_are_their_bytes_with_the_reason(path: str) -> None:
    savepoint = Savepoint.open(path, uids=["a"])
    (row,) = rows(savepoint, columns=["key", "last", "by_day", "total"])
    assert (row["last"]["bytes"], row["total"]) == (ANN, 5)
    assert [(day, order["bytes"]) for day, order in row["by_day"]] == [(7, EVE)]
    assert f"{ORDER}, whose fields are not known" in row["last"]["reason"]
    notes = {column.column: column.notes for column in savepoint.schema("a.keyed_state")}
    assert "kryo_classes" in notes["last"][0]
    assert notes["total"] == ()


def test_elements_are_told_apart_only_where_their_number_is_stored(tmp_path: Path) -> None:
    in_heap = Savepoint.open(savepoint_of(heap(), tmp_path), uids=["a"])
    (row,) = rows(in_heap)
    assert [order["bytes"] for order in row["all"]] == [ANN, EVE]
    in_entries = Savepoint.open(savepoint_of(canonical(), tmp_path), uids=["a"])
    with pytest.raises(UndecodableError, match="the elements behind it, if there are any"):
        rows(in_entries)
    (row,) = rows(in_entries.with_forms(undescribed_subclasses="rest"))
    assert [order["bytes"] for order in row["all"]] == [ANN + b"," + EVE]


def test_a_description_that_does_not_fit_spoils_nothing_else(path: str) -> None:
    wrong = kryo_class(ORDER, {"id": "long"})
    (row,) = rows(Savepoint.open(path, uids=["a"], kryo_classes=[wrong]))
    assert (row["key"], row["total"]) == ("k", 5)
    assert row["last"]["id"] is None
    assert row["last"]["$undecoded"]["bytes"] == ANN
    assert ORDER in row["last"]["$undecoded"]["reason"]


def test_the_schema_has_the_fields(path: str) -> None:
    savepoint = Savepoint.open(path, uids=["a"], kryo_classes=[DESCRIPTION])
    types = {column.column: column.type for column in savepoint.schema("a.keyed_state")}
    assert types["last"] == (
        "STRUCT<id: BIGINT, customer: STRING, `$undecoded`: STRUCT<bytes: BINARY, reason: STRING>>"
    )


def test_an_interface_becomes_a_struct_of_its_classes(spark: SparkSession) -> None:
    """As the how-to says: of the class, and of the fields of all of them."""
    shapes = (
        kryo_class("shop.Shape$Circle", {"radius": "int"}, is_final=True),
        kryo_class(
            "shop.Shape$Square", {"side": "int", "colour": "java.lang.String"}, is_final=True
        ),
    )
    path = str(SAMPLES / "objects-2.2.1-rocksdb-native")
    savepoint = Savepoint.load(spark, path, uids=["shapes"], kryo_classes=shapes)
    wanted = "STRUCT<`$class`: STRING, radius: INT, side: INT, colour: STRING>"
    typed = savepoint.read_keyed_state("shapes").select(
        "id", F.from_json("shape.json", wanted).alias("shape")
    )
    values = {row.id: tuple(row.shape) for row in typed.where("id < 202").collect()}
    assert values == {
        200: ("shop.Shape$Circle", 200, None, None),
        201: ("shop.Shape$Square", None, 201, "colour 201"),
    }


class Orders(KeyedStateReaderFunction):
    """Gives the last order of each key."""

    def open(self, runtime_context: Any) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last"))

    def read_key(self, key: Any, context: Any) -> Iterator[Any]:
        yield key, self.last.value()["customer"]


class TestSpark:
    def test_dataframes_have_structs(self, spark: SparkSession, path: str) -> None:
        savepoint = Savepoint.load(spark, path, uids=["a"], kryo_classes=[DESCRIPTION])
        (row,) = savepoint.read_keyed_state("a").select("last.id", "last.customer").collect()
        assert (row.id, row.customer) == (2, "Ann")

    def test_the_data_source_takes_them_as_json(self, spark: SparkSession, path: str) -> None:
        reader = spark.read.format("savepoint").option("table", "a.keyed_state")
        reader = reader.option("uids", "a").option("kryoClasses", DESCRIPTION_JSON)
        (row,) = reader.load(path).collect()
        assert row["all"][1].customer == "Eve"
        with pytest.raises(PySparkException, match="classes of Kryo are not JSON"):
            reader.option("kryoClasses", "Order").load(path)

    def test_sql_and_functions_have_them_too(self, spark: SparkSession, path: str) -> None:
        savepoint = Savepoint.load(spark, path, uids=["a"], kryo_classes=[DESCRIPTION])
        savepoint.register()
        (row,) = spark.sql("SELECT last.customer FROM a.keyed_state").collect()
        assert row.customer == "Ann"
        schema = "key STRING, customer STRING"
        (row,) = savepoint.read_keyed_state("a", Orders(), schema=schema).collect()
        assert tuple(row) == ("k", "Ann")
