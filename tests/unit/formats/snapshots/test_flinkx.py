"""Snapshots of flink-scala-api that the corpus does not have: old ones, and those of Scala 3."""

from __future__ import annotations

import pytest
from support.hand_made import STRING, i32, snapshot, utf
from support.serializer_snapshots import INT, composite, layout, read, written

from savepoint_formats import layout as layouts
from savepoint_formats.layout import CaseClass, Coproduct, Layout, Marker, OfScala, Opaque

FLINKX = "org.apache.flinkx.api.serializer."
COPRODUCT = f"{FLINKX}CoproductSerializer$CoproductSerializerSnapshot"
CASE_CLASS = f"{FLINKX}ScalaCaseClassSerializerSnapshot"
CASE_OBJECT = snapshot(
    f"{FLINKX}ScalaCaseObjectSerializer$ScalaCaseObjectSerializerSnapshot", utf("a.N$"), 1
)
PAIR = composite(CASE_CLASS, INT, INT, outer=2, own=utf("a.Pair"))


def text(value: str) -> bytes:
    return bytes([len(value) + 1]) + value.encode()


def case_class(*fields: bytes) -> bytes:
    return composite(CASE_CLASS, *fields, outer=3, own=utf("a.C") + b"\1")


def mapped(mapper: str, target: bytes) -> bytes:
    name = f"{FLINKX}MappedSerializer$MappedSerializerSnapshot"
    return snapshot(name, utf(mapper) + target, 2)


def ordering(name: str, body: bytes = b"", version: int = 3) -> bytes:
    return snapshot(f"{FLINKX}{name}OrderingSerializerSnapshot", body, version)


def sorted_map(order: bytes) -> bytes:
    return snapshot(f"{FLINKX}SortedMapSerializerSnapshot", INT + STRING + order, 1)


ENUM_VALUE = snapshot(f"{FLINKX}Scala3EnumValueSerializerSnapshot", utf("a.Light") + utf("Red"), 1)

EXAMPLES: dict[str, tuple[bytes, Layout]] = {
    "a case class before version 3": (
        PAIR,
        CaseClass("a.Pair", ("_1", "_2"), (layouts.Int(), layouts.Int()), 8),
    ),
    "a case class with a text has no padding": (
        case_class(INT, STRING),
        CaseClass("a.C", ("_1", "_2"), (layouts.Int(), layouts.Text())),
    ),
    "a case class in another adds 4 bytes": (
        case_class(INT, PAIR),
        CaseClass("a.C", ("_1", "_2"), (layouts.Int(), layout(PAIR)), 16),
    ),
    "a sealed trait of version 2": (
        snapshot(COPRODUCT, i32(2) + utf("a.N$") + utf("a.Pair") + CASE_OBJECT + PAIR, 2),
        Coproduct(("a.N$", "a.Pair"), (Marker(None, "a.N$"), layout(PAIR))),
    ),
    "an enum of Scala 3": (
        composite(
            f"{FLINKX}Scala3EnumSerializerSnapshot",
            ENUM_VALUE,
            PAIR,
            own=i32(2) + text("Red") + text("Mix"),
        ),
        Coproduct(("Red", "Mix"), (Marker(None, "Red"), layout(PAIR))),
    ),
    "a mapper of the user shows what it writes": (
        mapped("a.Mapper", STRING),
        OfScala(layouts.Text()),
    ),
    "an ordering without bytes": (
        sorted_map(ordering("Reverse", ordering("DefaultInt"), 1)),
        OfScala(layouts.MapOf(layouts.Int(), layouts.Text()), is_nullable=True),
    ),
    "an ordering with bytes": (
        sorted_map(STRING),
        Opaque(
            "org.apache.flink.api.common.typeutils.base.StringSerializer$StringSerializerSnapshot",
            "an ordering whose bytes are not known",
        ),
    ),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_it_has_this_layout_and_is_written_back(name: str) -> None:
    data, expected = EXAMPLES[name]
    assert layout(data) == expected
    assert written(read(data)) == data
