from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import yaml
from support.each import each
from support.masks import SECRET
from support.sample_rows import Sample

from savepoint_extensions.privacy.mask_plan import MaskPlan
from savepoint_extensions.privacy.mask_rules import MaskRules
from savepoint_extensions.privacy.suggestions import MaskSuggestions, SuggestedField
from savepoint_formats.printable import printable

if TYPE_CHECKING:
    import pytest


def test_names_and_forms_of_texts_tell_what_they_are(slow: None) -> None:
    suggested = MaskSuggestions.of(Sample("states-2.2.1-rocksdb-native").open(), 1000)
    known = {(field.state, field.field): field for field in suggested.fields}
    assert known["memos", "value"].looks_like == "free text"
    assert known["customer", "value.name"].looks_like == "name"
    assert known["customer", "value.age"].method == "keep"
    assert known["", "key"].values > 0
    assert ("", "key") in {(field.state, field.field) for field in suggested.unmatched}


def test_the_draft_names_each_field_that_can_be_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAVEPOINT_MASK_SECRET", SECRET)
    opened = Sample("states-2.2.1-hashmap-canonical").open()
    text = MaskSuggestions.of(opened, 1000).to_yaml()
    assert "# free text" in text
    rules = MaskRules.of_text(text)
    unnamed = [
        place.type.value
        for operator in opened.operators()
        for place in MaskPlan.of(operator, rules).unnamed
    ]
    assert set(unnamed) == {"unknown"}


@each("kind", ["text", "unknown"])
def test_names_of_a_stranger_are_no_rules(kind: str) -> None:
    # Those of bytes are comments, of which a line break made a rule.
    other = "\n- {type: text, method: keep}\n#\x1b[2J\u202e\U000e0041'\"*"
    named = SuggestedField(f"a{other}", f"b{other}", f"c{other}", kind, "", "hash", 1, 0)
    text = MaskSuggestions((named,)).to_yaml()
    rules = yaml.safe_load(text)["rules"] or []
    assert [rule["method"] for rule in rules] == (["hash"] if kind == "text" else [])
    for rule in rules:
        assert fnmatchcase(f"b{other}", rule["state"])
    assert printable(text, keep="\n") == text


def test_letters_stay_readable_in_rules() -> None:
    named = SuggestedField("bücher", "", "größe", "text", "", "hash", 1, 0)
    assert "- {operator: bücher, field: größe, method: hash}" in MaskSuggestions((named,)).to_yaml()
