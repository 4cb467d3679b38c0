"""Keys and values of keyed state, as Flink stores them around what serializers write."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.entries.frames import section_frames
from savepoint_formats.errors import FormatError, TruncatedError
from savepoint_formats.layout import Layout, Struct
from savepoint_formats.program.assembly import program
from savepoint_formats.program.decode import decode
from savepoint_formats.values.state_entries import (
    Delimited,
    KeyPrefix,
    NullableRest,
    Sized,
    Suffixed,
    entry_key,
    entry_type,
)

# Of Flink 2.2.1: a map state of text keys and namespaces, of a job of max parallelism 300.
AMBIGUOUS_KEY = bytes.fromhex("0001 0261 02 036e30 03 037530")
MAP_VALUE = bytes.fromhex("00 000000000000002a")


# Of Flink 1.20: key group 1 of a value state of a Tuple1 of a long.
SECTION = bytes.fromhex("0000 0000000a 81 0000000000000003 00 00000008 0000000000000003 ffff")


def decoded(layout: Layout, *records: bytes) -> Any:
    ends = np.cumsum([len(record) for record in records])
    starts = ends - [len(record) for record in records]
    chunk = Chunk(np.frombuffer(b"".join(records), np.uint8))
    array = decode(program(layout), chunk, starts, ends)
    assert array.type == entry_type(layout)
    return array.to_pylist()


def test_keys_and_values_of_a_section_are_what_the_job_put_in() -> None:
    chunk = Chunk(np.frombuffer(SECTION, np.uint8))
    found = section_frames(chunk, 0, states=1)
    key_starts, key_ends, value_starts, value_ends = found.by_state[0].arrays()
    layout = entry_key(1, Struct(("f0",), (layouts.Long(),)), layouts.VoidNamespace())
    keys = decode(program(layout), chunk, key_starts, key_ends)
    values = decode(program(layouts.Long()), chunk, value_starts, value_ends)
    assert keys.to_pylist() == [{"prefix": None, "key": {"f0": 3}, "namespace": None}]
    assert values.to_pylist() == [3]


def test_a_key_with_a_namespace_of_any_length_has_their_lengths() -> None:
    layout = entry_key(2, layouts.Text(), layouts.Text(), layouts.Text())
    expected = {"prefix": None, "key": "a", "namespace": "n0", "user_key": "u0"}
    assert decoded(layout, AMBIGUOUS_KEY) == [expected]


def test_a_key_or_namespace_of_one_length_needs_none() -> None:
    layout = entry_key(1, layouts.Text(), layouts.VoidNamespace())
    expected = {"prefix": None, "key": "a", "namespace": None}
    assert decoded(layout, bytes.fromhex("81 0261 00")) == [expected]


def test_the_value_of_a_map_has_a_flag() -> None:
    assert decoded(NullableRest(layouts.Long()), MAP_VALUE, b"\x01", b"\x01rest") == [
        42,
        None,
        None,
    ]


def test_a_comma_may_be_part_of_an_element() -> None:
    assert decoded(Delimited(layouts.Byte()), b",,,", b"", b",") == [[44, 44], [], [44]]


@pytest.mark.parametrize("size", [0, 1, 255, 256, 300, 70_003])
def test_a_length_takes_as_few_bytes_as_it_needs(size: int) -> None:
    suffix = size.to_bytes(max(1, (size.bit_length() + 7) // 8), "little")
    layout = Struct(("a", "b"), (Suffixed(layouts.FixedBytes(size)), layouts.Byte()))
    assert decoded(layout, bytes(size) + suffix + b"\x07") == [{"a": bytes(size), "b": 7}]


@pytest.mark.parametrize(
    ("layout", "data", "error"),
    [
        (Suffixed(layouts.Text()), b"\x02a\x03", FormatError),
        (Suffixed(layouts.Text()), b"\x02a", TruncatedError),
        (KeyPrefix(2), b"\x00", TruncatedError),
        (Delimited(layouts.Byte()), b"a;b", FormatError),
        (Delimited(layouts.Byte()), b"a,", TruncatedError),
        (NullableRest(layouts.Long()), b"", TruncatedError),
    ],
    ids=repr,
)
def test_damage_is_an_error(layout: Layout, data: bytes, error: type[FormatError]) -> None:
    with pytest.raises(error):
        decoded(layout, data)


def test_where_a_key_ends_is_known_without_its_value() -> None:
    layout = Struct(
        ("prefix", "key_size", "rest"), (KeyPrefix(1), Sized(layouts.Text()), layouts.Byte())
    )
    expected = {"prefix": None, "key_size": 4, "rest": 9}
    assert decoded(layout, b"\x05\x04abc\x09") == [expected]
    assert entry_type(layout).field("key_size").type == pa.int32()
