"""Words of ours stand in the glossary, each once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

GLOSSARY = Path(__file__).parents[3] / "docs" / "glossary.md"

OURS = ("chunk", "identity", "layout", "packet", "room", "run", "split", "visit")
"""Words that this project gave a meaning, or took from a field for one of its meanings."""


def glossary() -> list[str]:
    """The words that the glossary explains, in the order of the page."""
    rows = re.findall(r"^\| (\S[^|]*?) +\| (?=\S)", GLOSSARY.read_text(encoding="utf-8"), re.M)
    return [word.strip() for row in rows[1:] for word in row.split(",")]


@pytest.mark.parametrize("word", OURS)
def test_words_of_ours_are_explained(word: str) -> None:
    assert word in glossary()


def test_each_word_is_explained_once() -> None:
    words = glossary()
    assert sorted(words) == sorted(set(words))
