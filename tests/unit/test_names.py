"""Names in the packages say what a thing is, not that it is a thing."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
PACKAGES = ("formats", "state_processor", "cli")
EMPTY = {"found", "one"}
PROSE = re.compile(r'"""(?s:.*?)"""|(?<!f)"[^"\n]*"|#.*')
"""Docstrings, comments and texts, but for those with expressions in them."""
MENTION = re.compile(rf"\b(?:{'|'.join(EMPTY)})\b")


def bound_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The names that variables, parameters, attributes, functions and classes are given."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(name, ast.Store()) | ast.Attribute(_, name, ast.Store()):
                yield node.lineno, name
            case ast.arg(name) | ast.MatchAs(_, str(name)) | ast.MatchStar(str(name)):
                yield node.lineno, name
            case ast.FunctionDef(name) | ast.AsyncFunctionDef(name) | ast.ClassDef(name):
                yield node.lineno, name


@pytest.mark.parametrize("package", PACKAGES)
def test_nothing_is_called_found_or_one(package: str) -> None:
    """Call it what it is: ``table``, ``handle``, ``rows``."""
    texts = {path: path.read_text("utf-8") for path in (ROOT / package).rglob("*.py")}
    assert texts
    assert not [
        f"{path.relative_to(ROOT)}:{line} {name}"
        for path, text in texts.items()
        if MENTION.search(PROSE.sub("", text))  # a tree of each file would take seconds
        for line, name in bound_names(ast.parse(text))
        if name in EMPTY
    ]


@pytest.mark.parametrize(
    "code",
    [
        "one = 1",
        "for found in []: ...",
        "{one for one in []}",
        "def read(*, one): ...",
        "lambda found: 1",
        "match 1:\n    case int() as found: ...",
        "class A:\n    one: int",
        "self.found = 1",
        "def found(): ...",
        "with open('') as one: ...",
    ],
)
def test_each_way_to_name_a_thing_is_seen(code: str) -> None:
    assert EMPTY & {name for _, name in bound_names(ast.parse(code))}


def test_a_file_name_is_unique_within_its_package() -> None:
    for package in PACKAGES:
        for room in (path for path in (ROOT / package).iterdir() if path.is_dir()):
            names = Counter(path.name for path in room.rglob("*.py"))
            del names["__init__.py"]
            assert [name for name, count in names.items() if count > 1] == []
