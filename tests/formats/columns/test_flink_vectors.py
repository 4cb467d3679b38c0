"""Values and hash codes of released Flink jars, and the data of Flink's own upgrade tests.

Both are written down in the conventions of the files that hold them; ``expected`` turns those
into values by the layout, independently of the code that reads bytes.
"""

from __future__ import annotations

import json
import math
import os
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pyarrow as pa
import pytest

from savepoint_formats import layout as layouts
from savepoint_formats.columns import (
    KryoClass,
    KryoDialect,
    KryoField,
    KryoVersion,
    ValueReader,
    arrow_type,
    write_value,
)
from savepoint_formats.data_view import DataInputView, DataOutputView
from savepoint_formats.errors import SavepointError, UndecodableError, UnstableHashError
from savepoint_formats.java_hash import bytes_hash, java_hash
from savepoint_formats.layout import Layout, LogicalType, parts
from savepoint_formats.snapshots import SerializerEntry, SnapshotView

ROOT = Path(__file__).parents[3]
CORPUS = Path(os.environ.get("SAVEPOINT_CORPUS", ROOT.parent / "shared" / "corpus"))
SPEC = CORPUS.parent / "spec"


def load(name: str) -> Any:
    path = SPEC / name
    return json.loads(path.read_text()) if path.is_file() else {"vectors": [], "families": {}}


def families() -> list[tuple[str, Any]]:
    """Folder and expected value of each serializer of the upgrade tests that is at hand."""
    known = load("serializer-expected.json")["families"]
    folders = sorted((CORPUS / "serializers").glob("*-*")) if CORPUS.is_dir() else []
    return [
        (folder.name, known[folder.name.rpartition("-")[0]])
        for folder in folders
        if (folder / "test-data").is_file()
    ]


VECTORS = [one for one in load("serializer-vectors.json")["vectors"] if "kryo:" not in one["name"]]
FAMILIES = families()
EVERY_VECTOR = pytest.mark.parametrize(
    "vector", VECTORS, ids=[f"{one['name']} {one['flink']}" for one in VECTORS]
)
EVERY_FAMILY = pytest.mark.parametrize(
    ("folder", "family"), FAMILIES, ids=[folder for folder, _ in FAMILIES]
)

DOG = "org.apache.flink.api.java.typeutils.runtime.kryo.KryoPojosForMigrationTests$Dog"
KRYO = {
    "1": KryoDialect(
        KryoVersion.V2_24,
        (KryoClass(DOG, (KryoField("name", "java.lang.String"),)),),
    ),
    "2": KryoDialect(KryoVersion.V5_6),
}

# Java's own reader knows them, but no column of Arrow does.
NO_COLUMN = {
    "mapnull": "a null key",
    "char": "half a surrogate pair",
    "row_all": "more digits than TIMESTAMP",
}
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


def layout_of(snapshot: bytes) -> Layout:
    return SerializerEntry.read(SnapshotView(snapshot)).snapshot.layout()


def read(layout: Layout, data: bytes, flink: str) -> Any:
    reader = ValueReader(DataInputView(data), KRYO[flink[0]])
    value = reader.read(layout)
    reader.view.expect_end()
    return value


def has(layout: Layout, *kinds: type[Layout]) -> bool:
    return isinstance(layout, kinds) or any(has(part, *kinds) for part in parts(layout))


# --- from the conventions of the files to values ----------------------------------------------

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
KINDS = ("+I", "-U", "+U", "-D")
WIDE = Context(prec=200)


def number(written: dict[str, int]) -> Decimal:
    return Decimal(written["unscaled"]).scaleb(-written["scale"], WIDE)


def nano_of_day(hour: int, minute: int, second: int, nano: int) -> int:
    return ((hour * 60 + minute) * 60 + second) * 10**9 + nano


def expected(layout: Layout, written: Any) -> Any:  # noqa: PLR0912 - a table
    """The value that a file writes down in its own way."""
    match layout:
        case layouts.Marker() | layouts.VoidNamespace():
            return None
        case layouts.Kryo() | layouts.JavaObject():
            return ANY
        case layouts.Nullable(inner, False) if isinstance(written, dict) and "some" in written:
            return expected(inner, written["some"])
        case layouts.Framed(layouts.Opaque()):
            return bytes.fromhex(written["hex"])
        case _ if written is None:
            return None
        case layouts.Nullable(inner) | layouts.Framed(inner):
            return expected(inner, written)
        case layouts.BigInteger():
            return str(written)
        case layouts.BigDecimal():
            return str(number(written))
        case layouts.DecimalData():
            return number(written)
        case layouts.JavaDate():
            return EPOCH + timedelta(milliseconds=written["millis"])
        case layouts.SqlTimestamp():
            return written["millis"] // 1000 * 10**9 + written["nanos"]
        case layouts.Instant():
            return written["sec"] * 10**9 + written["nano"]
        case layouts.LocalDate():
            return date(*written)
        case layouts.LocalTime():
            return nano_of_day(*written)
        case layouts.LocalDateTime():
            days = date(*written[:3]) - EPOCH.date()
            return days.days * 86_400 * 10**9 + nano_of_day(*written[3:])
        case layouts.TimestampData(precision):
            return timestamp(written, precision)
        case layouts.Bytes():
            return bytes.fromhex(written["hex"])
        case layouts.NullCount():
            return written["nulls"]
        case layouts.Repeated(element) | layouts.MaskedRepeated(element):
            return [expected(element, one) for one in written]
        case layouts.MapOf(key, value):
            return entries(
                [(expected(key, k), expected(value, v)) for k, v in written["map"]],
                isinstance(key, layouts.Nullable),
            )
        case layouts.MaskedStruct(names, fields, has_kind):
            row = in_order(names, fields, written["f"])
            return row | ({"$row_kind": KINDS[written["kind"]]} if has_kind else {})
        case layouts.BinaryRow(names, types):
            row = sql_row(names, types, written["f"])
            return row | {"$row_kind": KINDS[written["kind"]]}
        case layouts.BinaryArray(element_type):
            return [sql(element_type, one) for one in written]
        case layouts.BinaryMap(key_type, value_type):
            return [(sql(key_type, k), sql(value_type, v)) for k, v in written["map"]]
        case layouts.Ttl(value):
            timestamp_ms = EPOCH + timedelta(milliseconds=written["ts"])
            return {"timestamp": timestamp_ms, "value": expected(value, written["value"])}
        case layouts.Tagged():
            return alternative(layout, written)
        case layouts.Pojo():
            return pojo(layout, written)
        case layouts.Struct(("pending", *_) as names, fields):
            return two_phase_commit(names, fields, written)
        case layouts.Struct(names, fields):
            return in_order(names, fields, written)
        case _:
            return written


def timestamp(written: list[int], precision: int, zone: Any = None) -> Any:
    nanos = written[0] * 10**6 + written[1]
    if precision > 6:
        return nanos
    return EPOCH.replace(tzinfo=zone) + timedelta(microseconds=nanos // 1000)


def in_order(names: tuple[str, ...], fields: tuple[Layout, ...], written: Any) -> dict[str, Any]:
    values = list(written.values()) if isinstance(written, dict) else written
    return {
        name: expected(field, one) for name, field, one in zip(names, fields, values, strict=True)
    }


def entries(pairs: list[tuple[Any, Any]], is_list: bool) -> list[Any]:
    return [{"key": key, "value": value} for key, value in pairs] if is_list else pairs


def two_phase_commit(names: Any, fields: Any, written: Any) -> dict[str, Any]:
    pending, context = written["pending"], written["ctx"]
    committing = [list(one.values()) for one in written["commit"]]
    return in_order(names, fields, [pending["h"], pending["t"], committing, context])


STREAM_ELEMENTS = {
    "wm": "watermark",
    "latency": "latency",
    "status": "status",
    "backlog": "is_backlog",
}


def alternative(layout: layouts.Tagged, written: Any) -> dict[str, Any]:
    name, value = stream_element(written)
    if "tag" in written:
        name, value = layout.names[written["tag"] - 1], written["v"]
    if name not in layout.names:
        ((name, value),) = written.items()
    field = layout.fields[layout.names.index(name)]
    return dict.fromkeys(layout.names) | {name: expected(field, value)}


def stream_element(written: dict[str, Any]) -> tuple[str, Any]:
    if "rec" not in written:
        ((name, value), *_) = written.items()
        return STREAM_ELEMENTS.get(name, name), value
    if "ts" in written:
        return "record", [written["ts"], written["rec"]]
    return "record_without_timestamp", written["rec"]


def pojo(layout: layouts.Pojo, written: dict[str, Any]) -> dict[str, Any]:
    name, class_layout, fields = layout.class_name, layout, written
    if "$subclass" in written:
        fields = written["v"]
        known: Any = layout.registered if "$tag" in written else layout.unregistered
        found = [one for one in known if one[0].endswith(written["$subclass"])]
        name, class_layout = known[written["$tag"]] if "$tag" in written else found[0]
    values = in_order(class_layout.names, class_layout.fields, fields)
    classes = [(layout.class_name, layout), *layout.registered, *layout.unregistered]
    if len(classes) == 1:
        return values
    columns = own_columns(classes)
    row = {"$class": name} | dict.fromkeys(one for own in columns.values() for one in own.values())
    return row | {columns[name][field]: value for field, value in values.items()}


def own_columns(classes: list[tuple[str, Any]]) -> dict[str, dict[str, str]]:
    """The column of each field of each class: its name, or name@Class if another has it."""
    taken: dict[str, Layout] = {}
    columns: dict[str, dict[str, str]] = {}
    for name, one in classes:
        columns[name] = {
            field: field
            if taken.setdefault(field, kind) == kind
            else f"{field}@{name.split('$')[-1]}"
            for field, kind in zip(one.names, one.fields, strict=True)
        }
    return columns


def sql_row(names: Any, types: Any, written: list[Any]) -> dict[str, Any]:
    return {name: sql(one, value) for name, one, value in zip(names, types, written, strict=True)}


def sql(sql_type: LogicalType, written: Any) -> Any:  # noqa: PLR0912 - a table
    if written is None:
        return None
    match sql_type.root, sql_type.children:
        case "DECIMAL", _:
            return number(written)
        case "DATE", _:
            return date.fromordinal(date(1970, 1, 1).toordinal() + written)
        case "TIME_WITHOUT_TIME_ZONE", _:
            return (EPOCH + timedelta(milliseconds=written)).time()
        case "TIMESTAMP_WITHOUT_TIME_ZONE", _:
            return timestamp(written, sql_type.precision)
        case "TIMESTAMP_WITH_LOCAL_TIME_ZONE", _:
            return timestamp(written, sql_type.precision, UTC)
        case "INTERVAL_DAY_TIME", _:
            return timedelta(milliseconds=written)
        case (("ROW" | "STRUCTURED_TYPE"), types):
            return sql_row(sql_type.names, types, written["f"])
        case "ARRAY", (element,):
            return [sql(element, one) for one in written]
        case "MAP", (key, value):
            return [(sql(key, k), sql(value, v)) for k, v in written["map"]]
        case "MULTISET", (element,):
            return [(sql(element, k), v) for k, v in written["map"]]
        case (("BINARY" | "VARBINARY" | "RAW"), _):
            return bytes.fromhex(written.get("hex", written.get("rawhex")))
        case _:
            return written


# --- tests ------------------------------------------------------------------------------------


@EVERY_VECTOR
def test_reads_the_value_that_the_jar_wrote(vector: dict[str, Any]) -> None:
    layout, data = layout_of(bytes.fromhex(vector["snapshot"])), bytes.fromhex(vector["data"])
    if reason := NO_COLUMN.get(vector["name"]):
        with pytest.raises(UndecodableError, match=reason):
            read(layout, data, vector["flink"])
        return
    value = read(layout, data, vector["flink"])
    pa.array([value], arrow_type(layout))
    if vector["status"] == "ok":
        assert is_same(value, expected(layout, vector["value"]))


def is_same(value: Any, other: Any) -> bool:
    """Equality for which a NaN is a NaN."""
    if isinstance(value, float) and isinstance(other, float) and math.isnan(other):
        return math.isnan(value)
    return bool(value == other)


@EVERY_VECTOR
def test_writes_the_bytes_that_the_jar_wrote(vector: dict[str, Any]) -> None:
    layout, data = layout_of(bytes.fromhex(vector["snapshot"])), bytes.fromhex(vector["data"])
    if vector["name"] in NO_COLUMN:
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
        assert bytes_hash(data[4:]) == vector["javaHashCode"]
    if vector["name"] in NO_COLUMN:
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
        assert value.hex() == family["raw"]["hex"]
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
