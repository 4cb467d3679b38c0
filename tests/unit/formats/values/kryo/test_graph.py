"""Object graphs against those that Kryo 2.24 and 5.6 wrote inside Flink 1.20 and 2.2."""

from __future__ import annotations

from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from support.kryo_vectors import ANYTHING, LIST, NEW, OLD, named, read

from savepoint_formats.bytes.data_view import DataInputView
from savepoint_formats.errors import FormatError, SavepointError, UndecodableError
from savepoint_formats.layout import KryoRegistration
from savepoint_formats.values.kryo.classes import registered_classes
from savepoint_formats.values.kryo.descriptions import kryo_class
from savepoint_formats.values.kryo.dialect import KryoDialect, KryoVersion
from savepoint_formats.values.kryo.graph import read_kryo
from savepoint_formats.values.kryo.objects import KryoObject, KryoReference

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


@pytest.mark.parametrize(
    ("types", "fields"),
    [
        ({"a": "int", "b": "int"}, {"a": 1, "b": 5}),
        ({"a": "long", "b": "long"}, {"a": 1, "b": 5}),
        ({"a": "byte", "b": "byte"}, {"a": 2, "b": 10}),
        ({"a": "short"}, {"a": 0x0A02}),
    ],
)
def test_bytes_do_not_tell_the_fields_of_a_class(types: dict[str, str], fields: Any) -> None:
    dialect = KryoDialect(KryoVersion.V5_6, (kryo_class("com.acme.Order", types),))
    data = named("com.acme.Order") + "01 020a"
    assert read(data, dialect) == KryoObject("com.acme.Order", fields)
