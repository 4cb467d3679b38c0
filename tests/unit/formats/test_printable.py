"""Text of a savepoint, as a terminal may have it."""

from __future__ import annotations

import json
import unicodedata
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from savepoint_formats.errors import FormatError, SavepointError
from savepoint_formats.printable import (
    field_text,
    html_records,
    html_table,
    json_printable,
    printable,
)
from savepoint_formats.quantities import ByteCount

ANY_TEXT = st.text(st.characters(codec=None))
COMMANDS = {"Cc", "Cs", "Zl", "Zp"}
DIRECTIONS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


class NamedTable(NamedTuple):
    table: str
    value: str


class NamedShare(NamedTuple):
    the_share: float


def is_command(character: str) -> bool:
    """Whether Unicode says so."""
    return (
        unicodedata.category(character) in COMMANDS
        or unicodedata.bidirectional(character) in DIRECTIONS
        or character in "\u061c\u200e\u200f"
        or is_unseen(character)
    )


def is_unseen(character: str) -> bool:
    """Whether a character has no form, and no letter or emoji needs it."""
    number = ord(character)
    return (
        character in "\u200b\ufeff\ufff9\ufffa\ufffb"
        or 0x2060 <= number <= 0x206F
        or 0xE0000 <= number <= 0xE0FFF
    )


@pytest.mark.usefixtures("slow")
def test_no_character_of_unicode_that_commands_is_left() -> None:
    everything = "".join(map(chr, range(0x110000)))
    shown = printable(everything)
    assert not any(map(is_command, shown))
    assert [one for one in everything if not is_command(one)] == [
        one for one in everything if printable(one) == one
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("total\x1b[2J", r"total\x1b[2J"),
        ("\x9b31m", r"\x9b31m"),
        ("a\u202eb\u2066", r"a\u202eb\u2066"),
        ("two\nlines", r"two\nlines"),
        ("\ud800", r"\ud800"),
        ("or\u200bders\ufeff\u2060", r"or\u200bders\ufeff\u2060"),
        ("x\U000e0041", r"x\U000e0041"),
        ("übung 状態 שלום 👩‍💻", "übung 状態 שלום 👩‍💻"),
    ],
)
def test_a_command_is_shown_by_its_escape(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_what_is_to_stay_stays() -> None:
    assert printable("a\nb\x1b", keep="\n") == "a\nb\\x1b"


def test_unseen_characters_of_json_are_two_escapes() -> None:
    assert json_printable('"x\U000e0041"') == r'"x\udb40\udc41"'


@given(ANY_TEXT)
def test_json_says_the_same(text: str) -> None:
    shown = json_printable(json.dumps(text, ensure_ascii=False))
    assert not any(map(is_command, shown))
    assert json.loads(shown) == text


@pytest.mark.parametrize(
    "error",
    [
        SavepointError("no state 'a\x1b[2J'").within("operator \u202e"),
        FormatError("no state \x1b[2J", "a\nb", 3).within("operator \u202e"),
    ],
)
def test_an_error_is_one_line_without_commands(error: SavepointError) -> None:
    assert not any(map(is_command, str(error)))
    assert r"\x1b[2J" in str(error)


def test_a_field_of_a_record_is_text_for_people() -> None:
    fields = {"size": 14_168, "id": 14_168, "names": ("a", "b"), "whole": True, "none": ()}
    assert [field_text(value, name) for name, value in fields.items()] == [
        "14,168",
        "14168",
        "a, b",
        "yes",
        "",
    ]
    assert [field_text(value) for value in (None, False, 0.12345678, ByteCount(14_168))] == [
        "",
        "",
        "0.1235",
        "14.2 kB",
    ]


def test_data_in_a_notebook_has_all_digits_and_fields_of_records_have_few() -> None:
    assert '<td class="number">0.12345678</td>' in html_table("", ("x",), [(0.12345678,)])
    records = [NamedShare(0.12345678)]
    assert '<td class="number">0.1235</td>' in html_records("", records, ("the_share",))
    assert ">the share<" in html_records("", records, ("the_share",))


def test_a_notebook_leaves_out_what_all_names_share_and_notes_it() -> None:
    names = [f"com.acme.payments.{name}.keyed_state" for name in ("card", "loan", "refund")]
    shown = html_records("", [NamedTable(name, name) for name in names], ("table", "value"))
    assert "<td>card.keyed_state</td><td>com.acme.payments.card.keyed_state</td>" in shown
    assert "<p>each table begins with com.acme.payments.</p>" in shown
    few = html_records("", [NamedTable(name, name) for name in names[:2]], ("table", "value"))
    assert few.count("<td>com.acme.payments.") == 4
