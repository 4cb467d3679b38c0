from __future__ import annotations

import hashlib
import json
import random
import re
import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from support.sample_rows import Sample, copy_of, file_of

from savepoint_database.snapshot.snapshot import Snapshot
from savepoint_extensions.privacy.certificate import ErasureCertificate
from savepoint_extensions.privacy.file_search import FileSearch
from savepoint_extensions.privacy.found_values import FoundValues, find, find_in
from savepoint_extensions.privacy.hidden_contents import table_versions
from savepoint_extensions.privacy.text_forms import SoughtTexts
from savepoint_extensions.privacy.value_search import ValueSearch
from savepoint_formats.errors import DescriptionError
from savepoint_formats.metadata.references import stream_references


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


@pytest.mark.usefixtures("slow")
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
