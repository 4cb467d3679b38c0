"""Input that bulk decoding refuses: counts without their bytes, damage and wrong calls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.decoding import bulk, same_on_both, written

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.errors import FormatError
from savepoint_formats.layout import Framed, Layout, MapOf, Repeated, Struct
from savepoint_formats.program.assembly import program
from savepoint_formats.program.decode import decode, decode_sequence

pytestmark = pytest.mark.usefixtures("both_ways")


@pytest.mark.parametrize("claim", [b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\0\0\0\x09"])
@pytest.mark.parametrize(
    "layout",
    [
        Repeated(layouts.Long()),
        Repeated(Struct((), ())),
        layouts.MaskedRepeated(layouts.Text()),
        MapOf(layouts.Text(), layouts.Marker(None)),
        layouts.Bytes(),
        layouts.Utf8(),
        Framed(layouts.Long()),
        layouts.PackedTexts(),
    ],
    ids=lambda one: type(one).__name__,
)
def test_a_count_is_believed_only_if_its_bytes_are_there(layout: Layout, claim: bytes) -> None:
    same_on_both(layout, claim + b"\0" * 4, [(0, 8)])


def test_a_sequence_is_no_longer_than_its_bytes() -> None:
    chunk = Chunk(np.zeros(10, np.uint8), "f", 100)
    with pytest.raises(FormatError, match="f at byte 102: a count of 9 records, with 8 bytes left"):
        decode_sequence(program(layouts.Byte()), chunk, 2, 9)
    with pytest.raises(FormatError, match="a count of 2147483647 records"):
        decode_sequence(program(layouts.Marker(None)), chunk, 0, (1 << 31) - 1)


def test_an_error_names_file_byte_and_record() -> None:
    data, positions = written(layouts.Text(), ["one", "two"])
    chunk = Chunk(np.frombuffer(data[:-1], np.uint8), "s3://jobs/sp-1/f", 1_000)
    starts, ends = np.array(positions[:2]), np.array([positions[1], len(data) - 1])
    with pytest.raises(FormatError) as raised:
        decode(program(layouts.Text()), chunk, starts, ends)
    assert (raised.value.path, raised.value.offset) == ("s3://jobs/sp-1/f", 1_005)
    assert raised.value.message.endswith(", in record 1")


def test_bytes_behind_a_record_are_an_error() -> None:
    with pytest.raises(FormatError, match="1 bytes too many, expected the end, in record 0"):
        bulk(layouts.Int(), b"\0\0\0\0\1", [(0, 5)])


def test_a_record_outside_of_the_chunk_is_a_wrong_call() -> None:
    for span in [(-1, 2), (0, 9), (3, 2)]:
        with pytest.raises(ValueError, match="outside of the chunk of 8 bytes"):
            bulk(layouts.Long(), bytes(8), [span])


def test_a_position_outside_of_the_chunk_is_a_wrong_call() -> None:
    for position in (-1, 9):
        with pytest.raises(ValueError, match="outside of the chunk of 8 bytes"):
            decode_sequence(program(layouts.Long()), Chunk(np.zeros(8, np.uint8)), position, 0)


def test_every_record_has_a_start_and_an_end() -> None:
    with pytest.raises(ValueError, match="2 starts and 1 ends"):
        decode(program(layouts.Byte()), Chunk(np.zeros(8, np.uint8)), np.arange(2), np.arange(1))


def test_a_chunk_is_bytes_one_behind_the_other() -> None:
    wrong: list[Any] = [np.zeros(8, np.int64), np.zeros(8, np.uint8)[::2]]
    for data in wrong:
        with pytest.raises(TypeError, match="expected contiguous bytes"):
            Chunk(data)
