from __future__ import annotations

from typing import TYPE_CHECKING

from support.masks import SECRET
from support.sample_rows import Sample

from savepoint_extensions.privacy.mask_plan import MaskPlan
from savepoint_extensions.privacy.mask_rules import MaskRules
from savepoint_extensions.privacy.suggestions import MaskSuggestions

if TYPE_CHECKING:
    import pytest


def test_names_and_forms_of_texts_tell_what_they_are() -> None:
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
