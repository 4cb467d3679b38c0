"""Values and hash codes of released Flink jars, and the data of Flink's own upgrade tests."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest
from support.each import each
from support.flink_vectors import (
    CORPUS,
    FAMILIES,
    NO_COLUMN,
    ONLY_SHOWN,
    VECTORS,
    has,
    layout_of,
    read,
)
from support.written_values import expected

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.errors import SavepointError, UndecodableError, UnstableHashError
from savepoint_formats.hashing.key_hash import java_hash
from savepoint_formats.hashing.scalar_hashes import bytes_hashes
from savepoint_formats.values.arrow_types import arrow_type
from savepoint_formats.values.value_writer import write_value

EVERY_VECTOR = each("vector", VECTORS, ids=[f"{one['name']} {one['flink']}" for one in VECTORS])
EVERY_FAMILY = each(("folder", "family"), FAMILIES, ids=[folder for folder, _ in FAMILIES])

# A key of these types has the hash code of its class, which the layout does not tell.
OTHER_CLASS = {
    "lv": "LongValue or ListView",
    "dv": "DoubleValue",
    "bv": "BooleanValue",
    "left": "scala.util.Left",
    "right": "scala.util.Right",
}
# Types whose hash codes depend on more than the value, and which are no keys or rarely so.
UNSTABLE = frozenset(
    [
        "row_allnull",
        "row_cgnull",
        "row_gennull",
        "winkey",
        "tw",
        "cw",
        "set",
        "trav",
        "variant",
        "variant2",
    ]
)


@EVERY_VECTOR
def test_reads_the_value_that_the_jar_wrote(vector: dict[str, Any]) -> None:
    layout, data = layout_of(bytes.fromhex(vector["snapshot"])), bytes.fromhex(vector["data"])
    if reason := NO_COLUMN.get(vector["name"]):
        with pytest.raises(UndecodableError, match=reason):
            read(layout, data, vector["flink"])
        return
    value = read(layout, data, vector["flink"])
    pa.array([value], arrow_type(layout))
    if vector["name"] in ONLY_SHOWN:
        assert value == ONLY_SHOWN[vector["name"]]
    elif vector["status"] == "ok":
        assert is_same(value, expected(layout, vector["value"]))


def is_same(value: Any, other: Any) -> bool:
    """Equality for which a NaN is a NaN."""
    if isinstance(value, float) and isinstance(other, float) and math.isnan(other):
        return math.isnan(value)
    return bool(value == other)


@EVERY_VECTOR
def test_writes_the_bytes_that_the_jar_wrote(vector: dict[str, Any]) -> None:
    layout, data = layout_of(bytes.fromhex(vector["snapshot"])), bytes.fromhex(vector["data"])
    if vector["name"] in NO_COLUMN | ONLY_SHOWN:
        pytest.skip("no column holds the value")
    if has(layout, layouts.Kryo):
        pytest.skip("Kryo is copied, never written")
    if vector["name"] in ("bi1new", "row_cgnull"):
        pytest.skip("a form of the value that only one of Java's writers makes")
    view = DataOutputView()
    write_value(layout, read(layout, data, vector["flink"]), view)
    assert view.to_bytes() == data


@EVERY_VECTOR
def test_the_hash_code_is_that_of_the_jar(vector: dict[str, Any]) -> None:
    if "javaHashCode" not in vector:
        pytest.skip("a value that is no key")
    layout, data = layout_of(bytes.fromhex(vector["snapshot"])), bytes.fromhex(vector["data"])
    if vector["name"] in OTHER_CLASS:
        pytest.skip(f"a {OTHER_CLASS[vector['name']]} has the layout of another class")
    if isinstance(layout, layouts.Framed) and vector["name"] != "raw":
        assert bytes_hashes(pa.array([data[4:]])).tolist() == [vector["javaHashCode"]]
    if vector["name"] in NO_COLUMN | ONLY_SHOWN:
        pytest.skip("no column holds the value")
    value = read(layout, data, vector["flink"])
    if vector["name"] in UNSTABLE:
        with pytest.raises(UnstableHashError):
            java_hash(layout, value)
        return
    assert java_hash(layout, value) == vector["javaHashCode"]


@EVERY_VECTOR
def test_every_cut_of_a_value_is_noticed(vector: dict[str, Any]) -> None:
    layout, data = layout_of(bytes.fromhex(vector["snapshot"])), bytes.fromhex(vector["data"])
    if has(layout, layouts.Kryo, layouts.JavaObject, layouts.Opaque):
        pytest.skip("what cannot be decoded becomes bytes with a reason")
    for cut in range(len(data)):
        with pytest.raises(SavepointError):
            read(layout, data[:cut], vector["flink"])


@EVERY_FAMILY
def test_reads_the_data_of_the_upgrade_tests(folder: str, family: dict[str, Any]) -> None:
    path = CORPUS / "serializers" / folder
    layout = layout_of((path / "serializer-snapshot").read_bytes())
    data = (path / "test-data").read_bytes()
    value = read(layout, data, "1")
    pa.array([value], arrow_type(layout))
    if "raw" in family:
        assert value["bytes"].hex() == family["raw"]["hex"]
    else:
        assert value == expected(layout, family["value"])


@EVERY_FAMILY
def test_writes_the_data_of_the_upgrade_tests(folder: str, family: dict[str, Any]) -> None:
    path = CORPUS / "serializers" / folder
    layout = layout_of((path / "serializer-snapshot").read_bytes())
    data = (path / "test-data").read_bytes()
    view = DataOutputView()
    write_value(layout, read(layout, data, "1"), view)
    assert view.to_bytes() == data
