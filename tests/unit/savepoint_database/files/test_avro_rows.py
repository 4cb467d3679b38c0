"""Rows that are encoded column by column are the rows that fastavro reads."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import fastavro
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from savepoint_database.files.avro_file import avro_schema, write_avro
from savepoint_database.files.avro_rows import are_single, encoded_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

SCHEMA = pa.schema(
    {
        "long": pa.int64(),
        "byte": pa.int8(),
        "flag": pa.bool_(),
        "ratio": pa.float64(),
        "small": pa.float32(),
        "text": pa.utf8(),
        "bytes": pa.binary(),
        "nothing": pa.null(),
    }
)
EDGES = [sign * (1 << bits) - less for bits in range(63) for sign in (1, -1) for less in (0, 1)]
LONGS = st.sampled_from([*EDGES, -(1 << 63), (1 << 63) - 1]) | st.integers(
    -(1 << 63), (1 << 63) - 1
)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "long": LONGS,
    "byte": st.integers(-128, 127),
    "flag": st.booleans(),
    "ratio": st.floats(allow_nan=False),
    "small": st.floats(width=32, allow_nan=False),
    "text": st.text(max_size=200),
    "bytes": st.binary(max_size=200),
    "nothing": st.none(),
}
ROWS = st.lists(
    st.fixed_dictionaries({name: st.none() | it for name, it in VALUES.items()}), max_size=20
)


def by_fastavro(rows: Sequence[dict[str, Any]]) -> bytes:
    output, schema = io.BytesIO(), fastavro.parse_schema(avro_schema(SCHEMA))
    for row in rows:
        fastavro.schemaless_writer(output, schema, row)
    return output.getvalue()


@settings(max_examples=60)
@given(ROWS, st.integers(0, 3))
def test_bytes_are_those_of_fastavro(rows: list[dict[str, Any]], skipped: int) -> None:
    array = pa.array(rows, pa.struct(list(SCHEMA)))[skipped:]
    assert b"".join(encoded_rows(array).to_pylist()) == by_fastavro(rows[skipped:])


@pytest.mark.parametrize("count", [0, 1, 9_999, 25_000])
def test_a_file_has_all_rows_in_blocks_of_bounded_size(count: int) -> None:
    column = pa.array([number if number % 3 else None for number in range(count)], pa.int64())
    texts = pa.array([str(number) * 20 for number in range(count)], pa.utf8())
    table = pa.table({"number": column, "text": texts})
    output = io.BytesIO()
    with pa.PythonFile(output, "w") as file:
        write_avro(file, table.schema, iter([table.slice(0, 7), table.slice(7)]))
        content = output.getvalue()
    assert list(fastavro.reader(io.BytesIO(content))) == table.to_pylist()
    blocks: list[Any] = list(fastavro.block_reader(io.BytesIO(content)))
    assert sum(block.num_records for block in blocks) == count
    assert all(len(block.bytes_.getvalue()) <= 1 << 18 for block in blocks)


def test_no_text_of_other_bytes_is_written() -> None:
    buffers = pa.array([b"\xff"]).buffers()
    text = pa.Array.from_buffers(pa.utf8(), 1, buffers)
    with pytest.raises(pa.ArrowInvalid, match="UTF8"):
        encoded_rows(pa.StructArray.from_arrays([text], ["text"]))


def test_nested_values_are_not_encoded_here() -> None:
    assert are_single(pa.struct(list(SCHEMA)))
    assert not are_single(pa.struct({"ids": pa.list_(pa.int64())}))
    assert not are_single(pa.struct({"price": pa.decimal128(10, 2)}))
