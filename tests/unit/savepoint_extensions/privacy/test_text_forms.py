from __future__ import annotations

import base64

import pytest
from support.masks import stored_forms

from savepoint_extensions.privacy.form_search import FormSearch
from savepoint_extensions.privacy.text_forms import SoughtTexts, text_forms

UUID = "123e4567-e89b-42d3-a456-426614174000"


@pytest.mark.parametrize("text", ["ada@example.com", "Zoë", "日本 商店", "🦩 flamingo", "x", "\0"])
def test_forms_are_those_that_writers_write(text: str) -> None:
    forms = set(text_forms(text))
    wanted = stored_forms(text) if len(text) > 1 else {text.encode()}
    assert wanted <= forms
    search = FormSearch(text_forms(text))
    assert all(list(search.ends(b"\xff\xff" + form + b"\xff")) for form in forms)


def test_texts_inside_of_json_are_found() -> None:
    assert {b'"Zoe"'.replace(b'"', b'\\"'), b"Zo\\u00eb"} <= {
        *text_forms('"Zoe"'),
        *text_forms("Zoë"),
    }


@pytest.mark.parametrize(
    ("text", "form"),
    [
        pytest.param("Zoë", b"Zo\\u00EB", id="Jackson"),
        pytest.param("O'Brien & Zoë", "O\\u0027Brien \\u0026 Zoë".encode(), id="Gson"),
        pytest.param("a/b", b"a\\/b", id="PHP"),
        pytest.param("Zoë", b"Zo\xeb", id="Latin-1"),
        pytest.param("Zoë Müller", "Zoë Müller".encode("utf-32-le"), id="numpy"),
        pytest.param("ada@example.com", b"ada@example.com".hex().encode(), id="hexadecimal"),
        pytest.param("ada@example.com", b"ada%40example.com", id="URL"),
        pytest.param("Zoë Łuk", b"Zo%c3%ab+%c5%81uk", id="form of HTML"),
        pytest.param("Zoë", b"Zo\\\\u00eb", id="JSON in JSON"),
        pytest.param("O'Brien & Co", b"O&#39;Brien &amp; Co", id="XML"),
        pytest.param("Zoë Łuk", b"Zo\xeb \\u0141uk", id="pickle of protocol 0"),
        pytest.param("Zoë", "ZoÃ«".encode(), id="UTF-8 twice"),
        pytest.param("a\0b", b"a\xc0\x80b", id="writeUTF"),
        pytest.param(
            "Łukasz", base64.b64encode("Łukasz".encode("utf-16-le")), id="Base64 of UTF-16"
        ),
        pytest.param(UUID, bytes.fromhex("123e4567e89b42d3"), id="first long of a UUID"),
        pytest.param(UUID, bytes.fromhex("d342 9be8 6745 3e12"), id="the same in a row of SQL"),
        pytest.param(UUID, b"123E4567E89B42D3A456426614174000", id="digits of a UUID"),
    ],
)
def test_forms_of_other_writers_are_among_them(text: str, form: bytes) -> None:
    assert form in text_forms(text)


@pytest.mark.parametrize("before", range(4))
@pytest.mark.parametrize("behind", range(4))
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_a_text_inside_of_base64_is_found(before: int, behind: int, encode: type[bytes]) -> None:
    text = "Zoë?>~ada@example.com"
    letters = encode(b"\xff" * before + text.encode() + b"\xff" * behind)
    assert list(FormSearch(text_forms(text)).ends(letters))


def test_a_uuid_of_few_numbers_has_no_half_that_is_everywhere() -> None:
    assert bytes(8) not in text_forms("00000000-0000-0000-0000-000000000001")


def test_an_accent_is_found_as_a_letter_of_its_own_and_as_part_of_one() -> None:
    assert {"Zo\u00eb", "Zoe\u0308"} <= set(SoughtTexts(("Zoë",)).spellings)
    assert "Zoe\u0308".encode() in SoughtTexts(("Zoë",)).forms


def test_long_texts_are_found_beside_short_ones() -> None:
    # As one pattern, forms of 1 MB took a minute to compile.
    long = "ada@example.com" * 4_000
    sought = SoughtTexts((long, "zoe"))
    data = b"zoe." + long.encode() + b".zoe." + long.encode("utf-16-le")
    assert len(list(sought.search.ends(data))) == 4
    assert not list(sought.search.ends(data[10:-9]))[3:]
    assert list(SoughtTexts((long,)).search.ends(data)) == [4 + len(long), len(data)]


def test_short_texts_have_no_form_that_is_everywhere() -> None:
    assert max(map(len, text_forms("7"))) <= 2
