"""Serializer snapshots that real Flinks wrote: a corpus of files, and vectors with their lengths."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.layout import Layout, Opaque, nodes_of, serializer_length
from savepoint_formats.snapshots import (
    SnapshotView,
    TypeSerializerSnapshot,
    read_serializer,
    write_serializer,
)

if TYPE_CHECKING:
    from pathlib import Path

UNDECIDABLE = {"value-serializer", "copyable-value-serializer", "writeable-serializer"}


def entry(data: bytes) -> TypeSerializerSnapshot:
    view = SnapshotView(data, "serializer-snapshot")
    found = read_serializer(view)
    view.expect_end()
    return found


def written(found: TypeSerializerSnapshot) -> bytes:
    view = DataOutputView()
    write_serializer(view, found)
    return view.to_bytes()


def layout(data: bytes) -> Layout:
    return entry(data).layout()


@pytest.fixture(scope="session")
def files(corpus: Path) -> dict[str, bytes]:
    """Name of the test, and Flink's release -> the snapshot."""
    paths = sorted((corpus / "serializers").glob("*/serializer-snapshot"))
    return {path.parent.name: path.read_bytes() for path in paths}


@pytest.fixture(scope="session")
def vectors(corpus: Path) -> list[dict[str, object]]:
    """Snapshots, and facts about their serializers."""
    path = corpus.parent / "spec" / "serializer-vectors.json"
    if not path.is_file():
        pytest.skip("no vectors beside the corpus")
    found: list[dict[str, object]] = json.loads(path.read_text())["vectors"]
    return found


def snapshot_of(vector: dict[str, object]) -> bytes:
    return bytes.fromhex(str(vector["snapshot"]))


def test_every_file_is_read_to_its_last_byte_and_rewritten(files: dict[str, bytes]) -> None:
    assert len(files) > 200
    assert [name for name, data in files.items() if written(entry(data)) != data] == []


def test_every_file_means_a_layout_without_unknown_parts(files: dict[str, bytes]) -> None:
    opaque = {name for name, data in files.items() if list(nodes_of(layout(data), Opaque))}
    assert {name.rpartition("-")[0] for name in opaque} <= UNDECIDABLE


def test_every_vector_is_read_to_its_last_byte_and_rewritten(
    vectors: list[dict[str, object]],
) -> None:
    assert len(vectors) > 500
    data = [snapshot_of(vector) for vector in vectors]
    assert [snapshot for snapshot in data if written(entry(snapshot)) != snapshot] == []


def test_every_vector_has_the_length_that_flink_says(vectors: list[dict[str, object]]) -> None:
    lengths = [
        (vector["name"], serializer_length(layout(snapshot_of(vector))), vector["fixedLength"])
        for vector in vectors
        if "fixedLength" in vector
    ]
    assert len(lengths) > 200
    assert [length for length in lengths if length[1] != length[2]] == []
