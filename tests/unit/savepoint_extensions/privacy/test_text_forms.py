from __future__ import annotations

import base64

import pytest
from support.masks import stored_forms

from savepoint_extensions.privacy.text_forms import forms_pattern, text_forms


@pytest.mark.parametrize("text", ["ada@example.com", "Zoë", "日本 商店", "🦩 flamingo", "x", "\0"])
def test_forms_are_those_that_writers_write(text: str) -> None:
    forms = set(text_forms(text))
    wanted = stored_forms(text) if len(text) > 1 else {text.encode()}
    assert wanted <= forms
    pattern = forms_pattern(text_forms(text))
    assert all(pattern.search(b"\xff\xff" + form + b"\xff") for form in forms)


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
    assert forms_pattern(text_forms(text)).search(letters)


def test_short_texts_have_no_form_that_is_everywhere() -> None:
    assert max(map(len, text_forms("7"))) <= 2
