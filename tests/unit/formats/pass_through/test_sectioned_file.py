"""Sections that are written as their runs come."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from support.sample_rows import Sample

from savepoint_formats.entries.joined_runs import RUN_SCHEMA
from savepoint_formats.new_snapshot.directory import NewSnapshot
from savepoint_formats.pass_through.sectioned_file import SectionedFile, whole_sections
from savepoint_formats.snapshots import SerializerEntry
from savepoint_formats.state_files.header import KeyedBackendHeader
from savepoint_spark.writing.stored_types import StoredTypes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def batch_of(*rows: tuple[int, bytes]) -> pa.RecordBatch:
    groups, runs = zip(*rows, strict=True)
    columns = [pa.array(groups, pa.int32()), pa.array(runs, pa.large_binary())]
    return pa.RecordBatch.from_arrays(columns, schema=RUN_SCHEMA)


def test_a_key_group_waits_until_the_one_that_it_was_part_of_is_over() -> None:
    batches = iter(
        [
            batch_of((0, b"a"), (3, b"b"), (10, b"c"), (13, b"d")),
            batch_of((3, b"e"), (23, b"f")),
            batch_of((4, b"g")),
        ]
    )
    taken = [
        (key_group, [run.to_pybytes() for run in runs])
        for key_group, runs in whole_sections(batches, 10)
    ]
    assert taken == [
        (0, [b"a"]),
        (10, [b"c"]),
        (3, [b"b", b"e"]),
        (13, [b"d"]),
        (23, [b"f"]),
        (4, [b"g"]),
    ]


def test_sections_are_passed_on_before_all_is_read() -> None:
    read = []

    def batches() -> Iterator[pa.RecordBatch]:
        for group in range(3):
            read.append(group)
            yield batch_of((group, b"run"))

    sections = whole_sections(batches(), 10)
    assert next(sections)[0] == 0
    assert read == [0, 1]


def test_a_key_group_has_one_section(tmp_path: Path) -> None:
    types = StoredTypes.of(Sample("currency-2.2.1-hashmap-canonical").open().operator("summarize"))
    header = KeyedBackendHeader(
        is_compressed=False, key_serializer=SerializerEntry(types.key), states=types.states
    )
    with NewSnapshot.at(str(tmp_path)).create("keyed") as file:
        sections = SectionedFile(file, header)
        with sections.section(7):
            file.write(b"runs")
        with pytest.raises(ValueError, match="key group 7 comes twice"), sections.section(7):
            pass
