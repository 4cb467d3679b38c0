"""Words of changes: each value that a word takes, and its schema takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
import yaml

from savepoint_extensions.change_files.change_words import (
    ChangeWord,
    FileWord,
    FlagWord,
    Mistakes,
    NumberWord,
    PairsWord,
    Rows,
    TextsWord,
    TextWord,
)

WORDS: dict[str, tuple[ChangeWord, list[tuple[str, Any]], list[str]]] = {
    "text": (TextWord("w", "h"), [("a", "a"), ("2.2", "2.2"), ("yes", "yes")], ["[a]", "{a: b}", "''"]),
    "choice": (TextWord("w", "h", choices=("2.0", "x")), [("2.0", "2.0"), ("x", "x")], ["y", "2.1"]),
    "number": (NumberWord("w", "h", low=1, high=9), [("1", 1), ("9", 9)], ["0", "10", "1.5", "a", "-1"]),
    "fraction": (
        NumberWord("w", "h", high=1, is_fraction=True),
        [("0.5", 0.5), ("1", 1.0)],
        ["0", "1.1", "a"],
    ),
    "flag": (FlagWord("w", "h"), [("true", True), ("false", False)], ["a", "1", "'true'"]),
    "texts": (TextsWord("w", "h"), [("a", ("a",)), ("[a, b]", ("a", "b"))], ["[]", "[[a]]"]),
    "pairs": (PairsWord("w", "h"), [("{a: b}", {"a": "b"})], ["{}", "a", "{a: [b]}"]),
    "file": (FileWord("w", "h", is_checked=False), [("a", "a"), ("s3://a/b", "s3://a/b")], ["[a]"]),
}  # fmt: skip


def read(word: ChangeWord, text: str) -> tuple[Any, list[str]]:
    mistakes = Mistakes("changes.yaml", Path())
    return word.value(yaml.compose(text, yaml.SafeLoader), mistakes), mistakes.lines


@pytest.mark.parametrize("name", WORDS)
def test_a_word_and_its_schema_take_the_same_values(name: str) -> None:
    word, right, wrong = WORDS[name]
    schema = jsonschema.Draft202012Validator(word.schema())
    for text, value in right:
        assert read(word, text) == (value, [])
        assert schema.is_valid(yaml.safe_load(text)), text
    for text in wrong:
        assert len(read(word, text)[1]) == 1, text
        if text != "''":
            assert not schema.is_valid(yaml.safe_load(text)), text


def test_rows_in_the_file_have_words_of_their_own() -> None:
    row = (TextWord("topic", "h", is_required=True), NumberWord("partition", "h"))
    word = FileWord("w", "h", rows=row)
    rows, mistakes = read(word, "[{topic: t, partition: 3}, {topic: u}]")
    assert mistakes == []
    assert isinstance(rows, Rows)
    assert rows.values == ({"topic": "t", "partition": 3}, {"topic": "u", "partition": None})
    assert [section.place for section in rows.sections] == ["w[0]", "w[1]"]
    assert read(word, "[]")[1] == ["line 1 column 1: 'w' is an empty list, expected one or more"]
    assert read(word, "[{}]")[1] == ["line 1 column 2: w needs 'topic'"]
