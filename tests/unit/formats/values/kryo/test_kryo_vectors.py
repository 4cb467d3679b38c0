"""Object graphs that the jars wrote, and those of Flink's own upgrade tests."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest
from support.each import each
from support.flink_vectors import CORPUS
from support.kryo_vectors import COLORS, DIALECTS, TEXT, VECTORS, layout_of, read

from savepoint_formats.bytes.data_view import DataInputView
from savepoint_formats.errors import SavepointError, UndecodableError
from savepoint_formats.layout import KryoClass, KryoField
from savepoint_formats.values.kryo.dialect import KryoDialect, KryoVersion
from savepoint_formats.values.kryo.objects import KryoObject, KryoReference
from savepoint_formats.values.values import read_value

if TYPE_CHECKING:
    from pathlib import Path

PLAIN_FIELDS = {
    "java.util.Date": "millis",
    "java.sql.Date": "millis",
    "java.sql.Time": "millis",
    "java.sql.Timestamp": "millis nanos",
    "java.util.BitSet": "words",
    "java.net.InetSocketAddress": "host port",
}
RENAMED_FIELDS = {
    "java.time.Instant": {"sec": "seconds", "nano": "nanos"},
    "java.time.Duration": {"sec": "seconds", "nano": "nanos"},
    "java.lang.Class": {"class": "name"},
    "java.util.regex.Pattern": {"re": "pattern", "flags": "flags"},
    "java.util.Optional": {"opt": "value"},
    "java.util.OptionalInt": {"opt": "value"},
    "java.util.OptionalLong": {"opt": "value"},
    "java.util.OptionalDouble": {"opt": "value"},
    "java.util.GregorianCalendar": {
        "tz": "timeZone",
        "millis": "millis",
        "lenient": "lenient",
        "fdw": "firstDayOfWeek",
        "mdw": "minimalDaysInFirstWeek",
        "cut": "gregorianCutover",
    },
}
LISTED_FIELDS = {
    "java.time.LocalDate": "year month day",
    "java.time.LocalTime": "hour minute second nano",
    "java.time.LocalDateTime": "date time",
    "java.time.OffsetDateTime": "dateTime offset",
    "java.time.ZonedDateTime": "dateTime zone",
    "java.time.YearMonth": "year month",
    "java.time.MonthDay": "month day",
    "java.time.Period": "years months days",
    "java.util.Locale": "language country variant",
}
SINGLE_FIELDS = {"java.time.ZoneOffset": "totalSeconds", "java.time.Year": "year"}


def convention(graph: Any) -> Any:
    """A graph as the file of vectors writes it down."""
    match graph:
        case KryoObject(class_name, fields):
            return convention_of_object(class_name, fields)
        case Decimal():
            sign, digits, exponent = graph.as_tuple()
            unscaled = int("".join(map(str, digits))) * (-1 if sign else 1)
            return {"unscaled": unscaled, "scale": -int(exponent)}
        case UUID():
            return {"uuid": graph.hex}
        case bytes():
            return {"hex": graph.hex()}
        case [(_, _), *_] if all(isinstance(one, tuple) for one in graph):
            return {"map": [[convention(key), convention(value)] for key, value in graph]}
        case list():
            return [convention(one) for one in graph]
        case _:
            return graph


def convention_of_object(class_name: str, fields: Any) -> Any:
    values = {name: convention(value) for name, value in fields.items()}
    if class_name in RENAMED_FIELDS:
        return {new: values.get(old, 0) for new, old in RENAMED_FIELDS[class_name].items()}
    if class_name in PLAIN_FIELDS:
        return {name: values[name] for name in PLAIN_FIELDS[class_name].split()}
    if class_name in SINGLE_FIELDS:
        return values[SINGLE_FIELDS[class_name]]
    if class_name == "java.time.LocalDateTime":
        return values["date"] + values["time"]
    if class_name in LISTED_FIELDS:
        return [values[name] for name in LISTED_FIELDS[class_name].split()]
    return {"$": class_name} | values


def comparable(written: Any) -> Any:
    """The value in the file, without what the graph doesn't tell."""
    match written:
        case {"enum": _, "ord": index}:
            return COLORS[index]
        case {"enumset": _, "ord": indexes}:
            return [COLORS[index] for index in indexes]
        case {"map": []}:
            return []
        case {"$": class_name, **fields} if "java.time" in class_name or "Optional" in class_name:
            return convention_of_object(class_name, {k: comparable(v) for k, v in fields.items()})
        case {"age": _, "m": pairs}:
            rest = {name: comparable(value) for name, value in written.items()}
            return rest | {"$": "GenKryo$User", "m": {"map": pairs} if pairs else pairs}
        case dict():
            return {name: comparable(value) for name, value in written.items()}
        case list():
            return [comparable(one) for one in written]
        case _:
            return written


@each("vector", VECTORS, ids=[f"{one['name']} {one['flink']}" for one in VECTORS])
def test_reads_the_graph_that_the_jar_wrote(vector: dict[str, Any]) -> None:
    value = read(vector["data"], DIALECTS[vector["flink"][0]], layout_of(vector["snapshot"]))
    match vector["name"], value:
        case "kryo:ex", KryoObject(class_name, fields):
            assert class_name == "java.lang.RuntimeException"
            assert "detailMessage" in fields
        case "kryo:locale", KryoObject(_, fields):
            assert (fields["language"], fields["country"]) == ("en", "US")
        case "kryo:user", KryoObject(_, {"next": next_user}):
            assert next_user == KryoReference(0)
            assert convention(value) | {"next": None} == comparable(vector["value"])
        case _:
            assert convention(value) == comparable(vector["value"])


@each("vector", VECTORS, ids=[f"{one['name']} {one['flink']}" for one in VECTORS])
def test_every_cut_of_a_graph_becomes_bytes_or_an_error(vector: dict[str, Any]) -> None:
    data, layout = bytes.fromhex(vector["data"]), layout_of(vector["snapshot"])
    for cut in range(len(data)):
        try:
            value = read_value(layout, DataInputView(data[:cut]), DIALECTS[vector["flink"][0]])
        except SavepointError:
            continue
        assert value["bytes"] == data[:cut]
        assert value["reason"]


ANIMALS = "org.apache.flink.api.java.typeutils.runtime.kryo.KryoPojosForMigrationTests$"
FLINK_CORE = KryoDialect(
    KryoVersion.V2_24, (KryoClass(f"{ANIMALS}Dog", (KryoField("name", TEXT),)),), first_id=10
)


@pytest.mark.parametrize(
    "folder",
    sorted((CORPUS / "serializers").glob("kryo-type-*")) if CORPUS.is_dir() else [],
    ids=lambda folder: folder.name,
)
def test_reads_the_graphs_of_the_upgrade_tests(folder: Path) -> None:
    layout = layout_of((folder / "serializer-snapshot").read_bytes().hex())
    value = read((folder / "test-data").read_bytes().hex(), FLINK_CORE, layout)
    assert value == KryoObject(f"{ANIMALS}Dog", {"name": "Hasso"})


@pytest.mark.parametrize(
    "folder",
    sorted((CORPUS / "serializers").glob("kryo-custom-*")) if CORPUS.is_dir() else [],
    ids=lambda folder: folder.name,
)
def test_a_serializer_of_the_user_is_named(folder: Path) -> None:
    layout = layout_of((folder / "serializer-snapshot").read_bytes().hex())
    dialect = KryoDialect(KryoVersion.V2_24, first_id=10)
    with pytest.raises(UndecodableError, match=r"which .*Serializer wrote"):
        read((folder / "test-data").read_bytes().hex(), dialect, layout)
