"""The page of this tool's errors has messages that the code has."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "own-errors.md"
ROOMS = ("formats", "state_processor", "cli")


def texts_of_code() -> str:
    """All literal texts, a line each; parts of an f-string are lines, too."""
    trees = (
        ast.parse(path.read_text(encoding="utf-8"))
        for room in ROOMS
        for path in (ROOT / room).rglob("*.py")
    )
    constants = (
        node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)
    )
    return "\n".join(text for text in constants if isinstance(text, str))


def test_each_message_is_in_the_code() -> None:
    code = texts_of_code()
    messages = re.findall(r"^\| `([^`]+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(messages) > 20
    for message in messages:
        for part in filter(None, message.split("…")):
            assert part.strip(" ;,:") in code, (message, part)
