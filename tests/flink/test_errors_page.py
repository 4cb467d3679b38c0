"""Each text of the page of errors is in the named class, in three releases of Flink."""

from __future__ import annotations

import re
from pathlib import Path
from zipfile import ZipFile

import pytest
from flink_home import FlinkHome

PAGE = Path(__file__).parents[2] / "docs" / "errors.md"
_ROW = re.compile(r"^\| `([^`]+)` \|.*\| `([A-Za-z0-9$]+)` \|$", re.MULTILINE)
_GAP = "…"
ROWS = _ROW.findall(PAGE.read_text(encoding="utf-8"))


@pytest.fixture(scope="module", params=["1.20.5", "2.2.1", "2.3.0"])
def classes(request: pytest.FixtureRequest) -> dict[str, list[bytes]]:
    """The bytes of all classes that the page names, by their names without a package."""
    home = FlinkHome.cached(request.param)
    home.install()
    wanted = {name for _, name in ROWS}
    contents: dict[str, list[bytes]] = {name: [] for name in wanted}
    (jar,) = (path for path in home.jars if path.name.startswith("flink-dist"))
    with ZipFile(jar) as archive:
        for entry in archive.namelist():
            name = entry.rpartition("/")[2].removesuffix(".class")
            if name in wanted:
                contents[name].append(archive.read(entry))
    return contents


def test_each_text_is_in_its_class(classes: dict[str, list[bytes]]) -> None:
    missing = [
        (text, name)
        for text, name in ROWS
        if not any(
            all(part.strip().encode() in content for part in text.split(_GAP))
            for content in classes[name]
        )
    ]
    assert missing == []


def test_there_are_at_least_twenty() -> None:
    assert len({text for text, _ in ROWS}) == len(ROWS) > 25
