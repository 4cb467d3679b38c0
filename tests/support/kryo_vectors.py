"""Object graphs that Kryo 2.24 and 5.6 wrote inside Flink 1.20 and 2.2, and how to spell others."""

from __future__ import annotations

from typing import Any

from savepoint_formats.bytes.data_view import DataInputView
from savepoint_formats.layout import Kryo, KryoClass, KryoField, KryoRegistration, TypeArgument
from savepoint_formats.snapshots import SnapshotView, read_serializer
from savepoint_formats.values.kryo.dialect import KryoDialect, KryoVersion
from savepoint_formats.values.kryo.graph import read_kryo
from support.flink_vectors import load

VECTORS = [
    vector for vector in load("serializer-vectors.json")["vectors"] if "kryo:" in vector["name"]
]

COLORS = ("RED", "GREEN", "BLUE")
TEXT = "java.lang.String"


def named(class_name: str) -> str:
    """A class by its name, the first of the graph."""
    data = bytearray(class_name.encode())
    data[-1] |= 0x80
    return "0100" + data.hex()


def layout_of(snapshot: str) -> Kryo:
    """The layout of an entry of a snapshot."""
    layout = read_serializer(SnapshotView(bytes.fromhex(snapshot))).layout()
    assert isinstance(layout, Kryo)
    return layout


USER = KryoClass(
    "GenKryo$User",
    (
        KryoField("tags", "java.util.List", (TypeArgument(TEXT),)),
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
        KryoField("m", "java.util.Map", (TypeArgument(TEXT), TypeArgument("java.lang.Integer"))),
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
