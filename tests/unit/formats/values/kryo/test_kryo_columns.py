"""Columns of objects that Kryo wrote: classes of the JDK, and what is left of others."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from support.kryo_vectors import ANYTHING, LIST, NEW, named

from savepoint_formats.bytes.data_view import DataInputView
from savepoint_formats.errors import UndecodableError, ValueOutOfRangeError
from savepoint_formats.layout import Kryo, Long, Struct
from savepoint_formats.values.arrow_types import arrow_type
from savepoint_formats.values.kryo.objects import json_text
from savepoint_formats.values.values import read_value

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
        {"seconds": datetime(1969, 12, 31, 23, 59, 53, tzinfo=UTC), "nanos": 123_456_789},
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


def test_other_classes_of_the_jdk_are_json_and_their_bytes() -> None:
    layout = Struct(("f0", "f1"), (ANYTHING, Long()))
    graph, number = bytes.fromhex(LIST + "01840200020406"), bytes(7) + b"\7"
    value = read_value(layout, DataInputView(graph + number), NEW)
    assert value == {"f0": {"json": "[1, 2, 3]", "bytes": graph, "reason": None}, "f1": 7}
    pa.array([value], arrow_type(layout))


def test_an_unknown_class_takes_all_bytes_and_is_named() -> None:
    data = bytes.fromhex(named("com.acme.Order") + "01 05")
    layout = Struct(("f0", "f1"), (ANYTHING, Long()))
    value = read_value(layout, DataInputView(data + bytes(8)), NEW)
    assert (value["f0"]["json"], value["f0"]["bytes"]) == (None, data + bytes(8))
    assert value["f1"] is None
    assert "com.acme.Order, whose fields are not known" in value["f0"]["reason"]
    assert value["f0"]["reason"].endswith("; these bytes are also those of 'f1'")
    pa.array([value], arrow_type(layout))


def test_what_many_share_does_not_make_endless_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("savepoint_formats.values.kryo.objects._MOST_VALUES", 1000)
    shared: list[Any] = ["x"]
    for _ in range(40):
        shared = [shared, shared]
    with pytest.raises(ValueError, match="too many for JSON"):
        json_text(shared)


def test_half_a_surrogate_pair_is_escaped_in_json() -> None:
    assert json_text(["\ud834"]) == '["\\ud834"]'
    assert json_text(["é"]) == '["é"]'


def test_the_version_of_kryo_is_never_guessed() -> None:
    value = read_value(ANYTHING, DataInputView(b"\x02\x09"))
    assert "whose version is not known" in value["reason"]
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
