"""The page about plug-ins shows the example package as it is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.plug_ins import EXAMPLE

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "write-a-plugin.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize(
    ("language", "file"),
    [
        ("python", "shop_savepoint/serializers.py"),
        ("toml", "pyproject.toml"),
        ("text", "shop_savepoint/commands.py"),
        ("text", "shop_savepoint/connectors.py"),
    ],
)
def test_a_block_of_the_page_is_in_the_file(language: str, file: str) -> None:
    text = (EXAMPLE / file).read_text(encoding="utf-8")
    assert [block for block in blocks(language) if block.strip() in text]
