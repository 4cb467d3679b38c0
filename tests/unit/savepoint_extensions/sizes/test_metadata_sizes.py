"""The parts of ``_metadata`` add up to the file, and are as large as counted by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.commands import lines
from support.kafka_states import SPLIT, bytes_savepoint
from support.sample_rows import SAMPLES

from savepoint_extensions.sizes.metadata_sizes import metadata_parts
from savepoint_formats.metadata import InlineStream
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path


def test_all_parts_are_the_file() -> None:
    for name in ("states-2.2.1-rocksdb-filemerging", "states-1.20.5-hashmap-changelog",
                 "currency-1.20.5-hashmap-inline", "windows-2.2.1-rocksdb-native"):  # fmt: skip
        places = sorted(SAMPLES.glob(f"{name}*"))
        for place in places:
            file = next(place.rglob("_metadata"))
            parts = metadata_parts(Savepoint.open(file.parent))
            assert sum(part.size for part in parts) == file.stat().st_size, name
            assert [part.size for part in parts] == sorted((it.size for it in parts), reverse=True)


def test_parts_are_as_large_as_counted_by_hand(tmp_path: Path) -> None:
    states = {"SourceReaderState": [SPLIT] * 1000, "few": [b"x", b"y"]}
    path = bytes_savepoint(tmp_path / "made", {"orders": states}, {"orders": b"c" * 77})
    savepoint = Savepoint.open(path, uids=["orders"])
    (subtask,) = savepoint.operator("orders").record.subtasks
    assert subtask.managed_operator_state is not None
    stream = subtask.managed_operator_state.stream
    assert isinstance(stream, InlineStream)
    parts = {
        (part.part, part.detail): (part.count, part.size) for part in savepoint.metadata_parts()
    }
    # Each element of a list has an offset of 8 bytes.
    assert parts["offsets of list elements", "SourceReaderState"] == (1000, 8000)
    assert parts["offsets of list elements", "few"] == (2, 16)
    assert parts["coordinator", ""] == (1, 77)
    assert parts["state inside", "operator state"] == (1, len(stream.data))
    first, *_ = lines("describe", path, "--what-fills-metadata")
    assert (first["part"], first["size"]) == ("state inside", len(stream.data))
