"""Values as lines and cells: whole where they are small, bounded where not, never a command."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from savepoint_cli.terminal.value_lines import (
    MOST_LINES,
    Line,
    bounded,
    cell_text,
    hex_lines,
    row_lines,
    value_lines,
)


def lines_of(value: Any, data_type: pa.DataType | None = None) -> list[tuple[int, str, str]]:
    found = value_lines("v", pa.scalar(value, data_type), 0)
    return [(line.depth, line.name, line.text) for line in found]


def test_bytes_are_shown_as_numbers_and_letters() -> None:
    assert list(hex_lines(bytes(range(0x3E, 0x50)) + b"\n\xff")) == [
        "00000000  3e 3f 40 41 42 43 44 45  46 47 48 49 4a 4b 4c 4d  |>?@ABCDEFGHIJKLM|",
        "00000010  4e 4f 0a ff                                       |NO..|",
    ]


def test_of_many_bytes_the_first_are_shown() -> None:
    *shown, last = hex_lines(bytes(5000))
    assert (len(shown), last) == (256, "… 904 bytes more")
    assert list(hex_lines(b"")) == []


def test_nested_values_lie_below_each_other() -> None:
    data_type = pa.map_(pa.string(), pa.struct({"n": pa.int64(), "tags": pa.list_(pa.string())}))
    assert lines_of([("EUR", {"n": 1250, "tags": ["a", None]}), ("x", None)], data_type) == [
        (0, "v", "2 entries"),
        (1, "EUR", ""),
        (2, "n", "1250"),
        (2, "tags", "2 elements"),
        (3, "[0]", "a"),
        (3, "[1]", "null"),
        (1, "x", "null"),
    ]


def test_fields_of_one_name_are_told_apart() -> None:
    array = pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], names=["n", "n"])
    assert [line.text for line in value_lines("v", array[0], 0)] == ["", "1", "2"]


def test_bytes_that_were_not_decoded_are_shown_where_there_are_any() -> None:
    undecoded = pa.struct({"bytes": pa.binary(), "reason": pa.string()})
    data_type = pa.struct({"n": pa.int64(), "$undecoded": undecoded})
    assert lines_of({"n": 1, "$undecoded": None}, data_type) == [(0, "v", ""), (1, "n", "1")]
    names = [name for _, name, _ in lines_of({"$undecoded": {"bytes": b"\x01"}}, data_type)]
    assert names == ["v", "n", "$undecoded", "bytes", "", "reason"]
    assert cell_text(pa.scalar({"n": 1, "$undecoded": None}, data_type)) == "{n: 1}"


def test_why_a_column_is_of_bytes_is_told() -> None:
    field = pa.field("c", pa.binary(), metadata={"reason": "nobody knows\x1b[2J"})
    row = pa.RecordBatch.from_arrays([pa.array([b"\x00"])], schema=pa.schema([field]))
    assert list(row_lines(row))[-1] == Line(1, "note", r"nobody knows\x1b[2J")


@pytest.mark.parametrize("data_type", [pa.list_(pa.int64()), pa.large_list(pa.int64())])
def test_of_a_long_list_the_first_elements_are_shown(data_type: pa.DataType) -> None:
    found = lines_of(range(100_000), data_type)
    assert (found[0], found[1]) == ((0, "v", "100,000 elements"), (1, "[0]", "0"))
    assert (len(found), found[-1]) == (502, (1, "", "… 99,500 more"))
    assert cell_text(pa.scalar(range(11), data_type)) == "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, … 1 more]"


def test_of_a_large_map_the_first_entries_are_in_a_cell() -> None:
    data_type = pa.map_(pa.int64(), pa.int64())
    pairs = [(n, n) for n in range(12)]
    assert cell_text(pa.scalar(pairs[:2], data_type)) == "{0: 0, 1: 1}"
    assert cell_text(pa.scalar([], data_type)) == "{}"
    assert len(cell_text(pa.scalar(pairs, data_type))) == 48


def test_texts_are_bounded_and_no_commands() -> None:
    (line,) = lines_of("\x1b[2J[bold]" + "x" * 10_000)
    assert line[2].startswith(r"\x1b[2J[bold]xxx")
    assert (len(line[2]), line[2][-1]) == (4000, "…")
    assert cell_text(pa.scalar("a\nb")) == r"a\nb"


def test_a_page_of_lines_has_an_end() -> None:
    found = list(bounded(Line(0, str(n)) for n in range(MOST_LINES + 1)))
    assert (len(found), found[-1].text) == (MOST_LINES + 1, "… there is more, which is not shown")
    assert len(list(bounded(Line(0, str(n)) for n in range(MOST_LINES)))) == MOST_LINES
