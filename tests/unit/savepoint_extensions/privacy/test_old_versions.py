"""Old versions, and bytes that hide values, are found or make an answer unknown."""

from __future__ import annotations

import gzip
import io
import random
import struct
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from faults.extreme_savepoints import groups_of, write_alone
from rocksdict import DBCompressionType, Rdict
from support.hand_made import LONG, STRING, VOID, encoded, header, i32, meta_info, snapshot, utf
from support.hidden_values import opened_canonical
from support.rocksdb_databases import (
    STATE,
    Files,
    delete,
    files_of,
    local_file,
    make,
    put,
    table_options,
)
from support.serializer_snapshots import read

from savepoint_database.snapshot.snapshot import Snapshot
from savepoint_extensions.privacy.certificate import ErasureCertificate
from savepoint_extensions.privacy.found_values import find_in
from savepoint_formats.key_groups.ranges import KeyGroupRange
from savepoint_formats.layout import Text
from savepoint_formats.metadata import (
    DistributionMode,
    IncrementalHandle,
    InlineStream,
    KeyedHandleType,
    KeyGroupRangeOffsets,
    KeyGroupsHandle,
    SubtaskState,
)
from savepoint_formats.state_files.operator_state import ListElements, OperatorStateFile

if TYPE_CHECKING:
    from pathlib import Path

BYTES = snapshot(
    "org.apache.flink.api.common.typeutils.base.array.BytePrimitiveArraySerializer"
    "$BytePrimitiveArraySerializerSnapshot"
)


def long_at(number: int) -> bytes:
    return struct.pack(">q", number)


def test_elements_of_an_operator_hide_no_old_versions_of_its_keys(tmp_path: Path) -> None:
    # An old version has the number, which no search for text finds; the list has more elements
    # than there are old versions.
    ((group, (key,)),) = groups_of(["key"]).items()
    stored = bytes([group]) + encoded(Text(), key) + b"\0"
    files = make(tmp_path, put({stored: long_at(77777777)}), put({stored: long_at(1)}))
    output = io.BytesIO()
    elements = pa.array([long_at(number) for number in range(9)], pa.large_binary())
    listed = ListElements("all", DistributionMode.SPLIT_DISTRIBUTE, read(LONG), elements)
    file = OperatorStateFile.write(output, [listed], [])
    subtask = SubtaskState(
        0,
        managed_operator_state=file.handle(InlineStream("state", output.getvalue())),
        managed_keyed_state=replace(
            files.handle, meta=InlineStream("head", header(meta_info(STATE, "VALUE", LONG)))
        ),
    )
    write_alone(tmp_path, subtask)
    answer = find_in(Snapshot.open(tmp_path), ["77777777"])
    assert not answer.is_found
    assert any("old versions" in problem for problem in answer.snapshots[0].problems)


def test_timers_beside_tables_hide_no_old_versions(tmp_path: Path) -> None:
    # There are more timers than old versions; they lie in a file of their own.
    ((group, (key,)),) = groups_of(["key"]).items()
    identity = encoded(Text(), key) + b"\0"
    stored = bytes([group]) + identity
    files = make(tmp_path, put({stored: long_at(77777777)}), put({stored: long_at(1)}))
    timers = b"".join(identity + long_at(time) for time in range(9))
    section = bytes.fromhex("f1cd859f0000000200000001") + utf("t") + STRING + VOID
    section += i32(9) + timers + i32(0)
    offsets = tuple(0 if one == group else -1 for one in range(128))
    places = KeyGroupRangeOffsets(KeyGroupRange(0, 127), offsets)
    raw = KeyGroupsHandle(KeyedHandleType.KEY_GROUPS, places, InlineStream("raw", section), "raw")
    problems = problems_of(tmp_path, files, "77777777", raw_keyed_state=raw)
    assert any("old versions" in problem for problem in problems)


def test_keys_of_removed_tables_are_found_in_the_manifest(tmp_path: Path) -> None:
    # Each is longer than a block of the manifest, so heads of records divide it.
    text = "ada@example.com" * 4000
    emptied(tmp_path / "text", b"\5" + encoded(Text(), text) + b"\0")
    (place,) = find_in(Snapshot.open(tmp_path / "text"), [text]).places
    assert place.file.startswith("MANIFEST")
    number = emptied(tmp_path / "number", b"\5" + long_at(77777777) + b"\0")
    problems = problems_of(tmp_path / "number", number, "77777777")
    assert any("former tables" in problem for problem in problems)


def test_a_log_of_writes_is_searched_across_its_blocks(tmp_path: Path) -> None:
    # Flink makes no such log; other options of RocksDB do.
    text = "ada@example.com" * 4000
    for folder, key, value in (("text", text, text), ("number", "x", "77777777")):
        database = Rdict(str(tmp_path / folder), table_options())
        state = database.create_column_family(STATE, table_options())
        state[b"\5" + encoded(Text(), key) + b"\0"] = long_at(77777777)
        (log,) = (tmp_path / folder).glob("*.log")
        data = log.read_bytes()
        state.close()
        database.close()
        log.write_bytes(data)
        files = make(tmp_path / f"{folder}-tables", put({OTHER: long_at(1)}))
        (tmp_path / f"{folder}-tables" / log.name).write_bytes(data)
        private = (*files.handle.private, local_file(tmp_path / f"{folder}-tables" / log.name))
        handle = replace(with_longs(files), private=private)
        write_alone(tmp_path / f"{folder}-tables", SubtaskState(0, managed_keyed_state=handle))
        answer = find_in(Snapshot.open(tmp_path / f"{folder}-tables"), [value])
        if folder == "text":
            assert [place.file for place in answer.places] == [log.name]
        else:
            assert not answer.is_found
            assert any("log of writes" in problem for problem in answer.snapshots[0].problems)


def test_a_text_that_two_blocks_of_javas_serialization_share_is_found(tmp_path: Path) -> None:
    """As ``ObjectOutputStream`` of Java 17 wrote 200 texts of an ``Externalizable``."""
    texts = b"".join(utf(f"user{number}@example.com") for number in range(60))
    data = b"\xac\xed\0\5sr\0\1B" + b"\x7a\0\0\4\0" + texts[:1024]
    rest = texts[1024:]
    data += b"\x7a" + len(rest).to_bytes(4) + rest + b"\x78"
    assert b"user51@example.com" not in data
    (tmp_path / "a").mkdir()
    opened_canonical(tmp_path / "a", {"a": BYTES}, 0, {"key": i32(len(data)) + data})
    assert find_in(Snapshot.open(tmp_path / "a"), ["user51@example.com"]).is_found
    files = make(tmp_path / "b", put({b"\5" + encoded(Text(), "x") + b"\0": data}))
    write_alone(tmp_path / "b", SubtaskState(0, managed_keyed_state=with_longs(files)))
    assert find_in(Snapshot.open(tmp_path / "b"), ["user51@example.com"]).is_found


HIDDEN = bytes(random.Random(7).choices(b"abcde", k=4000)) + b"ada@example.com" + bytes(100)
"""Zstandard has codes for its letters."""


def test_blobs_of_values_make_an_answer_unknown(tmp_path: Path) -> None:
    options = table_options()
    options.set_enable_blob_files(True)
    options.set_blob_compression_type(DBCompressionType.zstd())
    options.set_min_blob_size(100)
    make(tmp_path / "blobs", put({OTHER: HIDDEN}), options=options)
    (blob,) = (tmp_path / "blobs").glob("*.blob")
    # No entry has the blob any more.
    files = make(tmp_path / "tables", put({OTHER: long_at(1)}))
    (tmp_path / "tables" / blob.name).write_bytes(blob.read_bytes())
    blobs = (local_file(tmp_path / "tables" / blob.name),)
    handle = replace(with_longs(files), shared=(*files.handle.shared, *blobs))
    write_alone(tmp_path / "tables", SubtaskState(0, managed_keyed_state=handle))
    answer = find_in(Snapshot.open(tmp_path / "tables"), ["ada@example.com"])
    assert not answer.is_found
    assert any("blobs" in problem for problem in answer.snapshots[0].problems)
    assert ErasureCertificate.of(answer, answer).is_erased is None


def test_a_table_is_searched_although_another_handle_has_its_first_bytes(tmp_path: Path) -> None:
    old = b"\5" + encoded(Text(), "old") + b"\0"
    options = table_options(compression_type=DBCompressionType.zstd())
    files = make(tmp_path, put({old: HIDDEN}), delete(old), options=options)
    first = files.handle.shared[0]
    handle = with_longs(files)
    # Another name for the file, which no table has, comes first.
    other = replace(first, name="000099.txt")
    handle = replace(handle, shared=(other, *handle.shared))
    write_alone(tmp_path, SubtaskState(0, managed_keyed_state=handle))
    answer = find_in(Snapshot.open(tmp_path), ["ada@example.com"])
    assert answer.is_found


OTHER = b"\6" + encoded(Text(), "other") + b"\0"


def emptied(folder: Path, key: bytes) -> Files:
    """A database whose tables with a key were removed; a savepoint of it lies there, too."""
    options = table_options()
    database = Rdict(str(folder), options)
    state = database.create_column_family(STATE, options)
    put({key: long_at(1)})(state)
    state.flush()
    delete(key)(state)
    put({OTHER: long_at(1)})(state)
    state.flush()
    state.compact_range(None, None)
    state.close()
    database.close()
    files = files_of(folder)
    write_alone(folder, SubtaskState(0, managed_keyed_state=with_longs(files)))
    return files


def with_longs(files: Files) -> IncrementalHandle:
    head = header(meta_info(STATE, "VALUE", LONG))
    return replace(files.handle, meta=InlineStream("head", head))


def problems_of(folder: Path, files: Files, value: str, **more: Any) -> tuple[str, ...]:
    """Problems of a search that finds nothing."""
    write_alone(folder, SubtaskState(0, managed_keyed_state=with_longs(files), **more))
    answer = find_in(Snapshot.open(folder), [value])
    assert not answer.is_found
    assert ErasureCertificate.of(answer, answer).is_erased is None
    return answer.snapshots[0].problems


def test_compressed_bytes_make_an_answer_unknown(tmp_path: Path) -> None:
    data = gzip.compress(b"ada@example.com" * 9)
    opened_canonical(tmp_path, {"a": BYTES}, 0, {"key": i32(len(data)) + data})
    answer = find_in(Snapshot.open(tmp_path), ["ada@example.com"])
    assert not answer.is_found
    assert any("compressed by gzip" in problem for problem in answer.snapshots[0].problems)
