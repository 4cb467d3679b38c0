"""Object graphs against those that Kryo 2.24 and 5.6 wrote inside Flink 1.20 and 2.2."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pyarrow as pa
import pytest
from kryo_vectors import COLORS, CORPUS, TEXT, VECTORS, layout_of, named

from savepoint_formats.columns import (
    KryoClass,
    KryoDialect,
    KryoField,
    KryoObject,
    KryoReference,
    KryoVersion,
    UndecodedBytes,
    arrow_type,
    read_kryo,
    read_value,
)
from savepoint_formats.columns.kryo_classes import registered_classes
from savepoint_formats.data_view import DataInputView
from savepoint_formats.errors import (
    FormatError,
    SavepointError,
    UndecodableError,
    ValueOutOfRangeError,
)
from savepoint_formats.layout import Kryo, KryoRegistration, Long, Struct

if TYPE_CHECKING:
    from pathlib import Path

USER = KryoClass(
    "GenKryo$User",
    (
        KryoField("tags", "java.util.List", (TEXT,)),
        KryoField("age", "int"),
        KryoField("any", "java.lang.Object"),
        KryoField("arr", "[Ljava.lang.String;"),
        KryoField("big", "java.lang.Long"),
        KryoField("bytes", "[B"),
        KryoField("ch", "char"),
        KryoField("color", "GenKryo$Color"),
        KryoField("d", "double"),
        KryoField("f", "float"),
        KryoField("flag", "boolean"),
        KryoField("l", "long"),
        KryoField("m", "java.util.Map", (TEXT, "java.lang.Integer")),
        KryoField("name", TEXT),
        KryoField("next", "GenKryo$User"),
        KryoField("objs", "java.util.List"),
        KryoField("sh", "short"),
    ),
)
CLASSES = (
    USER,
    KryoClass("GenKryo$Fin", (KryoField("a", TEXT), KryoField("b", "int")), is_final=True),
    KryoClass("GenKryo$Color", constants=COLORS),
)
OLD, NEW = (KryoDialect(version, CLASSES) for version in KryoVersion)
DIALECTS = {"1": OLD, "2": NEW}
ANYTHING = Kryo("java.lang.Object", (KryoRegistration("GenKryo$User"),))
LIST = "01 00 6a6176612e7574696c2e41727261794c6973f4"


def read(data: str, dialect: KryoDialect, layout: Kryo = ANYTHING) -> Any:
    view = DataInputView(bytes.fromhex(data))
    value = read_kryo(layout, view, dialect)
    view.expect_end()
    return value


BOTH: list[tuple[str, str, str, Any]] = [
    ("null", "00", "00", None),
    ("int", "0209", "0209", -5),
    ("smallest long", "09ffffffffffffffffff", "09ffffffffffffffffff", -(1 << 63)),
    ("double", "0a3ff8000000000000", "0a000000000000f83f", 1.5),
    (
        "ascii text of 40",
        "0301" + "78" * 39 + "f8",
        "0301a9" + "78" * 40,
        "x" * 40,
    ),
    (
        "text with surrogates",
        "03018b68c3a96c6c6f20e4b89620eda0bdedb880",
        "03018b68c3a96c6c6f20e4b89620eda0bdedb880",
        "héllo 世 😀",
    ),
    (
        "one text three times",
        LIST + "010303017368617265e4030303018278",
        LIST + "01840300017368617265e403018278",
        ["shared", "shared", "x"],
    ),
    ("array of ints", "01005bc901040203d804", "01005bc901040203d804", [1, -2, 300]),
    (
        "map",
        "01006a6176612e7574696c2e4c696e6b6564486173684d61f001030301826b020203016bb200020603018276",
        "01006a6176612e7574696c2e4c696e6b6564486173684d61f001040301826b020203016bb200020603018276",
        [("k", 1), ("k2", None), (3, "v")],
    ),
    (
        "sorted set",
        "01006a6176612e7574696c2e547265655365f40100020301826103018262",
        "01006a6176612e7574696c2e547265655365f40183000300018261018262",
        ["a", "b"],
    ),
    ("uuid", "5401010a", "5401ffffffffffffffff0500000000000000", UUID(int=(1 << 64) - 1 << 64 | 5)),
    (
        "decimal",
        "01006a6176612e6d6174682e426967446563696d61ec010500bc614e06",
        "01006a6176612e6d6174682e426967446563696d61ec010500bc614e06",
        Decimal("12345.678"),
    ),
    (
        "date of java.time",
        named("java.time.LocalDate") + "01 001e 0001 c81f",
        named("java.time.LocalDate") + "01 e40f 01 1e",
        KryoObject("java.time.LocalDate", {"day": 30, "month": 1, "year": 2020}),
    ),
    (
        "object of the user",
        named("GenKryo$Fin") + "01 018261 02",
        named("GenKryo$Fin") + "01 018261 02",
        KryoObject("GenKryo$Fin", {"a": "a", "b": 1}),
    ),
]
EVERY_GRAPH = pytest.mark.parametrize(
    ("data", "dialect", "value"),
    [(old, OLD, value) for _, old, _, value in BOTH]
    + [(new, NEW, value) for _, _, new, value in BOTH],
    ids=[f"{name} 2.24" for name, *_ in BOTH] + [f"{name} 5.6" for name, *_ in BOTH],
)


@EVERY_GRAPH
def test_reads_what_kryo_wrote(data: str, dialect: KryoDialect, value: Any) -> None:
    assert read(data, dialect) == value


@EVERY_GRAPH
def test_every_cut_is_noticed(data: str, dialect: KryoDialect, value: Any) -> None:
    whole = bytes.fromhex(data)
    for cut in range(len(whole)):
        with pytest.raises(SavepointError):
            read_kryo(ANYTHING, DataInputView(whole[:cut]), dialect)


def test_an_object_inside_itself_is_a_reference() -> None:
    assert read(named("[Ljava.lang.Object;") + "01 02 0100 02", NEW) == [KryoReference(0)]


def test_exceptions_are_read_as_streams_of_java() -> None:
    stream = "aced0005 7372 0001 41 0000000000000000 02 0000 78 70"
    value = read(named("com.acme.Oops") + "01" + stream, NEW)
    assert value == KryoObject("com.acme.Oops", {})


# --- classes as numbers -----------------------------------------------------------------------


def test_snapshot_classes_are_numbered_after_the_built_in_ones() -> None:
    registrations = (
        KryoRegistration("com.acme.A"),
        KryoRegistration("java.util.UUID"),
        KryoRegistration("com.acme.A"),
        KryoRegistration("com.acme.A", "com.acme.Serializer"),
        KryoRegistration("int"),
        KryoRegistration("com.acme.B"),
    )
    classes = registered_classes(NEW, registrations)
    numbers = {number: name for number, name in classes.items() if number >= 85}
    assert numbers == {85: "com.acme.A", 86: "com.acme.A", 87: "com.acme.B"}
    assert classes[82] == "java.util.UUID"


def test_scala_has_numbers_in_kryo_2_alone() -> None:
    assert registered_classes(OLD, ())[36] == "scala.Tuple1"
    assert registered_classes(OLD, ())[72] == "scala.runtime.BoxedUnit"
    assert 36 not in registered_classes(NEW, ())


def test_flink_without_its_distribution_starts_at_10() -> None:
    dialect = KryoDialect(KryoVersion.V2_24, first_id=10)
    assert registered_classes(dialect, (KryoRegistration("com.acme.A"),))[10] == "com.acme.A"


# --- columns ----------------------------------------------------------------------------------

TYPED: list[tuple[str, str, Any]] = [
    (
        "java.util.UUID",
        "5401ffffffffffffffff0500000000000000",
        "ffffffff-ffff-ffff-0000-000000000005",
    ),
    ("java.lang.Long", "0906", 3),
    ("java.lang.String", "03018261", "a"),
    (
        "java.time.Instant",
        named("java.time.Instant") + "01f9ffffffffffffffff959aef3a",
        -6_876_543_211,
    ),
    ("java.time.LocalTime", named("java.time.LocalTime") + "0107f7", (7 * 60 + 8) * 60 * 10**9),
    ("java.time.Duration", named("java.time.Duration") + "01 ffffffffffffffff 05", -(10**9) + 5),
    ("java.time.Year", named("java.time.Year") + "01e40f", 2020),
    ("java.time.YearMonth", named("java.time.YearMonth") + "01e40f02", "2020-02"),
    ("java.time.MonthDay", named("java.time.MonthDay") + "010203", "--02-03"),
    ("java.time.Period", named("java.time.Period") + "0101feffffff0f03", "P1Y-2M3D"),
    ("java.time.ZoneOffset", named("java.time.ZoneOffset") + "0108", "+02:00"),
    (
        "java.time.OffsetDateTime",
        named("java.time.OffsetDateTime") + "01 e40f011e 0bef e0",
        "2020-01-30T11:16:00-08:00",
    ),
    (
        "java.time.ZonedDateTime",
        named("java.time.ZonedDateTime") + "01 e40f011e 0bef 5554c3",
        "2020-01-30T11:16:00[UTC]",
    ),
    ("java.util.OptionalLong", named("java.util.OptionalLong") + "01 01 0500000000000000", 5),
    ("java.util.OptionalLong", named("java.util.OptionalLong") + "01 00", None),
    ("java.time.Year", "00", None),
]


@pytest.mark.parametrize(("class_name", "data", "value"), TYPED)
def test_final_classes_of_the_jdk_have_columns_of_their_own(
    class_name: str, data: str, value: Any
) -> None:
    view = DataInputView(bytes.fromhex(data))
    assert read_value(Kryo(class_name), view, NEW) == value
    view.expect_end()
    pa.array([value], arrow_type(Kryo(class_name)))


def test_other_classes_are_their_bytes() -> None:
    layout = Struct(("f0", "f1"), (ANYTHING, Long()))
    graph, number = bytes.fromhex(LIST + "01840200020406"), bytes(7) + b"\7"
    value = read_value(layout, DataInputView(graph + number), NEW)
    assert value == {"f0": graph, "f1": 7}
    assert not isinstance(value["f0"], UndecodedBytes)


def test_an_unknown_class_takes_all_bytes_and_is_named() -> None:
    data = bytes.fromhex(named("com.acme.Order") + "01 05")
    layout = Struct(("f0", "f1"), (ANYTHING, Long()))
    value = read_value(layout, DataInputView(data + bytes(8)), NEW)
    assert value == {"f0": data + bytes(8), "f1": None}
    assert "com.acme.Order" in value["f0"].reason


def test_the_version_of_kryo_is_never_guessed() -> None:
    value = read_value(ANYTHING, DataInputView(b"\x02\x09"))
    assert "the version is not known" in value.reason
    with pytest.raises(UndecodableError, match="version is not known"):
        read_value(Kryo("java.lang.Integer"), DataInputView(b"\x02\x09"))


@pytest.mark.parametrize(
    ("class_name", "data", "error"),
    [
        ("java.lang.Integer", "03018261", UndecodableError),
        (
            "java.time.Instant",
            named("java.time.Duration") + "01 0000000000000000 05",
            UndecodableError,
        ),
        (
            "java.time.Duration",
            named("java.time.Duration") + "01 ffffffffffffff7f 05",
            ValueOutOfRangeError,
        ),
        ("java.time.LocalDate", named("java.time.LocalDate") + "01 e50f 02 1d", UndecodableError),
    ],
)
def test_what_its_column_cannot_hold_is_refused(
    class_name: str, data: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        read_value(Kryo(class_name), DataInputView(bytes.fromhex(data)), NEW)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("0300", "a reference to object -2"),
        ("0305", "a reference to object 3 of 0"),
        ("ff7f", "class number 16381, which is not known"),
        ("010561", "class name 5 of 0"),
        (LIST + "01 7f3f", "a count of"),
        (LIST + "01 ffffffff07 00", "a count of"),
        (named("[I") + "01 ffffffff0f", "a count of"),
        (named("GenKryo$Color") + "09", r"constant 8 of GenKryo\$Color"),
        (named("com.acme.Order") + "01 05", r"an object of com\.acme\.Order"),
    ],
)
def test_damage_is_named(data: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read(data, NEW)


def test_objects_may_not_nest_without_end() -> None:
    data = named("[Ljava.lang.Object;") + "0102" + "0100 0102" * 500 + "00"
    with pytest.raises(UndecodableError, match="nested deeper"):
        read(data, NEW)


# --- the vectors of the jars ------------------------------------------------------------------

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
    """What the file writes down, less what the graph does not tell."""
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


@pytest.mark.parametrize(
    "vector", VECTORS, ids=[f"{one['name']} {one['flink']}" for one in VECTORS]
)
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


@pytest.mark.parametrize(
    "vector", VECTORS, ids=[f"{one['name']} {one['flink']}" for one in VECTORS]
)
def test_every_cut_of_a_graph_becomes_bytes_or_an_error(vector: dict[str, Any]) -> None:
    data, layout = bytes.fromhex(vector["data"]), layout_of(vector["snapshot"])
    for cut in range(len(data)):
        try:
            value = read_value(layout, DataInputView(data[:cut]), DIALECTS[vector["flink"][0]])
        except SavepointError:
            continue
        assert isinstance(value, UndecodedBytes)


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
