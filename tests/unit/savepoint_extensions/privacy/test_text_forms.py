from __future__ import annotations

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
