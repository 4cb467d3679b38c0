"""Texts that are read token by token."""

from __future__ import annotations

import re

import pytest

from savepoint_formats.token_reader import TokenReader

_TOKEN = re.compile(r"\s*(?:`(?:[^`]|``)+`|\w+|[<>,])")


def reader(text: str) -> TokenReader:
    return TokenReader(text, _TOKEN, "type")


def test_words_are_taken_in_any_case() -> None:
    read = reader("Not null, x")
    assert not read.take("NOT", "NOTHING")
    assert read.take("NOT", "NULL")
    assert read.end == len("Not null")
    assert (read.peek(), read.peek(1), read.peek(2)) == (",", "x", "")


def test_items_in_brackets_and_lists_are_read() -> None:
    read = reader("<a, `b``c`> d, e")
    assert read.arguments(lambda: read.name("a name"), 2) == ("a", "b`c")
    assert read.listed(lambda: read.name("a name")) == ["d", "e"]
    read.expect_end()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<a", "'<a' is no type: the end, expected ','"),
        ("<a b>", "'<a b>' is no type: 'b', expected ','"),
        ("<1, b>", "'<1, b>' is no type: '1', expected a name"),
        ("<a, b> c", "'<a, b> c' is no type: 'c', expected the end"),
        ("<a; b>", "'<a; b>' is no type: '; b>' is not understood"),
    ],
)
def test_a_mistake_is_told_with_its_place(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        read_pair(text)


def read_pair(text: str) -> None:
    read = reader(text)
    read.arguments(lambda: read.name("a name"), 2)
    read.expect_end()
