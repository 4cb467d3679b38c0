"""Texts of Java that are no UTF-8: half a surrogate pair."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
from savepoint_formats.errors import UnencodableError, UnstableHashError
from savepoint_formats.hashing.key_hash import key_hashes
from savepoint_formats.layout import Repeated, Struct
from savepoint_formats.program.assembly import program
from savepoint_formats.program.decode import decode
from savepoint_formats.program.encode import Encoder
from savepoint_formats.values.arrow_types import arrow_type
from savepoint_formats.values.kinds.texts import column_text, rows_of_halves
from savepoint_formats.values.value_writer import ValueWriter
from savepoint_formats.values.values import ValueReader

if TYPE_CHECKING:
    from savepoint_formats.layout import Layout

TEXT = layouts.Text()
# As a Java program cuts an emoji in two: "a" and the first half of it, then the other.
CUT, REST = "a\ud83d", "\ude00"
BYTES = {
    layouts.Text: "0361bdb003",
    layouts.MutableText: "0261bdb003",
    layouts.JavaUtf: "000461eda0bd",
    layouts.Char: "de00",
}


def shown(layout: Layout, data: bytes) -> Any:
    """By the general path and by the kernel, which agree."""
    view = DataInputView(data)
    value = ValueReader(view).read(layout)
    view.expect_end()
    chunk = Chunk(np.frombuffer(data, np.uint8))
    column = decode(program(layout), chunk, np.array([0]), np.array([len(data)]))
    assert column.to_pylist() == [value]
    column.validate(full=True)
    return value


@pytest.mark.parametrize("layout", [layouts.Text(), layouts.MutableText(), layouts.JavaUtf()])
def test_half_a_pair_is_shown_by_its_number(layout: Layout) -> None:
    assert shown(layout, bytes.fromhex(BYTES[type(layout)])) == "a\ufffd\\ud83d"


def test_a_char_may_be_half_a_pair() -> None:
    assert shown(layouts.Char(), bytes.fromhex(BYTES[layouts.Char])) == "\ufffd\\ude00"


def test_the_rows_around_it_are_as_they_were() -> None:
    texts = [bytes.fromhex(one) for one in ("0362e901", BYTES[layouts.Text], "0263", "00")]
    data = b"".join(texts)
    ends = np.cumsum([len(one) for one in texts])
    starts = ends - [len(one) for one in texts]
    column = decode(program(TEXT), Chunk(np.frombuffer(data, np.uint8)), starts, ends)
    assert column.to_pylist() == ["b\u00e9", "a\ufffd\\ud83d", "c", None]


@pytest.mark.parametrize(
    "layout",
    [
        layouts.Text(),
        layouts.MutableText(),
        layouts.JavaUtf(),
        layouts.Char(),
        layouts.PackedTexts(),
        Repeated(TEXT),
        Struct(("f0", "f1"), (layouts.Int(), TEXT)),
    ],
    ids=lambda layout: type(layout).__name__,
)
@pytest.mark.parametrize("text", ["\ud83d", "\ufffd\\ud83d"])
def test_neither_it_nor_what_shows_it_is_written(layout: Layout, text: str) -> None:
    value: Any = text
    if isinstance(layout, layouts.PackedTexts | Repeated):
        value = ["ok", text]
    elif isinstance(layout, Struct):
        value = {"f0": 1, "f1": text}
    with pytest.raises(ValueError, match=r"half a surrogate pair|no single UTF-16 unit"):
        ValueWriter(DataOutputView()).write(layout, value)


@pytest.mark.parametrize("layout", [TEXT, layouts.MutableText(), layouts.JavaUtf(), Repeated(TEXT)])
def test_a_column_names_the_row_that_is_not_written(layout: Layout) -> None:
    texts = ["one", None, "\ufffd", "\\ud83d", column_text(CUT), "six"]
    values: Any = [[text] for text in texts] if isinstance(layout, Repeated) else texts
    if not isinstance(layout, layouts.Text):
        values[1] = values[0]
    if isinstance(layout, Repeated):
        values = [one if one[0] is not None else ["x"] for one in values]
    column = pa.array(values, arrow_type(layout))
    with pytest.raises(UnencodableError, match="half a surrogate pair") as raised:
        Encoder(layout).encode(column)
    assert raised.value.row == 4
    with pytest.raises(UnencodableError, match="half a surrogate pair") as raised:
        Encoder(layout).encode(column[3:])
    assert raised.value.row == 1
    assert len(Encoder(layout).encode(column[:4])) == 4


def test_the_refusal_says_why_and_how_to_go_on() -> None:
    with pytest.raises(UnencodableError) as raised:
        Encoder(TEXT).encode(pa.array(["one", column_text(CUT)]))
    message = str(raised.value)
    assert "nothing tells it from a text of these very characters" in message
    assert "write only other states" in message
    taken = column_text(CUT).replace("\ufffd", "?")
    assert r"replace(text, '\ufffd', '?')" in message
    assert len(Encoder(TEXT).encode(pa.array([taken, "\ufffd", "\\ud83d"]))) == 3


def test_texts_that_differ_are_shown_otherwise() -> None:
    assert len({column_text(text) for text in (CUT, REST, CUT + "\ud83d", "a", "a\ufffd")}) == 5
    assert column_text("\U0001f600") == "\U0001f600"


def test_rows_of_a_slice() -> None:
    texts = pa.array([column_text(CUT), None, "b", column_text(REST)])
    assert rows_of_halves(texts).tolist() == [0, 3]
    assert rows_of_halves(texts[1:]).tolist() == [2]
    assert rows_of_halves(texts[1:3]).tolist() == []


def test_a_key_is_not_hashed_by_what_shows_it() -> None:
    """Java hashes its units: another hash code, and mostly another key group."""
    with pytest.raises(UnstableHashError, match="half a surrogate pair"):
        key_hashes(TEXT, pa.array(["a", column_text(CUT)]))
