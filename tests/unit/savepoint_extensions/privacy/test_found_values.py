from __future__ import annotations

import gzip
import hashlib
import io
import json
import random
import re
import shutil
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
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
from support.sample_rows import Sample, copy_of, file_of
from support.serializer_snapshots import read

from savepoint_database.snapshot.snapshot import Snapshot
from savepoint_extensions.privacy.certificate import ErasureCertificate
from savepoint_extensions.privacy.file_search import FileSearch
from savepoint_extensions.privacy.found_values import FoundValues, find, find_in
from savepoint_extensions.privacy.hidden_contents import table_versions
from savepoint_extensions.privacy.text_forms import SoughtTexts
from savepoint_extensions.privacy.value_search import ValueSearch
from savepoint_formats.errors import DescriptionError
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
from savepoint_formats.metadata.references import stream_references
from savepoint_formats.state_files.operator_state import ListElements, OperatorStateFile

BYTES = snapshot(
    "org.apache.flink.api.common.typeutils.base.array.BytePrimitiveArraySerializer"
    "$BytePrimitiveArraySerializerSnapshot"
)


def places(found: FoundValues) -> set[tuple[str, str, str | None]]:
    return {(place.state, place.field, place.key) for place in found.places if not place.file}


@pytest.mark.parametrize(
    "name",
    [
        "states-1.20.5-hashmap-changelog",
        "states-2.2.1-rocksdb-native",
        "states-1.20.5-hashmap-compressed",
    ],
)
def test_a_text_is_found_in_keys_values_and_fields(name: str) -> None:
    found = find_in(Sample(name).open(), ["customer-005"])
    assert places(found) == {
        ("", "key", "customer-005"),
        ("customer", "value.name", "customer-005"),
    }
    assert found.keys() == {"stateful": ["customer-005"]}
    (searched,) = found.snapshots
    assert searched.problems == ()
    assert "_metadata" in searched.files


def test_the_metadata_that_was_opened_is_searched(tmp_path: Path) -> None:
    opened = copy_of(Sample("currency-1.20.5-hashmap-inline"), tmp_path)
    expected = find_in(opened, ["EUR"]).snapshots[0].files
    Path(opened.path, "_metadata").write_bytes(b"another file")
    assert find_in(opened, ["EUR"]).snapshots[0].files == expected


def test_parts_of_texts_are_found_if_wanted() -> None:
    opened = Sample("states-2.2.1-hashmap-canonical").open()
    assert ("elements", "value", None) not in places(find_in(opened, ["customer-005"]))
    assert ("elements", "value", None) in places(find_in(opened, ["customer-005"], contains=True))


def test_keys_of_maps_numbers_and_times_are_found() -> None:
    opened = Sample("states-2.2.1-hashmap-canonical").open()
    row = next(
        row
        for row in Sample("states-2.2.1-hashmap-canonical").keyed_state("stateful")
        if row["customer"]
    )
    found = places(find_in(opened, [str(row["last_id"])]))
    assert ("last_id", "value", row["key"]) in found
    assert ("last_day", "value", row["key"]) in places(find_in(opened, [row["last_day"]]))
    assert ("balance", "value", row["key"]) in places(find_in(opened, [row["balance"]]))
    currency = next(iter(row["by_currency"]))
    assert ("by_currency", "map_key", row["key"]) in places(find_in(opened, [currency]))


def test_bytes_that_only_an_operator_reads_are_searched() -> None:
    opened = Sample("states-2.2.1-hashmap-canonical").open()
    found = find_in(opened, ["transactions-2.csv"])
    assert any(place.file == "_metadata" for place in found.places)


def test_nothing_is_found_of_what_is_not_there() -> None:
    found = find_in(Sample("states-2.2.1-rocksdb-native").open(), ["nobody at all"])
    assert not found.is_found
    with pytest.raises(ValueError, match="no text"):
        find_in(Sample("states-2.2.1-rocksdb-native").open(), [""])


def test_all_snapshots_of_a_directory_are_searched(samples: Path, tmp_path: Path) -> None:
    for name in ("states-2.2.1-hashmap-canonical", "currency-2.2.1-hashmap-canonical"):
        shutil.copytree(samples / name, tmp_path / name)
    (tmp_path / "chk-9").mkdir()
    found = find(tmp_path, ["customer-005"])
    assert len(found.snapshots) == 3
    assert {place.snapshot for place in found.places} == {
        str(tmp_path / "states-2.2.1-hashmap-canonical")
    }
    (unfinished,) = [one for one in found.snapshots if one.path.endswith("chk-9")]
    assert unfinished.problems
    assert found.keys(str(tmp_path / "currency-2.2.1-hashmap-canonical")) == {}


def test_damaged_state_is_a_problem_of_the_answer(tmp_path: Path) -> None:
    opened = copy_of(Sample("states-2.2.1-hashmap-canonical"), tmp_path)
    path = file_of(opened, "stateful 0: keyed state")
    path.write_bytes(path.read_bytes()[:100])
    (searched,) = find_in(opened, ["customer-005"]).snapshots
    assert searched.problems


def test_the_answer_can_be_read_again() -> None:
    found = find_in(Sample("states-2.2.1-hashmap-canonical").open(), ["Zoë"])
    assert FoundValues.of_json(found.to_json()) == found


def test_other_json_is_no_answer() -> None:
    answer = json.loads(find_in(Sample("states-2.2.1-hashmap-canonical").open(), ["Zoë"]).to_json())
    place = answer["places"][0]
    changed: tuple[object, ...] = (
        *(
            {},
            {**answer, "places": [None]},
            {**answer, "snapshots": ["a"]},
            {**answer, "values": 1},
        ),
        *({**answer, "places": [{**place, "operator": ["a"]}]},),
    )
    for text in (*map(json.dumps, changed), "[" * 100_000):
        with pytest.raises(DescriptionError, match="not an answer of savepoint find"):
            FoundValues.of_json(text, "x.json")


def test_a_certificate_has_neither_values_nor_keys() -> None:
    before = find_in(Sample("states-2.2.1-hashmap-canonical").open(), ["customer-005"])
    after = find_in(Sample("currency-2.2.1-hashmap-canonical").open(), ["customer-005"])
    certificate = ErasureCertificate.of(before, after)
    assert certificate.is_erased
    assert {place.keys for place in certificate.before if not place.file} == {1}
    for text in (certificate.to_json(), certificate.to_html()):
        assert "customer-005" not in text
        assert "backups" in text
        assert before.snapshots[0].files["_metadata"] in text
    assert "<script" not in certificate.to_html()
    assert not ErasureCertificate.of(before, before).is_erased


def test_a_form_that_two_buffers_share_counts_once() -> None:
    search = FileSearch(SoughtTexts(("customer",)))
    search._digest("file", [b"..cust", b"omer..customer", b"..."])
    assert search.counts == {"file": 2}


def test_what_is_found_does_not_depend_on_buffers() -> None:
    draw = random.Random(1)
    for _ in range(1000):
        texts = tuple({"".join(draw.choices("ab", k=draw.randint(1, 4))) for _ in range(3)})
        buffers = [bytes(draw.choices(b"abc", k=draw.randint(0, 4))) for _ in range(4)]
        search, sought = FileSearch(SoughtTexts(texts)), b"|".join(map(str.encode, texts))
        search._digest("file", buffers)
        is_there = re.search(sought, b"".join(buffers)) is not None
        assert (search.counts.get("file", 0) > 0) == is_there, (texts, buffers)


def test_old_versions_in_compressed_blocks_are_found(samples: Path) -> None:
    # The job gave each key a new memo; RocksDB had not compacted its tables yet.
    sample = samples / "objects-1.20.5-rocksdb-native"
    assert not any(b"memo 155" in file.read_bytes() for file in sample.iterdir())
    found = find_in(Snapshot.open(sample), ["memo 155"])
    assert all(place.file and place.operator for place in found.places)
    assert found.places


def test_texts_in_compressed_key_groups_are_found_in_files() -> None:
    found = find_in(Sample("states-1.20.5-hashmap-compressed").open(), ["omer-005"])
    assert any(place.file != "_metadata" for place in found.places if place.file)


@pytest.mark.parametrize(
    ("value", "is_told"),
    [("a person", False), ("ada@example.com", False)]
    + [(text, True) for text in ("77777777", "2024-01-01", "12.50", "CONSTANT", "true", "0a-ff")],
)
def test_what_old_versions_may_hide_is_told(value: str, is_told: bool) -> None:
    (searched,) = find_in(Sample("windows-2.2.1-rocksdb-native").open(), [value]).snapshots
    assert any("old versions" in problem for problem in searched.problems) == is_told


def test_no_certificate_is_sure_of_records_in_flight(cases: Path) -> None:
    checkpoint = Snapshot.open(cases / "08-sizes-shared-by-handles" / "chk-1")
    found = find_in(checkpoint, ["nobody@example.com"])
    assert not found.is_found
    certificate = ErasureCertificate.of(found, found)
    assert certificate.is_erased is None
    assert "Unknown" in certificate.to_html()
    assert any("in flight" in problem for problem in certificate.problems_after)


def test_searches_for_different_values_prove_nothing() -> None:
    opened = Sample("currency-2.2.1-hashmap-canonical").open()
    before, after = find_in(opened, ["a"]), find_in(opened, ["b"])
    with pytest.raises(ValueError, match="different values"):
        ErasureCertificate.of(before, after)


def test_old_versions_in_each_range_of_a_merged_file_are_found(samples: Path) -> None:
    snapshot = Snapshot.open(samples / "states-2.2.1-rocksdb-filemerging" / "chk-2")
    tables, value = 0, "customer-005"
    for operator in snapshot.operators():
        for reference in stream_references(operator.record):
            if reference.role.endswith(".sst"):
                file = operator.directory.file(reference.stream)
                tables += sum(data.count(value.encode()) for _, data in table_versions(file))
    places = [place for place in find_in(snapshot, [value]).places if "/shared/" in place.file]
    assert sum(place.count for place in places) >= tables > 20


def test_digests_are_of_whole_files(samples: Path) -> None:
    folder = samples / "states-2.2.1-rocksdb-filemerging" / "chk-2"
    (searched,) = find_in(Snapshot.open(folder), ["customer-005"]).snapshots
    for path, digest in searched.files.items():
        file = folder / path
        assert hashlib.sha256(file.read_bytes()).hexdigest() == digest, path


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


def test_numbers_of_any_size_are_found_whatever_zeros_they_have() -> None:
    opened = Sample("states-2.2.1-hashmap-canonical").open()
    rows = Sample("states-2.2.1-hashmap-canonical").keyed_state("stateful")
    row = next(row for row in rows if float(row["balance"] or 0) > 0)
    for text in (f"{row['balance']}00", f"00{row['balance']}"):
        assert ("balance", "value", row["key"]) in places(find_in(opened, [text])), text
    other = find_in(opened, [f"{row['balance']}001"])
    assert not any(state == "balance" for state, *_ in places(other))


def test_numbers_are_equal_whatever_zeros_they_have() -> None:
    for text, is_there in (("12.5", True), ("12.50", True), ("12.51", False), ("x", False)):
        for data_type in (pa.decimal128(10, 2), pa.float64(), pa.float32()):
            values = pa.array([12.5, None], pa.float64()).cast(data_type)
            search = ValueSearch(SoughtTexts((text,)), contains=False)
            assert search._is_in(values) == is_there, (text, data_type)
