"""Values of flink-scala-api: bytes that a job on Flink 2.2.1 wrote, and those of older releases."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
from savepoint_formats.errors import FormatError
from savepoint_formats.hashing.key_hash import java_hash
from savepoint_formats.layout import (
    CaseClass,
    Coproduct,
    Layout,
    MapOf,
    Marker,
    Nullable,
    OfScala,
    ScalaValue,
)
from savepoint_formats.program.encode import Encoder
from savepoint_formats.values.kinds.codec import NullError
from savepoint_formats.values.state_entries import NullableRest
from savepoint_formats.values.value_writer import write_value
from savepoint_formats.values.values import read_value

INT, LONG, TEXT = layouts.Int(), layouts.Long(), layouts.Text()
FIXED = CaseClass("sc.Fixed", ("_1", "_2"), (INT, LONG), 12)
ADDRESS = CaseClass("sc.Address", ("_1", "_2"), (TEXT, INT))
CIRCLE = CaseClass("sc.Circle", ("_1",), (layouts.Double(),), 8)
NAMED = CaseClass("sc.Named", ("_1", "_2"), (TEXT, ADDRESS))
SHAPE = Coproduct(
    ("sc.Circle", "sc.Named", "sc.NoShape$"), (CIRCLE, NAMED, Marker(None, "sc.NoShape$"))
)
NO_SHAPE = {"$class": "sc.NoShape$", "_1": None, "_1@Named": None, "_2": None}
EITHER = OfScala(layouts.Tagged((1, 0), ("left", "right"), (INT, layouts.Float()), 4))
BUFFER = OfScala(layouts.Repeated(INT), is_nullable=True)
OLD_OPTION, OLD_UNIT = Nullable(INT, is_null=False), OfScala(Marker(text="()"))
OPTION, UNIT = OfScala(OLD_OPTION), OfScala(Marker(None, "()"))
NO_OBJECT = Marker(None, "sc.NoShape$")
UNIT_OR_INT = OfScala(layouts.Tagged((0, 1), ("left", "right"), (UNIT, INT)))
TIME = "2000-07-01T12:00:30"
LOCAL = "000007d0 07 01 0c 00 1e 00000000"
NO_LOCAL = "80000000 8000 80 8000 80000000"

GOLDEN: list[tuple[Layout, str, Any]] = [
    (FIXED, "00000002 00000001 0000000000000002", {"_1": 1, "_2": 2}),
    (FIXED, "80000000 000000000000000000000000", None),
    (ADDRESS, "00000002 036162 00000003", {"_1": "ab", "_2": 3}),
    (ADDRESS, "80000000", None),
    (SHAPE, "00 00000001 3ff0000000000000", NO_SHAPE | {"$class": "sc.Circle", "_1": 1.0}),
    (SHAPE, "02", NO_SHAPE),
    (SHAPE, "80", None),
    (EITHER, "01 00000002", {"left": 2, "right": None}),
    (BUFFER, "00000001 00000001", [1]),
    (BUFFER, "80000000", None),
    (ScalaValue("Duration"), "00 fffffffffffffff8 00000004", "-8 minutes"),
    (ScalaValue("Duration"), "01", "Duration.Undefined"),
    (ScalaValue("Duration"), "02", "Duration.Inf"),
    (ScalaValue("Duration"), "03", "Duration.MinusInf"),
    (ScalaValue("Duration"), "ff", None),
    (ScalaValue("FiniteDuration"), "0000000000000001 00000006", "1 day"),
    (ScalaValue("ZoneOffset"), "00000e10", "+01:00"),
    (ScalaValue("ZoneOffset"), "80000000", None),
    (ScalaValue("ZonedDateTime"), f"{LOCAL} 04555443", f"{TIME}[UTC]"),
    (ScalaValue("ZonedDateTime"), f"{NO_LOCAL} 00", None),
    (ScalaValue("OffsetDateTime"), f"{LOCAL} 00000e10", f"{TIME}+01:00"),
    (ScalaValue("OffsetDateTime"), f"{NO_LOCAL} 80000000", None),
    (MapOf(TEXT, Nullable(OPTION)), "00000001 0261 00 00", [("a", None)]),
    (MapOf(TEXT, Nullable(OLD_OPTION)), "00000001 0261 00 00", [("a", None)]),
    (MapOf(TEXT, Nullable(OLD_UNIT)), "00000001 0261 00 00", [("a", "()")]),
    (MapOf(TEXT, Nullable(UNIT)), "00000001 0261 00", [("a", "()")]),
    (MapOf(TEXT, Nullable(UNIT)), "00000001 0261 01", [("a", None)]),
    (MapOf(UNIT, INT), "00000001 00000007", [("()", 7)]),
    (OLD_UNIT, "00", "()"),
    (UNIT, "", "()"),
    (NO_OBJECT, "", "sc.NoShape$"),
    (OfScala(Nullable(UNIT, is_null=False)), "01", "()"),
    (OfScala(Nullable(UNIT, is_null=False)), "00", None),
    (layouts.Repeated(NO_OBJECT), "00000002", ["sc.NoShape$", "sc.NoShape$"]),
    (UNIT_OR_INT, "00", {"left": "()", "right": None}),
    (MapOf(TEXT, Nullable(Marker())), "00000001 0261 01", [("a", None)]),
    (
        ScalaValue("Uuid"),
        "00000010 0123456789abcdef 8000000000000000",
        "01234567-89ab-cdef-8000-000000000000",
    ),
]


def read(layout: Layout, data: str) -> Any:
    view = DataInputView(bytes.fromhex(data))
    value = read_value(layout, view)
    view.expect_end()
    return value


def written(layout: Layout, value: Any) -> bytes:
    view = DataOutputView()
    write_value(layout, value, view)
    return view.to_bytes()


@pytest.mark.parametrize(("layout", "data", "value"), GOLDEN)
def test_what_flink_wrote_is_read_and_written(layout: Layout, data: str, value: Any) -> None:
    assert read(layout, data) == value
    assert written(layout, value) == bytes.fromhex(data)


@pytest.mark.parametrize("value", [OPTION, OLD_OPTION, UNIT, OLD_UNIT, Marker()])
def test_null_of_a_map_state_is_written_behind_its_flag(value: Layout) -> None:
    entry, state = Encoder(NullableRest(value)), Encoder(MapOf(INT, Nullable(value)))
    data = b"\0" + written(value, None) if value in (OPTION, OLD_OPTION) else b"\1"
    assert entry.encode(pa.array([None], entry.type)).to_pylist() == [data]
    (encoded,) = state.encode(pa.array([[(1, None)]], state.type)).to_pylist()
    assert encoded == bytes.fromhex("00000001 00000001") + data


@pytest.mark.parametrize(("layout", "data", "value"), GOLDEN)
def test_every_cut_is_noticed(layout: Layout, data: str, value: Any) -> None:
    for cut in range(len(bytes.fromhex(data))):
        with pytest.raises(FormatError):
            read(layout, bytes.fromhex(data)[:cut].hex())


def test_fields_that_older_data_lacks_are_null() -> None:
    assert read(FIXED, "00000001 00000007") == {"_1": 7, "_2": None}


def test_a_value_without_such_a_field_is_not_written() -> None:
    with pytest.raises(NullError, match="Long cannot be"):
        written(FIXED, {"_1": 7, "_2": None})


def test_the_null_of_older_releases_has_no_padding() -> None:
    assert read(FIXED, "ffffffff") is None


@pytest.mark.parametrize(
    ("layout", "data", "message"),
    [
        (
            FIXED,
            "00000003 00",
            r"3 fields of sc\.Fixed, which has 2; flink-scala-api up to 1\.1\.4",
        ),
        (SHAPE, "03", "subtype 3 of 3"),
        (SHAPE, "81", "subtype -127 of 3"),
        (SHAPE, "00 80000000 0000000000000000", r"a null in the place of a sc\.Circle"),
        (ScalaValue("Duration"), "04", "kind 4"),
        (ScalaValue("FiniteDuration"), "0000000000000001 00000007", "unit 7"),
        (ScalaValue("Uuid"), "00000011 00", "a UUID of 17 bytes"),
        (ScalaValue("OffsetDateTime"), f"{LOCAL} 80000000", "a time without an offset"),
        (BUFFER, "ffffffff", "a count of -1 elements"),
    ],
)
def test_damage_is_named(layout: Layout, data: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read(layout, data)


@pytest.mark.parametrize(
    ("layout", "value", "message"),
    [
        (ScalaValue("FiniteDuration"), "8 weeks", "is no duration such as 8 minutes"),
        (ScalaValue("FiniteDuration"), "106752 days", "more than 292 years"),
        (ScalaValue("ZonedDateTime"), f"{TIME}+02:00[Europe/Berlin]", "does not keep"),
        (SHAPE, {"$class": "sc.Oval"}, r"sc\.Oval is none of sc\.Circle"),
        (EITHER, None, "cannot be"),
        (UNIT, None, "Marker cannot be"),
        (OLD_UNIT, "(1)", r"'\(1\)' where only '\(\)' can be"),
        (NO_OBJECT, "sc.Circle", r"'sc\.Circle' where only 'sc\.NoShape\$' can be"),
    ],
)
def test_what_has_no_bytes_is_refused(layout: Layout, value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        written(layout, value)


def test_hash_codes_of_scala_2_13() -> None:
    """The name of the declaration alone counts; key groups of real jobs say that it does."""
    key = CaseClass("shop.Orders$Key", ("_1", "_2"), (TEXT, INT))
    same = CaseClass("Key", ("_1", "_2"), (TEXT, INT))
    value = {"_1": "eu", "_2": 7}
    assert java_hash(key, value) == java_hash(same, value)
    option = OfScala(layouts.Nullable(TEXT, is_null=False))
    assert java_hash(option, None) == 2433880
    some = CaseClass("scala.Some", ("_1",), (TEXT,))
    assert java_hash(option, "a") == java_hash(some, {"_1": "a"})
