"""Vectors of released Flink jars, and the data of Flink's own upgrade tests: how to read them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from savepoint_formats.bytes.data_view import DataInputView
from savepoint_formats.layout import KryoClass, KryoField, Layout, parts
from savepoint_formats.snapshots import SnapshotView, read_serializer
from savepoint_formats.values.kryo.dialect import KryoDialect, KryoVersion
from savepoint_formats.values.values import ValueReader

ROOT = Path(__file__).parents[2]
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


VECTORS = [
    vector for vector in load("serializer-vectors.json")["vectors"] if "kryo:" not in vector["name"]
]
FAMILIES = families()

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
    "row_all": "more digits than TIMESTAMP",
}


# A column shows it by other characters, so that it is read, and not written.
ONLY_SHOWN = {"char": "\ufffd\\ud800"}


def layout_of(snapshot: bytes) -> Layout:
    return read_serializer(SnapshotView(snapshot)).layout()


def read(layout: Layout, data: bytes, flink: str) -> Any:
    reader = ValueReader(DataInputView(data), KRYO[flink[0]])
    value = reader.read(layout)
    reader.view.expect_end()
    return value


def has(layout: Layout, *kinds: type[Layout]) -> bool:
    return isinstance(layout, kinds) or any(has(part, *kinds) for part in parts(layout))
