from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.masks import SECRET

from savepoint_extensions.privacy.mask_methods import FieldType
from savepoint_extensions.privacy.mask_rules import MaskField, MaskRules, rule_for
from savepoint_formats.errors import DescriptionError, MaskError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAVEPOINT_MASK_SECRET", SECRET)


ZIP = MaskField("orders", "customer", "value.address.zip", FieldType.TEXT)
NOTE = MaskField("orders", "note", "value", FieldType.TEXT)


def method_of(text: str, place: MaskField) -> str | None:
    rule = rule_for(MaskRules.of_text(text), place)
    return None if rule is None else rule.method


def test_the_first_rule_that_fits_decides() -> None:
    rules = """
    rules:
    - {name: zip, method: digits}
    - {operator: "ord*", state: [note, memo], method: fixed, value: gone}
    - {type: text, method: hash}
    """
    assert method_of(rules, ZIP) == "digits"
    assert method_of(rules, NOTE) == "fixed"
    assert method_of(rules, MaskField("o", "memo", "value", FieldType.TEXT)) == "hash"
    assert method_of(rules, MaskField("o", "n", "value", FieldType.INTEGER)) is None


def test_the_name_of_a_whole_value_is_that_of_its_state() -> None:
    assert method_of("rules: [{name: note, method: hash}]", NOTE) == "hash"
    assert method_of("rules: [{field: 'value.*', method: hash}]", NOTE) is None


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("rules: []", "there are no rules"),
        ("rules: [{method: shred}]", "expected one of keep"),
        ("rules: [{method: keep, value: 1}]", "no field 'value'"),
        ("rules: [{method: hash, fild: x}]", "no field 'fild'"),
        ("rules: [{type: string, method: hash}]", "no type 'string'"),
        ("rules: [{method: shift, by: soon}]", "line 1"),
        ("rules: [{method: fake}]", "'values' is missing"),
        ("rules: [{method: fake, file: none.txt}]", "can't be read"),
        ("secret: {word: x}\nrules: [{method: hash}]", "no field 'word'"),
    ],
)
def test_mistakes_come_with_their_place(text: str, mistake: str) -> None:
    with pytest.raises(DescriptionError, match=mistake):
        MaskRules.of_text(text)


def test_a_method_must_take_the_type() -> None:
    rules = MaskRules.of_text("rules: [{method: email}]")
    with pytest.raises(MaskError, match=r"email can't mask .*take one of keep"):
        rule_for(rules, MaskField("o", "n", "value", FieldType.INTEGER))


def test_the_secret_is_in_a_variable_or_a_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("SAVEPOINT_MASK_SECRET")
    assert method_of("rules: [{method: fixed, value: x}]", NOTE) == "fixed"
    with pytest.raises(MaskError, match=r"SAVEPOINT_MASK_SECRET has 0 bytes.*openssl"):
        MaskRules.of_text("rules: [{method: hash}]")
    (tmp_path / "key").write_text(f"{SECRET}\n", encoding="utf-8")
    path = tmp_path / "rules.yaml"
    path.write_text("secret: {file: key}\nrules: [{method: hash}]", encoding="utf-8")
    (rule,) = MaskRules.of_file(path).rules
    assert rule.secret == SECRET.encode()
    assert SECRET not in repr(rule)
    monkeypatch.setenv("OTHER", "short")
    with pytest.raises(MaskError, match="OTHER has 5 bytes"):
        MaskRules.of_text("secret: {env: OTHER}\nrules: [{method: hash}]")


def test_a_file_that_is_not_there_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(DescriptionError, match="can't be read"):
        MaskRules.of_file(tmp_path / "none.yaml")
