"""Prints the oldest versions of direct dependencies that pyproject.toml allows, as constraints of pip."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

# Tools of developers are the newest.
_TOOLS = ("docs", "fuzz", "release", "test")
_BOUND = re.compile(r"([\w-]+)(?:\[[^]]*\])?>=([\d.]+)")


def lowest(pyproject: Path) -> list[str]:
    """A line per dependency; PySpark's is chosen by the row of the matrix."""
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    groups = project["optional-dependencies"].items()
    asked = [
        *project["dependencies"],
        *(line for name, group in groups if name not in _TOOLS for line in group),
    ]
    bounds = [found for line in asked if (found := _BOUND.match(line)) and found[1] != "pyspark"]
    return [f"{name}=={version}" for name, version in (found.groups() for found in bounds)]


if __name__ == "__main__":
    print("\n".join(lowest(Path(__file__).parents[1] / "pyproject.toml")))
