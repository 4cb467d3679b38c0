"""Texts of PyFlink's types become the layouts of its coders; nothing in them is run."""

from __future__ import annotations

import pytest

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.data_view import DataInputView
from savepoint_formats.layout import Framed, MapOf, Nullable, Packed, Repeated
from savepoint_formats.python_state.type_texts import state_layout, type_layout
from savepoint_formats.values.values import read_value

# What the coders of PyFlink 2.2.1 write, by coder.get_impl().encode(value).
VECTORS = [
    ("Types.BOOLEAN()", "01", True),
    ("Types.BYTE()", "d9", -39),
    ("Types.BIG_INT()", "0000001600000000", 94489280512),
    ("Types.STRING()", "00000004c3a43131", "ä11"),
    ("Types.BIG_DEC()", "00000005312e333735", "1.375"),
    ("Types.PRIMITIVE_ARRAY(Types.BYTE())", "0000000204ff", b"\x04\xff"),
    ("Types.PRIMITIVE_ARRAY(Types.SHORT())", "0000000200010002", [1, 2]),
    ("Types.BASIC_ARRAY(Types.STRING())", "000000020100000001780 0".replace(" ", ""), ["x", None]),
    ("Types.MAP(Types.STRING(), Types.BYTE())", "00000001000000016e01", [("n", None)]),
    ("Types.TUPLE([Types.BYTE(), Types.BOOLEAN()])", "0501", {"f0": 5, "f1": True}),
    (
        "Types.ROW_NAMED(['a', 'b'], [Types.BYTE(), Types.BYTE()])",
        "1005",
        {"a": 5, "b": None, "$row_kind": "+I"},
    ),
]


@pytest.mark.parametrize(("text", "data", "value"), VECTORS, ids=[text for text, *_ in VECTORS])
def test_the_layout_reads_what_the_coder_wrote(text: str, data: str, value: object) -> None:
    view = DataInputView(bytes.fromhex(data))
    assert read_value(type_layout(text), view) == value
    view.expect_end()


def test_a_state_is_a_list_or_a_map_of_frames() -> None:
    long = layouts.Long()
    single = Repeated(Framed(Packed(long, is_single=True)))
    for text in ("Types.LONG()", "ValueState(Types.LONG())", "ReducingState(Types.LONG())"):
        assert state_layout(text) == single
    assert state_layout("ListState(Types.LONG())") == Repeated(Framed(Packed(long)))
    expected = MapOf(Framed(layouts.Utf8()), Nullable(Framed(long)))
    assert state_layout("MapState(Types.STRING(), Types.LONG())") == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Types.LONG",
        "Types.LONGS()",
        "Types.LONG(1)",
        "__import__('os').mkdir('owned')",
        "Types.ROW_NAMED(['a', 'a'], [Types.LONG(), Types.LONG()])",
        "Types.ROW_NAMED(['a'], [])",
        "MapState(Types.LONG())",
        "Types.LIST(" * 5000,
        "Types.LIST(" * 300 + "Types.LONG()" + ")" * 300,
        "Types.LIST(" + "-" * 400 + "1)",
    ],
    ids=lambda text: text[:30] or "nothing",
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"type|argument|call|name|nest"):
        state_layout(text)
