"""Wrong descriptions of a class: what they make of an object is its bytes, not other values.

Kryo writes neither names nor types. So a field that is described as of another type fits where the bytes
of both are of the same length: those are named here, one by one, and there are no others.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.layout import Kryo
from savepoint_formats.program.assembly import program
from savepoint_formats.program.decode import decode
from savepoint_formats.program.encode import Encoder
from savepoint_formats.values.kryo.descriptions import kryo_class
from savepoint_formats.values.kryo.dialect import written_dialect

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_formats.layout import KryoClass

RIGHT = {
    "a": "long",
    "b": "java.lang.String",
    "c": "double",
    "d": "java.util.List<java.lang.String>",
    "e": "int",
    "f": "a.Colour",
    "g": "java.time.Instant",
}
ROW: dict[str, Any] = {
    "a": 1234567,
    "b": "Zoe Doe",
    "c": 2.75,
    "d": ["x", "yy"],
    "e": -300,
    "f": "GREEN",
    "g": {"seconds": datetime(2024, 1, 1, tzinfo=UTC), "nanos": 5},
    "$undecoded": None,
}
COLOUR = kryo_class("a.Colour", constants=["RED", "GREEN"], is_final=True)
CLASSES = (kryo_class("a.One", RIGHT), COLOUR)
OTHERS = (
    *("boolean", "byte", "char", "short", "int", "long", "float", "double", "java.lang.String"),
    *("java.lang.Integer", "java.lang.Long", "java.util.UUID", "java.math.BigDecimal"),
    *("java.util.Date", "java.time.Instant", "byte[]", "java.util.List<java.lang.String>"),
    *("java.util.Map<java.lang.String, java.lang.Long>", "java.lang.Object", "a.Colour"),
)
BY_CHANCE = {
    ("a", "float"),
    ("b", "double"),
    ("e", "char"),
    ("e", "short"),
    ("f", "char"),
    ("f", "short"),
    ("f", "java.lang.Integer"),
    ("f", "java.lang.Long"),
    ("+d", "byte"),
    ("g", "java.util.UUID"),
}
"""Field and type that fit: a number of as many bytes. Beside them are new fields, behind a ``+``."""


def layout_of(version: str, *classes: KryoClass) -> Kryo:
    return Kryo("a.One", classes=classes, version=version)


def read(data: bytes, layout: Kryo) -> dict[str, Any]:
    chunk = Chunk(np.frombuffer(data, np.uint8))
    ends = np.array([0, len(data)])
    values = decode(program(layout, written_dialect(layout)), chunk, ends[:1], ends[1:])
    row: dict[str, Any] = values.to_pylist()[0]
    return row


def wrong_types() -> Iterator[tuple[tuple[str, str], dict[str, str]]]:
    """Field and type, and the fields of a class that is described so."""
    for name, right in RIGHT.items():
        others = {other: known for other, known in RIGHT.items() if other != name}
        yield (f"-{name}", ""), others
        if name != "g":
            yield (f"last {name}", ""), {**others, f"z{name}": right}
        for other_type in OTHERS:
            yield (f"+{name}", other_type), {**RIGHT, f"{name}x": other_type}
            if other_type != right:
                yield (name, other_type), {**RIGHT, name: other_type}


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize("version", ["2.24", "5.6"])
def test_fields_that_are_wrong_do_not_fit(version: str) -> None:
    encoder = Encoder(layout_of(version, *CLASSES))
    (data,) = encoder.encode(pa.array([ROW], encoder.type)).to_pylist()
    assert read(data, layout_of(version, *CLASSES)) == ROW
    fits = set()
    for wrong, fields in wrong_types():
        row = read(data, layout_of(version, kryo_class("a.One", fields), COLOUR))
        if row["$undecoded"] is None:
            if any(row[name] != ROW.get(name) for name in row):
                fits.add(wrong)
        else:
            assert row["$undecoded"]["bytes"] == data
            assert row["$undecoded"]["reason"].startswith("a.One: ")
            assert {row[name] for name in fields} == {None}
    assert fits <= BY_CHANCE


@pytest.mark.parametrize("version", ["2.24", "5.6"])
@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ((replace(CLASSES[0], is_final=True), replace(COLOUR, constants=("RED",))), "constant 1"),
        ((CLASSES[0], replace(COLOUR, is_final=False)), "a.One: "),
        (
            (CLASSES[0], kryo_class("a.Colour", {"red": "int", "green": "int"}, is_final=True)),
            "a.One: ",
        ),
        ((CLASSES[0],), "a.One: "),
    ],
)
def test_classes_that_are_wrong_do_not_fit(
    version: str, wrong: tuple[KryoClass, ...], reason: str
) -> None:
    encoder = Encoder(layout_of(version, *CLASSES))
    (data,) = encoder.encode(pa.array([ROW], encoder.type)).to_pylist()
    row = read(data, layout_of(version, *wrong))
    assert row["$undecoded"] is not None
    assert reason in row["$undecoded"]["reason"]
