"""YAML within bounds: no anchors, no tags, no depth, no size that a person would not write."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from savepoint_extensions.change_files.bounded_yaml import MOST_CHARACTERS, composed
from savepoint_extensions.change_files.change_words import Mistakes


def mistakes(text: str) -> list[str]:
    collected = Mistakes("changes.yaml", Path())
    assert composed(text, collected) is None
    return collected.lines


def test_a_plain_text_is_a_node() -> None:
    collected = Mistakes("changes.yaml", Path())
    assert isinstance(composed("- a: 1", collected), yaml.SequenceNode)
    assert composed("", collected) is None
    assert collected.lines == []


def test_anchors_aliases_and_tags_are_mistakes_with_their_places() -> None:
    assert mistakes("- &a {x: !!python/object:os.system y}\n- *a\n") == [
        "line 1 column 3: anchors and aliases are not allowed: write the words out",
        "line 1 column 10: tags such as tag:yaml.org,2002:python/object:os.system are not allowed",
        "line 2 column 3: anchors and aliases are not allowed: write the words out",
    ]


def test_a_bomb_of_aliases_is_not_expanded() -> None:
    lines = ["- &a0 [x, x]", *(f"- &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 40))]
    assert len(mistakes("\n".join(lines))) == 40 + 78


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[" * 5000, "line 1 column 17: it is nested more than 16 deep"),
        ("- a\n---\n- b", "line 2 column 1: a second document, expected one list of changes"),
        ("- {a: b", "line 1 column 8: it is not YAML: expected ',' or '}', but got '<stream end>'"),
        ('"\\UFFFFFFFF"', "it is not YAML: Python int too large to convert to C int"),
        ("x" * (MOST_CHARACTERS + 1), "1,048,577 characters, expected 1,048,576 at most"),
    ],
    ids=["depth", "documents", "broken", "escape", "size"],
)
def test_other_bounds(text: str, line: str) -> None:
    assert mistakes(text) == [line]
