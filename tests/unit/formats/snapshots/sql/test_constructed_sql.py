"""Snapshots of new rows of SQL: the same as real Flinks wrote, the Java objects in them included."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

import pytest
from support.stored_snapshots import snapshot_bytes, stored_snapshots

from savepoint_formats.layout import BinaryRow, Framed, LogicalType
from savepoint_formats.snapshots import SnapshotView, TypeSerializerSnapshot, read_serializer
from savepoint_formats.snapshots.sql.constructed_sql import row_data
from savepoint_formats.snapshots.sql.logical_type import LogicalTypeObjects, logical_type
from savepoint_formats.snapshots.sql.logical_type_text import parse_logical_type

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

ROW = "org.apache.flink.table.runtime.typeutils.RowDataSerializer$RowDataSerializerSnapshot"

# The beginning of the SHA-256 of the snapshot that Flink 2.2.1 writes of a row of these types.
FLINKS = {
    (
        "ARRAY<ROW<a CHAR(5), b STRING, c BOOLEAN, d TINYINT, e SMALLINT, f INT, "
        "g BIGINT, h FLOAT, i DOUBLE, j DECIMAL(10, 2), k DATE, l TIME(3), "
        "m TIMESTAMP(3), n TIMESTAMP_LTZ(6), o BINARY(4), p BYTES, q ARRAY<INT>, "
        "r MAP<INT, INT>, s MULTISET<INT>, t ROW<u INT>>>"
    ): "2914f6c2ed0bd8bc",
    "ARRAY<ROW<x INT NOT NULL>>": "d523f551d4daf745",
    "MAP<INT, MAP<STRING, BIGINT NOT NULL>>": "c82a2c0ff603be62",
    "MAP<STRING, ROW<a INT, b STRING>>": "4dbc402406108bdc",
    "MULTISET<BIGINT NOT NULL> NOT NULL": "3f117b731c548260",
    "ARRAY<ROW<a INT, b ARRAY<ROW<c BIGINT NOT NULL>>>>": "9c03e6d70f96a069",
    (
        ""
        "CHAR(5); VARCHAR(20); STRING; BOOLEAN; TINYINT; SMALLINT; INT; BIGINT NOT NULL; FLOAT; DOUBLE; DECIMAL(10, "
        "2); DECIMAL(38, "
        "18); DATE; TIME(3); TIMESTAMP(3); TIMESTAMP(9); TIMESTAMP_LTZ(3); BINARY(4); VARBINARY(9); BYTES; ROW<a INT, "
        "b STRING NOT NULL>"
    ): "26aafdf7803c3313",
    "ARRAY<ARRAY<CHAR(5)>>": "3b190be683e56978",
    "ARRAY<ARRAY<BOOLEAN>>": "ca3d657dd93f6865",
    "ARRAY<ARRAY<TINYINT>>": "0414893a35cf4374",
    "ARRAY<ARRAY<SMALLINT>>": "daac1f271ce9bb76",
    "ARRAY<ARRAY<INT>>": "dbefd6fec7c4a0c6",
    "ARRAY<ARRAY<BIGINT>>": "97abb711e4a8333a",
    "ARRAY<ARRAY<FLOAT>>": "c271eeda412117a4",
    "ARRAY<ARRAY<DOUBLE>>": "ec902ff987f8ea47",
    "ARRAY<ARRAY<DECIMAL(10, 2)>>": "b51c1cbfa2342982",
    "ARRAY<ARRAY<DATE>>": "74cf6b13ddb123f7",
    "ARRAY<ARRAY<TIMESTAMP(3)>>": "549ef913a586bd83",
    "ARRAY<ARRAY<TIMESTAMP_LTZ(6)>>": "6dd70910f6e95e7c",
    "ARRAY<ARRAY<BYTES>>": "e1c06af2cab92eb6",
    "ARRAY<ARRAY<ARRAY<INT>>>": "7dbb9230700d3f71",
    "ARRAY<ARRAY<MAP<INT, INT>>>": "5c46234b55f9bfc0",
    "ARRAY<ARRAY<ROW<a INT>>>": "2683a13cc31079fd",
}
NOT_MADE = ("RAW", "STRUCTURED_TYPE", "DISTINCT_TYPE", "VARIANT", "INTERVAL_DAY_TIME")
# What a timestamp is to a query; types that differ in it alone are equal to Flink.
KINDS = (b"ROWTIME", b"PROCTIME")


def types_of(row: TypeSerializerSnapshot) -> list[LogicalType]:
    return [logical_type(java.value) for java in row["types"]]


def roots(found: LogicalType) -> set[str]:
    return {found.root}.union(*map(roots, found.children))


def can_be_made(row: TypeSerializerSnapshot) -> bool:
    has_kind = any(kind in snapshot_bytes(row) for kind in KINDS)
    return not has_kind and not any(roots(one).intersection(NOT_MADE) for one in types_of(row))


def rows_made_again(found: Iterable[TypeSerializerSnapshot]) -> int:
    """How many rows there are among them that can be made, all of which are made the same."""
    rows = [row for row in found if row.class_name == ROW and can_be_made(row)]
    for row in rows:
        assert snapshot_bytes(row_data(types_of(row))) == snapshot_bytes(row)
    return len(rows)


@pytest.mark.parametrize(("types", "digest"), FLINKS.items(), ids=FLINKS)
def test_a_row_is_what_flink_writes(types: str, digest: str) -> None:
    row = row_data([parse_logical_type(one) for one in types.split("; ")])
    assert hashlib.sha256(snapshot_bytes(row)).hexdigest().startswith(digest)


@pytest.mark.parametrize("types", FLINKS)
def test_a_row_is_read_back_equal(types: str) -> None:
    expected = tuple(parse_logical_type(one) for one in types.split("; "))
    row = row_data(expected)
    found = TypeSerializerSnapshot.read(SnapshotView(snapshot_bytes(row)))
    assert found == row
    names = tuple(f"f{index}" for index in range(len(expected)))
    assert found.layout() == row.layout() == Framed(BinaryRow(names, expected))


def test_the_rows_of_the_samples_are_made_byte_for_byte(samples: Path) -> None:
    assert rows_made_again(stored_snapshots(samples)) >= 4


def test_the_rows_of_the_corpus_are_made_byte_for_byte(corpus: Path) -> None:
    assert rows_made_again(stored_snapshots(corpus / "sql")) > 20


def test_the_rows_of_the_vectors_are_made_byte_for_byte(corpus: Path) -> None:
    path = corpus.parent / "spec" / "serializer-vectors.json"
    if not path.is_file():
        pytest.skip("no vectors beside the corpus")
    data = {bytes.fromhex(one["snapshot"]) for one in json.loads(path.read_text())["vectors"]}
    entries = [read_serializer(SnapshotView(one)) for one in data if ROW in str(one)]
    assert rows_made_again(entries) > 5


def test_a_type_is_one_object_and_equal_types_are_two() -> None:
    objects, (first, second) = LogicalTypeObjects(), (LogicalType("BIGINT") for _ in range(2))
    assert objects.of(first) is objects.of(first)
    assert objects.of(first) is not objects.of(second)


@pytest.mark.parametrize("root", ["RAW", "NULL", "UNKNOWN"])
def test_a_type_that_no_new_row_can_have_is_refused(root: str) -> None:
    with pytest.raises(ValueError, match=f"the SQL type {root}, expected one of ARRAY, BIGINT"):
        row_data([LogicalType("ARRAY", children=(LogicalType(root),))])
