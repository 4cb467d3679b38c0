"""A folder of a stranger, with modules of the names that Python's processes import first."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_NAMES = (
    *("asyncio", "click", "duckdb", "llvmlite", "mcp", "numpy", "pandas", "py4j", "pyarrow"),
    *("pyspark", "random", "savepoint_cli", "savepoint_formats", "savepoint_spark"),
    *("sitecustomize", "usercustomize"),
)
_MODULE = """\
import pathlib, sys
pathlib.Path(__file__).with_name("RAN-{name}").write_text(" ".join(sys.orig_argv))
raise ImportError("a stranger's module was imported")
"""


def planted(folder: Path, sample: Path) -> Path:
    """A copy of a sample with a module beside ``_metadata`` for each name."""
    shutil.copytree(sample, folder)
    for name in _NAMES:
        (folder / f"{name}.py").write_text(_MODULE.format(name=name), encoding="utf-8")
    return folder


def ran(folder: Path) -> dict[str, str]:
    """The planted modules that ran, each with the command line of its process."""
    return {
        path.name.removeprefix("RAN-"): path.read_text(encoding="utf-8")
        for path in folder.glob("RAN-*")
    }
