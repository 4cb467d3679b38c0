"""Object graphs that Kryo 2.24 and 5.6 wrote inside Flink 1.20 and 2.2, and how to spell others."""

from __future__ import annotations

import json
import os
from pathlib import Path

from savepoint_formats.layout import Kryo
from savepoint_formats.snapshots import SerializerEntry, SnapshotView

ROOT = Path(__file__).parents[2]
CORPUS = Path(os.environ.get("SAVEPOINT_CORPUS", ROOT.parent / "shared" / "corpus"))
VECTOR_FILE = CORPUS.parent / "spec" / "serializer-vectors.json"
VECTORS = [
    one
    for one in (json.loads(VECTOR_FILE.read_text())["vectors"] if VECTOR_FILE.is_file() else [])
    if "kryo:" in one["name"]
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
    layout = SerializerEntry.read(SnapshotView(bytes.fromhex(snapshot))).snapshot.layout()
    assert isinstance(layout, Kryo)
    return layout
