"""Descriptions of classes as YAML and JSON, and what they must not be."""

from __future__ import annotations

import pytest
import yaml
from support.voucher_classes import CLASSES

from savepoint_database.types.class_library import (
    ClassToDescribe,
    class_descriptions_text,
    described_classes,
)
from savepoint_formats.errors import DescriptionError
from savepoint_formats.values.kryo.descriptions import kryo_class, kryo_classes_json

WRONG = {
    "- class: a.B\n  fields:\n    id: long\n    x: List<": "line 4, [0].fields.x: field 'x' is 'List<'",
    "- class: a.B\n  fields:\n    id:\n": "line 3, [0].fields: field 'id' is missing",
    "- class: a.B\n  fields: {id: long, id: int}": "line 2, [0].fields: field 'id' is given twice",
    "- class: a.B\n  field: {id: long}": "line 2, [0]: there is no field 'field'",
    "- fields: {id: long}": "line 1, [0]: field 'class' is missing",
    "- class: a.B\n- class: a.B": "line 2, [1].class: a.B is described twice",
    "- class: a.B\n  pojo: maybe": "line 2, [0].pojo: it is 'maybe', expected true or false",
    "- class: a.B\n  final: maybe": "line 2, [0].final: it is 'maybe', expected true or false",
    "- class: a.B\n  constants: []": "line 2, [0].constants: it is an empty list",
    "- class: a.B\n  constants: [A]\n  fields: {a: int}": "line 3, [0].fields: a class has",
    "class: a.B": "line 1: it is a mapping, expected a list",
    "- [": "it is not YAML",
    "\n" + "[" * 100: "classes.yaml line 2: it is nested more than 64 deep",
    '- class: "\\U00110000"': "it is not YAML: chr() arg not in range",
    '- class: "\\UFFFFFFFF"': "it is not YAML: Python int too large",
    '[{"class":\t"a.B", "fields": ["id"]}]': "line 1, [0].fields: it is a list, expected a mapping",
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong_is_told_with_its_line(text: str) -> None:
    with pytest.raises(DescriptionError) as caught:
        described_classes(text, "classes.yaml")
    assert WRONG[text] in str(caught.value)
    assert str(caught.value).startswith("classes.yaml")


def test_a_description_is_what_was_written() -> None:
    item = kryo_class("a.Item", {"rows": "java.util.List<java.util.List<a.B[]>>"}, is_pojo=True)
    big = kryo_class("a.BigItem", {"id": "long"}, is_pojo=False, superclass="a.Item")
    classes = (*CLASSES, item, big)
    for text in (class_descriptions_text(classes), kryo_classes_json(classes)):
        assert described_classes(text, "classes.yaml") == classes
    assert described_classes("", "classes.yaml") == described_classes("[]", "classes.yaml") == ()


def test_a_class_to_fill_in_says_where_it_is() -> None:
    unknown = ClassToDescribe("a.B$C", {"orders/last": 3})
    text = class_descriptions_text((), [unknown])
    assert text.splitlines()[:2] == ["# orders/last: 3 values", "- class: a.B$C"]
    (empty,) = described_classes(text, "classes.yaml")
    assert (empty.class_name, empty.fields) == ("a.B$C", ())


def test_names_of_a_stranger_describe_no_other_class() -> None:
    other = "\n- class: shop.Order\n  fields: {}\n#"
    hostile = ClassToDescribe(f"a{other}", {f"orders{other}": 3}, f"b{other}", (f"c{other}",))
    text = class_descriptions_text((), [hostile], lambda _: f"why{other}")
    (described,) = yaml.safe_load(text)
    assert (described["class"], described["extends"]) == (f"a{other}", f"b{other}")
