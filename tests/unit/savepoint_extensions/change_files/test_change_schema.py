"""The JSON Schema that ``savepoint apply --schema`` prints takes what the program takes."""

from __future__ import annotations

import json
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from support.commands import run

from savepoint_extensions.change_files.change_file import ChangeFile, ChangeFileError
from savepoint_extensions.change_files.change_schema import change_schema
from savepoint_extensions.change_files.change_table import all_kinds

RIGHT: list[Any] = [
    [{"rename-state": {"operator": "a", "old": "b", "new": "c"}}, {"convert": None}],
    [{"rename-class": {"classes": {"a": "b"}}}],
    [{"rescale": {"max-parallelism": 64, "hash-codes": {"a": "Objects.hash(id)"}}}],
    [{"migrate": {"target": 2.2, "skip-state": ["a/b"]}}, {"migrate": {"target": "2.1"}}],
    [{"mask": {"rules": [{"method": "null", "field": ["value.*", "key"]}], "strict": True}}],
    [{"kafka": {"set-offsets": [{"topic": "t", "partition": 0, "offset": "earliest"}]}}],
    [{"sample": {"fraction": 0.5}}, {"sample": {"key": ["a", "b"]}}],
]
WRONG: list[Any] = [
    [],
    {"convert": None},
    ["convert"],
    [{"convert": None, "rescale": {"parallelism": 1}}],
    [{"rename-stat": {}}],
    [{"rename-state": {"operator": "a", "old": "b"}}],
    [{"rename-state": {"operator": "a", "old": "b", "new": "c", "newer": "d"}}],
    [{"rename-state": None}],
    [{"rescale": {"max-parallelism": 0}}],
    [{"rescale": {"max-parallelism": "64"}}],
    [{"migrate": {"target": "1.20"}}],
    [{"mask": {"rules": [{"method": "hsah"}]}}],
    [{"sample": {"fraction": 2}}],
]


@pytest.fixture(scope="module")
def schema() -> jsonschema.Draft202012Validator:
    text = change_schema(all_kinds())
    jsonschema.Draft202012Validator.check_schema(text)
    return jsonschema.Draft202012Validator(text)


@pytest.mark.parametrize("changes", RIGHT, ids=str)
def test_right_changes(schema: jsonschema.Draft202012Validator, changes: Any) -> None:
    schema.validate(changes)
    assert ChangeFile.of_text(json.dumps(changes), "changes.json").entries


@pytest.mark.parametrize("changes", WRONG, ids=str)
def test_wrong_changes(schema: jsonschema.Draft202012Validator, changes: Any) -> None:
    assert not schema.is_valid(changes)
    with pytest.raises(ChangeFileError):
        ChangeFile.of_text(json.dumps(changes), "changes.json")


def test_the_command_prints_it() -> None:
    code, text = run("apply", "--schema")
    assert (code, json.loads(text)) == (0, change_schema(all_kinds()))


def test_each_word_has_a_description() -> None:
    for kind in all_kinds().values():
        assert kind.help.endswith("."), kind.name
        assert [word.name for word in kind.words if not word.help.endswith(".")] == []
